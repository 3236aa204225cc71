"""A history made by hand, with a helper for each kind of record, and its judgement: what files, metrics and reports are
tested on without an engine and without checks."""

from __future__ import annotations

from typing import Any

from fleetbeat.checks.model import Finding, Judgement, PostFate, Verdict
from fleetbeat.history.records import SCHEMA, Record, compared, digest, norm_of

S = 1_000_000_000
SECRET = "never tell: the launch code is 4711"


def rec(t: int, kind: str, actor: str = "harness", **fields: Any) -> Record:
    return Record(t, actor, kind, {name.rstrip("_"): value for name, value in fields.items()})


def run_record(**changes: Any) -> Record:
    fields = {
        "schema": SCHEMA, "fleetbeat": "0.1.0", "scenario": "by-hand", "seed": 7, "engine": "des", "duration": 60 * S,
        "observed": ["ops"], "expect": {"broken": []}, "bound": 2,
    }  # fmt: skip
    return Record(0, "harness", "run", {**fields, **changes})


def body(data: bytes, version: str | None, origin: str = "rollout") -> Record:
    text = compared(data)
    return rec(
        0, "body", body=digest(data), norm=None if text is None else norm_of(text), blank=text == "", size=len(data),
        version=version, origin=origin, text=None if text is None else data.decode(), base64=None,
    )  # fmt: skip


def rollout(version: str, data: bytes, targets: list[str], **changes: Any) -> Record:
    fields = {
        "rollout": version, "version": version, "operator": "op", "body": digest(data), "targets": targets,
        "write": "atomic", "verify": "canonical", "waves": [targets],
    }  # fmt: skip
    return Record(0, "harness", "rollout", {**fields, **changes})


def agent(name: str, **changes: Any) -> Record:
    fields = {
        "agent": name, "home": f"/{name}", "host": "host-0", "program": "reference", "parent": None, "spawned": False,
        "declares": [".rules"], "set_aside": [], "known_gaps": ["no-silent-loss"], "canonical": None,
    }  # fmt: skip
    return Record(0, "harness", "agent", {**fields, **changes})


def prompt(t: int, name: str, data: bytes, state: str = "whole") -> Record:
    text = compared(data)
    return rec(
        t,
        "prompt",
        f"{name}/beat",
        agent=name,
        state=state,
        norm=None if text is None else norm_of(text),
        blank=not data,
    )


def plan(t: int, post: str, version: str, name: str, data: bytes) -> Record:
    return rec(
        t, "post.plan", f"op:{version}/{name}", post=post, version=version, agent=name, operator="op",
        attempt=int(post.rpartition("#")[2]), body=digest(data), write="atomic",
    )  # fmt: skip


def post_end(
    t: int, post: str, name: str, outcome: str = "written", error: str | None = None, leftover: str | None = None
) -> Record:
    return rec(t, "post.end", "op", post=post, agent=name, outcome=outcome, error=error, leftover=leftover)


def beat(t: int, name: str, number: int, outcome: str = "done", runnable: bool = True) -> Record:
    return rec(
        t, "beat", f"{name}/beat", agent=name, life=0, beat=number, end=t + 1000, runnable=runnable, outcome=outcome
    )


def span(t: int, name: str, first: int, last: int, runnable: bool = True) -> Record:
    return rec(
        t, "beats", f"{name}/beat", agent=name, life=0, first=first, last=last, last_start=t + (last - first) * S,
        end=t + (last - first) * S + 1000, runnable=runnable, ops={"stat": 1},
    )  # fmt: skip


def op(t: int, name: str, operation: str, role: str = "beat") -> Record:
    return rec(
        t, "op", f"{name}/{role}", agent=name, life=0, episode=0, role=role, operation=operation, path=".rules", nth=0,
        result="ok", size=None, body=None,
    )  # fmt: skip


def fault(t: int, name: str, fault_id: str, operation: str, error: str | None = "EIO", on: str = "agents") -> Record:
    return rec(
        t, "fault", f"{name}/beat", fault=fault_id, agent=name, on=on, step="step", operation=operation, path=".rules",
        effect="error", error=error,
    )  # fmt: skip


def log(t: int, name: str, event: str, **fields: Any) -> Record:
    return rec(t, "log", f"{name}/beat", agent=name, life=0, event=event, fields=fields)


def claim(t: int, post: str, name: str, said: str, verify: str = "canonical") -> Record:
    return rec(
        t, "claim", f"op:v2/{name}", post=post, version="v2", agent=name, operator="op", verify=verify, claim=said
    )  # fmt: skip


def end(t: int = 60 * S, reason: str = "duration") -> Record:
    return rec(t, "end", reason=reason)


V2 = SECRET.encode()


def applied(post: str, name: str, landed: int, effective: int, version: str = "v2", **changes: Any) -> PostFate:
    times = {"begun": landed, "completed": landed, "read": None, "unlinked": None, "persisted": effective - 10}
    return PostFate(post, version, name, "op", **{"fate": "applied", **times, "effective": effective, **changes})


def small(note: str = "the beat at 5s unlinked it unread") -> tuple[list[Record], Judgement]:
    """Two agents, one rollout: a-0 applies it after two seconds, a-1 loses it; one fault planned and fired."""
    records = [
        run_record(),
        rec(0, "host", host="host-0", disk=None, clock_offset=0, clock_ppm=0),
        rollout("v2", V2, ["a-0", "a-1"]),
        rec(0, "fault.plan", fault="flaky", means="EIO on read", on="agents", targets=["a-0", "a-1"], from_=0, to=None),
        body(b"", None, "start"),
        body(V2, "v2"),
        agent("a-0"),
        agent("a-1"),
        rec(0, "life.begin", "a-0", agent="a-0", life=0),
        rec(0, "life.begin", "a-1", agent="a-1", life=0),
        span(1 * S, "a-0", 0, 2),
        rec(3 * S, "wave", "op:v2", rollout="v2", wave=1, event="begin", targets=2),
        plan(3 * S, "v2/a-0#1", "v2", "a-0", V2),
        plan(3 * S, "v2/a-1#1", "v2", "a-1", V2),
        rec(3 * S + 10, "signal", "op:v2/a-0", agent="a-0", event="appeared", to=None),
        rec(3 * S + 10, "post.begin", "op:v2/a-0", post="v2/a-0#1", agent="a-0"),
        rec(3 * S + 10, "post.complete", "op:v2/a-0", post="v2/a-0#1", agent="a-0"),
        post_end(3 * S + 20, "v2/a-0#1", "a-0"),
        post_end(3 * S + 20, "v2/a-1#1", "a-1"),
        fault(4 * S, "a-0", "flaky", "read"),
        beat(4 * S, "a-0", 3),
        beat(5 * S, "a-0", 4),
        op(5 * S, "a-0", "unlink"),
        log(5 * S + 50, "a-0", "rules_loaded", digest=digest(V2), excerpt=SECRET),
        prompt(5 * S + 60, "a-0", V2),
        claim(9 * S, "v2/a-1#1", "a-1", "done"),
        end(),
    ]  # fmt: skip
    lost = PostFate("v2/a-1#1", "v2", "a-1", "op", "lost", note, begun=3 * S + 10, completed=3 * S + 10)
    fates = (
        applied("v2/a-0#1", "a-0", 3 * S + 10, 5 * S + 60, read=5 * S, unlinked=5 * S + 20, persisted=5 * S + 40),
        lost,
    )
    finding = Finding("no-silent-loss", "gap", "protocol", 5 * S, f"v2/a-1#1: {note}", "a-1", ("v2/a-1#1",))
    false_claim = Finding("honest-operator", "hazard", "writer", 9 * S, "said done", "a-1", ("v2/a-1#1",))
    verdicts = (
        Verdict("no-silent-loss", "No post is lost.", "broken", (finding,), 2),
        Verdict("honest-operator", "A done is true.", "broken", (false_claim,), 1),
        Verdict("scope", "Nothing is written elsewhere.", "held", (), 0),
        Verdict("coverage", "Late agents hold it.", "unknown", (), 0, "no spawns were observed"),
    )
    return records, Judgement(fates, verdicts)
