"""The plan of one life of a crew, as the harness tells it to the driver: frozen data, and JSON in a file.

A crew is one process and the agents in it. Times are integer nanoseconds since time 0 of the run, lengths are
nanoseconds. Amounts that vary are spreads as `fleetbeat.chance.spread` reads them. Paths are as the agent sees them.
Everything is decided in the plan but what depends on the agent's own steps (which beat, which operation): that is drawn
from the seed by name, as every engine does. Standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Amount:
    """A spread: its kind and that kind's parameters; the others stand at nought. See `chance.spread.quantile`."""

    kind: str = "none"
    value: int = 0
    low: int = 0
    high: int = 0
    mean: int = 0
    sd: int = 0
    median: int = 0
    sigma: float = 0.0
    values: tuple[int, ...] = ()

    @classmethod
    def like(cls, spread: Any) -> Amount:
        """The same spread as anything that has its fields, such as the scenario's models."""
        return cls(**{item.name: getattr(spread, item.name) for item in fields(cls) if hasattr(spread, item.name)})


@dataclass(frozen=True, slots=True)
class HeartbeatPlan:
    """What `fleetbeat.cadence.make_cadence` reads of a heartbeat."""

    mode: str = "fixed-delay"
    interval: int = 1_000_000_000
    jitter: Amount = Amount()
    phase: str = "random"
    splay: int = 0

    @classmethod
    def like(cls, heartbeat: Any) -> HeartbeatPlan:
        """The same heartbeat as the scenario's (its stalls are planned one by one, in `AgentPlan.stalls`)."""
        jitter = Amount.like(heartbeat.jitter)
        return cls(heartbeat.mode, heartbeat.interval, jitter, heartbeat.phase, heartbeat.splay)


@dataclass(frozen=True, slots=True)
class RebuildPlan:
    """`beside`: in a thread of its own; else on the heartbeat's thread, between beats."""

    at: int
    cause: str = "rebuild"
    beside: bool = False


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """One fault on one agent, carried out by the driver at the call.

    `operation` is the vocabulary's kind (a flush is a write at the prompt's path, so `pattern` says which); `pattern`
    is a glob relative to home, None for any path; `error` an errno's name; `end` None: no end.
    """

    id: str
    operation: str
    pattern: str | None = None
    begin: int = 0
    end: int | None = None
    occurrence: tuple[int, ...] = ()
    probability: float | None = None
    error: str | None = None
    effect: str = "before"
    delay: Amount | None = None
    pause: Amount | None = None
    crash: str | None = None

    @classmethod
    def like(cls, name: str, operation: str, pattern: str | None, fault: Any) -> FaultPlan:
        """The fault `name` as a scenario's `fault` has it, compiled to an operation's kind and a pattern."""
        return cls(
            id=name,
            operation=operation,
            pattern=pattern,
            begin=fault.from_,
            end=fault.to,
            occurrence=tuple(fault.occurrence),
            probability=fault.probability,
            error=fault.error,
            effect=fault.effect,
            delay=None if fault.delay is None else Amount.like(fault.delay),
            pause=None if fault.pause is None else Amount.like(fault.pause),
            crash=fault.crash,
        )


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """One agent of the crew. `heartbeat_file` is relative to home, None for an agent that writes none.

    `suspend`: windows (from, to) in which it must not consume; `stalls`: (at, length) in which its heartbeat's thread
    stands still. `seen`: occurrences that its faults have counted in earlier lives, by fault.
    """

    name: str
    home: str
    program: str
    heartbeat: HeartbeatPlan = HeartbeatPlan()
    boot: Amount = Amount("constant")
    clock_offset: int = 0
    clock_ppm: float = 0.0
    heartbeat_file: str | None = ".agent.heartbeat"
    suspend: tuple[tuple[int, int], ...] = ()
    rebuilds: tuple[RebuildPlan, ...] = ()
    stalls: tuple[tuple[int, int], ...] = ()
    faults: tuple[FaultPlan, ...] = ()
    seen: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LivePlan:
    """One life of a crew. `root` is the fleet's root directory; `lease`, `go` and `report` are files.

    The driver ends itself when nobody has renewed the lease for `lease_s` seconds.
    """

    run: str
    seed: int
    root: str
    lease: str
    go: str
    report: str
    agents: tuple[AgentPlan, ...]
    life: int = 0
    lease_s: float = 20.0
    format: int = FORMAT


def to_json(plan: LivePlan) -> str:
    """One line of JSON. What stands at its default is left out, but the format."""
    return json.dumps({"format": plan.format, **_short(plan)})


def from_json(text: str) -> LivePlan:
    """The plan in a text. Raises `ValueError` saying what was got and what was expected."""
    try:
        data = json.loads(text)
        got = data["format"]
        if got == FORMAT:
            return LivePlan(**{**data, "agents": tuple(_agent(agent) for agent in data["agents"])})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"plan of a crew: {type(error).__name__}: {error}") from error
    raise ValueError(f"plan of a crew: got format {got!r:.40}, expected {FORMAT}")


def _short(item: Any) -> dict[str, Any]:
    """A frozen item as JSON data without its defaults."""
    kept: dict[str, Any] = {}
    for part in fields(item):
        value = getattr(item, part.name)
        default = part.default if part.default_factory is MISSING else part.default_factory()
        if value != default:
            kept[part.name] = _data(value)
    return kept


def _data(value: Any) -> Any:
    if isinstance(value, Amount):
        return {"kind": value.kind, **_short(value)}
    if isinstance(value, (HeartbeatPlan, RebuildPlan, FaultPlan, AgentPlan)):
        return _short(value)
    if isinstance(value, tuple):
        return [_data(part) for part in value]
    return dict(value) if isinstance(value, Mapping) else value


def _agent(data: dict[str, Any]) -> AgentPlan:
    return AgentPlan(
        **{
            **data,
            **({"heartbeat": _heartbeat(data["heartbeat"])} if "heartbeat" in data else {}),
            **({"boot": _amount(data["boot"])} if "boot" in data else {}),
            "suspend": tuple((begin, end) for begin, end in data.get("suspend", ())),
            "rebuilds": tuple(RebuildPlan(**rebuild) for rebuild in data.get("rebuilds", ())),
            "stalls": tuple((at, length) for at, length in data.get("stalls", ())),
            "faults": tuple(_fault(fault) for fault in data.get("faults", ())),
        }
    )


def _heartbeat(data: dict[str, Any]) -> HeartbeatPlan:
    return HeartbeatPlan(**{**data, **({"jitter": _amount(data["jitter"])} if "jitter" in data else {})})


def _fault(data: dict[str, Any]) -> FaultPlan:
    amounts = {name: _amount(data[name]) for name in ("delay", "pause") if data.get(name) is not None}
    return FaultPlan(**{**data, **amounts, "occurrence": tuple(data.get("occurrence", ()))})


def _amount(data: dict[str, Any]) -> Amount:
    return Amount(**{**data, "values": tuple(data.get("values", ()))})
