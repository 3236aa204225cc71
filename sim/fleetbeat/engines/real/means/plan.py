"""The plan of means at work: what the harness calls, in the order in which `means` lists it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.means.model import Action, Chosen, Idle, Means, Stage, Tally
from fleetbeat.engines.real.means.strace import Strace
from fleetbeat.protocol.live_plan import FaultPlan


class MeansPlan:
    """`chosen`: how each fault is carried out. `alone`: agents that need a process of their own. `faults`, `stalls`: what
    our driver is told, by agent. `means`: all means at work, by their names in `MEANS`."""

    def __init__(
        self,
        chosen: Sequence[Chosen],
        alone: frozenset[str],
        faults: Mapping[str, tuple[FaultPlan, ...]],
        stalls: Mapping[str, tuple[tuple[int, int], ...]],
        means: Mapping[str, Means],
        disks: Mapping[str, Mapping[str, str]],
        strace: Strace | None,
    ) -> None:
        self.chosen = tuple(chosen)
        self.alone = alone
        self.faults = faults
        self.stalls = stalls
        self._means = means
        self._disks = disks
        self._strace = strace
        self._stage: Stage | None = None
        self._actions = sorted(
            (action for one in means.values() for action in one.actions()), key=lambda action: action.at_ns
        )

    @property
    def actions(self) -> Sequence[Action]:
        """What is done at planned times, in their order. Running one raises `OSError` where the machine refuses."""
        return self._actions

    def prepare(self, stage: Stage) -> None:
        """Once, when the homes are there and nobody watches or runs: mounts are made now.

        Raises `EngineError` for what the machine refuses all the same; what was made then is taken away by `remove`.
        """
        self._stage = stage
        agents = dict.fromkeys(name for one in self.chosen for name in one.agents)
        for name, one in self._means.items():
            try:
                one.prepare(stage, agents)
            except OSError as error:
                raise EngineError(
                    f"{name}: got {error.strerror or error} at {error.filename}, expected to be able to"
                ) from error

    def prefix(self, agent: str, life: int) -> tuple[str, ...]:
        """Words before the command of this life of a foreign agent; after `prepare`."""
        return () if self._strace is None or self._stage is None else self._strace.prefix(self._stage, agent, life)

    def started(self, stage: Stage, agent: str, life: int) -> None:
        """A process of this agent was just started. Raises `EngineError`."""
        for one in self._means.values():
            one.started(stage, agent, life)

    def look(self, stage: Stage) -> None:
        """What the means saw fire since the last look: they record it, and end or resume whom that means."""
        for one in self._means.values():
            one.look(stage)

    def fired(self, fault: str, agent: str) -> None:
        """The harness, or our driver by its report, has carried out this fault on this agent."""
        for name in ("harness", "driver"):
            tally = self._means[name].tallies.get(fault) if name in self._means else None
            if tally is not None:
                tally.fired += 1
                tally.observed += 1
                return

    def disk_of(self, agent: str, path: str) -> str | None:
        """The name of the fault that an ENOSPC at a path relative to an agent's home is, if its disk is small."""
        disks = self._disks.get(agent, {})
        if path.startswith("system/") and "system_disk" in disks:
            return disks["system_disk"]
        return disks.get("disk")

    def release(self, stage: Stage) -> None:
        """Right before the agents are ended: strace lets go of them. Nothing that fires afterwards is told."""
        if self._strace is not None:
            self._strace.release(stage)

    def remove(self, stage: Stage) -> None:
        """At the end, after the agents: nothing of a fault stays. What could not be removed is said by `counts`."""
        for one in self._means.values():
            try:
                one.remove(stage)
            except OSError:
                for tally in one.tallies.values():
                    tally.removed = False

    def counts(self) -> list[dict[str, Any]]:
        """Fields of a `fault.count` record for each fault, in the order of the plan."""
        found = []
        for fault in dict.fromkeys(one.fault for one in self.chosen):
            means = list(dict.fromkeys(one.means for one in self.chosen if one.fault == fault))
            tallies = [self._means[name].tallies.get(fault, Tally()) for name in means]
            planned = [tally.planned for tally in tallies]
            found.append(
                {
                    "fault": fault,
                    "means": means,
                    "planned": None if None in planned else sum(number or 0 for number in planned),
                    "fired": sum(tally.fired for tally in tallies),
                    "observed": sum(tally.observed for tally in tallies),
                    "removed": all(tally.removed for tally in tallies),
                }
            )
        return found


class Played(Idle):
    """The faults of operators, whom the harness plays: it tells what fired."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.tallies = {fault: Tally() for fault in faults}
