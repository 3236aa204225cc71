"""Worlds as values: files, sections, locks and how far each post has come. An operation leads from one to another.

A world is never changed: an operation is carried out on a copy, by the same code as in the engine (`engines.effects`,
`engines.des.watch`), and worlds that will behave alike are one object. What an operation does in a world is remembered,
so a search that meets it again copies nothing. Numbers of inodes and handles are made of the thread that creates or opens
the file and a count, so that they do not depend on what others, or another thread of that process, did in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from fleetbeat.chance.step import Step
from fleetbeat.engines.bodies import Bodies
from fleetbeat.engines.effects import Trace, carry_out
from fleetbeat.explore.episodes import HANDLE, Answer, Node, failed
from fleetbeat.explore.scene import NEVER, Glance, Hand, Scene, Shown
from fleetbeat.files.inodes import subtree
from fleetbeat.files.memory import MemoryFiles, Unsynced
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import Process, WouldBlock

if TYPE_CHECKING:
    from fleetbeat.explore.plan import Plan

#: Inodes that one thread may create in a schedule.
_CREATES = 1 << 20


class Held(NamedTuple):
    """What a process holds besides its handles. `created`: inodes made by each of its threads."""

    sections: tuple[tuple[str, str], ...] = ()
    locks: tuple[tuple[str, str], ...] = ()
    created: tuple[int, int] = (0, 0)


class Value(NamedTuple):
    """A world without its files: processes by number, handles under watch, how far each post came (begun, complete)."""

    processes: tuple[Held, ...]
    watched: tuple[tuple[int, str | None], ...]
    posts: tuple[tuple[bool, bool], ...]


class World:
    """`moves`: what operations led to from here; `files` is never changed again."""

    __slots__ = ("files", "id", "moves", "raw", "value")

    def __init__(self, number: int, files: MemoryFiles, value: Value) -> None:
        self.id = number
        self.raw = number.to_bytes(4, "little")
        self.files = files
        self.value = value
        self.moves: dict[tuple[Any, ...], Move | None] = {}


@dataclass(frozen=True, slots=True)
class Move:
    """What an operation did: the world after it, the answer, what an observer saw of it, and its `op` record's fields.

    `changed` and `erred` are as in the engine's `Trace`.
    """

    world: World
    answer: Answer
    shown: tuple[Shown, ...]
    changed: bool
    erred: bool
    op: Mapping[str, Any] | None = None


def _first_inode(hand: Hand) -> int:
    return (2 * hand.number + hand.thread) * _CREATES


def _counted(created: tuple[int, int], thread: int, count: int) -> tuple[int, int]:
    return (created[0], count) if thread else (count, created[1])


class Worlds:
    """All worlds of one search."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.bodies = Bodies()
        self.known: dict[str, dict[str, Any]] = {}
        self._interned: dict[bytes, World] = {}
        self._declared: dict[tuple[str, str], bool] = {}
        self.hands: list[Hand] = []
        files = MemoryFiles(durability=plan.bounds.power)
        scene = Scene(plan, files, self._body)
        for record in plan.head:
            if record.kind == "body":
                self.known[record["body"]] = dict(record.fields)
        self.start = self._furnished(scene)

    # --- the start ---

    def _furnished(self, scene: Scene) -> World:
        """Directories and start states in place, one process for each life of an agent and for each writer."""
        from fleetbeat.engines.des.lifecycle import furnish
        from fleetbeat.engines.des.watch import CANONICAL, PROMPT, SIGNAL, Watch

        plan = self.plan
        scene.watch = Watch(scene)  # type: ignore[arg-type,assignment]
        for agent in plan.agents:
            furnish(scene, agent.spec)  # type: ignore[arg-type]
        self.paths = {
            f"{agent.spec.home}/{relative}": (agent.name, role)
            for agent in plan.agents
            for relative, role in (
                (".rules", SIGNAL),
                ("system/rules.md", CANONICAL),
                (agent.manifest.prompt.path, PROMPT),
            )
        }
        scene.files.settle()
        for agent in plan.agents:
            for life in range(plan.agent_crashes + 1):
                number = scene.files.process(agent.spec.uid).number
                self.hands += [
                    Hand(number, f"{agent.name}/{name}", life, "agents", agent.name, agent.spec.home, thread=thread)
                    for thread, name in enumerate(("beat", "rebuild"))
                ]
        for index, post in enumerate(plan.posts):
            number = scene.files.process(post.uid).number
            self.hands.append(Hand(number, post.actor, 0, "operators", post.target, post.home, post.operator, index))
        count = max(hand.number for hand in self.hands) + 1
        value = Value((Held(),) * count, (), ((False, False),) * len(plan.posts))
        return self._intern(scene.files, value)

    def _body(self, data: bytes) -> str:
        return self.bodies.see(data, "unknown", self._report)

    def _report(self, fields: dict[str, Any]) -> None:
        self.known.setdefault(fields["body"], fields)

    # --- moves ---

    def perform(self, world: World, hand: Hand, node: Node, fault: Outcome | None, step: Step) -> Move | None:
        """What the operation of `node` does, struck by `fault`; None if it waits for a lock."""
        key = (hand.actor, hand.life, node.op, node.handles, None if fault is None else (fault, step))
        if key in world.moves:
            return world.moves[key]
        move = world.moves[key] = self._play(world, hand, node, fault, step)
        return move

    def _play(self, world: World, hand: Hand, node: Node, fault: Outcome | None, step: Step) -> Move | None:
        assert node.op is not None
        assert node.path is not None
        scene, player = self._open(world, hand, node)
        trace = Trace("", step.episode, NEVER)
        try:
            answer: Answer = (carry_out(scene, player, node.op, node.path, NEVER, fault, trace, step),)
        except OSError as error:
            answer = failed(error)
        except RuntimeError as error:
            if isinstance(error.__cause__, WouldBlock):
                return None
            raise
        after = self._close(world, scene, player)
        return Move(after, answer, scene.recorder.shown(), trace.changed, trace.logged_error, scene.recorder.op)

    def die(self, world: World, hands: tuple[Hand, ...]) -> Move:
        """Processes are gone: their handles close, their memories with them."""
        key = ("die", *(hand.number for hand in hands))
        if key not in world.moves:
            scene = self._reopened(world)
            self._exit(scene, hands)
            world.moves[key] = Move(self._left(world, scene, hands), (), scene.recorder.shown(), True, False)
        move = world.moves[key]
        assert move is not None
        return move

    def lose_power(self, world: World, homes: tuple[str, ...], keep: frozenset[Unsynced]) -> Move:
        """What was not synced under these homes and is not in `keep` is gone. Their processes are dead by then."""
        key = ("power", homes, keep)
        if key not in world.moves:
            scene = self._reopened(world)
            scene.watch.resettle(NEVER, scene.files.power_loss(homes, keep.__contains__))
            world.moves[key] = Move(self._left(world, scene, ()), (), scene.recorder.shown(), True, False)
        move = world.moves[key]
        assert move is not None
        return move

    def unsynced(self, world: World, homes: tuple[str, ...]) -> tuple[Unsynced, ...]:
        """The changes that a power failure would offer to lose."""
        offered: list[Unsynced] = []

        def note(piece: Unsynced) -> bool:
            offered.append(piece)
            return True

        world.files.copy().power_loss(homes, note)
        return tuple(offered)

    # --- copies and values ---

    def _reopened(self, world: World) -> Scene:
        scene = Scene(self.plan, world.files.copy(), self._body)
        scene.watch = Glance(scene, self.paths, world.value.watched, self._declared)
        return scene

    def _open(self, world: World, hand: Hand, node: Node) -> tuple[Scene, Hand]:
        scene = self._reopened(world)
        held = world.value.processes[hand.number]
        files = scene.files.processes[hand.number]
        process = Process(hand.agent, hand.home, files)
        process.sections = dict(held.sections)
        process.locks = dict(held.locks)
        player = hand.taking(process, scene, world.value.posts, self.plan)
        scene.files._inodes = _first_inode(hand) + held.created[hand.thread]
        mine = [one & HANDLE for one in files.open_handles() if one >> 16 & 1 == hand.thread]
        files._opened = hand.thread << 16 | max(node.handles, *mine, 0)
        return scene, player

    def _close(self, world: World, scene: Scene, player: Hand) -> World:
        number = player.number
        process = player.process
        before = world.value
        held = Held(
            tuple(sorted(process.sections.items())),
            tuple(sorted(process.locks.items())),
            _counted(before.processes[number].created, player.thread, scene.files._inodes - _first_inode(player)),
        )
        processes = (*before.processes[:number], held, *before.processes[number + 1 :])
        posts = before.posts
        if player.writing is not None and player.post is not None:
            came = (player.writing.begun, player.writing.complete)
            posts = (*posts[: player.post], came, *posts[player.post + 1 :])
        return self._intern(scene.files, Value(processes, scene.watch.watched(), posts))

    def _exit(self, scene: Scene, hands: tuple[Hand, ...]) -> None:
        for hand in hands:
            process = scene.files.processes[hand.number]
            handles = process.open_handles()
            process.exit()
            for handle in handles:
                scene.watch.closed(NEVER, handle)

    def _left(self, world: World, scene: Scene, hands: tuple[Hand, ...]) -> World:
        gone = {hand.number for hand in hands}
        processes = tuple(Held() if number in gone else one for number, one in enumerate(world.value.processes))
        return self._intern(scene.files, Value(processes, scene.watch.watched(), world.value.posts))

    def _intern(self, files: MemoryFiles, value: Value) -> World:
        numbers = sorted((node.number, node.path(), node.linked) for node in subtree(files.root))
        handles = [(number, one.node.number) for number, one in sorted(files.handles.items())]
        key = blake2b(repr((files.state(), numbers, handles, value)).encode(), digest_size=16).digest()
        found = self._interned.get(key)
        if found is None:
            found = self._interned[key] = World(len(self._interned), files, value)
        return found

    def __len__(self) -> int:
        return len(self._interned)
