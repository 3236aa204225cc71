"""What a run in real time says about itself, for the report: how late it was seen, which means struck, what is noted.

A simulated run says none of this, and its report has no such part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleetbeat.history.records import Record

#: Most notes and gaps that a report holds.
MOST = 1000


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """Times in ns, None where nothing was measured. `what`: observation, clock."""

    what: str
    count: int
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class CountRow:
    """One fault: by which means, how often it was to fire (None: not known beforehand), fired, and was seen to have
    had its effect; `removed`: nothing of it is left."""

    fault: str
    means: tuple[str, ...]
    planned: int | None
    fired: int
    observed: int
    removed: bool


@dataclass(frozen=True, slots=True)
class NoteRow:
    """Words for people, about an agent or about none; `told` is what somebody's process wrote, "" for nothing."""

    t: int
    agent: str | None
    text: str
    told: str


@dataclass(frozen=True, slots=True)
class GapRow:
    """Something that was not seen for a while, of an agent or of all."""

    agent: str | None
    start: int
    end: int
    missing: str


@dataclass(frozen=True, slots=True)
class Real:
    """`notes_total` and `gaps_total` count the uncut lists."""

    measured: tuple[MeasuredRow, ...]
    counts: tuple[CountRow, ...]
    notes: tuple[NoteRow, ...]
    notes_total: int
    gaps: tuple[GapRow, ...]
    gaps_total: int


def real(records: Sequence[Record]) -> Real | None:
    """What the records say; None for a run that was not in real time (nothing was measured, nothing noted)."""
    found: dict[str, list[Record]] = {kind: [] for kind in ("measured", "fault.count", "note", "unseen")}
    for record in records:
        if record.kind in found:
            found[record.kind].append(record)
    if not found["measured"] and not found["note"]:
        return None
    notes = [NoteRow(one.t, one.get("agent"), one["text"], one.get("told") or "") for one in found["note"]]
    gaps = [GapRow(one.get("agent"), one["from"], one["to"], one["missing"]) for one in found["unseen"]]
    return Real(
        measured=tuple(
            MeasuredRow(one["what"], one["count"], *(one.get(name) for name in ("p50", "p90", "p99", "max")))
            for one in found["measured"]
        ),
        counts=tuple(
            CountRow(
                one["fault"], tuple(one["means"]), one.get("planned"), one["fired"], one["observed"], one["removed"]
            )
            for one in found["fault.count"]
        ),
        notes=tuple(notes[:MOST]),
        notes_total=len(notes),
        gaps=tuple(gaps[:MOST]),
        gaps_total=len(gaps),
    )
