"""Which kinds of fault an engine can carry out on a machine, and why not: asked of the plan itself, by small scenarios.

Rejected: a list kept by hand, which would say something else than the plan one day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.engines.real.means.choose import plan_means
from fleetbeat.engines.real.means.model import Chosen, Machine
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec, agents

OURS, THEIRS = Manifest(name="ours"), Manifest(name="theirs", command=("agent",))
_STALLS = {"per_hour": 1, "length": "1s"}
_ROLLOUT = {"version": "v", "at": "1s", "targets": "all", "body": "x", "uid": 0}


def _fault(**fields: Any) -> dict[str, Any]:
    return {"faults": [{"operation": "unlink", **fields}]}


def _fleet(**fields: Any) -> dict[str, Any]:
    return {"fleet": {"agents": 1, **fields}}


def _host(**fields: Any) -> dict[str, Any]:
    return _fleet(hosts=[{"name": "h", **fields}])


#: Kind -> a scenario with one of it.
KINDS: Mapping[str, Mapping[str, Any]] = {
    "an error at a call, each time": _fault(error="EIO"),
    "an error at a call, by occurrence": _fault(error="EIO", occurrence=1),
    "an error at a call, by chance": _fault(error="EIO", probability=0.5),
    "an error in a window": _fault(error="EIO", **{"from": "1s", "to": "2s"}),
    "an error after half or all of a call": _fault(operation="write", error="EIO", effect="partial"),
    "no right to read the signal": _fault(operation="read", error="EACCES"),
    "no right to unlink the signal": {**_fault(error="EPERM"), "rollouts": [_ROLLOUT]},
    "system/ read-only": _fault(operation="write", error="EROFS"),
    "a delay at a call": _fault(delay="1s"),
    "a delay of varying length": _fault(delay={"kind": "uniform", "low": "1s", "high": "2s"}),
    "a pause at a call": _fault(pause="1s"),
    "a crash before or after a call": _fault(crash="after", restart="1s"),
    "crashes at a rate": {"faults": [{"crash": "before", "per_hour": 1}]},
    "pauses at a rate": {"faults": [{"pause": "1s", "per_hour": 1}]},
    "stalls of the beat thread": _fleet(heartbeat={"stalls": _STALLS}),
    "a crash at a time": _fleet(lifecycle={"crashes": [{"agents": "all", "at": "1s"}]}),
    "a small disk": _host(disk="1MB"),
    "a small disk below system/": _host(system_disk="1MB"),
    "a clock that is off or drifts": _host(clock_offset="1s"),
    "a loss of power": _fault(crash="after", power=True),
    "faults of operators": {"faults": [{"on": "operators", "operation": "rename", "error": "EIO"}]},
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One kind with one engine, for agents that our driver plays (`ours`) and for those with a command (`theirs`).

    Each is the means' name, or None with the reason beside it.
    """

    kind: str
    ours: str | None
    ours_why: str | None
    theirs: str | None
    theirs_why: str | None


def answers(engine: str, machine: Machine) -> list[Answer]:
    """All kinds, with this engine on this machine."""
    found = []
    for kind, fields in KINDS.items():
        scenario = _scenario(fields)
        ours, ours_why = _ask(scenario, engine, machine, OURS)
        theirs, theirs_why = _ask(scenario, engine, machine, THEIRS)
        found.append(Answer(kind, ours, ours_why, theirs, theirs_why))
    return found


def asked(
    scenario: Scenario, specs: Sequence[AgentSpec], manifests: Mapping[str, Manifest], engine: str, machine: Machine
) -> tuple[tuple[Chosen, ...], tuple[str, ...]]:
    """How this scenario's faults are carried out, or () and a line for each that cannot be."""
    try:
        return plan_means(scenario, specs, manifests, engine, machine).chosen, ()
    except CannotDo as error:
        return (), tuple(str(line) for line in error.lines)


def _ask(scenario: Scenario, engine: str, machine: Machine, manifest: Manifest) -> tuple[str | None, str | None]:
    specs = agents(scenario)
    chosen, refused = asked(scenario, specs, {spec.agent: manifest for spec in specs}, engine, machine)
    if refused:
        return None, refused[0].partition(": ")[2].rpartition(" on a-0: ")[2]
    return chosen[0].means if chosen else "driver", None


def _scenario(fields: Mapping[str, Any]) -> Scenario:
    return Scenario.model_validate({"fleet": {"agents": 1}, **fields})
