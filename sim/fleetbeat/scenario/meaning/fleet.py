"""The fleet: who is there, on which hosts, whose children, and what happens to them."""

from __future__ import annotations

from fleetbeat.scenario.meaning import times
from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.mistakes import listed
from fleetbeat.scenario.model import Crash, Group, Lifecycle, Spawn, Start
from fleetbeat.scenario.read import Path
from fleetbeat.scenario.resolve import groups
from fleetbeat.scenario.selectors import number_of

MOST_AGENTS = 2_000_000
MOST_LEVELS = 32


def check(context: Context) -> None:
    fleet = context.scenario.fleet
    if (fleet.agents is None) == (not fleet.groups):
        got = "none of them" if fleet.agents is None else "both"
        context.at(("fleet",), "exactly one of agents and groups", got=got)
        context.names_known = context.fleet_known = False
        if fleet.agents is None:
            return
    hosts(context)
    names(context)
    parents(context)
    times.heartbeat(context, ("fleet", "heartbeat"), fleet.heartbeat)
    times.latency(context, ("fleet", "latency"), fleet.latency)
    start(context, ("fleet", "start"), fleet.start)
    for index, group in enumerate(fleet.groups):
        one_group(context, ("fleet", "groups", index), group)
    lifecycle(context, ("fleet", "lifecycle"), fleet.lifecycle)


def hosts(context: Context) -> None:
    if not context.hosts:
        context.at(("fleet", "hosts"), "a host or more")
        context.fleet_known = False
    for index, name in enumerate(context.hosts):
        if name in context.hosts[:index]:
            context.at(("fleet", "hosts", index, "name"), "a name that no other host has")
    for index, group in enumerate(context.scenario.fleet.groups):
        host_names(context, ("fleet", "groups", index, "hosts"), group.hosts)


def host_names(context: Context, path: Path, given: tuple[str, ...]) -> None:
    for index, name in enumerate(given):
        if name not in context.hosts:
            context.at((*path, index), listed(context.hosts), known=context.hosts)
            context.fleet_known = False


def _origins(context: Context) -> list[tuple[Path, Group | Spawn]]:
    fleet = context.scenario.fleet
    found: list[tuple[Path, Group | Spawn]] = [
        (("fleet", "groups", i), group) for i, group in enumerate(groups(context.scenario))
    ]
    found += [(("fleet", "lifecycle", "spawns", i), spawn) for i, spawn in enumerate(fleet.lifecycle.spawns)]
    return found


def names(context: Context) -> None:
    seen: set[str] = set()
    total = 0
    for path, origin in _origins(context):
        if origin.name in seen:
            context.at((*path, "name"), "a name that no other group or spawn has", got=repr(origin.name))
            context.names_known = context.fleet_known = False
        seen.add(origin.name)
        total += origin.count
    if total > MOST_AGENTS:
        context.at(("fleet",), f"at most {MOST_AGENTS} agents", got=f"{total} agents")
        context.names_known = context.fleet_known = False


def parents(context: Context) -> None:
    """Parents exist, were there first, and do not go round in a circle."""
    origins = {origin.name: (path, origin) for path, origin in _origins(context)}
    wrong = len(context.mistakes)
    for path, origin in origins.values():
        if origin.parent is None:
            continue
        here = (*path, "parent")
        if not context.is_agent(origin.parent):
            context.agent(here, origin.parent)
            continue
        parent = origins[_group_of(origin.parent)][1]
        if isinstance(parent, Spawn) and not isinstance(origin, Spawn):
            context.at(here, "an agent that is there from the start (this one is spawned later)")
        elif isinstance(parent, Spawn) and isinstance(origin, Spawn) and parent.at > origin.at:
            context.at(here, "an agent that was spawned before its child")
        elif (levels := _levels(origin, origins)) is None or levels > MOST_LEVELS:
            said = (
                "parents that do not go round in a circle"
                if levels is None
                else f"at most {MOST_LEVELS} levels of parents"
            )
            context.at(here, said)
    if len(context.mistakes) > wrong:
        context.fleet_known = False


def _group_of(agent: str) -> str:
    return (number_of(agent) or ("", 0))[0]


def _levels(origin: Group | Spawn, origins: dict[str, tuple[Path, Group | Spawn]]) -> int | None:
    """How many parents stand above this one; None if it is its own ancestor."""
    seen = {origin.name}
    while origin.parent is not None and _group_of(origin.parent) in origins:
        origin = origins[_group_of(origin.parent)][1]
        if origin.name in seen:
            return None
        seen.add(origin.name)
        if len(seen) > MOST_LEVELS + 1:
            break
    return len(seen) - 1


def start(context: Context, path: Path, model: Start) -> None:
    if model.signal_text and model.signal not in ("file", "symlink"):
        context.at((*path, "signal_text"), f"no text, for signal is {model.signal}")
    if model.signal == "symlink" and not model.signal_text:
        context.at((*path, "signal_text"), "the link's target")


def one_group(context: Context, path: Path, group: Group) -> None:
    if group.heartbeat is not None:
        times.heartbeat(context, (*path, "heartbeat"), group.heartbeat)
    if group.latency is not None:
        times.latency(context, (*path, "latency"), group.latency)
    if group.start is not None:
        start(context, (*path, "start"), group.start)
    times.length(context, (*path, "boot"), group.boot)


def lifecycle(context: Context, path: Path, model: Lifecycle) -> None:
    times.length(context, (*path, "boot"), model.boot)
    for index, suspend in enumerate(model.suspend):
        here = (*path, "suspend", index)
        context.selector((*here, "agents"), suspend.agents)
        times.window(context, here, suspend.from_, suspend.to)
    for index, rebuild in enumerate(model.rebuilds):
        here = (*path, "rebuilds", index)
        context.selector((*here, "agents"), rebuild.agents)
        if not rebuild.at and rebuild.every is None:
            context.at(here, "at or every", got="none of them")
    for index, crash in enumerate(model.crashes):
        one_crash(context, (*path, "crashes", index), crash)
    for index, spawn in enumerate(model.spawns):
        here = (*path, "spawns", index)
        start(context, (*here, "start"), spawn.start)
        if spawn.hand_down != "none" and spawn.parent is None:
            context.at((*here, "hand_down"), "a parent as well, or none")


def one_crash(context: Context, path: Path, crash: Crash) -> None:
    if (crash.agents is None) == (not crash.hosts):
        got = "none of them" if crash.agents is None else "both"
        context.at(path, "exactly one of agents and hosts", got=got)
    context.selector((*path, "agents"), crash.agents or ())
    host_names(context, (*path, "hosts"), crash.hosts)
    if crash.unsynced != "lost" and not crash.power:
        context.at((*path, "unsynced"), "power: true as well, for only a power failure loses data")
