"""What a model does with a prompt: it thinks, makes a call, looks at the result, thinks again, and replies.

A line that a core injected is before the model at its next thought; what it does from then on follows from that line. A
call that is allowed runs; one that is put to the user waits for the answer; others do not run, and the model goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fleetbeat.framework.tools import Call
from fleetbeat.framework.vocabulary import BEFORE
from fleetbeat.framework.world import Sitting, World

#: A subtask's calls are numbered from its call's number times this.
SUBTASK = 64


@dataclass(slots=True)
class Work:
    """Calls one after another: a turn, or a subtask. `done`: the next call's number, `end`: the one after the last;
    `cause`: what the model had before it last; `script`: the call to make, instead of a drawn one."""

    sitting: Sitting
    session: str
    actor: str
    number: int
    cause: int
    done: int
    end: int
    over: Callable[[Work], None]
    script: Call | None = None

    @property
    def is_subtask(self) -> bool:
        return self.session != self.sitting.name


class Turns:
    """Carries works out. `begin` starts one; its `over` is called at the thought after its last call."""

    def __init__(self, world: World) -> None:
        self._world = world

    def begin(self, work: Work) -> None:
        world, nth = self._world, work.done
        thought = world.time(world.workload.turns.thought, work.actor, work.number, "thought", nth)
        key = ("thought", work.session, work.number, nth)
        world.wait(work.sitting, thought, key, partial(self._thought, work))

    def _thought(self, work: Work) -> None:
        world = self._world
        if world.lines and (line := world.lines.pop(work.session, None)) is not None:
            work.cause = line
        nth = work.done
        if nth == work.end:
            work.over(work)
            return
        work.done = nth + 1
        call = work.script
        if call is None:
            call = world.toolbox.call(world.bits(work.actor, work.number, "call", nth), work.is_subtask)
        world.calling = (work.actor, work.number, nth)
        hosting = world.hosting
        handed = hosting.hand(hosting.now, BEFORE, "agent", work.session, work.cause, call.fields, call.dangerous)
        if handed.verdict == "allow":
            self._runs(work, nth, handed.id, call)
        elif handed.verdict == "ask":
            self._asks(work, nth, handed.id, call)
        else:
            self.begin(work)

    def _asks(self, work: Work, nth: int, id: int, call: Call) -> None:
        world, users = self._world, self._world.workload.users
        if work.sitting.hostile:
            answer = "reject"
        else:
            share = world.share(work.actor, work.number, "answer", nth)
            below = users.approve + users.reject
            answer = "approve" if share < users.approve else "reject" if share < below else "ignore"
        time = world.time(users.answer, work.actor, work.number, "answering", nth)
        key = ("answer", work.session, work.number, nth)
        world.wait(work.sitting, time, key, partial(self._answered, work, nth, id, call, answer))

    def _answered(self, work: Work, nth: int, id: int, call: Call, answer: str) -> None:
        hosting = self._world.hosting
        hosting.hand(hosting.now, "answer", "user", work.session, None, {"call": id, "answer": answer})
        if answer == "approve":
            self._runs(work, nth, id, call)
        else:
            self.begin(work)

    def _runs(self, work: Work, nth: int, id: int, call: Call) -> None:
        world = self._world
        world.hosting.ran(world.hosting.now, id)
        if call.opens:
            first = nth * SUBTASK
            self.begin(
                Work(
                    work.sitting,
                    f"{work.session}/sub",
                    f"{work.actor}/sub",
                    work.number,
                    id,
                    first,
                    first + world.workload.subtasks.calls,
                    lambda _: self._result(work, id, call),
                )
            )
            return
        time = world.time(world.workload.turns.tool_time, work.actor, work.number, "tool", nth)
        key = ("result", work.session, work.number, nth)
        world.wait(work.sitting, time, key, partial(self._result, work, id, call))

    def _result(self, work: Work, id: int, call: Call) -> None:
        world, fields = self._world, call.fields
        hosting = world.hosting
        hosting.hand(hosting.now, "tool.after", "tool", work.session, id, {**fields, "call": id})
        if fields["tool"] == "write":
            world.changed(fields["path"], id, work.session)
        self.begin(work)
