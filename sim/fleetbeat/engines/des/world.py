"""The world of one simulated run: time, chance, files, the recorder and who lives in it, in one object passed along."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

import simpy

from fleetbeat.chance.choices import Hashed, Overrides
from fleetbeat.chance.step import Step
from fleetbeat.engines.bodies import Bodies
from fleetbeat.engines.des.clock import Clock
from fleetbeat.engines.des.lanes import Lanes
from fleetbeat.engines.injector import Injector
from fleetbeat.engines.recorder import MANY, Recorder, Row, Tie, When
from fleetbeat.files.memory import MemoryFiles
from fleetbeat.protocol.vocabulary import Program
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec

if TYPE_CHECKING:
    from fleetbeat.engines.des.agent import Agent
    from fleetbeat.engines.des.doze import Doze
    from fleetbeat.engines.des.watch import Watch

#: What a SimPy process yields, and what our generators of waits yield to it.
Wait = Generator[simpy.Event, Any, Any]


class World:
    def __init__(
        self,
        scenario: Scenario,
        specs: tuple[AgentSpec, ...],
        manifests: dict[str, Manifest],
        programs: dict[str, Program],
        overrides: Overrides | None,
    ) -> None:
        self.scenario = scenario
        self.specs = {spec.name: spec for spec in specs}
        self.manifests = manifests
        self.programs = programs
        self.choices = Hashed(scenario.seed, overrides)
        self.clock = Clock(initial_time=0)
        self.recorder = Recorder()
        self.bodies = Bodies()
        self._met: dict[str, Row] = {}
        self.files = MemoryFiles(durability=_may_lose_power(scenario))
        self.injector = Injector(scenario, specs, self.choices, lambda agent: self.manifest(agent).prompt.path)
        self.tie_of_start = self.tie(Step("harness"))
        self.agents: dict[str, Agent] = {}
        self.watch: Watch
        self.hosts = {host.name: host for host in scenario.fleet.hosts}
        self.power_losses: dict[str, int] = {}
        self.unmet: dict[Step, Step] = {}
        self.dozing: dict[str, dict[Doze, None]] = {}
        #: Who may act ahead of the clock; None where nobody may.
        self.lanes: Lanes | None = None
        self.touched: dict[str, When] = {}
        #: Whether a case names any step; where none does, nobody is told about steps at all.
        self.named = bool(self.choices.overrides.steps())
        self._came: dict[Step, bool] = dict.fromkeys(self.choices.overrides.steps(), False)
        self._ends = {step: self.clock.event() for step in sorted(set(self.choices.overrides.holds.values()))}

    # --- time and order ---

    @property
    def now(self) -> int:
        return int(self.clock.now)

    def tie(self, step: Step) -> Tie:
        return Tie(self.choices, step)

    def until(self, at_ns: int, step: Step) -> Wait:
        """Waits for the instant of a step of the harness; returns its place in the order."""
        tie = self.tie(step)
        yield self.clock.instant(max(at_ns, self.now + 1), tie)
        return (self.now, tie)

    def soonest(self, caught_up: When | None) -> int:
        """The first nanosecond still open to an actor: the next one, or this one if it was roused just now."""
        return self.now + (caught_up is None or caught_up[0] != self.now)

    def start(self, process: Wait) -> None:
        self.clock.process(process)

    # --- the choices of a case file ---

    def held_until(self, step: Step) -> simpy.Event | None:
        """The event that a case makes this step wait for, if it has not happened yet."""
        until = self.choices.hold(step)
        if until is None or self._ends[until].triggered:
            return None
        self.unmet[step] = until
        return self._ends[until]

    def passed(self, step: Step) -> None:
        """Told after each step took effect, if a case names any."""
        self.unmet.pop(step, None)
        if step in self._came:
            self._came[step] = True
        event = self._ends.get(step)
        if event is not None and not event.triggered:
            event.succeed()

    def never_came(self) -> list[str]:
        """The case's choices, in words, that had nothing to decide: their step never came, or drew nothing there."""
        overrides, asked = self.choices.overrides, self.choices.used.bits
        found = [
            f"bits of {stream} at {step}" for stream, step in sorted(overrides.bits) if (stream, step) not in asked
        ]
        found += [f"tie of {step}" for step in sorted(overrides.ties) if not self._came[step]]
        return found + [
            f"hold of {step}" for step in sorted(overrides.holds) if not self._came[step] and step not in self.unmet
        ]

    # --- sleepers ---

    def doze(self, doze: Doze, names: Iterable[str]) -> None:
        for name in names:
            self.dozing.setdefault(name, {})[doze] = None

    def is_fresh(self, names: Iterable[str], since: When) -> bool:
        """Whether something happened at one of these names after `since`, so that what was seen there may be stale."""
        return any((when := self.touched.get(name)) is not None and since < when for name in names)

    def is_watched(self, names: Iterable[str]) -> bool:
        """Whether anybody sleeps on one of these names."""
        return any(map(self.dozing.get, names))

    def wakes(self, doze: Doze, names: Iterable[str]) -> None:
        for name in names:
            self.dozing[name].pop(doze, None)

    def rouse(self, names: Iterable[str], when: When, wait: bool = True) -> Wait:
        """Wakes whoever sleeps on one of these names, before what is about to happen there at `when` does.

        The sleepers catch up with what they did before `when`; then the caller goes on, at the same place in the order.
        Without `wait` it goes on at once where no sleeper is in the middle of an episode: then there is nothing to catch up
        with that its doing could change.
        """
        found: dict[Doze, None] = {}
        for name in names:
            self.touched[name] = when
            found.update(self.dozing.get(name, {}))
        for doze in found:
            doze.rouse(when)
        if any(wait or doze.midway for doze in found):
            yield self.clock.instant(when[0], when[1])

    def residents(self, agent: str) -> list[str]:
        """The names under which the sleepers of an agent's host are roused: its power concerns them all."""
        return self.residents_of(self.specs[agent].host)

    def residents_of(self, host: str) -> list[str]:
        there = [spec for spec in self.specs.values() if spec.host == host]
        homes = tuple(f"{spec.home}/" for spec in there)
        return [f"agent:{spec.name}" for spec in there] + [name for name in self.dozing if name.startswith(homes)]

    def foresee(self, at_ns: int, agents: Iterable[str]) -> None:
        """Draws in one go what these agents' heartbeats, if they sleep, will have to know about `at_ns`."""
        asleep = [doze for name in agents for doze in self.dozing.get(f"agent:{name}", ())]
        self._foresee([doze.series.question(at_ns) for doze in asleep if doze.series.question is not None])

    def foresee_first_beats(self) -> None:
        """Draws in one go what each agent asks when its first beat is over."""
        cadences = [agent.first_cadence for agent in self.agents.values()]
        self._foresee([one.question(one.phase_ns + 1, 0, 0) for one in cadences if one.mode == "fixed-delay"])

    def _foresee(self, questions: list[tuple[Any, int, int]]) -> None:
        if len(questions) >= MANY and "numpy" in sys.modules and not self.choices.overrides.bits:
            from fleetbeat.cadence.vector import foresee

            foresee(questions)

    def rouse_all(self, when: When) -> None:
        """Wakes everybody at the end of the run."""
        for dozing in self.dozing.values():
            for doze in dozing:
                doze.rouse(when)

    # --- look-ups ---

    def manifest(self, agent: str) -> Manifest:
        return self.manifests[self.specs[agent].agent]

    def body(self, data: bytes, when: When, origin: str = "unknown", version: str | None = None) -> str:
        """The digest of a body met at `when`; its record is written the first time."""

        def report(fields: dict[str, Any]) -> None:
            self._met[fields["body"]] = self.recorder.row(when, "harness", "body", fields)

        name = self.bodies.see(data, origin, report, version)
        known = self._met.get(name)
        if known is not None and when < known[:2]:  # whoever acts ahead of the clock may have told of it first
            self._met[name] = self.recorder.row(when, "harness", "body", known[3].fields)
        return name

    def tell_bodies(self) -> None:
        """Records the bodies that were met on the way, each at the first place in the order at which anybody did."""
        self.recorder.keep(list(self._met.values()))
        self._met.clear()

    def host_seconds(self, agent: str, at_ns: int) -> float:
        """What the clock of the agent's host shows."""
        host = self.hosts[self.specs[agent].host]
        return float(at_ns * (1 + host.clock_ppm * 1e-6) + host.clock_offset) / 1e9


def _may_lose_power(scenario: Scenario) -> bool:
    """Whether what was synced and what was not will ever matter."""
    crashes = scenario.fleet.lifecycle.crashes
    return any(crash.power for crash in crashes) or any(fault.power for fault in scenario.faults)
