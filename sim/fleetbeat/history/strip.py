"""Histories with something taken out: the operations, or the texts.

Both leave verdicts as they are (or, without operations, turn some to unknown): bodies are compared by digest, and what
`op` records say is explanation. Both keep the order of records.

What an agent writes by itself is not to be trusted with a secret: without bodies, a value of its log stays only where
it looks like an identifier, a number or a path; longer or freer text is replaced by its length and digest. The error
that ended a heartbeat keeps its class name alone. The same holds for what a core of the event framework writes. Of events
the texts go, and calls stay as they are: the globs of gates, which stay as well, are judged against them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fleetbeat.history.records import Record, digest

_PLAIN = re.compile(r"[A-Za-z0-9_.:/#@+-]{0,64}", re.ASCII)
_LEFT_OUT = re.compile(r"\(left out: [0-9]+ characters, digest [0-9a-f]{16}\)", re.ASCII)


def without_ops(records: Iterable[Record]) -> list[Record]:
    """The records that every engine can observe; `run.observed` no longer names `ops`."""
    kept = []
    for record in records:
        if record.kind == "op":
            continue
        if record.kind == "run":
            record = _with(record, observed=[part for part in record.get("observed", ()) if part != "ops"])
        kept.append(record)
    return kept


def without_bodies(records: Iterable[Record]) -> list[Record]:
    """The records with no text of a body in them; digests, norms, sizes and versions stay."""
    records = list(records)
    texts = {record.get("text") for record in records if record.kind == "body"} - {None}
    secrets = frozenset(text.strip() for text in texts) - {""}
    return [_bare(record, secrets) for record in records]


def left_out(text: str) -> str:
    """What stands in the place of a text that was taken out."""
    return f"(left out: {len(text)} characters, digest {digest(text.encode('utf-8', 'surrogatepass'))})"


def _with(record: Record, **changes: Any) -> Record:
    return Record(record.t, record.actor, record.kind, {**record.fields, **changes})


def _bare(record: Record, secrets: frozenset[str]) -> Record:
    if record.kind == "body":
        return _with(record, text=None, base64=None)
    if record.kind == "note" and record.get("told") is not None:
        told = record["told"]
        return record if _LEFT_OUT.fullmatch(told) else _with(record, told=left_out(told))
    if record.kind in ("heartbeat.end", "core.failed"):
        return _with(record, error=_guarded(record["error"].split(":", 1)[0].strip(), secrets))
    bare = _BARE.get(record.kind)
    return record if bare is None else bare(record, secrets)


def _event(record: Record, secrets: frozenset[str]) -> Record:
    """A call keeps its fields, which the workload made; of others an identifier, a number or a path stays."""
    if record["type"] in ("tool.before", "tool.after"):
        return record
    fields = {
        name: left_out(value)
        if name in _FREE and isinstance(value, str) and not _LEFT_OUT.fullmatch(value)
        else _guarded(value, secrets)
        for name, value in record["fields"].items()
    }
    written = {name: _guarded(record[name], secrets) for name in ("type", "origin")}
    return _with(record, **written, fields=fields)


def _policies(record: Record, secrets: frozenset[str]) -> Record:
    observers = [{**one, "argument": _argument(one.get("argument"))} for one in record["observers"]]
    error = record.get("error")
    if error is not None and not _LEFT_OUT.fullmatch(error):
        error = left_out(error)
    return _with(record, observers=observers, error=error)


def _argument(value: Any) -> Any:
    """A line or text goes; of a task its numbers stay, and the file that it touches."""
    return left_out(value) if isinstance(value, str) and not _LEFT_OUT.fullmatch(value) else value


def _action(record: Record, secrets: frozenset[str]) -> Record:
    return _with(record, **{name: _guarded(record.get(name), secrets) for name in ("policy", "origin", "mark")})


def _log(record: Record, secrets: frozenset[str]) -> Record:
    return _with(record, event=_guarded(record["event"], secrets), fields=_guarded(record["fields"], secrets))


_FREE = ("text", "result")
_BARE: dict[str, Callable[[Record, frozenset[str]], Record]] = {
    "event": _event,
    "policies": _policies,
    "action": _action,
    "core.log": _log,
    "log": _log,
}


def _guarded(value: Any, secrets: frozenset[str]) -> Any:
    if isinstance(value, Mapping):
        return {_guarded(str(name), secrets): _guarded(inner, secrets) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_guarded(inner, secrets) for inner in value]
    if not isinstance(value, str) or _LEFT_OUT.fullmatch(value):
        return value
    return left_out(value) if not _PLAIN.fullmatch(value) or value.strip() in secrets else value
