"""The world of one run in real time, in one object passed along: twin of `engines.des.world`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.engines.injector import Injector
from fleetbeat.engines.real.crew import Crew
from fleetbeat.engines.real.hosting import Hosting
from fleetbeat.engines.real.loop import Loop
from fleetbeat.engines.real.means import MeansPlan
from fleetbeat.engines.real.observer import Observer
from fleetbeat.engines.real.play_files import HarnessFiles, Users
from fleetbeat.engines.real.records import Clock, Sink
from fleetbeat.engines.real.root import FleetRoot
from fleetbeat.engines.recorder import Row, Tie, When
from fleetbeat.history.records import Record
from fleetbeat.protocol.vocabulary import Op
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Host, Scenario
from fleetbeat.scenario.resolve import AgentSpec


class _Rows:
    """Rows of which only those about faults are kept: what the harness's own hands do is no part of the history."""

    def row(self, when: When, actor: str, kind: str, fields: Mapping[str, Any]) -> Row:
        return (when[0], when[1], 0, Record(when[0], actor, kind, fields))


class _Blind:
    """What an operation shows outside is for the observer to see."""

    def after(self, when: When, body: Any, op: Op, path: str, answer: Any) -> None:
        return


@dataclass(slots=True)
class World:
    """`crews` by id; `crew_of` by agent; `lives`: the number of each agent's life, absent before its first."""

    scenario: Scenario
    specs: dict[str, AgentSpec]
    manifests: dict[str, Manifest]
    choices: Hashed
    injector: Injector
    clock: Clock
    sink: Sink
    loop: Loop
    users: Users
    root: FleetRoot
    files: HarnessFiles
    hosting: Hosting
    observer: Observer
    means: MeansPlan
    crews: dict[str, Crew]
    crew_of: dict[str, Crew]
    lives: dict[str, int] = field(default_factory=dict)
    recorder: _Rows = field(default_factory=_Rows)
    watch: _Blind = field(default_factory=_Blind)

    @property
    def now(self) -> int:
        return self.clock.now()

    def when(self, step: Step) -> When:
        """Now, in the form that the simulation's parts take."""
        return (self.clock.now(), Tie(self.choices, step))

    def manifest(self, agent: str) -> Manifest:
        return self.manifests[self.specs[agent].agent]

    def host(self, agent: str) -> Host:
        return next(host for host in self.scenario.fleet.hosts if host.name == self.specs[agent].host)

    def body(self, data: bytes, when: When, origin: str = "unknown", version: str | None = None) -> str:
        return self.sink.body(data, when[0], origin, version)

    def watch_agent(self, spec: AgentSpec) -> None:
        """Has the observer watch an agent from now on. What stands in its home is the start that the history knows."""
        host, uid = self.host(spec.name), self.users.real(spec.uid)
        home, manifest = self.root.home(spec.home), self.manifest(spec.name)
        self.observer.watch(spec, home, manifest, uid, host.clock_offset, host.clock_ppm)

    def host_seconds(self, agent: str, at_ns: int) -> float:
        """Not asked for: nobody but agents writes log entries here."""
        raise NotImplementedError
