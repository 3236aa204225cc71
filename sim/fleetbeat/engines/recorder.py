"""Where an engine writes what happens, and the one order in which it is read: (time, tie, step).

Records are kept with the name of the choice that orders their instant and sorted once at the end, so that the order of
a history depends on names alone, never on which engine, queue or shortcut met the record first. Ties are drawn only
when two records of different steps share a nanosecond.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import total_ordering
from typing import Any

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.step import Step
from fleetbeat.history.records import Record


@total_ordering
class Tie:
    """The place of a step among others at the same instant: its tie, drawn when first compared, then the step itself."""

    __slots__ = ("choices", "step", "value")

    def __init__(self, choices: Choices, step: Step, value: int | None = None) -> None:
        self.choices = choices
        self.step = step
        self.value = value

    def drawn(self) -> int:
        if self.value is None:
            self.value = self.choices.tie(self.step)
        return self.value

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Tie and self.step == other.step)

    def __lt__(self, other: Tie) -> bool:
        mine, theirs = self.value, other.value
        if mine is None:
            mine = self.drawn()
        if theirs is None:
            theirs = other.drawn()
        return mine < theirs if mine != theirs else self.step < other.step

    def __hash__(self) -> int:
        return hash(self.step)


#: An instant in the one order of a run: nanoseconds, then tie.
When = tuple[int, Tie]
Row = tuple[int, Tie, int, Record]


class Recorder:
    """Collects records in any order; `history` sorts them."""

    def __init__(self) -> None:
        self.head: list[Record] = []
        self._rows: list[Row] = []
        self._count = 0

    def row(self, when: When, actor: str, kind: str, fields: Mapping[str, Any]) -> Row:
        """A record with its place; the caller keeps it back, or hands it to `keep`."""
        self._count += 1
        return (when[0], when[1], self._count, Record(when[0], actor, kind, fields))

    def keep(self, rows: list[Row]) -> None:
        self._rows.extend(rows)

    def add(self, when: When, actor: str, kind: str, /, **fields: Any) -> None:
        self._rows.append(self.row(when, actor, kind, fields))

    def history(self, end_ns: int, reason: str) -> list[Record]:
        """All records in order; the recorder lets go of what it kept to order them."""
        rows, self._rows = self._rows, []
        rows.sort()
        records = self.head + [row[3] for row in rows]
        records.append(Record(end_ns, "harness", "end", {"reason": reason}))
        return records
