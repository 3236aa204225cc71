"""Where an engine writes what happens, and the one order in which it is read: (time, tie, step).

Records are kept with the name of the choice that orders their instant and sorted once at the end, so that the order of
a history depends on names alone, never on which engine, queue or shortcut met the record first. Ties are drawn only
when two records of different steps share a nanosecond.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import total_ordering
from itertools import pairwise
from operator import itemgetter
from typing import Any

from fleetbeat.chance.choices import TIE, Hashed
from fleetbeat.chance.step import Step
from fleetbeat.history.records import Record


@total_ordering
class Tie:
    """The place of a step among others at the same instant: its tie, drawn when first compared, then the step itself."""

    __slots__ = ("choices", "step", "value")

    def __init__(self, choices: Hashed, step: Step, value: int | None = None) -> None:
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


def draw_all(ties: Sequence[Tie]) -> None:
    """Draws these ties, if they are not yet: many in one go, to the same bits."""
    missing = [tie for tie in ties if tie.value is None]
    if len(missing) < MANY or "numpy" not in sys.modules or missing[0].choices.overrides.ties:
        for tie in missing:
            tie.drawn()
        return
    from fleetbeat.chance.vector import bits_of_steps

    values = bits_of_steps(missing[0].choices.seed, TIE, [tie.step for tie in missing])
    for tie, value in zip(missing, values.tolist(), strict=True):
        tie.value = value


#: An instant in the one order of a run: nanoseconds, then tie.
When = tuple[int, Tie]
Row = tuple[int, Tie, int, Record]


#: So many ties are worth NumPy, if somebody has imported it; whoever knows that there will be tens of thousands does.
MANY = 100

_time = itemgetter(0)
_number = itemgetter(2)


def _place(row: Row) -> tuple[int, Step, int]:
    return row[1].drawn(), row[1].step, row[2]


def _settle_ties(rows: list[Row]) -> None:
    """Puts rows that are sorted by time in their order: those of one instant by tie, step, and order of recording."""
    times = [row[0] for row in rows]
    shared: list[tuple[int, int]] = []
    for index in [index for index, (a, b) in enumerate(pairwise(times), 1) if a == b]:
        if shared and shared[-1][1] == index:
            shared[-1] = (shared[-1][0], index + 1)
        else:
            shared.append((index - 1, index + 1))
    apart: list[tuple[int, int]] = []
    for a, b in shared:
        tie = rows[a][1]
        if all(rows[i][1] is tie for i in range(a + 1, b)):
            rows[a:b] = sorted(rows[a:b], key=_number)
        else:
            apart.append((a, b))
    draw_all([rows[i][1] for a, b in apart for i in range(a, b)])
    for a, b in apart:
        rows[a:b] = sorted(rows[a:b], key=_place)


class Recorder:
    """Collects records in any order; `history` sorts them."""

    def __init__(self) -> None:
        self.head: list[Record] = []
        self._rows: list[Row] = []
        self._count = 0

    def row(self, when: When, actor: str, kind: str, fields: Mapping[str, Any]) -> Row:
        """A record with its place; the caller keeps it back, or hands it to `keep`."""
        self._count = count = self._count + 1
        at_ns, tie = when
        return (at_ns, tie, count, Record(at_ns, actor, kind, fields))

    def keep(self, rows: list[Row]) -> None:
        self._rows.extend(rows)

    def keep_one(self, row: Row) -> None:
        self._rows.append(row)

    def add(self, when: When, actor: str, kind: str, /, **fields: Any) -> None:
        self._rows.append(self.row(when, actor, kind, fields))

    def rows_from(self, place: int) -> list[Row]:
        """What was recorded after the first `place` rows, in the order of recording."""
        return self._rows[place:]

    def latest(self) -> int:
        """The time of the last record so far, in ns; 0 if there is none."""
        return max((row[0] for row in self._rows), default=0)

    def history(self, end_ns: int, reason: str) -> list[Record]:
        """All records in order; the recorder lets go of what it kept to order them."""
        rows, self._rows = self._rows, []
        rows.sort(key=_time)
        _settle_ties(rows)
        records = self.head + [row[3] for row in rows]
        records.append(Record(end_ns, "harness", "end", {"reason": reason}))
        return records
