"""Hand-written histories: one line an event, defaults for everything that a story is not about.

Times are in seconds here, nanoseconds in the records. The builder keeps records in the order in which they are told;
`history()` puts the head before them and `end` behind. Bodies are named by their text.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.history.records import Record, compared, digest, norm_of

AGENT = "a-0"
#: The order in which engines write what was planned.
HEAD = ("host", "rollout", "fault.plan", "body", "agent")


def ns(seconds: float) -> int:
    return round(seconds * 1_000_000_000)


class Story:
    """`told` holds the events, `head` what was planned. Every method returns the story, so that lines can be
    chained.
    """

    def __init__(
        self, rules: str | None = None, agents: tuple[str, ...] = (AGENT,), end: float = 20, **run: Any
    ) -> None:
        self.head: list[Record] = []
        self.told: list[Record] = []
        self.end = end
        self.expect: dict[str, Any] = run.pop("expect", {})
        self._run = run
        self._bodies: dict[str, bool] = {}
        self._posts: dict[str, tuple[str, str]] = {}
        self._numbers: dict[str, int] = {}
        for agent in agents:
            self.agent(agent, rules)

    # --- the head ---

    def agent(self, agent: str, rules: str | None = None, **fields: Any) -> Story:
        body = None if rules is None else self.body(rules, "start")
        self.head.append(
            Record(
                0,
                "harness",
                "agent",
                {
                    "agent": agent,
                    "home": f"/{agent}",
                    "host": "host-0",
                    "program": "reference",
                    "parent": None,
                    "spawned": False,
                    "declares": [".rules", "system", "system/*", "logs", "logs/*"],
                    "set_aside": [],
                    "known_gaps": [],
                    "canonical": body,
                    "interval": None,
                    **fields,
                },
            )
        )
        return self

    def spawns(self, t: float, agent: str, rules: str | None) -> Story:
        """An agent that comes into being at `t` and boots then."""
        self.agent(agent, rules, spawned=True)
        made = self.head.pop()
        self.told.append(Record(ns(t), made.actor, made.kind, made.fields))
        return self.boot(t, rules, agent)

    def plan(self, kind: str, **fields: Any) -> Story:
        self.head.append(Record(0, "harness", kind, fields))
        return self

    def rollout(self, version: str, *targets: str, body: str | None = None, **fields: Any) -> Story:
        name = self.body(version if body is None else body, "rollout")
        names = list(targets or (AGENT,))
        known = {"rollout": version, "version": version, "operator": "op", "body": name, "targets": names}
        return self.plan("rollout", **{**known, "write": "atomic", "verify": "none", "waves": [names], **fields})

    def body(self, text: str | bytes, origin: str = "rollout") -> str:
        data = text.encode() if isinstance(text, str) else text
        name = digest(data)
        if name not in self._bodies:
            self._bodies[name] = True
            plain = compared(data)
            fields = {
                "body": name,
                "norm": None if plain is None else norm_of(plain),
                "blank": plain is not None and not plain,
                "size": len(data),
                "version": None,
                "origin": origin,
                "text": plain,
                "base64": None,
            }
            self.head.append(Record(0, "harness", "body", fields))
        return name

    # --- events ---

    def add(self, t: float, kind: str, actor: str = "harness", /, **fields: Any) -> Story:
        self.told.append(Record(ns(t), actor, kind, fields))
        return self

    def signal(self, t: float, event: str, agent: str = AGENT, to: str | None = None, **fields: Any) -> Story:
        return self.add(t, "signal", agent=agent, event=event, to=to, **fields)

    def planned(
        self, t: float, post: str, body: str | bytes, agent: str = AGENT, write: str = "atomic", **fields: Any
    ) -> Story:
        name = self.body(body)
        self._posts[post] = (agent, write)
        version = post.split("/")[0].split(":")[-1].split("#")[0]
        told = {
            "post": post,
            "version": version,
            "agent": agent,
            "operator": "op",
            "attempt": 1,
            "body": name,
            "write": write,
        }
        return self.add(t, "post.plan", f"op:{post}", **{**told, **fields})

    def begin(self, t: float, post: str) -> Story:
        return self.add(t, "post.begin", f"op:{post}", post=post, agent=self._posts[post][0])

    def complete(self, t: float, post: str) -> Story:
        return self.add(t, "post.complete", f"op:{post}", post=post, agent=self._posts[post][0])

    def ended(self, t: float, post: str, outcome: str = "written", **fields: Any) -> Story:
        told = {"post": post, "agent": self._posts[post][0], "outcome": outcome, "error": None, "leftover": None}
        return self.add(t, "post.end", f"op:{post}", **{**told, **fields})

    def posts(
        self, t: float, post: str, body: str | bytes, over: bool = False, agent: str = AGENT, **fields: Any
    ) -> Story:
        """A whole atomic post: plan, rename (over a signal that is there, if `over`), end."""
        self.planned(t, post, body, agent, **fields)
        self.signal(t, "replaced" if over else "appeared", agent)
        return self.begin(t, post).complete(t, post).ended(t, post)

    def vanished(self, t: float, agent: str = AGENT) -> Story:
        return self.signal(t, "vanished", agent)

    def beat(
        self,
        t: float,
        end: float,
        number: int | None = None,
        agent: str = AGENT,
        life: int = 0,
        outcome: str = "done",
        runnable: bool = True,
    ) -> Story:
        number = self._next(agent) if number is None else number
        return self.add(
            t,
            "beat",
            f"{agent}/beat",
            agent=agent,
            life=life,
            beat=number,
            end=ns(end),
            runnable=runnable,
            outcome=outcome,
        )

    def _next(self, agent: str, count: int = 1) -> int:
        self._numbers[agent] = self._numbers.get(agent, -1) + count
        return self._numbers[agent]

    def idle(
        self, t: float, count: int, every: float = 1, agent: str = AGENT, life: int = 0, runnable: bool = True
    ) -> Story:
        last = self._next(agent, count)
        start = t + (count - 1) * every
        told = {"first": last - count + 1, "last": last, "last_start": ns(start), "end": ns(start + 0.001)}
        return self.add(
            t, "beats", f"{agent}/beat", agent=agent, life=life, runnable=runnable, ops={"stat": count}, **told
        )

    def canonical(
        self, t: float, body: str | bytes | None, event: str = "written", agent: str = AGENT, origin: str = "unknown"
    ) -> Story:
        name = None if body is None else self.body(body, origin)
        return self.add(t, "canonical", agent=agent, event=event, body=name)

    def persists(self, t: float, text: str, agent: str = AGENT) -> Story:
        """Canonical rewritten in place: truncated, then written, 1ms later."""
        return self.canonical(t, "", "truncated", agent).canonical(t + 0.001, text, "written", agent)

    def prompt(self, t: float, text: str | None, state: str = "whole", agent: str = AGENT) -> Story:
        norm = None if text is None else norm_of(text)
        return self.add(t, "prompt", agent=agent, state=state, norm=norm, blank=text is not None and not text.strip())

    def log(self, t: float, event: str = "rules_loaded", agent: str = AGENT, life: int = 0) -> Story:
        return self.add(t, "log", f"{agent}/beat", agent=agent, life=life, event=event, fields={})

    def consumes(self, t: float, text: str, agent: str = AGENT) -> Story:
        """A whole beat from `t`: unlink after 10ms, canonical, prompt, log; over after 50ms."""
        self.beat(t, t + 0.05, agent=agent).vanished(t + 0.01, agent)
        return self.applies(t + 0.02, text, agent)

    def applies(self, t: float, text: str, agent: str = AGENT) -> Story:
        return self.persists(t, text, agent).prompt(t + 0.01, text, agent=agent).log(t + 0.02, agent=agent)

    def boot(self, t: float, text: str | None, agent: str = AGENT, life: int = 0) -> Story:
        """A process starts, boots within 10ms and flushes what canonical holds."""
        self.add(t, "life.begin", agent, agent=agent, life=life)
        return self.rebuild(t, t + 0.01, text, agent, life, "boot")

    def rebuild(
        self,
        t: float,
        end: float,
        text: str | None,
        agent: str = AGENT,
        life: int = 0,
        cause: str = "molt",
        outcome: str = "done",
        number: int = 0,
    ) -> Story:
        self.rebuilding(t, agent, life, cause, number).prompt(end - 0.001, text, agent=agent)
        return self.rebuilt(end, agent, life, outcome, number)

    def rebuilding(self, t: float, agent: str = AGENT, life: int = 0, cause: str = "molt", number: int = 0) -> Story:
        return self.add(t, "rebuild.begin", f"{agent}/rebuild", agent=agent, life=life, rebuild=number, cause=cause)

    def rebuilt(self, t: float, agent: str = AGENT, life: int = 0, outcome: str = "done", number: int = 0) -> Story:
        return self.add(t, "rebuild.end", f"{agent}/rebuild", agent=agent, life=life, rebuild=number, outcome=outcome)

    def dies(self, t: float, cause: str = "crash", agent: str = AGENT, life: int = 0) -> Story:
        return self.add(t, "life.end", agent, agent=agent, life=life, cause=cause, fault=None)

    def fault(
        self, t: float, operation: str, path: str | None = None, effect: str = "error", agent: str = AGENT,
        on: str = "agents",
        actor: str = "beat", fault: str = "f",
    ) -> Story:  # fmt: skip
        step = f"{agent}/{actor}#0.0:{operation}"
        return self.add(
            t,
            "fault",
            f"{agent}/{actor}",
            fault=fault,
            agent=agent,
            on=on,
            step=step,
            operation=operation,
            path=path,
            effect=effect,
            error="EIO",
        )

    def edit(self, t: float, path: str, text: str | None, agent: str = AGENT) -> Story:
        name = None if text is None else self.body(text, "edit")
        return self.add(t, "edit", agent=agent, path=path, body=name, by="outside hand")

    def unseen(self, start: float, end: float, agent: str | None = AGENT, missing: str = "the directory") -> Story:
        return self.add(start, "unseen", **{"agent": agent, "from": ns(start), "to": ns(end), "missing": missing})

    def claim(self, t: float, post: str, claim: str = "done", verify: str = "disappearance", **fields: Any) -> Story:
        agent = self._posts[post][0]
        version = post.split("/")[0].split(":")[-1].split("#")[0]
        told = {"post": post, "version": version, "agent": agent, "operator": "op", "verify": verify, "claim": claim}
        return self.add(t, "claim", f"op:{post}", **{**told, **fields})

    def op(
        self,
        t: float,
        operation: str,
        path: str = ".rules",
        body: str | None = None,
        agent: str = AGENT,
        role: str = "beat",
    ) -> Story:
        name = None if body is None else self.body(body)
        told = {"life": 0, "episode": 0, "role": role, "operation": operation, "path": path, "nth": 0, "result": "ok"}
        return self.add(t, "op", f"{agent}/{role}", agent=agent, size=None, body=name, **told)

    # --- the whole ---

    def history(self, end: bool = True) -> list[Record]:
        run = {
            "schema": 1,
            "fleetbeat": "0",
            "scenario": "told",
            "seed": 1,
            "engine": "des",
            "duration": ns(self.end),
            "observed": [],
            "expect": self.expect,
            "bound": 2,
            **self._run,
        }
        told = sorted(self.told, key=lambda record: record.t)
        last = [Record(ns(self.end), "harness", "end", {"reason": "duration"})] if end else []
        head = sorted(self.head, key=lambda record: HEAD.index(record.kind))
        return [Record(0, "harness", "run", run), *head, *told, *last]


def shown(records: list[Record]) -> str:
    """A history as a failing test prints it."""
    return "\n".join(
        f"{record.t / 1e9:>9.4f}s {record.actor:<14} {record.kind:<14} {dict(record.fields)}" for record in records
    )


def without_ops(records: list[Record]) -> list[Record]:
    return [record for record in records if record.kind != "op"]
