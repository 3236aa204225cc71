"""Where two histories part, and what that changed.

Records are compared as their canonical lines, so that a history in memory and one from a file compare alike. After the
first difference the two runs are not aligned again: what follows from it is told by fates and verdicts (the caller
judges both; history does not import checks), not by records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetbeat.history.jsonl import line
from fleetbeat.history.records import Record


@dataclass(frozen=True, slots=True)
class Parting:
    """The first difference: record `index` (from 0) of each side, None where that side has ended.

    `fields`: the names that differ with both values as JSON text, None where absent; `t`, `actor`, `kind` count.
    """

    index: int
    left: Record | None
    right: Record | None
    fields: tuple[tuple[str, str | None, str | None], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """Something judged that differs: `what` is a post's or an invariant's id; None where one side does not have it."""

    what: str
    left: str | None
    right: str | None


def part(left: Sequence[Record], right: Sequence[Record]) -> Parting | None:
    """The first record at which two histories part, None if they are the same."""
    for index in range(max(len(left), len(right))):
        a = left[index] if index < len(left) else None
        b = right[index] if index < len(right) else None
        if a is None or b is None or line(a) != line(b):
            return Parting(index, a, b, _fields(a, b))
    return None


def changes(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[Change, ...]:
    """Keys whose values differ, in sorted order."""
    keys = sorted(left.keys() | right.keys())
    return tuple(Change(key, left.get(key), right.get(key)) for key in keys if left.get(key) != right.get(key))


def _fields(a: Record | None, b: Record | None) -> tuple[tuple[str, str | None, str | None], ...]:
    if a is None or b is None:
        return ()
    left, right = _flat(a), _flat(b)
    names = [*("t", "actor", "kind"), *sorted((left.keys() | right.keys()) - {"t", "actor", "kind"})]
    return tuple((name, left.get(name), right.get(name)) for name in names if left.get(name) != right.get(name))


def _flat(record: Record) -> dict[str, str]:
    everything: dict[str, Any] = {"t": record.t, "actor": record.actor, "kind": record.kind, **record.fields}
    return {name: json.dumps(value, sort_keys=True) for name, value in everything.items()}
