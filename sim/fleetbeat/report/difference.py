"""Where two runs part, in words: the first record that differs, its fields, then fates and verdicts that changed."""

from __future__ import annotations

from collections.abc import Sequence

from fleetbeat.history.diff import Change, Parting
from fleetbeat.history.records import Record
from fleetbeat.metrics.words import seconds
from fleetbeat.report.plain import counted, cut, item, safe
from fleetbeat.report.tables import table

SHOWN = 20
_VALUE = 40


def render(
    parting: Parting,
    fates: Sequence[Change],
    verdicts: Sequence[Change],
    names: tuple[str, str],
    lengths: tuple[int, int],
) -> str:
    """The whole text. `names`: of the two runs; `lengths`: their numbers of records."""
    lines = [f"The runs part at record {parting.index + 1} (line {parting.index + 1} of both files)."]
    for side, name, record, length in zip("12", names, (parting.left, parting.right), lengths, strict=True):
        said = words(record) if record else f"ended before, after {counted(length, 'record')}"
        lines.append(item(f"{side}: {cut(safe(name), 60)}: {said}"))
    if parting.fields:
        shown = [[safe(name), _value(left), _value(right)] for name, left, right in parting.fields]
        lines += ["", table(["field", "1", "2"], shown, texts=3)]
    lines += ["", *_changes("fate", "post", fates), *_changes("verdict", "invariant", verdicts)]
    lines.append(f"differ · {counted(len(fates), 'fate')} · {counted(len(verdicts), 'verdict')}")
    return "\n".join(lines) + "\n"


def words(record: Record) -> str:
    """A record as one line: when, who, what, and its fields that say something."""
    told = ", ".join(f"{name} {_told(value)}" for name, value in sorted(record.fields.items()) if value is not None)
    return f"at {seconds(record.t)} {safe(record.actor)}: {safe(record.kind)}" + (
        f" ({cut(told, 300)})" if told else ""
    )


def _told(value: object) -> str:
    if isinstance(value, (list, tuple)) and len(value) > 5:
        return f"[{counted(len(value), 'item')}]"
    return cut(safe(value), 80)


def _value(text: str | None) -> str:
    return "(absent)" if text is None else cut(safe(text), _VALUE)


def _changes(one: str, key: str, changes: Sequence[Change]) -> list[str]:
    if not changes:
        return [f"No {one} differs.", ""]
    rows = [[safe(change.what), _value(change.left), _value(change.right)] for change in changes[:SHOWN]]
    lines = [f"{counted(len(changes), one)} that {'differs' if len(changes) == 1 else 'differ'}:"]
    lines.append(table([key, "1", "2"], rows, texts=3))
    if len(changes) > SHOWN:
        lines.append(f"  ... and {len(changes) - SHOWN} more")
    return [*lines, ""]
