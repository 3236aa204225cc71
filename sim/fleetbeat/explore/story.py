"""The story behind a finding: what was done, by whom, in the order of the effects, and what each file held after it.

One reading of the history for sentence and diagrams alike. Effects come from what every engine observes; `op` records,
where there are any, add who did it, what was read and what failed. The story is cut to the agent of the finding, to the
posts that it depends on, and to the episodes that touched their files in between: idle beats and polls are no part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from fleetbeat.checks.episodes import Cluster, clusters
from fleetbeat.checks.model import Finding
from fleetbeat.checks.timeline import Agent, Post
from fleetbeat.checks.world import World
from fleetbeat.explore.contents import Contents
from fleetbeat.history.records import Record

SIGNAL, CANONICAL, PROMPT, OTHER = ".rules", "system/rules.md", "prompt", ""
#: Episodes of the agent before the last one that a story shows at most, and rows in all.
MOST_EPISODES, MOST_ROWS = 4, 48
_QUIET = frozenset({"section", "compose", "mkdir", "close", "lock", "sync", "sleep", "list"})


@dataclass(frozen=True, slots=True)
class Files:
    """What the three files of the agent hold, in words: a version, `empty`, `none`, `part of v2`, ..."""

    rules: str = "none"
    canonical: str = "none"
    prompt: str = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was done. `verb`: look, open, read, post, begin, write, take, move, truncate, flush, log, fail, crash,
    power, start, end, claim. `file`: SIGNAL, CANONICAL, PROMPT or another path. `content`: what was read, written or
    taken; `over`: what stood there before. `role`: writer, beat, boot, rebuild or process."""

    t: int
    actor: str
    role: str
    verb: str
    file: str = OTHER
    content: str = ""
    over: str = ""
    error: str = ""
    effect: str = ""
    number: int = 0
    cause: str = ""
    after: Files = Files()


@dataclass(frozen=True, slots=True)
class Story:
    """`rows` in order, `before` what the files held at first, `left_out` rows that were cut for their number."""

    agent: str
    finding: Finding
    before: Files
    rows: tuple[Row, ...]
    left_out: int = 0

    @property
    def writers(self) -> tuple[str, ...]:
        """The writers' actors, in the order of their first rows."""
        return tuple(dict.fromkeys(row.actor for row in self.rows if row.role == "writer"))


def story_of(records: Sequence[Record], finding: Finding, most: int = MOST_ROWS) -> Story:
    """The story of a finding in a history that has it."""
    world = World(records)
    name = finding.agent if finding.agent in world.agents else next(iter(world.agents), "")
    agent = world.agents.get(str(name))
    if agent is None:
        return Story(str(name), finding, Files(), ())
    since, until, posts = _stretch(world, agent, finding)
    reader = _Reader(agent, Contents.of(records), posts, finding)
    rows = [row for row in reader.read(records) if since <= row.t <= until]
    first = next((index for index, row in enumerate(reader.all) if since <= row.t <= until), 0)
    before = reader.all[first - 1].after if first > 0 else reader.start
    kept = rows[-most:]
    if len(kept) < len(rows):
        before = rows[-most - 1].after
    return Story(agent.name, finding, before, tuple(kept), len(rows) - len(kept))


def _stretch(world: World, agent: Agent, finding: Finding) -> tuple[int, int, frozenset[str]]:
    """From when to when, in ns, and the posts whose writers are shown."""
    everything = clusters(agent, world.end + 1)
    found = [one for one in everything if not _is_first_boot(one) or one.start <= finding.t <= one.end]
    named = [post for post in agent.posts if post.id in finding.posts]
    at = finding.t
    if finding.t == world.end:
        at = min([at, *(post.consumption.at.t for post in named if post.consumption is not None)])
    covering = [one for one in found if one.start <= at]
    shown = _since_landing(covering, [(post.begun or post.planned).t for post in named]) if named else _alone(covering)
    since = shown[0].start if shown else 0 if not named else at
    until = max([finding.t, *(one.end for one in shown)]) if finding.t < world.end else world.end
    landed_after = max((one.end for one in everything if one.end < since), default=-1)
    posts = [
        post
        for post in agent.posts
        if (post.begun or post.planned).t <= until
        and (
            post in named
            or (post.begun is not None and post.begun.t > landed_after)
            or any(stand.until is not None and stand.until.t >= since for stand in post.stands)
        )
    ]
    starts = [_start(agent, post) for post in posts]
    return min([since, *starts]), until, frozenset(post.id for post in posts)


def _start(agent: Agent, post: Post) -> int:
    """When a post landed; when its writer began, if the agent's host died in between."""
    landed = (post.begun or post.planned).t
    return post.planned.t if agent.deaths_within(post.planned.t, landed) else landed


def _since_landing(covering: Sequence[Cluster], landed: Sequence[int]) -> Sequence[Cluster]:
    """The episodes since the posts landed, the last few of them."""
    return [one for one in covering if one.end >= min(landed)][-MOST_EPISODES:]


def _alone(covering: Sequence[Cluster]) -> Sequence[Cluster]:
    """The last episode; if that is a rebuild by itself, from the beat on that left what it read."""
    for index in range(len(covering) - 1, -1, -1):
        if covering[index].beats:
            return covering[index:][-MOST_EPISODES:]
    return covering[-1:]


def _is_first_boot(one: Cluster) -> bool:
    return not one.beats and all(rebuild.cause == "boot" and rebuild.life == 0 for rebuild in one.rebuilds)


@dataclass(slots=True)
class _Reader:
    agent: Agent
    contents: Contents
    posts: frozenset[str]
    finding: Finding
    files: Files = Files()
    shown: Files = Files()
    start: Files = Files()
    all: list[Row] = field(default_factory=list)
    effects: list[Row] = field(default_factory=list)
    versions: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    standing: dict[str, str] = field(default_factory=dict)
    causes: dict[tuple[int, int], str] = field(default_factory=dict)
    failed: Record | None = None
    powerless: int = -1

    def read(self, records: Sequence[Record]) -> list[Row]:
        self.start = self.files = self.shown = Files(
            "start" if any(r.kind == "edit" and self._mine(r) for r in records) else "none",
            self.contents.of_body(self.agent.fields.get("canonical")),
        )
        for record in records:
            if self.effects and (record.t > self.effects[0].t):
                self._settle(None)
            if self._mine(record):
                for row in self._rows(record):
                    self.all.append(replace(row, after=self.files))
                    self.shown = self.files
        self._settle(None)
        return self.all

    def _mine(self, record: Record) -> bool:
        return bool(record.get("agent") == self.agent.name)

    def _rows(self, record: Record) -> Iterator[Row]:
        kind = record.kind
        if kind == "post.plan":
            self.versions[record["post"]] = (record["version"], record.actor, record["write"])
            self.standing[record["version"]] = record["body"]
        elif kind == "rebuild.begin":
            self.causes[record["life"], record["rebuild"]] = record["cause"]
        elif kind in ("signal", "canonical", "prompt", "post.begin", "post.complete"):
            self._effect(record)
        elif kind == "fault":
            self.failed = record
            if record["effect"].split()[-1] == "delay":
                self.failed = None
        elif kind == "op":
            yield from self._op(record)
        elif kind == "log":
            self._settle(None)
            yield self._agents(record, "log", record["event"], "")
        elif kind == "life.end" and record["cause"] != "end":
            self._settle(None)
            yield Row(record.t, self.agent.name, "process", record["cause"])
            self.failed = None
            if record["cause"] == "power":
                self.powerless = record.t
        elif kind == "life.begin" and record["life"] > 0:
            yield Row(record.t, self.agent.name, "process", "start", number=record["life"])
        elif kind == "heartbeat.end":
            yield Row(record.t, f"{self.agent.name}/beat", "beat", "end", error=record["error"])
        elif kind == "claim" and self.finding.invariant == "honest-operator" and record["post"] in self.finding.posts:
            yield Row(record.t, record.actor, "writer", "claim", content=record["version"], cause=record["verify"])

    # --- effects ---

    def _effect(self, record: Record) -> None:
        """Books what changed; who did it is said by the operation that follows, or guessed."""
        files, t = self.files, record.t
        if record.kind == "signal":
            event = record["event"]
            if event in ("vanished", "moved"):
                self.files = replace(files, rules="none")
                verb = "take" if event == "vanished" else "move"
                self.effects.append(Row(t, "", "", verb, SIGNAL, files.rules, cause=record.get("to") or ""))
            elif event in ("appeared", "replaced"):
                self.files = replace(files, rules="a signal")
                self.effects.append(Row(t, "", "", "post", SIGNAL, "a signal", files.rules))
            else:
                self.effects.append(Row(t, "", "", "write", SIGNAL, files.rules, files.rules))
        elif record.kind == "post.begin":
            self._adopt(record["post"], whole=False)
        elif record.kind == "post.complete":
            self._adopt(record["post"], whole=True)
        elif record.kind == "canonical":
            body = self.contents.of_body(record.get("body"))
            self.files = replace(files, canonical=body)
            verb = {"truncated": "truncate", "removed": "take"}.get(record["event"], "write")
            self.effects.append(Row(t, "", "", verb, CANONICAL, body, files.canonical))
        else:
            text = self.contents.of_prompt(record)
            self.files = replace(files, prompt=text)
            self.effects.append(Row(t, "", "", "flush", PROMPT, text, files.prompt))

    def _adopt(self, post: str, whole: bool) -> None:
        version, actor, write = self.versions.get(post, (post, "", ""))
        content = version if whole else f"part of {version}"
        self.files = replace(self.files, rules=content)
        last = self.effects[-1] if self.effects else Row(0, actor, "writer", "post", SIGNAL)
        verb = ("post" if last.verb in ("post", "begin") else "write") if whole else "begin"
        if last.file == SIGNAL and last.verb in ("post", "write", "take", "begin"):
            self.effects[-1] = replace(last, actor=actor, role="writer", verb=verb, content=content, cause=write)

    def _settle(self, op: Record | None) -> None:
        """Turns effects into rows: by the operation that made them, else by whoever was at work then."""
        for row in self.effects:
            if not row.actor:
                actor, role, number = self._who(row.t) if op is None else _doer(op)
                row = replace(row, actor=actor, role=role, number=number)
                row = replace(row, cause=row.cause or self._cause(op))
            elif op is not None:
                row = replace(row, number=op["episode"])
            self.all.append(replace(row, after=self.files))
        self.effects = []
        self.shown = self.files

    def _who(self, t: int) -> tuple[str, str, int]:
        name = self.agent.name
        if t == self.powerless:
            return name, "process", 0
        beat = self.agent.beat_at(t)
        if beat is not None:
            return f"{name}/beat", "beat", beat.number
        for rebuild in self.agent.rebuilds_within(t, t):
            return f"{name}/rebuild", "boot" if rebuild.cause == "boot" else "rebuild", rebuild.number
        return name, "process", 0

    def _cause(self, op: Record | None) -> str:
        return "" if op is None else self.causes.get((op["life"], op["episode"]), "") if op["role"] == "rebuild" else ""

    # --- operations ---

    def _op(self, record: Record) -> Iterator[Row]:
        if record["role"] == "poll":
            return
        failed, self.failed = self.failed, None
        had = bool(self.effects)
        self._settle(record)
        actor, role, number = _doer(record)
        kind, path, error = record["operation"], record["path"], record["result"]
        row = Row(record.t, actor, role, kind, _file(path), number=number, cause=self._cause(record))
        if failed is not None and failed["error"]:
            yield replace(row, verb="fail", content=kind, error=failed["error"], effect=failed["effect"])
        elif error not in ("ok", "ENOENT", "EEXIST"):
            yield replace(row, verb="fail", content=kind, error=error)
        elif had or kind in _QUIET:
            return
        elif kind == "stat" and path == SIGNAL:
            yield replace(row, verb="look", content=self.files.rules)
        elif kind == "open" and path == SIGNAL and error == "ok" and role != "writer":
            yield replace(row, verb="open", content=self.files.rules)
        elif kind == "read" and path == SIGNAL and record.get("body") is not None:
            yield replace(row, verb="read", content=self._as_read(record["body"]))
        elif kind == "read" and path == CANONICAL and record["nth"] == 0:
            yield replace(row, verb="read", content=self.files.canonical)
        elif kind == "open" and path == CANONICAL and error == "ENOENT":
            yield replace(row, verb="read", content="none")
        elif kind == "rename" and role != "writer":
            yield replace(row, verb="move", file=path)

    def _as_read(self, body: str) -> str:
        """What was read of the signal: the version that stands there if it is that body, which others may share."""
        stands = self.files.rules
        if self.standing.get(stands) == body:
            self.contents.call(body, stands)
        return self.contents.of_body(body)

    def _agents(self, record: Record, verb: str, content: str, file: str) -> Row:
        if record.actor.endswith("/rebuild"):
            return Row(record.t, record.actor, "rebuild", verb, file, content)
        beat = self.agent.beat_at(record.t)
        return Row(record.t, record.actor, "beat", verb, file, content, number=beat.number if beat else 0)


def _doer(op: Record) -> tuple[str, str, int]:
    role = {"post": "writer", "hand-down": "writer"}.get(op["role"], op["role"])
    return op.actor, role, op["episode"]


def _file(path: str) -> str:
    return PROMPT if path == "system/system.md" else path
