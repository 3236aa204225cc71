"""A schedule on one agent, without times: what a case is made from, be it what a search found or what an engine played.

Both name steps alike, so a sketch of either is a list of events in their order, with what the world around them was.
Other agents are left out: an agent's files are touched by itself and by the writers that target it. `without` takes out
one unit (a post, a rebuild, a fault, a crash) with everything that only belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from fleetbeat.chance.step import Step
from fleetbeat.explore.model import CRASH_AFTER, CRASH_BEFORE, FAULT, OK, POWER_AFTER, POWER_BEFORE, Event
from fleetbeat.history.records import Record
from fleetbeat.scenario.case import parse_step
from fleetbeat.scenario.model import Fault, OperationName, Scenario
from fleetbeat.scenario.resolve import fault_ids

#: The outcome of an event that is a crash (or power) between two episodes, at no step of a program.
BETWEEN = "between:"
#: The pieces of a power failure in a history, which does not say which were kept: none, all, or some.
KEPT = {"lost": "", "kept": "*", "random": "?"}
PREFIXES_OF_DEATH = (CRASH_BEFORE, CRASH_AFTER, POWER_BEFORE, POWER_AFTER, BETWEEN)

FAULTABLE = frozenset(get_args(OperationName)) - {"flush"}

#: What a reduction may take out: ("post", actor, life, episode), ("rebuild", life, episode), ("fault" or "crash", step).
Unit = tuple[object, ...]
Episode = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Sketch:
    """`events` in the order of their effects. `faults`: what each fault outcome means. `causes`: of rebuilds by
    (life, number), where known. `restarts`: whether a crash is followed by another life. `writers`: (operator, version)
    by the actor of a post."""

    scenario: Scenario
    agent: str
    events: tuple[Event, ...]
    faults: Mapping[str, Fault]
    writers: Mapping[str, tuple[str, str]]
    causes: Mapping[tuple[int, int], str]

    @property
    def units(self) -> tuple[Unit, ...]:
        """What can be taken out, posts first, each in the order of its first event."""
        found: dict[Unit, None] = {}
        for event in self.events:
            if (unit := _episode_unit(self, event)) is not None:
                found.setdefault(unit)
        for event in self.events:
            if event.outcome != OK:
                found.setdefault((_fault_or_crash(event), event.step))
        return tuple(sorted(found, key=lambda unit: ("post", "rebuild", "fault", "crash").index(str(unit[0]))))

    def is_beat(self, event: Event) -> bool:
        return event.step.actor == f"{self.agent}/beat"

    def is_rebuild(self, event: Event) -> bool:
        return event.step.actor == f"{self.agent}/rebuild"

    def is_writer(self, event: Event) -> bool:
        return event.step.actor in self.writers

    def without(self, units: Iterable[Unit]) -> Sketch:
        """The sketch without these units; lives after a crash that is taken out go on in the life before."""
        gone = set(units)
        kept: list[Event] = []
        merged = 0
        for event in self.events:
            if _episode_unit(self, event) in gone:
                continue
            step, outcome = event.step, event.outcome
            if outcome != OK and (_fault_or_crash(event), step) in gone:
                merged += _fault_or_crash(event) == "crash" and not self.is_writer(event)
                if outcome.startswith(BETWEEN):
                    continue
                outcome = OK
            if merged and not self.is_writer(event):
                life = max(0, step.life - merged)
                if step.life > life and self.is_rebuild(event) and step.episode == 0:
                    continue
                step = step._replace(life=life, episode=step.episode + (step.life - life) * 100_000)
            kept.append(Event(step, outcome))
        return replace(self, events=tuple(kept))

    def dying_at(self, event: Event, earlier: Event) -> Sketch:
        """The sketch in which the death of `event` comes right after an earlier event of the same episode."""
        outcome = event.outcome.replace("-before", "-after")
        kept: list[Event] = []
        dead = False
        for one in self.events:
            if episode(one) == episode(event) and dead:
                continue
            if one == earlier:
                one, dead = Event(one.step, outcome), True
            kept.append(one)
        return replace(self, events=tuple(kept))


def is_death(event: Event) -> bool:
    return event.outcome.startswith(PREFIXES_OF_DEATH)


def episode(event: Event) -> Episode:
    return event.step[:3]


def _fault_or_crash(event: Event) -> str:
    return "crash" if is_death(event) else "fault"


def _episode_unit(sketch: Sketch, event: Event) -> Unit | None:
    step = event.step
    if sketch.is_writer(event):
        return ("post", *episode(event))
    if sketch.is_rebuild(event) and step.episode > 0:
        return ("rebuild", step.life, step.episode)
    return None


# --- from a search ---


def of_schedule(scenario: Scenario, schedule: Sequence[Event], agent: str) -> Sketch:
    """The part of a search's schedule that concerns one agent."""
    writers = {}
    for rollout in scenario.rollouts:
        writers[f"{rollout.operator}:{rollout.version}/{agent}"] = (rollout.operator, rollout.version)
    ids = fault_ids(scenario)
    faults = dict(zip(ids, scenario.faults, strict=True))
    own = (f"{agent}/beat", f"{agent}/rebuild")
    events = [_plain(event, faults) for event in schedule if event.step.actor in own or event.step.actor in writers]
    events = [event for event in events if not (event.step.actor == own[1] and event.step[1:3] == (0, 0))]
    causes = {(0, n): rebuild.cause for n, rebuild in enumerate(scenario.fleet.lifecycle.rebuilds, 1)}
    return Sketch(scenario, agent, tuple(events), faults, writers, causes)


def _plain(event: Event, faults: Mapping[str, Fault]) -> Event:
    """A fault of the scenario that kills is told as the death that it is."""
    fault = faults.get(event.outcome.removeprefix(FAULT)) if event.outcome.startswith(FAULT) else None
    if fault is None or fault.crash is None:
        return event
    return Event(event.step, _death(fault))


def _death(fault: Fault) -> str:
    if not fault.power:
        return f"crash-{fault.crash}"
    return (POWER_BEFORE if fault.crash == "before" else POWER_AFTER) + KEPT[fault.unsynced]


# --- from a history ---


def of_history(
    scenario: Scenario, records: Sequence[Record], agent: str, window: Window | None = None
) -> Sketch | None:
    """What an engine played on one agent; None where it cannot be told as a schedule (a parent's hand-down).

    With a `window`, only the episodes and posts of that stretch; its first life becomes life 0.
    """
    scenario_faults = dict(zip(fault_ids(scenario), scenario.faults, strict=True))
    faults: dict[str, Fault] = {}
    writers: dict[str, tuple[str, str]] = {}
    causes: dict[tuple[int, int], str] = {}
    reader = _Reader(agent, scenario_faults, faults, [])
    for record in records:
        kind = record.kind
        if window is not None and kind in ("op", "fault", "life.end") and not window.holds(record):
            continue
        if kind == "post.plan" and record["agent"] == agent:
            if record["write"] == "hand-down":
                return None
            writers[record.actor] = (record["operator"], record["version"])
        elif kind == "rebuild.begin" and record["agent"] == agent:
            causes[record["life"], record["rebuild"]] = record["cause"]
        elif kind == "op" and record["agent"] == agent:
            reader.op(record)
        elif kind == "fault" and record["agent"] == agent:
            reader.fault(record)
        elif kind in ("beat", "rebuild.end") and record["agent"] == agent and record["outcome"] == "cut":
            reader.cut = (record.actor, record["life"])
        elif kind == "life.end" and record["agent"] == agent and record["cause"] in ("crash", "power"):
            reader.death(record)
    return _rebased(Sketch(scenario, agent, tuple(reader.events), faults, writers, causes))


def _rebased(sketch: Sketch) -> Sketch:
    """With the first life that is left as life 0, whose boot is nobody's event."""
    own = [event.step for event in sketch.events if not sketch.is_writer(event)]
    first = own[0].life if own else 0
    events = [
        event if sketch.is_writer(event) else Event(event.step._replace(life=event.step.life - first), event.outcome)
        for event in sketch.events
    ]
    events = [event for event in events if not (sketch.is_rebuild(event) and event.step[1:3] == (0, 0))]
    causes = {(life - first, number): cause for (life, number), cause in sketch.causes.items()}
    return replace(sketch, events=tuple(events), causes=causes)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a history: the agent's own records from `since` to `until` in ns, and all of these posts, by
    (actor, life, attempt)."""

    since: int
    until: int
    posts: frozenset[Episode]

    def holds(self, record: Record) -> bool:
        if record.kind == "op" and record["role"] == "post":
            return (record.actor, record["life"], record["episode"]) in self.posts
        if record.kind == "fault" and record["on"] == "operators":
            return parse_step(record["step"])[:3] in self.posts
        return self.since <= record.t <= self.until


@dataclass(slots=True)
class _Reader:
    agent: str
    known: Mapping[str, Fault]
    faults: dict[str, Fault]
    events: list[Event]
    pending: Event | None = None
    dying: Event | None = None
    cut: tuple[str, int] = ("", -1)

    def op(self, record: Record) -> None:
        if record["role"] not in ("beat", "boot", "rebuild", "post") or (record["role"], record["life"]) == ("boot", 0):
            return
        names = (record["life"], record["episode"], record["operation"], record["path"], record["nth"])
        event = Event(Step(record.actor, *names))
        pending, self.pending = self.pending, None
        if pending is not None and pending.step == event.step:
            event = pending
        self.events.append(event)
        if is_death(event):
            self.dying = event

    def fault(self, record: Record) -> None:
        name, effect = record["fault"], record["effect"]
        step = None if record["operation"] == "process" else parse_step(record["step"])
        if step is None or not set(effect.split()) & {"error", "partial", "after", "crash", "power"}:
            return
        if self.pending is not None and self.pending.step == step:
            return  # of several faults on one operation the first one counts
        if name.startswith("disk-full:"):
            name, step = f"disk-full-{step.operation}", _full(step)
            how = "before" if step == parse_step(record["step"]) else "partial"
            self.faults[name] = Fault.model_validate(
                {"operation": step.operation, "path": step.path, "error": "ENOSPC", "effect": how}
            )
            if how == "partial":
                self.events = [Event(step, FAULT + name) if event.step == step else event for event in self.events]
                return
        elif name in self.known:
            self.faults[name] = self.known[name]
        else:
            return
        event = Event(step, FAULT + name)
        fault = self.faults[name]
        if fault.crash is not None:
            event = Event(step, _death(fault))
        if fault.crash == "before":
            self.events.append(event)
            self.dying = event
        else:
            self.pending = event

    def death(self, record: Record) -> None:
        """A life ended: by the fault just recorded, or at a time of the harness's own."""
        dying, self.dying = self.dying, None
        if dying is not None and dying.step.life == record["life"] and dying.step.actor.startswith(f"{self.agent}/"):
            return
        how = "crash" if record["cause"] == "crash" else "power"
        for index in range(len(self.events) - 1, -1, -1):
            step = self.events[index].step
            if (step.actor, step.life) == (self.cut[0], record["life"]) == self.cut and step.operation in FAULTABLE:
                self.events[index] = Event(step, CRASH_AFTER if how == "crash" else POWER_AFTER + KEPT["lost"])
                return
        self.events.append(Event(Step(self.agent, record["life"], 0, "crash"), f"{BETWEEN}{how}"))


def _full(step: Step) -> Step:
    """The write that came short on a full disk, where the failing one was its second part."""
    return step if step.nth == 0 else step._replace(nth=step.nth - 1)
