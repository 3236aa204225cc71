"""From a scenario to explicit data: who lives where, who is meant by a selector, in which waves, with which bytes.

Pure functions. A share of the fleet is drawn by a hash of a salt and each agent's name (rejected: the first n, or a
shuffle: both move other agents when one is added). The order of every answer is the order of the fleet: groups as
declared, then spawns as declared.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from fleetbeat.scenario.model import Fault, Group, Heartbeat, Latency, Rollout, Scenario, Spawn, Spread, Start
from fleetbeat.scenario.selectors import place_of
from fleetbeat.scenario.selectors import select as select
from fleetbeat.scenario.units import exact


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent, with nothing left to look up.

    `home` is fleet-wide (`/a-3`, or `/a-0/children/b-1` for a child of a-0). `agent` is the name of a program, or the
    path of its folder. `spawn_at` in ns, None for those there from the start. A spawned child runs its parent's
    program with its heartbeat, latency and boot time, on its host, as its user; one without a parent takes the fleet's.
    """

    name: str
    home: str
    group: str
    host: str
    uid: int
    agent: str
    heartbeat: Heartbeat
    latency: Latency
    start: Start
    boot: Spread
    parent: str | None = None
    spawn_at: int | None = None
    hand_down: str = "none"


def groups(scenario: Scenario) -> tuple[Group, ...]:
    """The fleet's groups; `agents: N` is one group, called a."""
    fleet = scenario.fleet
    return fleet.groups if fleet.agents is None else (Group.model_construct(name="a", count=fleet.agents),)


def agents(scenario: Scenario) -> tuple[AgentSpec, ...]:
    """All agents in order: the groups', then the spawned ones. The agents of a group are spread over its hosts in turn.

    Raises ValueError if parents do not exist or go round in a circle; loading refuses such a scenario.
    """
    origins: tuple[Group | Spawn, ...] = (*groups(scenario), *scenario.fleet.lifecycle.spawns)
    parents = frozenset(origin.parent for origin in origins if origin.parent)
    known: dict[str, AgentSpec] = {}
    made: dict[int, list[AgentSpec]] = {}
    while len(made) < len(origins):
        ready = [i for i, o in enumerate(origins) if i not in made and (o.parent is None or o.parent in known)]
        if not ready:
            raise ValueError("a parent does not exist, or parents go round in a circle")
        for i in ready:
            origin = origins[i]
            parent = known[origin.parent] if origin.parent else None
            made[i] = list(
                _born(scenario, origin, parent) if isinstance(origin, Spawn) else _there(scenario, origin, parent)
            )
            known.update((spec.name, spec) for spec in made[i] if spec.name in parents)
    return tuple(spec for i in range(len(origins)) for spec in made[i])


def _there(scenario: Scenario, group: Group, parent: AgentSpec | None) -> Iterator[AgentSpec]:
    """The agents of a group. What it does not give is the fleet's (loading has filled in parts of sections)."""
    fleet = scenario.fleet
    hosts = group.hosts or tuple(host.name for host in fleet.hosts)
    uid = fleet.uid if group.uid is None else group.uid
    agent = group.agent or fleet.agent
    heartbeat, latency = group.heartbeat or fleet.heartbeat, group.latency or fleet.latency
    start, boot = group.start or fleet.start, group.boot or fleet.lifecycle.boot
    root, above = _root(parent), parent.name if parent else None
    for i in range(group.count):
        name, host = f"{group.name}-{i}", hosts[i % len(hosts)]
        yield AgentSpec(name, f"{root}/{name}", group.name, host, uid, agent, heartbeat, latency, start, boot, above)


def _born(scenario: Scenario, spawn: Spawn, parent: AgentSpec | None) -> Iterator[AgentSpec]:
    fleet = scenario.fleet
    for i in range(spawn.count):
        name = f"{spawn.name}-{i}"
        yield AgentSpec(
            name=name,
            home=f"{_root(parent)}/{name}",
            group=spawn.name,
            host=parent.host if parent else fleet.hosts[i % len(fleet.hosts)].name,
            uid=parent.uid if parent else fleet.uid,
            agent=parent.agent if parent else fleet.agent,
            heartbeat=parent.heartbeat if parent else fleet.heartbeat,
            latency=parent.latency if parent else fleet.latency,
            start=spawn.start,
            boot=parent.boot if parent else fleet.lifecycle.boot,
            parent=parent.name if parent else None,
            spawn_at=spawn.at,
            hand_down=spawn.hand_down,
        )


def _root(parent: AgentSpec | None) -> str:
    return f"{parent.home}/children" if parent else ""


def targets(rollout: Rollout, fleet: Sequence[AgentSpec]) -> tuple[str, ...]:
    """The agents that a rollout means, in the order of the fleet; see `select` about agents spawned later."""
    return select(rollout.targets, fleet, _salt(rollout), rollout.at)


def waves(rollout: Rollout, fleet: Sequence[AgentSpec]) -> tuple[tuple[str, ...], ...]:
    """The targets of each wave, in the order of the fleet; all together they are `targets`, each once.

    A wave with `upto` fills up to that share of all targets, rounded up, in the order of a hash of (version, name). A
    wave with `targets` takes those of them that no earlier wave took. A wave may be empty.
    """
    everyone = targets(rollout, fleet)
    if not rollout.waves:
        return (everyone,)
    shuffled = sorted(everyone, key=lambda name: (place_of(f"wave/{rollout.version}", name), name))
    taken: set[str] = set()
    found: list[tuple[str, ...]] = []
    for wave in rollout.waves:
        if wave.targets is not None:
            chosen = {name for name in select(wave.targets, fleet, _salt(rollout), rollout.at) if name not in taken}
        else:
            missing = ceil(exact(1.0 if wave.upto is None else wave.upto) * len(everyone)) - len(taken)
            chosen = set([name for name in shuffled if name not in taken][: max(0, missing)])
        found.append(tuple(name for name in everyone if name in chosen))
        taken.update(found[-1])
    return tuple(found)


def _salt(rollout: Rollout) -> str:
    return f"rollout/{rollout.version}"


def fault_ids(scenario: Scenario) -> tuple[str, ...]:
    """The id of each fault: given, or made of what it strikes, with a number among equals from the second on.

    Probability, window, errno, lengths and selector are left out, so that changing one moves no draw.
    """
    taken = {fault.id for fault in scenario.faults if fault.id}
    found: list[str] = []
    for fault in scenario.faults:
        name, base, count = fault.id, _strikes(fault), 1
        while name is None or (fault.id is None and name in taken):
            name, count = base if count == 1 else f"{base}-{count}", count + 1
        taken.add(name)
        found.append(name)
    return tuple(found)


def fault_id(scenario: Scenario, index: int) -> str:
    """The id of one fault of a scenario; see `fault_ids`."""
    return fault_ids(scenario)[index]


def _strikes(fault: Fault) -> str:
    """`unlink-error`, `operators-write-crash`, `power`, `read-delay@logs/*`."""
    effects = {
        "error": fault.error is not None,
        "delay": fault.delay is not None,
        "power": fault.crash is not None and fault.power,
        "crash": fault.crash is not None and not fault.power,
        "pause": fault.pause is not None,
    }
    parts = ["operators"] if fault.on == "operators" else []
    parts += [fault.operation] if fault.operation else []
    parts += [name for name, given in effects.items() if given]
    return "-".join(parts) + (f"@{fault.path}" if fault.path is not None else "")


def default_path(operation: str, prompt: str = "system/system.md") -> str | None:
    """The path, relative to home, that a fault on an agent's operation means if it gives none; None: any path.

    It is the file that the operation is about in the protocol's episode. `prompt` is the path in the agent's manifest.
    """
    if operation in ("read", "unlink", "stat", "rename"):
        return ".rules"
    if operation in ("write", "truncate"):
        return "system/rules.md"
    return {"flush": prompt, "mkdir": "system"}.get(operation)


def body_of(rollout: Rollout) -> bytes:
    """The bytes that a rollout posts.

    Text that is not blank carries its version's id in a line at each end, so that a torn body shows; bytes and blank
    text are posted as they are. `mark` decides otherwise. A scenario that was not loaded with its `file` read, or that
    gives no body, raises ValueError.
    """
    if rollout.body is not None:
        body, marked = rollout.body.encode("utf-8"), bool(rollout.body.strip())
    elif rollout.base64 is not None:
        body, marked = base64.b64decode(rollout.base64, validate=True), False
    else:
        raise ValueError(f"rollout {rollout.version}: its body was not loaded")
    if not (marked if rollout.mark is None else rollout.mark):
        return body
    line = f"<!-- fleetbeat:{rollout.version} -->\n".encode()
    return line + body + b"\n" + line
