"""missing.yaml: the targets that did not converge, each with its fate and the safe next action, for tools and people.

Every text is written as a double-quoted JSON string, which YAML 1.2 and 1.1 both read as that text: a version named
`1e3` or `on` stays a text, and control characters are escaped. Rejected: a YAML library (slower to load than this file
is to write, and its plain scalars are read differently by YAML 1.2), CSV (no nesting, formulas in spreadsheets).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from fleetbeat.metrics import MissingTarget

SCHEMA = "fleetbeat.missing/1"


def render(scenario: str, seed: int, targets: Iterable[MissingTarget]) -> str:
    """The file's text."""
    rows = list(targets)
    out = ["# Targets that did not converge: their last post's fate, and what may safely be done next.\n"]
    out.append(f"schema: {_text(SCHEMA)}\nscenario: {_text(scenario)}\nseed: {seed}\ncount: {len(rows)}\n")
    out.append("missing:\n" if rows else "missing: []\n")
    for row in rows:
        out.append(f"  - version: {_text(row.version)}\n")
        for name, value in (("agent", row.agent), ("post", row.post), ("fate", row.fate), ("why", row.why)):
            out.append(f"    {name}: {'null' if value is None else _text(value)}\n")
        out.append(f"    action: {_text(row.action.id)}\n    do: {_text(row.action.text)}\n")
    return "".join(out)


def _text(value: str) -> str:
    """A JSON string; lone surrogates, which YAML cannot hold, are written out as their escape's text."""
    clean = value.encode("utf-16", "surrogatepass").decode("utf-16", "backslashreplace")
    text = json.dumps(clean, ensure_ascii=False)
    return "".join(char if " " <= char <= "~" else _point(char) for char in text)


def _point(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
