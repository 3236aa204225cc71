"""The types of record fields, for histories that come from a file: `records.KINDS` names the fields, this says what
each may hold, so that a damaged or foreign file is refused with its line and never reaches a check.

A field is text unless listed here. Rejected: pydantic models of records (a history has hundreds of thousands of lines,
and this package loads without it).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fleetbeat.history.records import KINDS

_INTEGERS = (
    "schema", "seed", "duration", "bound", "disk", "system_disk", "clock_offset", "from", "life", "beat", "end",
    "first", "last", "last_start", "rebuild", "attempt", "count", "wave", "episode", "nth", "size", "start", "p50", "p90",
    "p99", "max", "planned", "fired", "interval", "id", "call", "took", "most",
)  # fmt: skip
_BOOLEANS = ("blank", "spawned", "runnable", "readable", "removed", "idle", "malformed", "dangerous", "bad")
_LISTS = ("observed", "declares", "set_aside", "known_gaps", "targets")
_MAPPINGS = ("expect", "ops", "fields", "options")
#: Names that mean different things in different kinds.
_EXCEPTIONS: dict[tuple[str, str], str] = {
    ("wave", "targets"): "integer",
    ("truth", "errors_per_hour"): "number",
    ("gate", "seen"): "mapping of counts",
    ("gate", "lag"): "integer",
    ("fault.plan", "to"): "integer",
    ("unseen", "to"): "integer",
    ("host", "clock_ppm"): "number",
    ("fault.plan", "probability"): "number",
    ("fault.count", "means"): "list of texts",
    ("fault.count", "observed"): "integer",
    ("timing", "ops"): "list of [text, integer, integer, text]",
    ("rollout", "waves"): "list of lists of texts",
    ("event", "cause"): "integer",
    ("action", "cause"): "integer",
    ("core.failed", "event"): "integer",
    ("task.end", "task"): "integer",
    ("action", "cost"): "number",
    ("action", "mark"): "anything",
    ("workload", "guards"): "list of gates",
    ("policies", "gates"): "list of gates",
    ("policies", "observers"): "list of observers",
}


def _is_integer(value: Any) -> bool:
    return type(value) is int


def _is_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)


def _is_timed(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 4 and tuple(map(type, value)) == (str, int, int, str)


def _are_policies(value: Any, *texts: str) -> bool:
    return isinstance(value, (list, tuple)) and all(_is_policy(one, texts) for one in value)


def _is_policy(value: Any, texts: tuple[str, ...]) -> bool:
    """What every policy has, and these texts."""
    if not isinstance(value, Mapping) or not all(isinstance(value.get(name), str) for name in texts):
        return False
    if not _is_texts(value.get("on")) or type(value.get("cooldown_s")) not in (int, float):
        return False
    fields, state = value.get("when"), value.get("state")
    if not isinstance(fields, Mapping) or not isinstance(state, Mapping):
        return False
    return all(isinstance(one, (list, tuple)) for one in fields.values()) and all(map(_are_bounds, state.values()))


def _are_bounds(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(one, (list, tuple)) and len(one) == 2 and isinstance(one[0], str) and _is_integer(one[1])
        for one in value
    )


_TESTS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": lambda value: type(value) in (int, float),
    "true or false": lambda value: isinstance(value, bool),
    "list of texts": _is_texts,
    "list of lists of texts": lambda value: isinstance(value, (list, tuple)) and all(_is_texts(item) for item in value),
    "list of [text, integer, integer, text]": lambda value: (
        isinstance(value, (list, tuple)) and all(map(_is_timed, value))
    ),
    "anything": lambda value: True,
    "list of gates": lambda value: _are_policies(value, "id", "answer"),
    "list of observers": lambda value: _are_policies(value, "id", "action"),
    "mapping": lambda value: isinstance(value, Mapping),
    "mapping of counts": lambda value: isinstance(value, Mapping) and all(_is_integer(n) for n in value.values()),
}


def type_of(kind: str, name: str) -> str:
    """The type, in words, of field `name` (without its `?`) of records of `kind`."""
    if (kind, name) in _EXCEPTIONS:
        return _EXCEPTIONS[kind, name]
    for names, words in ((_INTEGERS, "integer"), (_BOOLEANS, "true or false"), (_LISTS, "list of texts")):
        if name in names:
            return words
    if name == "ops":
        return "mapping of counts"
    return "mapping" if name in _MAPPINGS else "text"


def _rows(kind: str) -> tuple[tuple[str, bool, str, Callable[[Any], bool]], ...]:
    rows = []
    for spelled in KINDS[kind]:
        name = spelled.removesuffix("?")
        words = type_of(kind, name)
        rows.append((name, spelled.endswith("?"), words, _TESTS[words]))
    return tuple(rows)


_ROWS = {kind: _rows(kind) for kind in KINDS}
_MISSING = object()


def shown(value: Any, limit: int = 60) -> str:
    """A value in one short line that is safe on a terminal."""
    text = ascii(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def problem(kind: str, fields: Mapping[str, Any]) -> str | None:
    """What is wrong with the fields of a record of a known kind ("field: got .., expected .."), None if nothing.

    A field whose name ends in `?` in `KINDS` may be null or absent. Fields beyond the schema are let through.
    """
    for name, optional, words, test in _ROWS[kind]:
        value = fields.get(name, _MISSING)
        if value is _MISSING:
            if not optional:
                return f"{kind}.{name}: got nothing, expected {words}"
        elif value is None:
            if not optional:
                return f"{kind}.{name}: got null, expected {words}"
        elif not test(value):
            return f"{kind}.{name}: got {shown(value)}, expected {words}"
    return None
