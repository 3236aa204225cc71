"""The history, indexed once for all checks: agents' timelines, posts, rollouts, claims, what was planned.

One pass over the records, then attribution (`credit`): which post's body became canonical, effective, or torn. `op`
records are kept aside for the explaining times of a fate and decide nothing. Rejected: a check that walks the records
on its own, which made sixteen passes and sixteen notions of what stands at `.rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from fleetbeat.checks.framework import FRAMEWORK, Streamed
from fleetbeat.checks.model import PostFate
from fleetbeat.checks.signals import Names
from fleetbeat.checks.timeline import (
    BLANK,
    CANONICAL_PATH,
    SIGNAL_PATH,
    Agent,
    Beat,
    Body,
    Canonical,
    Edit,
    Fired,
    Life,
    Log,
    Mark,
    Post,
    Prompt,
    Rebuild,
    Span,
    Unseen,
)
from fleetbeat.history.records import Record

_START = Mark(-1, -1)


@dataclass(frozen=True, slots=True)
class Rollout:
    id: str
    version: str
    operator: str
    body: Body
    targets: frozenset[str]


@dataclass(frozen=True, slots=True)
class Claim:
    at: Mark
    post: str
    version: str
    agent: str
    operator: str
    verify: str
    claim: str


@dataclass(frozen=True, slots=True)
class Write:
    at: Mark
    actor: str
    agent: str | None
    path: str


class World:
    """All of a history that checks may ask for. `records` need not end with an `end` record: a run may be cut anywhere.

    `bound`: runnable beats within which a signal must be resolved once faults are off. `end`: the last instant in ns.
    `framework`: what the event framework's two checks saw, in a history with a workload.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self.run: Record | None = None
        self.bound = 2
        self.end = 0
        self.agents: dict[str, Agent] = {}
        self.posts: list[Post] = []
        self.rollouts: list[Rollout] = []
        self.claims: list[Claim] = []
        self.writes: list[Write] = []
        self.faults_of_operators: list[Fired] = []
        self.framework: Streamed | None = None
        self._post: dict[str, Post] = {}
        self._bodies: dict[str, Body] = {}
        self._names: dict[str, Names] = {}
        self._disks: set[str] = set()
        self._unseen: list[Unseen] = []
        self._rollouts: list[Record] = []
        self._count = 0
        self._more = 0
        self._read(records)
        self._settle()

    # --- for checks ---

    def examined(self, n: int = 1) -> None:
        """Counts cases that a check looked at."""
        self._count += n

    def take_examined(self) -> int:
        """The count since the last call; for `judge`."""
        count, self._count = self._count, 0
        return count

    def found_more(self, n: int) -> None:
        """Counts findings that a check does not yield, since it kept only the first ones."""
        self._more += n

    def take_more(self) -> int:
        """The count since the last call; for `judge`."""
        count, self._more = self._more, 0
        return count

    @cached_property
    def fates(self) -> tuple[PostFate, ...]:
        """The fate of each post, in the order of their plans."""
        from fleetbeat.checks.fates import fates_of

        return fates_of(self)

    @cached_property
    def fate(self) -> Mapping[str, PostFate]:
        return {fate.post: fate for fate in self.fates}

    def post(self, name: str) -> Post | None:
        return self._post.get(name)

    def body(self, name: str) -> Body:
        """A body by digest; one without a `body` record is known by its bytes alone."""
        found = self._bodies.get(name)
        if found is None:
            blank = name == BLANK
            found = self._bodies[name] = Body(name, name if blank else f"raw:{name}", blank, True, None)
        return found

    # --- the pass ---

    def _read(self, records: Iterable[Record]) -> None:
        readers: dict[str, Callable[[Mark, Record], None]] = {
            name.removeprefix("_on_").replace("_", "."): getattr(self, name)
            for name in dir(self)
            if name.startswith("_on_")
        }
        for seq, record in enumerate(records):
            kind = record.kind
            reader = readers.get(kind)
            if reader is not None:
                reader(Mark(seq, record.t), record)
            elif kind in FRAMEWORK:
                if self.framework is None and kind == "workload":
                    self.framework = Streamed(None)
                if self.framework is not None:
                    self.framework.feed(record)
            if record.t > self.end:
                self.end = record.t

    def _settle(self) -> None:
        from fleetbeat.checks.credit import credit

        for record in self._rollouts:  # only now, as bodies may be recorded after the rollouts that name them
            names = (record["rollout"], record["version"], record["operator"])
            self.rollouts.append(Rollout(*names, self.body(record["body"]), frozenset(record["targets"])))
        for agent in self.agents.values():
            agent.unseen.extend(self._unseen)
            agent.beats.sort(key=lambda beat: beat.t)
            _keep_the_living(agent)
            for taken in agent.consumptions:
                taken.beat = agent.beat_at(taken.at.t)
            for taken, after in pairwise(agent.consumptions):
                taken.after = after.at
            credit(agent)

    def _agent(self, record: Record) -> Agent:
        agent = self.agents.get(record["agent"])
        return self._new_agent(record["agent"], {}, Mark(-1, record.t)) if agent is None else agent

    def _new_agent(self, name: str, fields: Mapping[str, Any], born: Mark) -> Agent:
        agent = self.agents[name] = Agent(name, fields, born, fields.get("host") in self._disks)
        start = fields.get("canonical")
        body = None if start is None else self.body(start)
        agent.canonicals.append(_canonical(_START, "start", body, "start"))
        agent.prompts.append(Prompt(_START, "missing", None))
        if body is not None:
            agent.known[body.key] = -1
        self._names[name] = Names.of(agent)
        return agent

    # --- what was planned ---

    def _on_run(self, mark: Mark, record: Record) -> None:
        self.run = record
        self.bound = record.get("bound") or self.bound

    def _on_host(self, mark: Mark, record: Record) -> None:
        if record.get("disk") is not None:
            self._disks.add(record["host"])

    def _on_body(self, mark: Mark, record: Record) -> None:
        name, norm = record["body"], record.get("norm")
        blank = bool(record.get("blank"))
        key = BLANK if blank else f"raw:{name}" if norm is None else norm
        self._bodies[name] = Body(name, key, blank, norm is not None, record.get("version"))

    def _on_rollout(self, mark: Mark, record: Record) -> None:
        self._rollouts.append(record)

    def _on_agent(self, mark: Mark, record: Record) -> None:
        self._new_agent(record["agent"], record.fields, mark)

    # --- processes ---

    def _on_life_begin(self, mark: Mark, record: Record) -> None:
        self._agent(record).lives.append(Life(record["life"], mark))

    def _on_life_end(self, mark: Mark, record: Record) -> None:
        agent = self._agent(record)
        if not agent.lives:
            agent.lives.append(Life(record["life"], Mark(-1, 0)))
        agent.lives[-1].end, agent.lives[-1].cause = mark, record["cause"]
        if record["cause"] == "power":
            self._names[agent.name].powerless_at = mark.t

    def _on_heartbeat_end(self, mark: Mark, record: Record) -> None:
        self._agent(record).heartbeat_ends.append((mark, record["life"], record["beat"], record["error"]))

    def _on_runnable(self, mark: Mark, record: Record) -> None:
        self._agent(record).runnables.append((mark, record["runnable"]))

    def _on_pause(self, mark: Mark, record: Record) -> None:
        self._agent(record).pauses.append((mark.t, record["end"]))

    def _on_beat(self, mark: Mark, record: Record) -> None:
        beat = Beat(record.t, record["end"], record["life"], record["beat"], record["runnable"], record["outcome"])
        self._agent(record).beats.append(beat)

    def _on_beats(self, mark: Mark, record: Record) -> None:
        count = record["last"] - record["first"] + 1
        span = Span(record.t, record["end"], record["life"], count, record["last_start"], record["runnable"])
        self._agent(record).spans.append(span)

    def _on_rebuild_begin(self, mark: Mark, record: Record) -> None:
        self._agent(record).rebuilds.append(Rebuild(record["life"], record["rebuild"], record["cause"], mark))

    def _on_rebuild_end(self, mark: Mark, record: Record) -> None:
        for rebuild in reversed(self._agent(record).rebuilds):
            if (rebuild.life, rebuild.number) == (record["life"], record["rebuild"]):
                rebuild.end, rebuild.outcome = mark, record["outcome"]
                return

    # --- directories ---

    def _on_signal(self, mark: Mark, record: Record) -> None:
        agent = self._agent(record)
        judged = record.get("entry") in (None, "file") and record.get("readable") is not False
        names = self._names[agent.name]
        names.signal(mark, record["event"], record.get("to"), judged, agent.canonicals[-1].key, agent.prompts[-1].key)

    def _on_canonical(self, mark: Mark, record: Record) -> None:
        agent = self._agent(record)
        name = record.get("body")
        edited = any(edit.at.t == mark.t and edit.path == CANONICAL_PATH for edit in agent.edits[-2:])
        by = "power" if self._names[agent.name].powerless_at == mark.t else "edit" if edited else "agent"
        body = None if name is None else self.body(name)
        agent.canonicals.append(_canonical(mark, record["event"], body, by))

    def _on_prompt(self, mark: Mark, record: Record) -> None:
        whole = record["state"] == "whole"
        self._agent(record).prompts.append(Prompt(mark, record["state"], record.get("norm") if whole else None))

    def _on_log(self, mark: Mark, record: Record) -> None:
        self._agent(record).logs.append(Log(mark, record["event"], (record.get("fields") or {}).get("to")))

    def _on_write(self, mark: Mark, record: Record) -> None:
        self.writes.append(Write(mark, record.actor, record.get("agent"), record["path"]))

    def _on_edit(self, mark: Mark, record: Record) -> None:
        agent = self._agent(record)
        name = record.get("body")
        body = None if name is None else self.body(name)
        agent.edits.append(Edit(mark, record["path"], body))
        if body is not None:
            agent.known.setdefault(body.key, mark.seq - 1)
        if record["path"] == SIGNAL_PATH:
            self._names[agent.name].edited(mark, gone=body is None)
        last = agent.canonicals[-1]
        if record["path"] == CANONICAL_PATH and last.at.t == mark.t:
            agent.canonicals[-1] = Canonical(last.at, last.event, last.body, last.key, last.blank, "edit")

    # --- writers ---

    def _on_post_plan(self, mark: Mark, record: Record) -> None:
        body = self.body(record["body"])
        post = Post(
            record["post"],
            record["version"],
            record["agent"],
            record["operator"],
            record["write"],
            record["attempt"],
            body,
            mark,
        )
        self.posts.append(post)
        self._post[post.id] = post
        agent = self._agent(record)
        agent.posts.append(post)
        if post.write == "shared-temp":  # another writer's rename may carry its bytes to the name
            agent.known.setdefault(post.key, mark.seq)

    def _on_post_begin(self, mark: Mark, record: Record) -> None:
        post = self._post.get(record["post"])
        if post is not None and post.begun is None:
            post.begun = mark
            self.agents[post.agent].known.setdefault(post.key, mark.seq - 1)
            self._names[post.agent].begin(post, mark)

    def _on_post_complete(self, mark: Mark, record: Record) -> None:
        post = self._post.get(record["post"])
        if post is not None and post.completed is None:
            self._on_post_begin(mark, record)
            post.completed = mark
            self._names[post.agent].complete(post, mark)

    def _on_post_end(self, mark: Mark, record: Record) -> None:
        post = self._post.get(record["post"])
        if post is not None:
            post.ended, post.outcome = mark, record["outcome"]

    def _on_claim(self, mark: Mark, record: Record) -> None:
        names = ("post", "version", "agent", "operator", "verify", "claim")
        self.claims.append(Claim(mark, *(record[name] for name in names)))

    # --- what the harness did ---

    def _on_fault(self, mark: Mark, record: Record) -> None:
        actor = str(record.get("step") or record.actor).split("#")[0]
        fired = Fired(mark, record["fault"], actor, record["operation"], record.get("path") or "", record["effect"])
        if record["on"] != "agents":
            self.faults_of_operators.append(fired)
            return
        agent = self._agent(record)
        agent.faults.append(fired)
        if fired.effect == "power" and fired.operation in ("power", "process"):  # others strike after their operation
            self._names[agent.name].powerless_at = mark.t

    def _on_unseen(self, mark: Mark, record: Record) -> None:
        window = Unseen(record["from"], record["to"], record["missing"])
        (self._unseen if record.get("agent") is None else self._agent(record).unseen).append(window)
        if self.framework is not None:
            self.framework.feed(record)

    def _on_op(self, mark: Mark, record: Record) -> None:
        operation = record["operation"]
        if operation == "read" and record.get("body") is not None:
            self._agent(record).ops.append((record.t, operation, self.body(record["body"]).key))
        elif operation in ("unlink", "rename") and record["path"] == SIGNAL_PATH and record["result"] == "ok":
            self._agent(record).ops.append((record.t, operation, None))


def _keep_the_living(agent: Agent) -> None:
    """A name that vanished while no process lived was taken by another hand, or by the host's power."""
    for taken in agent.consumptions:
        life = agent.life_at(taken.at.t)
        if life is not None and life.end is not None and life.end < taken.at:
            taken.stands[-1].ending = "edited"
            if taken.post is not None:
                taken.post.consumption = None
    agent.consumptions[:] = [taken for taken in agent.consumptions if taken.stands[-1].ending == "consumed"]


def _canonical(mark: Mark, event: str, body: Body | None, by: str) -> Canonical:
    if body is None:
        return Canonical(mark, event, None, None, False, by)
    return Canonical(mark, event, body.digest, body.key, body.blank, by)
