"""How one choice is played: an operation, the begin and end of its episode, the death of its process.

What is recorded, and in which order, follows `engines.des.agent` and `engines.des.operator`. A beat's one record stands
where it began and is known only at its end; so `(begin)` and `(end)` stand for it until a history is written.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from fleetbeat.explore.episodes import Node
from fleetbeat.explore.scene import Shown
from fleetbeat.explore.space import DIES_AFTER, DIES_BEFORE, PAUSES, WELL, Leap, Life, Part, Space, Thread, Writer
from fleetbeat.explore.worlds import Move, World
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import merged

if TYPE_CHECKING:
    from fleetbeat.explore.plan import AgentPlan, PostPlan

BEGIN, END = "(begin)", "(end)"


class Playing:
    """One choice under way."""

    def __init__(self, space: Space, world: World, part: Part, slot: int, node: Node) -> None:
        self.space = space
        self.world = world
        self.part = part
        self.slot = slot
        self.node = node
        self.shown: list[Shown] = []
        self.hand = space.hand(part, slot)
        self.step = space.step(part, slot, node)

    def go(self, how: int) -> Leap | None:
        value = self.part.value
        if isinstance(value, Writer):
            return self._write(value, how)
        agent = self.space.agents[self.part.index]
        value, thread = self._begun(agent, value)
        if how == DIES_BEFORE:
            return self._die(agent, value)
        move: Move | None = None
        if self.node.op is not None:
            move = self._perform(None if how <= WELL else self.space.plan.faults[how - 1].outcome)
            if move is None:
                return None
            thread = thread._replace(changed=thread.changed or move.changed, erred=thread.erred or move.erred)
        if how == DIES_AFTER:
            return self._die(agent, self._held(value, thread))
        if how == PAUSES:
            return self._made(self._held(value, thread), False, move)
        child = self.node if move is None else self.space.episodes.child(self.node, move.answer)
        if child.op is not None:
            return self._made(self._held(value, thread._replace(node=child)), False, move)
        return self._made(self._ended(agent, value, thread, child), True, move)

    # --- an agent ---

    def _begun(self, agent: AgentPlan, value: Life) -> tuple[Life, Thread]:
        """The agent with this episode under way, begun now if it was not."""
        name, beats = agent.name, self.slot % 2 == 0
        thread = value.beating if beats else value.rebuilding
        if thread is not None:
            return value, thread
        if not value.alive:
            value = value._replace(
                life=value.life + 1, alive=True, mute=False, memory=agent.program.start, beat=0, rebuild=0
            )
            self._show(name, "life.begin", agent=name, life=value.life)
            thread = Thread("boot", 0, self.node, value.memory, False, False)
        elif beats:
            thread = Thread("beat", value.beat, self.node, value.memory, False, False)
            self._show(self.hand.actor, BEGIN, agent=name, life=value.life, beat=value.beat)
            return value._replace(beating=thread, beat=value.beat + 1, beats_left=value.beats_left - 1), thread
        else:
            thread = Thread("rebuild", value.rebuild, self.node, value.memory, False, False)
            value = value._replace(rebuilds_left=value.rebuilds_left - 1)
        cause = "boot" if thread.role == "boot" else self.space.plan.rebuild_cause
        fields = {"agent": name, "life": value.life, "rebuild": thread.number, "cause": cause}
        self._show(self.hand.actor, "rebuild.begin", **fields)
        return value._replace(rebuilding=thread, rebuild=value.rebuild + 1), thread

    def _held(self, value: Life, thread: Thread) -> Life:
        return value._replace(beating=thread) if thread.role == "beat" else value._replace(rebuilding=thread)

    def _ended(self, agent: AgentPlan, value: Life, thread: Thread, last: Node) -> Life:
        """The episode is over: its memory is laid over the agent's, or what escaped it ends the heartbeat."""
        name, error = agent.name, last.error
        words = "" if error is None else f"{type(error).__name__}: {error}"
        if error is None:
            value = value._replace(memory=merged(thread.before, last.memory, value.memory))
        if thread.role == "beat":
            value = value._replace(beating=None, mute=value.mute or error is not None)
            idle = error is None and not thread.changed and last.memory == thread.before
            self._end_beat(name, value.life, thread, "ended" if words else "idle" if idle else "done")
        else:
            value = value._replace(rebuilding=None, mute=value.mute or (error is not None and thread.role == "boot"))
            outcome = "ended" if words else "failed" if thread.erred else "done"
            fields = {"agent": name, "life": value.life, "rebuild": thread.number, "outcome": outcome}
            self._show(self.hand.actor, "rebuild.end", **fields)
        if words and thread.role != "rebuild":
            fields = {"agent": name, "life": value.life, "beat": thread.number, "error": words}
            self._show(self.hand.actor, "heartbeat.end", **fields)
        return value

    def _end_beat(self, name: str, life: int, thread: Thread, outcome: str) -> None:
        self._show(f"{name}/beat", END, agent=name, life=life, beat=thread.number, outcome=outcome)

    def _die(self, agent: AgentPlan, value: Life) -> Leap:
        shown, value = cut(agent, value)
        self.shown += shown
        move = self.space.worlds.die(self.world, (self.hand,))
        self.shown += move.shown
        self.world = move.world
        self.shown.append(life_end(agent, value, "crash"))
        return self._made(dead(value), True, None)

    # --- a writer ---

    def _write(self, value: Writer, how: int) -> Leap | None:
        post = self.space.plan.posts[self.part.index - len(self.space.agents)]
        if not value.begun:
            self._plan(post)
        fault = None if how == WELL else self.space.plan.faults[how - 1]
        if fault is not None and fault.crash == "before":
            return self._writer_dies(post, fault.outcome)
        move = self._perform(None if fault is None or fault.crash else fault.outcome)
        if move is None:
            return None
        if fault is not None and fault.crash is not None:
            return self._writer_dies(post, fault.outcome)
        child = self.space.episodes.child(self.node, move.answer)
        if child.op is not None:
            return self._made(Writer(child, True), False, move)
        error = child.error
        if error is None:
            self._end(post, "written", None)
        elif isinstance(error, OSError):
            self._end(post, "failed", errno.errorcode.get(error.errno or 0, str(error.errno)))
        else:
            raise error
        return self._made(Writer(None, True), True, move)

    def _writer_dies(self, post: PostPlan, outcome: Outcome) -> Leap:
        step, node = self.step, self.node
        fields = {
            "fault": outcome.fired[0][0],
            "agent": post.target,
            "on": "operators",
            "step": str(step),
            "operation": node.kind,
            "path": node.shown,
            "effect": "crash",
            "error": None,
        }
        self._show(post.actor, "fault", **fields)
        move = self.space.worlds.die(self.world, (self.hand,))
        self.shown += move.shown
        self.world = move.world
        self._end(post, "died", None)
        return self._made(Writer(None, True), True, None)

    def _plan(self, post: PostPlan) -> None:
        self._show(
            post.actor,
            "post.plan",
            post=post.post,
            version=post.version,
            agent=post.target,
            operator=post.operator,
            attempt=1,
            body=post.digest,
            write=post.write,
        )

    def _end(self, post: PostPlan, outcome: str, error: str | None) -> None:
        left = post.write != "in-place" and self.world.files.kind(post.temporary) is not None
        place = post.temporary if left else None
        fields = {"post": post.post, "agent": post.target, "outcome": outcome, "error": error, "leftover": place}
        self._show(post.actor, "post.end", **fields)

    # --- both ---

    def _perform(self, fault: Outcome | None) -> Move | None:
        move = self.space.worlds.perform(self.world, self.hand, self.node, fault, self.step)
        if move is not None:
            self.world = move.world
            self.shown += move.shown
        return move

    def _show(self, actor: str, kind: str, /, **fields: Any) -> None:
        self.shown.append(Shown(actor, kind, fields))

    def _made(self, value: Life | Writer, ended: bool, move: Move | None) -> Leap:
        return self.space.made(self.world, self.part, value, self.shown, ended, move)


def cut(agent: AgentPlan, value: Life) -> tuple[list[Shown], Life]:
    """What is under way in a process that dies is cut; an idle beat cut short leaves no trace."""
    shown = []
    beating, working = value.beating, value.rebuilding
    if beating is not None:
        outcome = "cut" if beating.changed else "nothing"
        fields = {"agent": agent.name, "life": value.life, "beat": beating.number, "outcome": outcome}
        shown.append(Shown(f"{agent.name}/beat", END, fields))
    if working is not None:
        fields = {"agent": agent.name, "life": value.life, "rebuild": working.number, "outcome": "cut"}
        shown.append(Shown(f"{agent.name}/rebuild", "rebuild.end", fields))
    return shown, value._replace(beating=None, rebuilding=None)


def life_end(agent: AgentPlan, value: Life, cause: str) -> Shown:
    return Shown(agent.name, "life.end", {"agent": agent.name, "life": value.life, "cause": cause, "fault": None})


def dead(value: Life) -> Life:
    """The agent without a process; what it had in memory is gone."""
    return Life(value.life, False, False, None, 0, value.beats_left, 0, value.rebuilds_left, None, None)
