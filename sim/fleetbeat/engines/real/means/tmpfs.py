"""A small disk as a means: the byte budgets of hosts (`disk`, `system_disk`), by a true ENOSPC.

One tmpfs for each budget, a part of it bound over each agent's home or its system/. Agents on it fill it together, as in
the simulation; other than there each file takes whole pages.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetbeat.engines.real.means.disks import PAGE, pages, part_over
from fleetbeat.engines.real.means.model import Idle, Stage, Tally
from fleetbeat.engines.real.means.mounts import mount_disk, unmount
from fleetbeat.scenario.resolve import AgentSpec

#: Files, of at least a page each, that an agent needs before any rules arrive: in system/ its prompt; in its home also
#: its heartbeat and its log.
LEAST = {"system_disk": 1, "disk": 3}


@dataclass(frozen=True, slots=True)
class Budget:
    """A disk of `size` bytes for these agents. `kind`: disk (their homes) or system_disk (system/ in them)."""

    host: str
    kind: str
    size: int
    agents: tuple[AgentSpec, ...]

    @property
    def fault(self) -> str:
        return f"{self.kind}:{self.host}"


def why_not(budget: Budget) -> str | None:
    """Why a tmpfs cannot be this disk, on any machine."""
    have = budget.size // PAGE
    need = sum(
        LEAST[budget.kind] + (0 if spec.start.rules is None else pages(len(spec.start.rules.encode())))
        for spec in budget.agents
    )
    if have >= need:
        return None
    return (
        f"a tmpfs gives each file whole pages of {PAGE} bytes: {budget.size} bytes are {have} pages, and before any"
        f" rules arrive its {len(budget.agents)} agents need {need}"
    )


class Tmpfs(Idle):
    def __init__(self, budgets: Sequence[Budget]) -> None:
        self._budgets = budgets
        self._mounted: list[Path] = []
        self._made: list[Path] = []
        self._is_full: dict[str, bool] = {}
        self.tallies = {budget.fault: Tally() for budget in budgets}

    def prepare(self, stage: Stage, agents: Collection[str]) -> None:
        """Raises `OSError`."""
        for budget in self._budgets:
            by_depth = sorted(budget.agents, key=lambda spec: spec.home.count("/"))
            for spec in by_depth:
                if spec.name in agents and not self._is_inside(spec, budget):
                    self._lay(stage, budget, spec)

    def look(self, stage: Stage) -> None:
        """Counts how often each disk became full."""
        for budget in self._budgets:
            place = self._place(stage, budget)
            if place not in self._made:
                continue
            is_full = os.statvfs(place).f_bavail == 0
            if is_full and not self._is_full.get(budget.fault):
                self.tallies[budget.fault].fired += 1
                self.tallies[budget.fault].observed += 1
            self._is_full[budget.fault] = is_full

    def remove(self, stage: Stage) -> None:
        while self._mounted:
            unmount(self._mounted[-1])
            self._mounted.pop()
        while self._made:
            self._made.pop().rmdir()

    def _lay(self, stage: Stage, budget: Budget, spec: AgentSpec) -> None:
        place = self._place(stage, budget)
        if place not in self._made:
            place.mkdir(mode=0o711)
            self._made.append(place)
            mount_disk(place, budget.size // PAGE * PAGE, 0, 0o711)
            self._mounted.append(place)
        home = stage.home(spec.name)
        directory = home if budget.kind == "disk" else home / "system"
        part_over(directory, place / spec.name)
        self._mounted.append(directory)

    def _place(self, stage: Stage, budget: Budget) -> Path:
        return stage.root() / f"disk.{budget.host}.{budget.kind}"

    def _is_inside(self, spec: AgentSpec, budget: Budget) -> bool:
        """Whether its home lies in the home of another agent on the same disk, and so on that disk."""
        return budget.kind == "disk" and any(spec.home.startswith(f"{other.home}/") for other in budget.agents)


def budgets_of(hosts: Sequence[object], specs: Sequence[AgentSpec]) -> list[Budget]:
    """The budgets of a scenario's hosts, those without agents left out."""
    by_host: dict[str, list[AgentSpec]] = {}
    for spec in specs:
        by_host.setdefault(spec.host, []).append(spec)
    found = []
    for host in hosts:
        name = str(getattr(host, "name", ""))
        sizes: Mapping[str, int | None] = {kind: getattr(host, kind) for kind in LEAST}
        for kind, size in sizes.items():
            if size is not None and name in by_host:
                found.append(Budget(name, kind, size, tuple(by_host[name])))
    return found
