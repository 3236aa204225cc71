"""The report as JSON, schema `fleetbeat.report/1`: the frozen report's fields by name, times in ns, tables as lists.

Within a schema's number fields are only added. Pairs (a fate and its count) become objects, so that a reader asks for
`fates.lost`. ASCII only, like the history, so nothing in it can act on a terminal.
"""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

from fleetbeat.report.data import Report

_OF_FRAMEWORK = ("events", "actions", "begun", "self_triggered_actions", "decided", "answers", "became")
#: Fields that hold (name, value) pairs and become objects.
_PAIRS = frozenset({"fates", "kinds", "effects", "logs", *_OF_FRAMEWORK})


def render(report: Report) -> str:
    """The whole document, two-space indented, with a newline at its end."""
    text = json.dumps(plain(report), indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("\x7f", "\\u007f") + "\n"


def plain(value: Any) -> Any:
    """Dataclasses to objects and tuples to lists, at every depth."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _field(field.name, getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, (tuple, list)):
        return [plain(inner) for inner in value]
    return value


def _field(name: str, value: Any) -> Any:
    return dict(value) if name in _PAIRS else plain(value)
