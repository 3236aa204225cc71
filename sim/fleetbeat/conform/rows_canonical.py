"""Rows about canonical and prompt: what is compared, persisted, flushed and logged."""

from __future__ import annotations

from fleetbeat.conform.expect import (
    canonical_untouched,
    consumed,
    effective,
    fate,
    logged,
    no_flush,
)
from fleetbeat.conform.row import Row, post, strikes
from fleetbeat.conform.rows_signal import OLD
from fleetbeat.conform.seen import Seen

_KNOWN = "read canonical, if there is one"
_SAME = "body equals canonical, both stripped"
_WRITE = "write canonical"
_SECTION = "replace the protected section"
_FLUSH = "flush the prompt"
_LOG = "log `rules_loaded`"
_CANONICAL = "system/rules.md*"
_SYSTEM = "system/system.md*"
_SAME_NOOP = ("identical-is-noop",)


def _taken_first(seen: Seen) -> str | None:
    """The first post was taken before the second landed."""
    second = seen.post("v2")
    gone = [record.t for record in seen.of("signal") if record["event"] in ("vanished", "moved")]
    if second is None or second.completed is None or not gone:
        return "no signal was taken"
    return None if gone[0] < second.completed else "v2 landed before v1 was taken"


ROWS = (
    Row(
        "no-canonical", _KNOWN, "no canonical yet: the first body is applied",
        (fate("v1", "applied"), effective("v1"), logged("rules_loaded", 1, 1)),
        posts=(post("v1", "1500ms"),), invariants=("effective-follows",),
    ),
    Row(
        "canonical-unreadable", _KNOWN, "canonical that cannot be read counts as empty: the body is applied",
        (fate("v1", "applied"), effective("v1")),
        start=OLD, faults=strikes("EIO", [("read", "system/rules.md")]), posts=(post("v1", "1500ms"),),
        invariants=("no-silent-loss",),
    ),
    Row(
        "identical", _SAME, "consumed, not rewritten, no flush",
        (fate("v1", "unchanged"), consumed, canonical_untouched, no_flush, logged("rules_loaded", 0, 0)),
        start=OLD, posts=(post("v1", "1500ms", OLD["rules"]),), invariants=_SAME_NOOP,
    ),
    Row(
        "identical-stripped", _SAME, "white space around it makes no difference",
        (fate("v1", "unchanged"), consumed, canonical_untouched, no_flush, logged("rules_loaded", 0, 0)),
        start=OLD, posts=(post("v1", "1500ms", "\n " + OLD["rules"].strip()),), invariants=_SAME_NOOP,
    ),
    Row(
        "identical-line-ends", _SAME, "nor do line ends: text is read with newline translation",
        (fate("v1", "unchanged"), consumed, canonical_untouched, no_flush, logged("rules_loaded", 0, 0)),
        start=OLD, posts=(post("v1", "1500ms", OLD["rules"].replace("\n", "\r\n")),), invariants=_SAME_NOOP,
    ),
    Row(
        "replaced", _SECTION, "a new body replaces the old one whole; canonical and prompt hold it; one `rules_loaded`",
        (fate("v1", "applied"), consumed, effective("v1"), logged("rules_loaded", 1, 1)),
        start=OLD, posts=(post("v1", "1500ms"),), invariants=("whole-body", "one-log-each", "scope", "drains"),
    ),
    Row(
        "replaced-twice", _SECTION, "each newer body replaces the one before",
        (fate("v1", "applied"), fate("v2", "applied"), effective("v2"), logged("rules_loaded", 2, 2)),
        start=OLD, posts=(post("v1", "1500ms"), post("v2", "4500ms")), invariants=("last-write-wins", "drains"),
    ),
    Row(
        "write-fails", _WRITE, "logged as `rules_write_error`, before the prompt is touched; the signal is gone",
        (fate("v1", "failed", "applied"), consumed, logged("rules_write_error", 1)),
        start=OLD, faults=strikes("EIO", [("write", _CANONICAL)]), posts=(post("v1", "1500ms"),),
        invariants=("write-failure-aborts", "one-log-each", "no-silent-loss"),
    ),
    Row(
        "write-never-works", _WRITE, "what was never persisted is never effective, and that is logged",
        (fate("v1", "failed"), logged("rules_write_error", 1)),
        start=OLD, faults=strikes("ENOSPC", [("write", _CANONICAL)], probability=1), posts=(post("v1", "1500ms"),),
        invariants=("write-failure-aborts", "one-log-each", "no-silent-loss"),
    ),
    Row(
        "write-fails-then-newer", _WRITE, "a later body is applied, and the failed one does not come back",
        (fate("v1", "failed", "applied"), fate("v2", "applied"), effective("v2")),
        start=OLD, faults=strikes("EIO", [("write", _CANONICAL)]), posts=(post("v1", "1500ms"), post("v2", "2500ms")),
        invariants=("last-write-wins",), reached=_taken_first,
    ),
    Row(
        "flush-fails", _FLUSH, "the seed is silent: beats go on, and a later beat flushes what was persisted",
        (fate("v1", "applied"), effective("v1"), logged("rules_loaded", 0, 1)),
        start=OLD, faults=strikes("EIO", [("write", _SYSTEM)]), posts=(post("v1", "1500ms"),),
        invariants=("effective-follows", "beats-go-on"),
    ),
    Row(
        "log-fails", _LOG, "best effort: a failing log changes nothing else",
        (fate("v1", "applied"), effective("v1")),
        start=OLD,
        faults=({"operation": "emit", "probability": 1, "error": "ENOSPC", "from": "1200ms"},),
        posts=(post("v1", "1500ms"),), invariants=("beats-go-on",), unjudged=("one-log-each",),
    ),
)  # fmt: skip
