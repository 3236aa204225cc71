"""The simulation's parameters, taken from what a real run measured.

From `timing` records (what drivers report of beats: each operation's kind, start, end and result, without what a fault
delayed) come the latencies, as the measured values themselves (evenly picked quantiles of them); looking is constant, so
its median. From idle spans comes the overhead of a beat: how much longer the mean time from beat to beat is than in a
simulation of the same scenario. Only agents' latencies are measured; operators' are played by the harness as the
scenario gives them. What a scenario's faults do is never calibrated: it is what is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Empirical, Heartbeat, Latency, Scenario

LOOKS = ("stat", "list")
#: Failures that belong to an idle beat or an ordinary one, and take as long as a success.
USUAL = {"stat": "ENOENT", "mkdir": "EEXIST"}
KINDS = ("open", "read", "write", "truncate", "close", "rename", "unlink", "mkdir", "sync", "emit")
#: Fewer measurements than this say nothing of a kind; its latency stays as the scenario has it.
FEWEST = 5
#: Quantiles that stand for all that was measured of a kind.
QUANTILES = 64


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of operation: how many were measured, and quantiles in ns, ascending."""

    kind: str
    count: int
    values: tuple[int, ...]

    @property
    def median(self) -> int:
        return self.values[len(self.values) // 2]


@dataclass(frozen=True, slots=True)
class Calibration:
    """`overhead_ns`: what a real beat takes beyond its interval and its operations; None where no span told it."""

    kinds: tuple[Kind, ...]
    overhead_ns: int | None = None
    beats: int = 0


def measure(histories: Iterable[Sequence[Record]]) -> Calibration:
    """The latencies that real runs measured, without the overhead, which takes a simulation (`overhead`)."""
    found: dict[str, list[int]] = {}
    beats = 0
    for records in histories:
        for record in records:
            if record.kind == "timing":
                beats += 1
                for kind, start, end, result in record["ops"]:
                    if result in ("ok", USUAL.get(kind)):
                        found.setdefault(kind, []).append(max(1, end - start))
    kinds = tuple(
        Kind(kind, len(found[kind]), _quantiles(sorted(found[kind])))
        for kind in (*LOOKS, *KINDS)
        if len(found.get(kind, ())) >= FEWEST
    )
    return Calibration(kinds, None, beats)


def _quantiles(ordered: Sequence[int]) -> tuple[int, ...]:
    """All values, or as many at even ranks as stand for them."""
    if len(ordered) <= QUANTILES:
        return tuple(ordered)
    return tuple(ordered[(2 * index + 1) * len(ordered) // (2 * QUANTILES)] for index in range(QUANTILES))


def periods(histories: Iterable[Sequence[Record]]) -> dict[str, float]:
    """Agent -> mean ns from one beat to the next over its idle spans; agents without such a span are left out."""
    spent: dict[str, int] = {}
    counted: dict[str, int] = {}
    for records in histories:
        for record in records:
            if record.kind == "beats" and record["runnable"] and record["last"] > record["first"]:
                agent = record["agent"]
                spent[agent] = spent.get(agent, 0) + record["last_start"] - record.t
                counted[agent] = counted.get(agent, 0) + record["last"] - record["first"]
    return {agent: spent[agent] / counted[agent] for agent in spent}


def overhead(real: Iterable[Sequence[Record]], simulated: Sequence[Record]) -> int | None:
    """The median over agents of how much longer a real beat's period is than a simulated one's, in ns."""
    measured, expected = periods(real), periods([simulated])
    apart = [measured[agent] - expected[agent] for agent in measured if agent in expected]
    return round(median(apart)) if apart else None


def calibrated(scenario: Scenario, calibration: Calibration) -> Scenario:
    """The scenario with what was measured in it: latencies of fleet and groups, and intervals of fixed-delay beats."""
    groups = tuple(
        group.model_copy(
            update={
                "latency": None if group.latency is None else _latency(group.latency, calibration),
                "heartbeat": None if group.heartbeat is None else _heartbeat(group.heartbeat, calibration),
            }
        )
        for group in scenario.fleet.groups
    )
    fleet = scenario.fleet.model_copy(
        update={
            "latency": _latency(scenario.fleet.latency, calibration),
            "heartbeat": _heartbeat(scenario.fleet.heartbeat, calibration),
            "groups": groups,
        }
    )
    return scenario.model_copy(update={"fleet": fleet})


def _latency(latency: Latency, calibration: Calibration) -> Latency:
    changed: dict[str, Any] = {
        kind.kind: kind.median if kind.kind in LOOKS else _empirical(kind.values) for kind in calibration.kinds
    }
    return latency.model_copy(update=changed)


def _empirical(values: Sequence[int]) -> Empirical:
    """A spread of values in ns; a model takes a bare number for seconds."""
    return Empirical.model_validate({"kind": "empirical", "values": [f"{value}ns" for value in values]})


def _heartbeat(heartbeat: Heartbeat, calibration: Calibration) -> Heartbeat:
    """A fixed rate makes up for what its work takes; a fixed delay adds it to each interval."""
    if calibration.overhead_ns is None or heartbeat.mode != "fixed-delay":
        return heartbeat
    return heartbeat.model_copy(update={"interval": max(1_000_000, heartbeat.interval + calibration.overhead_ns)})
