"""Cost: file operations, beats, rebuilds, polls and log entries that a run spent.

Operations come from `op` records, from idle spans (`ops` of one beat times the beats of the span) and from operators'
polls. Without `op` records the first part is missing: `observed` says so, and the counts are of idle beats and polls
alone. A `polls` record holds the operations of polls that saw nothing new; the others have `op` records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fleetbeat.history.records import Record


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of one kind, by who made them."""

    kind: str
    agents: int
    operators: int


@dataclass(frozen=True, slots=True)
class Cost:
    """`idle` beats changed nothing; `busy` ones did, or met a fault. `not_runnable` are counted in both."""

    observed: bool
    operations: tuple[Operations, ...]
    beats: int
    idle: int
    busy: int
    not_runnable: int
    cut: int
    ended: int
    rebuilds: int
    polls: int
    logs: tuple[tuple[str, int], ...]


def cost(records: Iterable[Record]) -> Cost:
    """Count everything in one pass; kinds and events sorted by name."""
    agents: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    beats: Counter[str] = Counter()
    logs: Counter[str] = Counter()
    ops = False
    for record in records:
        if record.kind == "op":
            ops = True
            side = operators if record["role"] in ("post", "poll") else agents
            side[record["operation"]] += 1
        elif record.kind == "beats":
            count = record["last"] - record["first"] + 1
            beats["idle"] += count
            beats["not runnable"] += 0 if record["runnable"] else count
            for kind, each in record["ops"].items():
                agents[kind] += each * count
        elif record.kind == "beat":
            beats["busy"] += 1
            beats[record["outcome"]] += 1
            beats["not runnable"] += not record["runnable"]
        elif record.kind == "polls":
            beats["polls"] += record["count"]
            operators.update(record["ops"])
        elif record.kind == "rebuild.end":
            beats["rebuilds"] += 1
        elif record.kind == "log":
            logs[record["event"]] += 1
    kinds = sorted(agents.keys() | operators.keys())
    return Cost(
        observed=ops,
        operations=tuple(Operations(kind, agents[kind], operators[kind]) for kind in kinds),
        beats=beats["idle"] + beats["busy"],
        idle=beats["idle"],
        busy=beats["busy"],
        not_runnable=beats["not runnable"],
        cut=beats["cut"],
        ended=beats["ended"],
        rebuilds=beats["rebuilds"],
        polls=beats["polls"],
        logs=tuple(sorted(logs.items())),
    )
