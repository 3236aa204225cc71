"""The parts of the text report that only a run in real time has."""

from __future__ import annotations

from fleetbeat.metrics.words import seconds
from fleetbeat.report.plain import cut, item, safe, safe_lines
from fleetbeat.report.real import MeasuredRow, NoteRow, Real
from fleetbeat.report.tables import table

#: Notes, and gaps in what was seen, that are shown before "and N more".
SHOWN = 5
#: Lines of one note that are shown.
LINES = 20
#: Things are seen within this on a quiet machine, all but one in a hundred, ns.
BUSY_NS = 10_000_000


def counts(part: Real | None) -> str:
    """One row a fault: planned, fired, observed, removed."""
    if part is None or not part.counts:
        return ""
    rows = []
    for row in part.counts:
        planned = "-" if row.planned is None else str(row.planned)
        means = cut(safe(", ".join(row.means)), 34)
        rows.append(
            [
                cut(safe(row.fault), 24),
                means,
                planned,
                str(row.fired),
                str(row.observed),
                "yes" if row.removed else "NO",
            ]
        )
    return table(["fault", "carried out by", "planned", "fired", "observed", "removed"], rows, texts=2)


def observation(part: Real | None) -> str:
    """How late the observer was, what it missed, and what the machine's clock did."""
    if part is None:
        return ""
    lines = [item(_measured(row)) for row in part.measured]
    for gap in part.gaps[:SHOWN]:
        who = "all agents" if gap.agent is None else safe(gap.agent)
        lines.append(item(f"Not seen from {seconds(gap.start)} to {seconds(gap.end)}, {who}: {safe(gap.missing)}"))
    if part.gaps_total > SHOWN:
        lines.append(f"  ... and {part.gaps_total - SHOWN} more that was not seen")
    return "\n".join(lines)


def _measured(row: MeasuredRow) -> str:
    if row.what == "clock":
        return f"The machine's wall clock stepped by {seconds(row.max or 0)} at most."
    if row.what != "observation":
        return f"{safe(row.what)}: {row.count} measured, p99 {_time(row.p99)}, max {_time(row.max)}."
    if not row.count:
        return "How late things were seen was not measured: no agent wrote a time of its own."
    times = f"p50 {_time(row.p50)}, p90 {_time(row.p90)}, p99 {_time(row.p99)}, max {_time(row.max)}"
    busy = " The machine was busy: times shorter than that say little." if (row.p99 or 0) > BUSY_NS else ""
    return f"Seen later than the agents' own times say, {row.count} measured: {times}.{busy}"


def _time(ns: int | None) -> str:
    return "-" if ns is None else seconds(ns)


def notes(part: Real | None) -> str:
    """What agents' processes wrote last, and what was doubted."""
    if part is None:
        return ""
    lines = [line for row in part.notes[:SHOWN] for line in _note(row)]
    if part.notes_total > SHOWN:
        lines.append(f"  ... and {part.notes_total - SHOWN} more notes")
    return "\n".join(lines)


def _note(row: NoteRow) -> list[str]:
    who = "" if row.agent is None else f"{safe(row.agent)}: "
    told = safe_lines(row.told).split("\n") if row.told else []
    return [item(f"at {seconds(row.t)}: {who}{safe(row.text)}"), *(f"    {cut(line, 96)}" for line in told[-LINES:])]
