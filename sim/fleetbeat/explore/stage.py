"""A sketch put on the stage: a small scenario, and the choices with which the engine plays the sketch's order.

One agent, `a-0`, beats at about 1 s, 2 s, ...; what comes between two beats starts halfway between them, so that the
default timeline has most of the order already (what is missing is held back, see `rehearse`). A fault stays in the
scenario with a probability that no draw reaches, and the choice of its step is set to strike; so does a crash. Rejected:
exact times for everything, which reproduce a race by its microseconds and tell a reader nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.explore.model import CRASH_AFTER, FAULT, OK, POWER_AFTER, POWER_BEFORE, Event
from fleetbeat.explore.sketch import BETWEEN, FAULTABLE, Episode, Sketch, episode, is_death
from fleetbeat.scenario.model import Crash, Fault, Fleet, Heartbeat, Lifecycle, Rebuild, Rollout, Scenario
from fleetbeat.scenario.resolve import AgentSpec
from fleetbeat.scenario.resolve import agents as resolve_agents

AGENT, HOST = "a-0", "host-0"
SECOND, HALF, STAGGER = 1_000_000_000, 500_000_000, 100_000_000
#: A chance that no draw reaches: a fault strikes only where a case says so.
NEVER = 1e-9
_SEED = 1
_TEMPORARY, _SHARED = ".rules.", ".rules.tmp"
#: Operations whose place in the order no other actor can notice.
_PRIVATE = frozenset({"emit", "mkdir", "sleep"})


@dataclass(frozen=True, slots=True)
class Set:
    """What stands on the stage. `order`: the steps whose order may matter; `begins`: by the first step of a beat, the
    step at which that beat begins, which is what a hold must name. `names`: of the sketch's episodes in the scenario."""

    scenario: Scenario
    bits: Mapping[tuple[str, Step], int]
    order: tuple[Step, ...]
    begins: Mapping[Step, Step]
    names: Mapping[Episode, Episode]


@dataclass(frozen=True, slots=True)
class Manner:
    """How to build: what is left of the run after the last event, whether the dead start again in any case, and (ns)
    when episodes start that must not start where they would."""

    tail_ns: int = 3 * SECOND + HALF
    restart: bool = False
    starts: tuple[tuple[Episode, int], ...] = ()


def build(sketch: Sketch, manner: Manner) -> Set:
    """The scenario and forced choices of a sketch. Raises KeyError for an agent that the sketch's scenario lacks."""
    spec = {spec.name: spec for spec in resolve_agents(sketch.scenario)}[sketch.agent]
    return _Builder(sketch, spec, manner).build()


@dataclass(slots=True)
class _Builder:
    sketch: Sketch
    spec: AgentSpec
    manner: Manner
    times: dict[Episode, int] = field(default_factory=dict)
    names: dict[Episode, tuple[str, int, int]] = field(default_factory=dict)
    temporaries: dict[str, str] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    bits: dict[tuple[str, Step], int] = field(default_factory=dict)
    crashes: list[Crash] = field(default_factory=list)
    power_losses: int = 0

    def build(self) -> Set:
        sketch = self.sketch
        self.times = {**dict(_times(sketch, first=int(self.spec.start.signal == "none"))), **dict(self.manner.starts)}
        self._name_beats_and_rebuilds()
        rollouts = tuple(self._rollouts())
        rebuilds = tuple(self._rebuilds())
        steps = [self.step(event) for event in sketch.events]
        for index, event in enumerate(sketch.events):
            if event.outcome != OK:
                self._strike(index, event, steps[index])
        last = max(self.times.values(), default=0)
        lifecycle = Lifecycle().model_copy(update={"rebuilds": rebuilds, "crashes": tuple(self.crashes)})
        parts: dict[str, Any] = {"agent": self.spec.agent, "start": self.spec.start, "uid": self.spec.uid}
        fleet = Fleet(agents=1, heartbeat=Heartbeat(phase="aligned")).model_copy(
            update={**parts, "lifecycle": lifecycle}
        )
        scenario = Scenario(name=sketch.scenario.name, seed=_SEED, fleet=fleet).model_copy(
            update={
                "duration": last + self.manner.tail_ns,
                "faults": tuple(self.faults.values()),
                "rollouts": rollouts,
            }
        )
        shown = [step for event, step in zip(sketch.events, steps, strict=True) if self._shows(event)]
        return Set(scenario, self.bits, tuple(shown), dict(self._begins(steps)), self.names)

    # --- names ---

    def step(self, event: Event) -> Step:
        """The event's step under its name in the new scenario."""
        old = event.step
        actor, life, number = self.names.get(episode(event), (old.actor, old.life, old.episode))
        return Step(actor, life, number, old.operation, self.temporaries.get(old.path, old.path), old.nth)

    def _name_beats_and_rebuilds(self) -> None:
        first = int(self.spec.start.signal == "none")
        beats: Counter[int] = Counter({0: first})
        rebuilds: Counter[int] = Counter()
        for event in self.sketch.events:
            key = episode(event)
            life = event.step.life
            if key in self.names:
                continue
            if self.sketch.is_beat(event):
                self.names[key] = (f"{AGENT}/beat", life, beats[life])
                beats[life] += 1
            elif self.sketch.is_rebuild(event):
                rebuilds[life] += event.step.episode > 0
                self.names[key] = (f"{AGENT}/rebuild", life, rebuilds[life] if event.step.episode > 0 else 0)

    def _rollouts(self) -> Iterator[Rollout]:
        """One rollout for each post; a later attempt becomes a rollout of another operator with the same version."""
        known = {(rollout.operator, rollout.version): rollout for rollout in self.sketch.scenario.rollouts}
        seen: Counter[tuple[str, str]] = Counter()
        made: dict[Episode, Rollout] = {}
        for event in self.sketch.events:
            key = episode(event)
            if not self.sketch.is_writer(event):
                continue
            if key not in self.names:
                who = self.sketch.writers[event.step.actor]
                base = known[who]
                seen[who] += 1
                operator = base.operator if seen[who] == 1 else f"{base.operator}-{seen[who]}"
                parts = {
                    name: getattr(base, name) for name in ("body", "base64", "mark", "write", "chunk", "uid", "perms")
                }
                parts |= {"operator": operator, "at": self.times[key]}
                one = Rollout(version=base.version, at=0, targets=(AGENT,)).model_copy(update=parts)
                self.names[key] = (f"{operator}:{base.version}/{AGENT}", 0, 1)
                made[key] = one
            path = event.step.path
            if path.startswith(_TEMPORARY) and path != _SHARED:
                self.temporaries[path] = temporary(made[key], _SEED)
        yield from sorted(made.values(), key=lambda one: one.at)

    def _rebuilds(self) -> Iterator[Rebuild]:
        events = self.sketch.events
        done: set[Episode] = set()
        for index, event in enumerate(events):
            key = episode(event)
            if not self.sketch.is_rebuild(event) or event.step.episode == 0 or key in done:
                continue
            done.add(key)
            last = max(i for i, other in enumerate(events) if episode(other) == key)
            beside = any(self.sketch.is_beat(other) for other in events[index:last]) or _inside(
                events, index, self.sketch
            )
            cause = self.sketch.causes.get((event.step.life, event.step.episode), "molt")
            yield Rebuild().model_copy(update={"at": (self.times[key],), "cause": cause, "beside_beat": beside})

    def _begins(self, steps: list[Step]) -> Iterator[tuple[Step, Step]]:
        seen: set[Episode] = set()
        for event, step in zip(self.sketch.events, steps, strict=True):
            if self.sketch.is_beat(event) and episode(event) not in seen:
                seen.add(episode(event))
                yield step, Step(step.actor, step.life, step.episode, "begin")

    def _shows(self, event: Event) -> bool:
        step = event.step
        if event.outcome.startswith(BETWEEN) or (step.operation in _PRIVATE and event.outcome == OK):
            return False
        private = self.sketch.is_writer(event) and step.path.startswith(_TEMPORARY) and step.path != _SHARED
        if private and not _loses_power(self.sketch):
            return step.operation == "rename" or event.outcome != OK
        return True

    # --- what goes wrong ---

    def _strike(self, index: int, event: Event, step: Step) -> None:
        outcome = event.outcome
        if outcome.startswith(FAULT):
            name = outcome.removeprefix(FAULT)
            self.faults[name] = _asleep(self.sketch.faults[name], name, event.step.path in self.temporaries)
            self.bits[f"fault:{name}", step] = 0
            return
        again = self._lives_on(index, event)
        if outcome.startswith(BETWEEN):
            self._crash_between(event, again)
            return
        when = "after" if outcome.startswith((CRASH_AFTER, POWER_AFTER)) else "before"
        power = outcome.startswith((POWER_BEFORE, POWER_AFTER))
        if step.operation not in FAULTABLE:
            found = self._before(index)
            if found is None:
                self._crash_between(event, again)
                return
            step, when = found, "after"
        pieces = outcome.split(":", 1)[1] if power else ""
        on = "operators" if self.sketch.is_writer(event) else "agents"
        path = None if step.path in self.temporaries.values() else step.path
        fault = Fault.model_validate(
            {"on": on, "operation": step.operation, "path": path, "crash": when, "power": power}
        )
        fault = fault.model_copy(update={"unsynced": "kept" if pieces == "*" else "lost", "restart": again})
        name = self._named(fault, "power" if power else "crash")
        self.faults[name] = fault.model_copy(update={"id": name, "probability": NEVER})
        self.bits[f"fault:{name}", step] = 0
        if power:
            self._keep(pieces)

    def _named(self, fault: Fault, base: str) -> str:
        """The name of an equal fault that is there already, or a free one."""
        for name, other in self.faults.items():
            if other.model_copy(update={"id": None, "probability": None}) == fault:
                return name
        count = 1
        while (name := base if count == 1 else f"{base}-{count}") in self.faults:
            count += 1
        return name

    def _keep(self, pieces: str) -> None:
        for piece in pieces.split(";") if pieces not in ("", "*", "?") else ():
            kind, _, rest = piece.partition(" ")
            path, _, nth = rest.partition("@")
            home = self.spec.home
            inside = path.removeprefix(f"{home}/")
            path = (
                f"/{AGENT}/{self.temporaries.get(inside, inside)}"
                if inside != path
                else f"/{AGENT}"
                if path == home
                else path
            )
            self.bits["unsynced", Step(HOST, self.power_losses, 0, kind, path, int(nth or 0))] = 1 << 63
        self.power_losses += 1

    def _lives_on(self, index: int, event: Event) -> int | None:
        """Until the next life, in ns; None if the sketch has none and nobody asks for one."""
        if self.sketch.is_writer(event):
            return None
        later = any(
            other.step.life > event.step.life and not self.sketch.is_writer(other)
            for other in self.sketch.events[index + 1 :]
        )
        return SECOND if later or self.manner.restart else None

    def _crash_between(self, event: Event, again: int | None) -> None:
        at = self.times.get(episode(event), 0)
        crash = Crash(at=0, agents=(AGENT,), power=event.outcome.endswith("power"))
        self.crashes.append(crash.model_copy(update={"at": at, "restart": again}))

    def _before(self, index: int) -> Step | None:
        """The step before this event, in its own episode, at which a fault can strike."""
        key = episode(self.sketch.events[index])
        for event in reversed(self.sketch.events[:index]):
            if episode(event) == key and event.step.operation in FAULTABLE:
                return self.step(event)
        return None


def _asleep(fault: Fault, name: str, temporary: bool) -> Fault:
    """A fault that strikes where a choice says so and nowhere else."""
    never: dict[str, Any] = {
        "id": name,
        "probability": NEVER,
        "occurrence": (),
        "per_hour": None,
        "from_": 0,
        "to": None,
    }
    never |= {"agents": ("all",), "operators": (), "delay": None, "pause": None}
    return fault.model_copy(update={**never, "path": None} if temporary else never)


def _inside(events: tuple[Event, ...], index: int, sketch: Sketch) -> bool:
    """Whether a beat is at work at this place of the order."""
    before = {episode(event) for event in events[:index] if sketch.is_beat(event)}
    return any(episode(event) in before for event in events[index:] if sketch.is_beat(event))


def _times(sketch: Sketch, first: int) -> Iterator[tuple[Episode, int]]:
    """When each episode of the sketch is to start, in ns: beats on whole seconds of their life, the rest in the gaps."""
    last = {episode(event): index for index, event in enumerate(sketch.events)}
    anchors = _anchors(sketch)
    known: dict[Episode, int] = {}
    gaps: Counter[int] = Counter()
    origin, number = 0, first - 1
    current: Episode | None = None
    for index, event in enumerate(sketch.events):
        key = episode(event)
        if sketch.is_beat(event):
            if key not in known:
                number += 1
                known[key] = origin + number * SECOND
                yield key, known[key]
            current = key
        elif key not in known and (event.outcome.startswith(BETWEEN) or anchors.get(key) == index):
            at = known[current] if current is not None and index < last[current] else origin + (number + 1) * SECOND
            gap = max(0, at - HALF)
            known[key] = gap + min(4, gaps[gap]) * STAGGER
            gaps[gap] += 1
            yield key, known[key]
        if is_death(event) and not sketch.is_writer(event):
            origin, number, current = known.get(key, origin) + SECOND, -1, None
            yield ("", event.step.life, 0), origin


def _loses_power(sketch: Sketch) -> bool:
    """Whether a host loses power: then it matters when a temporary was written that nobody sees yet."""
    return any(event.outcome.startswith((POWER_BEFORE, POWER_AFTER)) for event in sketch.events)


def _anchors(sketch: Sketch) -> dict[Episode, int]:
    """The event that says when a post or a rebuild is to start: the first that others see, else its first."""
    power = _loses_power(sketch)
    found: dict[Episode, int] = {}
    for index, event in enumerate(sketch.events):
        key = episode(event)
        if sketch.is_rebuild(event) and event.step.episode > 0:
            found.setdefault(key, index)
        elif sketch.is_writer(event):
            sees = power or event.step.operation == "rename" or event.step.path == ".rules"
            if sees and key not in found:
                found[key] = index
    for index, event in enumerate(sketch.events):
        if sketch.is_writer(event):
            found.setdefault(episode(event), index)
    return found


def temporary(rollout: Rollout, seed: int) -> str:
    """What the engine calls the temporary of a rollout's post to `a-0`, relative to home."""
    from fleetbeat.engines.delivery import temporary_of

    actor = f"{rollout.operator}:{rollout.version}/{AGENT}"
    path = temporary_of(Hashed(seed), f"/{AGENT}", rollout.write, actor, 0, 1)
    return path.removeprefix(f"/{AGENT}/")
