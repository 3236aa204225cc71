"""What the engine's effects and its watch need of a world and of an actor, for one operation of a search.

Records come without a time: when they happened is the place of their transition in a schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fleetbeat.engines.des.watch import Name, Watch, Writing
from fleetbeat.engines.effects import Trace
from fleetbeat.engines.recorder import Row, When
from fleetbeat.files.memory import MemoryFiles
from fleetbeat.history.records import Record
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import Process
from fleetbeat.protocol.vocabulary import Op
from fleetbeat.scenario.manifest import Manifest

if TYPE_CHECKING:
    from fleetbeat.explore.plan import Plan

#: Effects are given a time and a place in an order that they hand on to records; a search has neither yet.
NEVER: Any = (0, None)


class Shown:
    """One observable record, but for its time. `raw` stands for it in digests."""

    __slots__ = ("actor", "fields", "kind", "raw")

    def __init__(self, actor: str, kind: str, fields: Mapping[str, Any]) -> None:
        self.actor = actor
        self.kind = kind
        self.fields = fields
        self.raw = repr((actor, kind, sorted(fields.items()))).encode()

    def __repr__(self) -> str:
        return self.raw.decode()


class Collected:
    """A recorder for one operation: what it showed, and its `op` record, which no verdict rests on."""

    def __init__(self) -> None:
        self.items: list[Shown] = []
        self.op: Mapping[str, Any] | None = None

    def add(self, when: When, actor: str, kind: str, /, **fields: Any) -> None:
        self.items.append(Shown(actor, kind, fields))

    def row(self, when: When, actor: str, kind: str, fields: Mapping[str, Any]) -> Row:
        return (0, NEVER[1], 0, Record(0, actor, kind, fields))

    def keep(self, row: Row) -> None:
        record = row[3]
        if record.kind == "op":
            self.op = record.fields
        else:
            self.items.append(Shown(record.actor, record.kind, record.fields))

    def shown(self) -> tuple[Shown, ...]:
        return tuple(self.items)


@dataclass(slots=True)
class _Agent:
    generation: int = 0


class Scene:
    """A world while one operation is carried out in it."""

    def __init__(self, plan: Plan, files: MemoryFiles, body: Callable[[bytes], str]) -> None:
        self.files = files
        self.specs = {agent.name: agent.spec for agent in plan.agents}
        self.manifests = {agent.spec.agent: agent.manifest for agent in plan.agents}
        self.hosts = plan.hosts
        self.agents = {agent.name: _Agent() for agent in plan.agents}
        self.recorder = Collected()
        self.watch: Glance
        self._body = body

    def manifest(self, agent: str) -> Manifest:
        return self.manifests[self.specs[agent].agent]

    def body(self, data: bytes, when: When) -> str:
        name = self._body(data)
        self.recorder.add(when, "harness", "body", body=name)
        return name

    def host_seconds(self, agent: str, at_ns: int) -> float:
        """No time passes in a search, and so none gets into the agents' logs."""
        return 0.0


@dataclass(slots=True)
class Hand:
    """A thread of a process, or a writer: who performs an operation.

    `number` is its process in the files, `thread` its place among the process's threads.
    """

    number: int
    actor: str
    life: int
    on: str
    agent: str
    home: str
    operator: str = ""
    post: int | None = None
    writing: Writing | None = None
    thread: int = 0
    process: Process = field(init=False)
    scene: Scene = field(init=False)

    def taking(self, process: Process, scene: Scene, posts: tuple[tuple[bool, bool], ...], plan: Plan) -> Hand:
        """The same in a scene, for one operation."""
        taken = Hand(
            self.number,
            self.actor,
            self.life,
            self.on,
            self.agent,
            self.home,
            self.operator,
            self.post,
            None,
            self.thread,
        )
        taken.process = process
        taken.scene = scene
        if self.post is not None:
            one = plan.posts[self.post]
            taken.writing = Writing(one.post, one.target, one.body, *posts[self.post])
        return taken

    def relative(self, path: str) -> str:
        prefix = self.home + "/"
        return path[len(prefix) :] if path.startswith(prefix) else path

    def perform(self, op: Op, when: When) -> Any:
        return self.process.perform(op, self.actor)

    def keep(self, trace: Trace, row: Row) -> None:
        self.scene.recorder.keep(row)

    def die(self, when: When, outcome: Outcome) -> None:
        """Deaths are transitions of their own in a search."""
        raise NotImplementedError


class Glance(Watch):
    """The engine's watch, put up for one operation: what it would have remembered is found in the world."""

    def __init__(
        self,
        scene: Scene,
        paths: Mapping[str, tuple[str, str]],
        watched: tuple[tuple[int, str | None], ...],
        declared: dict[tuple[str, str], bool],
    ) -> None:
        self.world = scene  # type: ignore[assignment]
        self._names = {path: Name(agent, role, path, scene.files.inode(path)) for path, (agent, role) in paths.items()}
        self._inodes = {name.inode: name for name in self._names.values() if name.inode is not None}
        self._writable = {handle: None if path is None else self._names[path] for handle, path in watched}
        self._declared = declared
        self._eyes = scene.files.processes[1]

    def watched(self) -> tuple[tuple[int, str | None], ...]:
        """Handles open for writing, and the watched name at which each was opened."""
        return tuple((handle, None if name is None else name.path) for handle, name in sorted(self._writable.items()))
