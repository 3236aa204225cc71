"""Rows about boots, rebuilds, windows without consumption, restarts, and what comes between two steps of an episode."""

from __future__ import annotations

from fleetbeat.conform.expect import (
    canonical_untouched,
    effective,
    effective_while,
    fate,
    flushed_again,
    not_before,
    whole_at_death,
)
from fleetbeat.conform.row import POWER, Row, post
from fleetbeat.conform.rows_signal import OLD, TAKING
from fleetbeat.conform.seen import Seen

_BOOT = "boot reads canonical again and flushes"
_REBUILD = "a rebuild reads canonical again and flushes"
_RUNNABLE = "on each runnable beat"
_BETWEEN = "between two steps"
_SECOND = 1_000_000_000
_SURVIVES = ("survives-rebuild",)
_DURABLE = {
    "operation": "stat",
    "path": ".rules",
    "from": "3500ms",
    "occurrence": [1],
    "crash": "before",
    "restart": "300ms",
}


def _overtook(seen: Seen) -> str | None:
    """The second post landed before the first was gone from its name."""
    first, second = seen.post("v1"), seen.post("v2")
    if first is None or second is None or second.completed is None:
        return "v2 never landed"
    gone = [record.t for record in seen.of("signal") if record["event"] in ("vanished", "moved")]
    return None if not gone or second.completed < gone[0] else "v2 landed after v1 was taken"


def _slowly(operations: tuple[tuple[str, str], ...], delay: str) -> tuple[dict[str, object], ...]:
    """One fault for each operation: the first one after the boot takes longer."""
    return tuple(
        {"operation": name, "path": path, "from": "1200ms", "occurrence": [1], "delay": delay}
        for name, path in operations
    )


def _dies(operations: tuple[tuple[str, str], ...], when: str) -> tuple[dict[str, object], ...]:
    """One fault for each operation: the process dies at the first one after the boot, and starts again."""
    return tuple(
        {"operation": name, "path": path, "from": "1200ms", "occurrence": [1], "crash": when, "restart": "300ms"}
        for name, path in operations
    )


ROWS = (
    Row(
        "boot", _BOOT, "what canonical holds is effective before the first beat",
        (effective("start"), canonical_untouched), start=OLD, invariants=("effective-follows",),
    ),
    Row("boot-missing", _BOOT, "no canonical: no rules section", (effective(None),), invariants=("effective-follows",)),
    Row(
        "boot-empty", _BOOT, "an empty canonical removes the section",
        (effective(None),), start={"rules": ""}, invariants=("effective-follows",),
    ),
    Row(
        "rebuild", _REBUILD, "rules survive a molt",
        (fate("v1", "applied"), flushed_again, effective_while("v1", 3 * _SECOND, 9 * _SECOND), effective("v1")),
        start=OLD, posts=(post("v1", "1500ms"),), rebuilds=({"at": "4s", "cause": "molt"},), invariants=_SURVIVES,
    ),
    Row(
        "refresh", _REBUILD, "rules survive a refresh",
        (fate("v1", "applied"), flushed_again, effective("v1")),
        start=OLD, posts=(post("v1", "1500ms"),), rebuilds=({"at": "4s", "cause": "refresh"},), invariants=_SURVIVES,
    ),
    Row(
        "rebuild-pending", _REBUILD, "whatever is pending: a rebuild brings canonical, not the signal",
        (flushed_again, effective_while("start", 2 * _SECOND, 9 * _SECOND // 2), not_before("v1", 9 * _SECOND // 2)),
        start=OLD, posts=(post("v1", "1500ms"),), rebuilds=({"at": "3s"},), suspend=({"from": "1200ms", "to": "4800ms"},),
        invariants=_SURVIVES,
    ),
    Row(
        "rebuild-beside", _REBUILD, "a rebuild that overlaps a beat rolls nothing back",
        (fate("v1", "applied"), effective("v1")),
        start=OLD,
        faults=({"operation": "close", "path": "system/rules.md", "from": "1s", "occurrence": [1], "delay": "900ms"},),
        posts=(post("v1", "1500ms"),), rebuilds=({"at": "1700ms", "beside_beat": True},),
        invariants=("survives-rebuild", "effective-follows", "last-write-wins"),
    ),
    Row(
        "not-runnable", _RUNNABLE, "a beat that is not runnable takes nothing; afterwards the signal is applied",
        (fate("v1", "applied"), not_before("v1", 9 * _SECOND // 2), effective("v1")),
        start=OLD, posts=(post("v1", "1500ms"),), suspend=({"from": "1200ms", "to": "4800ms"},), invariants=("drains",),
    ),
    Row(
        "restart", _BOOT, "rules survive a crash and a restart",
        (fate("v1", "applied"), effective_while("v1", 4 * _SECOND, 9 * _SECOND), effective("v1")),
        start=OLD, posts=(post("v1", "1500ms"),), crashes=({"at": "4500ms", "restart": "500ms"},), invariants=_SURVIVES,
    ),
    Row(
        "dies-having-taken", _BETWEEN, "a crash right after the signal was taken loses no body",
        (fate("v1", "applied"), effective("v1")),
        start=OLD, faults=_dies(TAKING, "after"), posts=(post("v1", "1500ms"),), invariants=("no-silent-loss",),
    ),
    Row(
        "dies-before-canonical", _BETWEEN, "nor does one before canonical is opened",
        (fate("v1", "applied"), effective("v1")),
        start=OLD, faults=_dies((("open", "system/rules.md"),), "before"),
        posts=(post("v1", "1500ms"),), invariants=("no-silent-loss",),
    ),
    Row(
        "dies-in-write", _BETWEEN, "a crash while canonical is written leaves it a whole body",
        (fate("v1", "applied"), effective("v1"), whole_at_death),
        start=OLD, faults=_dies((("write", "system/rules.md*"),), "before"), posts=(post("v1", "1500ms"),),
        invariants=("canonical-intact", "no-silent-loss"),
    ),
    Row(
        "overtaken", _BETWEEN, "a newer post that lands between the read and the unlink is not lost",
        (fate("v2", "applied"), effective("v2")),
        start=OLD, faults=_slowly(TAKING, "700ms"), posts=(post("v1", "1500ms"), post("v2", "2350ms")),
        invariants=("no-silent-loss", "last-write-wins"), reached=_overtook,
    ),
    Row(
        "overtaken-identical", _BETWEEN, "nor is it if the post before it changed nothing",
        (fate("v2", "applied"), effective("v2")),
        start=OLD, faults=_slowly(TAKING, "700ms"), posts=(post("v1", "1500ms", OLD["rules"]), post("v2", "2350ms")),
        invariants=("no-silent-loss", "last-write-wins"), reached=_overtook,
    ),
    Row(
        "power", _BETWEEN, "what was applied outlives a power failure",
        (fate("v1", "applied"), effective("v1")),
        start=OLD, faults=({**_DURABLE, "power": True},),
        posts=(post("v1", "1500ms"), post("v2", "2500ms", " ", write="atomic-synced")),
        simulated=POWER, invariants=("survives-rebuild", "canonical-intact"),
    ),
)  # fmt: skip
