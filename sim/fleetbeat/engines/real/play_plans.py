"""What each process is told at its start, and what the scenario plans for each agent: twin of what
`engines.des.lifecycle` works out, drawn by the same names."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.crew import Crew
from fleetbeat.engines.real.play_files import remove
from fleetbeat.engines.real.play_world import World
from fleetbeat.protocol.live_plan import AgentPlan, Amount, HeartbeatPlan, LivePlan, RebuildPlan, to_json
from fleetbeat.scenario.resolve import AgentSpec, select

Windows = dict[str, list[tuple[int, int]]]


class Planner:
    """`suspend`, `rebuilds`: what is planned for each agent that any is planned for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.inside: dict[str, int] = {}
        self.suspend: Windows = {}
        self.rebuilds: dict[str, list[RebuildPlan]] = {}
        self._rules = {rule.id: rule for rule in world.injector.rules}
        self._plan()

    def rule(self, fault: str) -> Rule | None:
        """The fault of the scenario with this id."""
        return self._rules.get(fault)

    def prefix(self, crew: Crew, life: int) -> tuple[str, ...]:
        """What goes before the command of a process."""
        return () if crew.driver else tuple(self.world.means.prefix(crew.agents[0].name, life))

    def write(self, crew: Crew, life: int, go: str, seen: Mapping[str, Mapping[str, int]]) -> str:
        """Writes the plan of one life of a crew; returns its path as the process sees it."""
        world = self.world
        there = world.hosting.seen(world.root, crew)
        program = world.hosting.program(crew)
        agents = [self._agent(spec, program, seen.get(spec.name, {})) for spec in crew.agents]
        plan = LivePlan(
            run=world.root.run,
            seed=world.scenario.seed,
            root=there.fleet,
            lease=f"{there.common}/lease",
            go=f"{there.common}/{go}",
            report=f"{there.own}/report.jsonl",
            agents=tuple(agents),
            life=life,
        )
        name = f"plan-{life}.json"
        path = world.root.own(crew.id) / name
        remove(path)  # the directory is the agent's: what it put there is not written to
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
        with os.fdopen(descriptor, "w") as file:
            file.write(to_json(plan) + "\n")
        return f"{there.own}/{name}"

    def _agent(self, spec: AgentSpec, program: str, seen: Mapping[str, int]) -> AgentPlan:
        world = self.world
        host = world.host(spec.name)
        return AgentPlan(
            name=spec.name,
            home=spec.home,
            program=program,
            heartbeat=HeartbeatPlan.like(spec.heartbeat),
            boot=Amount.like(spec.boot),
            clock_offset=host.clock_offset,
            clock_ppm=host.clock_ppm,
            heartbeat_file=world.manifest(spec.name).heartbeat,
            suspend=tuple(self.suspend.get(spec.name, ())),
            rebuilds=tuple(self.rebuilds.get(spec.name, ())),
            stalls=tuple(self.world.means.stalls.get(spec.name, ())),
            faults=tuple(self.world.means.faults.get(spec.name, ())),
            seen=dict(seen),
        )

    def _plan(self) -> None:
        scenario, specs = self.world.scenario, list(self.world.specs.values())
        lifecycle = scenario.fleet.lifecycle
        for number, suspend in enumerate(lifecycle.suspend):
            for name in select(suspend.agents, specs, salt=f"suspend:{number}"):
                self.suspend.setdefault(name, []).append((suspend.from_, suspend.to))
        for number, rebuild in enumerate(lifecycle.rebuilds):
            times = list(rebuild.at)
            if rebuild.every is not None:
                times += range(rebuild.every, scenario.duration, rebuild.every)
            planned = [RebuildPlan(at, rebuild.cause, rebuild.beside_beat) for at in sorted(times)]
            for name in select(rebuild.agents, specs, salt=f"rebuild:{number}"):
                self.rebuilds.setdefault(name, []).extend(planned)
