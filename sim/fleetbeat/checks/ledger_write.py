"""A history's framework as a ledger, in the schema of `ledger`: an example for those who write one, with the same verdicts.

Lines of all agents, in order; `ts` in seconds since the run began. Times between two nanoseconds do not exist, so that the
number as written reads back as the same nanosecond for a hundred days.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetbeat.checks.framework import UNSEEN_RULES
from fleetbeat.history.records import Record

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def write(path: Path, records: Iterable[Record]) -> None:
    """Writes the ledger to a new file. Raises OSError; what was begun is removed again."""
    with path.open("xb") as file:
        try:
            file.writelines(written(records))
            file.flush()
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def written(records: Iterable[Record]) -> Iterator[bytes]:
    """The ledger's lines, newlines included; none for a history without a workload."""
    for line in ledger_lines(records):
        yield _encode(line).replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def ledger_lines(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    guards: list[dict[str, Any]] = []
    policies: dict[str, list[dict[str, Any]]] = {}
    known: dict[str, None] = {}
    for record in records:
        kind, fields = record.kind, record.fields
        if kind == "workload":
            guards = [_gate(gate) for gate in fields["guards"]]
        elif kind == "policies":
            policies[fields["norm"]] = [_gate(gate) for gate in fields["gates"]]
        elif kind == "core.begin" and fields["agent"] not in known:
            known[fields["agent"]] = None
            yield _line(record, {"action": "gates", "gates": guards})
        elif kind == "core.rules" and not fields["malformed"]:
            known[fields["agent"]] = None
            gates = [] if fields.get("norm") is None else policies.get(fields["norm"])
            yield _line(record, {"action": "gates", "gates": None if gates is None else _in_force(gates, guards)})
        elif kind == "unseen" and record.get("agent") in known and fields["missing"].startswith(UNSEEN_RULES):
            yield _line(record, {"action": "gates", "gates": None})
        elif kind == "event":
            yield _line(record, _event(fields))
        elif kind == "action":
            line = {name: fields.get(name) for name in ("id", "action", "policy", "session", "cause", "origin", "cost")}
            yield _line(record, line)
        elif kind in ("judged", "verdict", "ran"):
            names = {"judged": ("gate", "answer"), "verdict": ("verdict",), "ran": ()}[kind]
            yield _line(record, {"action": kind, "call": fields["call"], **{name: fields.get(name) for name in names}})


def _event(fields: Mapping[str, Any]) -> dict[str, Any]:
    line = {name: fields.get(name) for name in ("id", "type", "origin", "session", "cause", "fields")}
    if fields["type"] == "tool.before":
        line["dangerous"] = bool(fields.get("dangerous"))
    return line


def _line(record: Record, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"ts": record.t / 1_000_000_000, "agent": record["agent"], **fields}


def _in_force(gates: Sequence[dict[str, Any]], guards: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """No body replaces a guard."""
    built_in = {gate["gate"] for gate in guards}
    return [*(gate for gate in gates if gate["gate"] not in built_in), *guards]


def _gate(gate: Mapping[str, Any]) -> dict[str, Any]:
    """A gate of a record as a body spells it."""
    spelled = {"gate": gate["id"], "on": "tool.before", "answer": gate["answer"], "cooldown_s": gate["cooldown_s"]}
    state = {count: dict(bounds) for count, bounds in gate["state"].items()}
    return {**spelled, "when": {name: list(values) for name, values in gate["when"].items()}, "state": state}
