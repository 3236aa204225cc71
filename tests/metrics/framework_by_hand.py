"""Records of the event framework by hand, and their tables. One agent `a`, unless said otherwise; times in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.history.hand import S, rec

from fleetbeat.history.records import Record
from fleetbeat.metrics.framework import Framework, framework

#: The built-in guard of every core here.
GUARD = {
    "id": "rm-rf", "on": ["tool.before"], "answer": "ask", "when": {"command": ["rm -rf *"]}, "state": {}, "cooldown_s": 0,
}  # fmt: skip


def gate(id: str, command: str, answer: str, **more: Any) -> dict[str, Any]:
    base = {"id": id, "on": ["tool.before"], "answer": answer, "when": {"command": [command]}, "state": {}}
    return {**base, "cooldown_s": 0, **more}


def observer(id: str, on: Sequence[str] | str, action: str, **more: Any) -> dict[str, Any]:
    globs = [on] if isinstance(on, str) else list(on)
    base = {"id": id, "on": globs, "action": action, "argument": None, "when": {}, "state": {}, "cooldown_s": 0}
    return {**base, **more}


def workload(core: str = "hand") -> Record:
    return rec(0, "workload", core=core, guards=[GUARD], options={})


def policies(norm: str, *of: dict[str, Any], error: str | None = None) -> Record:
    gates, observers = [one for one in of if "answer" in one], [one for one in of if "action" in one]
    return rec(0, "policies", norm=norm, gates=gates, observers=observers, error=error)


def begin(t: float, agent: str = "a") -> Record:
    return _of(t, agent, "core.begin", life=0)


def over(t: float, agent: str = "a") -> Record:
    return _of(t, agent, "core.end", life=0, cause="crash")


def rules(t: float, norm: str | None, agent: str = "a", malformed: bool = False) -> Record:
    return _of(t, agent, "core.rules", norm=norm, malformed=malformed)


def event(
    t: float, id: int, type: str, cause: int | None = None, agent: str = "a", session: str = "s-0", **more: Any
) -> Record:
    """`more`: the event's own fields, and `dangerous` and `origin`."""
    dangerous, origin = more.pop("dangerous", None), more.pop("origin", "user")
    return _of(
        t,
        agent,
        "event",
        id=id,
        type=type,
        origin=origin,
        session=session,
        cause=cause,
        fields=more,
        dangerous=dangerous,
    )


def call(t: float, id: int, command: str, agent: str = "a", cause: int | None = None) -> Record:
    """A dangerous call."""
    return event(t, id, "tool.before", cause, agent, tool="shell", command=command, dangerous=True)


def action(
    t: float,
    id: int,
    action: str,
    policy: str,
    cause: int | None,
    agent: str = "a",
    cost: float = 0.0,
    session: str = "s-0",
) -> Record:
    fields = {"action": action, "policy": policy, "session": session, "cost": cost, "origin": "proactive", "mark": None}
    return _of(t, agent, "action", id=id, cause=cause, **fields)


def judged(t: float, call: int, gate: str, answer: str, took_ms: int = 1, agent: str = "a") -> Record:
    return _of(t, agent, "judged", call=call, gate=gate, answer=answer, took=took_ms * 1_000_000)


def verdict(t: float, call: int, verdict: str | None, agent: str = "a") -> Record:
    return _of(t, agent, "verdict", call=call, verdict=verdict)


def ran(t: float, call: int, agent: str = "a") -> Record:
    return _of(t, agent, "ran", call=call)


def log(t: float, event: str, agent: str = "a") -> Record:
    return _of(t, agent, "core.log", event=event, fields={})


def wave(t: float, rollout: str, number: int, event: str = "begin") -> Record:
    return rec(round(t * S), "wave", rollout=rollout, wave=number, event=event, targets=1)


def tables(*records: Record, end: float = 60) -> Framework:
    """The tables of a history with a workload that ends at `end`."""
    found = framework([workload(), *records, rec(round(end * S), "end", reason="duration")])
    assert found is not None
    return found


def _of(t: float, agent: str, kind: str, **fields: Any) -> Record:
    return rec(round(t * S), kind, agent, agent=agent, **fields)
