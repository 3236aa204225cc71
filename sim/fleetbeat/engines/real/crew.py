"""A crew: one process (or container) and the agents in it.

Agents that our driver plays share a process, up to a hundred, as long as they have the same program and the same user
and none of them must die, stand still or be traced alone. An agent with a command of its own has a process of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.resolve import AgentSpec

#: Most agents in one process. Source: REAL.md (300 in one process need a whole core and beats slip).
MOST = 100


@dataclass(frozen=True, slots=True)
class Crew:
    """`id` is a plain file name: the agent's name where it is alone, else `crew.N`, which is no agent's name.

    `folder` is the agent's folder on this machine; `driver` says that our driver plays it; `spawn_at` is the ns at
    which it comes to be, None for those there from the start.
    """

    id: str
    agents: tuple[AgentSpec, ...]
    manifest: Manifest
    folder: Path
    uid: int
    driver: bool
    spawn_at: int | None = None


def crews_of(
    specs: Sequence[AgentSpec],
    manifests: Mapping[str, Manifest],
    folders: Mapping[str, Path],
    alone: Collection[str] = (),
    most: int = MOST,
) -> tuple[Crew, ...]:
    """All crews, in the order of their first agents. `alone`: names of agents that need a process of their own.

    `manifests` and `folders` are by `AgentSpec.agent`.
    """
    shared: dict[tuple[str, int, int | None], list[AgentSpec]] = {}
    groups: list[list[AgentSpec]] = []
    for spec in specs:
        manifest = manifests[spec.agent]
        if manifest.is_foreign or spec.name in alone or most == 1:
            groups.append([spec])
            continue
        key = (spec.agent, spec.uid, spec.spawn_at)
        group = shared.get(key)
        if group is None or len(group) >= most:
            group = shared[key] = []
            groups.append(group)
        group.append(spec)
    crews: list[Crew] = []
    for group in groups:
        first = group[0]
        manifest = manifests[first.agent]
        name = first.name if len(group) == 1 else f"crew.{len(crews)}"
        folder = folders[first.agent]
        crews.append(Crew(name, tuple(group), manifest, folder, first.uid, not manifest.is_foreign, first.spawn_at))
    return tuple(crews)
