"""The space that is searched: states, the choices in each, and what each choice leads to.

A state is a world, what each agent's process and each writer is about, and what is left of the bounds. A choice is a
slot (a thread or a writer), and how its next operation turns out. Agents and writers in one state are one object, and
what a choice does is remembered by (world, actor's state, choice), so that meeting it again in another order costs one
look-up.

An operation is *private* if nobody else in the plan can tell when it happened, nor change what it does: then it is
taken at once, and the others' orders around it are left out. Private are: looking at one's own files while nobody else
writes them, changing them while no crash is left that could show it, reading a signal that was renamed into place, a
writer's work on its own temporary. That agents keep to their own directory and do not list it is watched, not
assumed: `Meddled` ends a search that relied on it.
"""

from __future__ import annotations

import errno
from typing import Any, NamedTuple

from fleetbeat.chance.step import Step
from fleetbeat.engines.effects import path_of
from fleetbeat.explore.episodes import Episodes, Node
from fleetbeat.explore.model import CRASH_AFTER, CRASH_BEFORE, FAULT, OK, Event
from fleetbeat.explore.plan import AgentPlan, Plan
from fleetbeat.explore.scene import Hand, Shown
from fleetbeat.explore.worlds import Move, World, Worlds
from fleetbeat.protocol.vocabulary import Rename
from fleetbeat.protocol.writers import WRITERS, Post

#: How an operation turns out, besides numbers from 1 on, which are faults.
WELL, DIES_BEFORE, DIES_AFTER = 0, -1, -2
#: The operation takes effect and its program is not told, since its process dies next.
PAUSES = -3
#: Kinds of operations that leave nothing behind once their process is gone.
FLEETING = frozenset({"stat", "list", "read", "compose", "sleep", "lock", "section"})
SETTLED = frozenset({"atomic", "atomic-synced"})


class Meddled(Exception):
    """An agent touched what the search took for nobody else's business."""


class Thread(NamedTuple):
    """An episode under way."""

    role: str
    number: int
    node: Node
    before: Any
    changed: bool
    erred: bool


class Life(NamedTuple):
    """One agent: its process, what it has done, what is left to do."""

    life: int
    alive: bool
    mute: bool
    memory: Any
    beat: int
    beats_left: int
    rebuild: int
    rebuilds_left: int
    beating: Thread | None
    rebuilding: Thread | None


class Writer(NamedTuple):
    """One post's writer: what it does next; None once it is over."""

    node: Node | None
    begun: bool


def alone(plan: Plan, value: Life, beats: bool) -> bool:
    """Whether no other thread of this process can run before this episode is over."""
    working = value.rebuilding
    if not plan.beside_beat or (working is not None and working.role == "boot"):
        return True
    if beats:
        return not value.rebuilds_left and working is None
    return value.beating is None and (value.mute or not value.beats_left)


class Part:
    """An agent or a writer in one state; `options` are its slots that could go on: (slot, node)."""

    __slots__ = ("id", "index", "options", "raw", "value")

    def __init__(self, number: int, index: int, value: Life | Writer, options: tuple[tuple[int, Node], ...]) -> None:
        self.id = number
        self.raw = number.to_bytes(4, "little")
        self.index = index
        self.value = value
        self.options = options


class Leap(NamedTuple):
    """What a choice leads to for its own part. `quiet`: nothing was shown but the plan or end of a post."""

    world: World
    part: Part
    shown: tuple[Shown, ...]
    raw: bytes
    quiet: bool
    ended: bool
    move: Move | None


class Space:
    """All that can happen in a plan."""

    def __init__(self, plan: Plan, trusting: bool = True) -> None:
        self.plan = plan
        self.trusting = trusting
        self.episodes = Episodes()
        self.worlds = Worlds(plan)
        self.agents = plan.agents
        self._hands = {(hand.actor, hand.life): hand for hand in self.worlds.hands}
        self._parts: dict[tuple[int, Life | Writer], Part] = {}
        self._leaps: dict[tuple[int, int, int, int], Leap | None] = {}
        self._count = len(plan.agents)
        self._homes = {agent.spec.home: agent.name for agent in plan.agents}
        self._temporaries = {post.temporary: number for number, post in enumerate(plan.posts)}
        self._settled = {
            agent.name: all(post.write in SETTLED for post in plan.posts if post.target == agent.name)
            for agent in plan.agents
        }
        bounds = plan.bounds
        first = Life(-1, False, False, None, 0, bounds.beats, 0, bounds.rebuilds or 0, None, None)
        self.first: tuple[Part, ...] = (
            *(self._part(index, first) for index in range(self._count)),
            *(
                self._part(self._count + number, Writer(self._write(number), False))
                for number in range(len(plan.posts))
            ),
        )

    # --- parts ---

    def _part(self, index: int, value: Life | Writer) -> Part:
        found = self._parts.get((index, value))
        if found is None:
            options = self._live(index, value) if isinstance(value, Life) else self._writes(index, value)
            found = self._parts[index, value] = Part(len(self._parts), index, value, options)
        return found

    def _live(self, index: int, value: Life) -> tuple[tuple[int, Node], ...]:
        agent = self.agents[index]
        if not value.alive:
            return ((2 * index + 1, self._episode(agent, "boot", agent.program.start)),)
        working = value.rebuilding
        if working is not None and working.role == "boot":
            return ((2 * index + 1, working.node),)
        beside = self.plan.beside_beat
        found = []
        if value.beating is not None:
            found.append((2 * index, value.beating.node))
        elif value.beats_left and not value.mute and (beside or working is None):
            found.append((2 * index, self._episode(agent, "beat", value.memory)))
        if working is not None:
            found.append((2 * index + 1, working.node))
        elif value.rebuilds_left and (beside or value.beating is None):
            found.append((2 * index + 1, self._episode(agent, "rebuild", value.memory)))
        return tuple(found)

    def _writes(self, index: int, value: Writer) -> tuple[tuple[int, Node], ...]:
        return () if value.node is None else ((self._count + index, value.node),)

    def _episode(self, agent: AgentPlan, role: str, memory: Any) -> Node:
        method = getattr(agent.program, role)
        return self.episodes.root((agent.name, role, memory), lambda: method(agent.context, memory))

    def _write(self, number: int) -> Node:
        post = self.plan.posts[number]
        what = Post(post.home, post.body, post.temporary, post.chunk, post.perms)
        return self.episodes.root(("post", number), lambda: WRITERS[post.write](what))

    def slot_part(self, slot: int) -> int:
        """The part that a slot belongs to: agents have two slots, for beat and rebuild."""
        return slot // 2 if slot < 2 * self._count else slot - self._count

    # --- steps ---

    def hand(self, part: Part, slot: int) -> Hand:
        value = part.value
        if isinstance(value, Writer):
            return self._hands[self.plan.posts[part.index - self._count].actor, 0]
        name = self.agents[part.index].name
        life = value.life if value.alive else value.life + 1
        return self._hands[f"{name}/{'rebuild' if slot % 2 else 'beat'}", life]

    def step(self, part: Part, slot: int, node: Node) -> Step:
        """The name of the operation that a slot would do next."""
        value, hand = part.value, self.hand(part, slot)
        if isinstance(value, Writer):
            number = 1
        elif slot % 2:
            number = 0 if not value.alive else value.rebuilding.number if value.rebuilding else value.rebuild
        else:
            number = value.beating.number if value.beating else value.beat
        if node.op is None:
            return Step(hand.actor, hand.life, number, "begin")
        return Step(hand.actor, hand.life, number, node.kind, node.shown, node.nth)

    def learn(self, world: World, part: Part, slot: int, node: Node) -> None:
        """What can be said of an operation once the world is known in which it is first done."""
        if node.path is not None or node.op is None:
            return
        hand = self.hand(part, slot)
        node.path = path_of(node.op, world.files, hand.home)
        node.shown = hand.relative(node.path)
        above = node.parent
        while above is not None:
            node.nth += (above.kind, above.shown) == (node.kind, node.shown)
            above = above.parent
        prompts = {agent.name: agent.manifest.prompt.path for agent in self.agents}
        node.strikes = tuple(
            number
            for number, fault in enumerate(self.plan.faults, 1)
            if fault.strikes(hand.on, hand.agent, hand.operator, node.kind, node.shown, prompts[hand.agent])
        )
        node.private = self.trusting and self._is_private(world, hand, node)

    def _is_private(self, world: World, hand: Hand, node: Node) -> bool:
        path = node.path or ""
        if hand.post is not None:
            post = self.plan.posts[hand.post]
            if path == hand.home and not self.plan.bounds.power:
                return True
            return path == post.temporary and post.write != "shared-temp" and node.kind != "rename"
        paths = [path] if not isinstance(node.op, Rename) else [path, node.op.target]
        for one in paths if node.kind not in ("compose", "section", "sleep", "lock") else ():
            meddles = one in self._temporaries or self._owner(one) != hand.agent
            moves = node.kind == "rename" and world.files.kind(path) == "directory"
            if meddles or moves or (node.kind == "list" and one == hand.home):
                raise Meddled(f"{hand.agent}: {node.kind} {one}")
        if path == f"{hand.home}/.rules":
            return node.kind in ("read", "close") and self._settled[hand.agent]
        return f"{hand.home}/.rules" not in paths

    def _owner(self, path: str) -> str | None:
        """The agent in whose home a path lies, the innermost one."""
        inside = [home for home in self._homes if path == home or path.startswith(home + "/")]
        return self._homes[max(inside, key=len)] if inside else None

    def is_private(self, part: Part, slot: int, node: Node, leap: Leap, faults: int, crashes: int) -> bool:
        """Whether an operation may be taken at once here, as far as can be said before it is done."""
        if not node.private or (faults and node.strikes):
            return False
        value = part.value
        if isinstance(value, Writer):
            return not (crashes and self.plan.bounds.power)
        if alone(self.plan, value, slot % 2 == 0):
            return not crashes or self._is_fleeting(node)
        return self._is_apart(node, leap)

    def _is_fleeting(self, node: Node) -> bool:
        """Whether nothing is left of it once its process is gone."""
        return node.kind in FLEETING or getattr(node.op, "mode", "") == "r" or self._reads(node)

    def _is_apart(self, node: Node, leap: Leap) -> bool:
        """Whether not even another thread of the same process can tell: a look at a signal that nobody changes, a handle
        given back that was opened to read, a directory made that was there (nobody can remove one, see `_is_private`).
        """
        if node.kind == "mkdir":
            return leap.move is not None and leap.move.answer[1:2] == (errno.EEXIST,)
        return self._reads(node) or (node.shown == ".rules" and node.kind == "read")

    @staticmethod
    def _reads(node: Node) -> bool:
        """Whether a close gives back a handle that was opened to read."""
        if node.kind != "close":
            return False
        above = node.parent
        while above is not None:
            if above.kind == "open" and above.path == node.path:
                return getattr(above.op, "mode", "") == "r"
            above = above.parent
        return False

    # --- leaps ---

    def leap(self, world: World, part: Part, slot: int, node: Node, how: int) -> Leap | None:
        """What happens if this slot goes on like this; None if it waits for a lock."""
        key = (world.id, part.id, slot, how)
        if key in self._leaps:
            return self._leaps[key]
        found = self._leaps[key] = self._leap(world, part, slot, node, how)
        return found

    def _leap(self, world: World, part: Part, slot: int, node: Node, how: int) -> Leap | None:
        from fleetbeat.explore.lives import Playing

        self.learn(world, part, slot, node)
        return Playing(self, world, part, slot, node).go(how)

    def made(
        self, world: World, part: Part, value: Life | Writer, shown: list[Shown], ended: bool, move: Move | None
    ) -> Leap:
        """A leap to this value of the part."""
        quiet = all(one.kind in ("post.plan", "post.end") for one in shown)
        raw = b"".join(one.raw for one in shown)
        return Leap(world, self._part(part.index, value), tuple(shown), raw, quiet, ended, move)

    def event(self, part: Part, slot: int, node: Node, how: int) -> Event:
        """A choice by its name."""
        outcome = {WELL: OK, DIES_BEFORE: CRASH_BEFORE, DIES_AFTER: CRASH_AFTER}.get(how)
        return Event(self.step(part, slot, node), outcome or FAULT + self.plan.faults[how - 1].id)

    def with_part(self, parts: tuple[Part, ...], index: int, value: Life | Writer) -> tuple[Part, ...]:
        """The parts with this value at one place."""
        return (*parts[:index], self._part(index, value), *parts[index + 1 :])
