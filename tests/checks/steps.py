"""Hand-written histories of the event framework: one line a record, on agent `a`, ids given by hand, a second apart.

A word for each record; `judged_by(...)` judges them as a stream, `records(...)` makes a whole history of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tests.histories.build import Story

from fleetbeat.checks.framework import Streamed
from fleetbeat.checks.model import Verdict
from fleetbeat.history.records import Record

SECOND = 1_000_000_000
A = "a"


def record(kind: str, agent: str = A, **fields: Any) -> Record:
    return Record(0, agent, kind, {"agent": agent, **fields})


def event(id: int, type: str = "prompt", cause: int | None = None, session: str = "s", **more: Any) -> Record:
    """`origin` as a core that hides what it does would write it."""
    fields = {
        "id": id,
        "type": type,
        "origin": "user",
        "session": session,
        "cause": cause,
        "fields": {},
        "dangerous": None,
    }
    return record("event", **{**fields, **more})


def act(id: int, action: str, cause: int | None, policy: str = "p", **more: Any) -> Record:
    fields = {
        "id": id,
        "action": action,
        "policy": policy,
        "session": "s",
        "cause": cause,
        "cost": 0.0,
        "origin": "user",
    }
    return record("action", **{**fields, "mark": None, **more})


def prepare(id: int, cause: int | None) -> Record:
    return act(id, "prepare", cause)


def notify(id: int, cause: int | None) -> Record:
    return act(id, "notify", cause)


def inject(id: int, cause: int | None) -> Record:
    return act(id, "inject", cause)


def emit(id: int, cause: int | None) -> Record:
    return act(id, "emit", cause)


def ready(id: int, cause: int) -> Record:
    return event(id, "ready", cause)


def call(id: int, command: str = "rm -rf /", dangerous: bool = True, **more: Any) -> Record:
    fields = {"tool": "shell", "command": command, "path": "", "subtask": False}
    return event(id, "tool.before", fields=fields, dangerous=dangerous, origin="agent", **more)


def judged(id: int, gate: str, answer: str) -> Record:
    return record("judged", call=id, gate=gate, answer=answer, took=0)


def verdict(id: int, says: str | None) -> Record:
    return record("verdict", call=id, verdict=says)


def ran(id: int) -> Record:
    return record("ran", call=id)


def answers(id: int, to: int, answer: str) -> Record:
    return event(id, "answer", fields={"call": to, "answer": answer})


def gate(name: str, command: str = "rm *", answer: str = "ask") -> dict[str, Any]:
    when = {"command": [command]}
    return {"id": name, "on": ["tool.before"], "answer": answer, "when": when, "state": {}, "cooldown_s": 0.0}


def workload(*guards: Mapping[str, Any]) -> Record:
    return Record(0, "harness", "workload", {"core": "mine", "guards": list(guards), "options": {}})


def body(norm: str, *gates: Mapping[str, Any]) -> Record:
    return Record(0, "harness", "policies", {"norm": norm, "gates": list(gates), "observers": [], "error": None})


def rules(norm: str | None, malformed: bool = False) -> Record:
    return record("core.rules", norm=norm, malformed=malformed)


def begins(life: int = 0) -> Record:
    return record("core.begin", life=life)


def timed(told: Iterable[Record]) -> list[Record]:
    return [Record(n * SECOND, one.actor, one.kind, one.fields) for n, one in enumerate(told, 1)]


def judged_by(*told: Record, window: int | None = None) -> tuple[Verdict, Verdict]:
    """no-self-trigger and guard-not-silenced."""
    streamed = Streamed(window)
    for one in timed(told):
        streamed.feed(one)
    return streamed.verdicts()


def history(*told: Record, guards: Iterable[Mapping[str, Any]] = (), rollout: bool = False) -> list[Record]:
    """A whole history of agent `a`, whose framework does this."""
    story = Story(agents=(A,), end=60.0)
    if rollout:
        story.rollout("v1")
    head = [workload(*guards)]
    made = story.history()
    return [made[0], *head, *made[1:-1], *timed(told), made[-1]]
