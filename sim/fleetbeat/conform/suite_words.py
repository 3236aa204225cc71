"""The conformance suite's answers as text and as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from fleetbeat.conform.row import Row
from fleetbeat.conform.rows import ROWS
from fleetbeat.conform.suite import Result
from fleetbeat.report.plain import counted, cut, item, safe
from fleetbeat.report.tables import table

#: How engines are called in the head of the table.
NAMES = {"des": "in simulation", "process": "on real files", "docker": "in containers"}
#: Most reasons that are told of one answer, and most characters of each.
_REASONS = 3
_LONG = 300


def render(agent: str, about: str, rows: Sequence[Row], answers: Mapping[str, Sequence[Result]]) -> str:
    """The whole text. `answers`: engine -> one result for each row, in order."""
    lines = [f"{safe(agent)}: {cut(safe(about), 200)}" if about else safe(agent), ""]
    lines += [table(["row", "of the table", *(NAMES.get(name, name) for name in answers)], _rows(rows, answers), 9), ""]
    lines += _details(rows, answers)
    lines.append(" · ".join(_summary(name, results) for name, results in answers.items()))
    return "\n".join(lines) + "\n"


def document(agent: str, rows: Sequence[Row], answers: Mapping[str, Sequence[Result]]) -> str:
    """The same as JSON text: ASCII, so that nothing in it can act on a terminal."""
    return json.dumps(data(agent, rows, answers), indent=2, ensure_ascii=True).replace("\x7f", "\\u007f") + "\n"


def data(agent: str, rows: Sequence[Row], answers: Mapping[str, Sequence[Result]]) -> dict[str, Any]:
    """What the JSON holds."""
    found = {name: {result.row: result for result in results} for name, results in answers.items()}
    return {
        "schema": "fleetbeat.agents-check/1",
        "agent": agent,
        "rows": [
            {
                "row": row.id,
                "step": row.step,
                "promise": row.promise,
                "answers": {
                    name: {
                        "answer": results[row.id].answer,
                        "why": list(results[row.id].why),
                        "known_gaps": list(results[row.id].gaps),
                    }
                    for name, results in found.items()
                },
            }
            for row in rows
        ],
    }


def _rows(rows: Sequence[Row], answers: Mapping[str, Sequence[Result]]) -> list[list[str]]:
    told = []
    for index, row in enumerate(rows):
        cells = [results[index] for results in answers.values()]
        told.append(
            [row.id, cut(row.step, 44), *(cell.answer + (" (known gap)" if cell.gaps else "") for cell in cells)]
        )
    return told


def _details(rows: Sequence[Row], answers: Mapping[str, Sequence[Result]]) -> list[str]:
    """What differs first, then known gaps that showed, then what could not be observed, by its reason."""
    lines: list[str] = []
    for index, row in enumerate(rows):
        for name, results in answers.items():
            if results[index].answer == "differs":
                lines += _differs(row, NAMES.get(name, name), results[index])
    lines += _grouped(
        "Known gaps, admitted in its manifest, that showed:",
        [(gap, row.id) for index, row in enumerate(rows) for one in answers.values() for gap in one[index].gaps],
    )
    for name, results in answers.items():
        silent = [(cut(safe(one.why[0]), _LONG), one.row) for one in results if one.answer == "not observable"]
        lines += _grouped(f"Not observable {NAMES.get(name, name)}:", silent)
    return [*lines, ""] if lines else []


def _grouped(title: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """A list of what each thing concerns: the things in order of first sight, with their rows."""
    found: dict[str, list[str]] = {}
    for what, row in pairs:
        if row not in found.setdefault(what, []):
            found[what].append(row)
    rows = [item(f"{what}: {'every row' if len(ids) == len(ROWS) else ', '.join(ids)}") for what, ids in found.items()]
    return [title, *rows] if rows else []


def _differs(row: Row, where: str, result: Result) -> list[str]:
    lines = [item(f"{row.id}, {where}, differs. Promised: {row.promise}. Seen:", "")]
    lines += [item(cut(safe(why), _LONG)) for why in result.why[:_REASONS]]
    left = len(result.why) - _REASONS
    return [*lines, f"  and {left} more"] if left > 0 else lines


def _summary(name: str, results: Sequence[Result]) -> str:
    counts = Counter(result.answer for result in results)
    parts = [f"{counts[word]} {word}" for word in ("as specified", "differs", "not observable") if counts[word]]
    return f"{NAMES.get(name, name)}: {', '.join(parts)} of {counted(len(results), 'row')}"
