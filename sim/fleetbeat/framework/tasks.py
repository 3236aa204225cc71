"""Background tasks: what a core prepares. They read, may touch a file, and end in a `ready` event.

A task runs outside the agent's process: a crash does not end it, and its `ready` waits until the agent is up again. The
calls that it would make meanwhile are not made, since the agent makes them. Nobody sits beside a task who could be
asked: what is not allowed does not run. A task takes a second at least, and one more for each of its calls, so that a
spiral takes virtual time.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fleetbeat.framework.hosting import Act
from fleetbeat.framework.vocabulary import BEFORE, READY
from fleetbeat.framework.world import World

#: ns.
LEAST = 1_000_000_000
MOST_CALLS = 1000
_USUAL_S = 5.0


class Tasks:
    """The background tasks of one agent. `_over`: those that ended while it was down, in order."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._over: list[tuple[Act, int]] = []

    def prepared(self, act: Act) -> None:
        sitting = self._world.of(act.session)
        number = sitting.tasks
        sitting.tasks = number + 1
        self._go_on(act, number, 0)

    def up(self) -> None:
        """What ended meanwhile is told."""
        world, over = self._world, self._over
        self._over = []
        for act, number in over:
            key = ("ready", world.of(act.session).name, number, 0)
            world.agenda.add(world.hosting.now, key, partial(self._ready, act, number))

    def _go_on(self, act: Act, number: int, done: int) -> None:
        """The next call, or the end. Calls are spread evenly over the task's time."""
        world, calls = self._world, _calls(act.argument)
        key = ("task", world.of(act.session).name, number, done)
        step = partial(self._end, act, number) if done == calls else partial(self._call, act, number, done)
        lasts = max(_lasts(act.argument), LEAST * (calls + 1))
        pause = lasts * (done + 1) // (calls + 1) - lasts * done // (calls + 1)
        world.agenda.add(world.hosting.now + pause, key, step)

    def _call(self, act: Act, number: int, done: int) -> None:
        world = self._world
        hosting = world.hosting
        if hosting.is_up:
            actor = f"{world.of(act.session).actor}/task"
            call = world.toolbox.reading(world.bits(actor, number, "call", done))
            session = f"{world.of(act.session).name}/task"
            cause = world.lines.pop(session, act.id)
            world.calling = (actor, number, done)
            handed = hosting.hand(hosting.now, BEFORE, "agent", session, cause, call.fields, call.dangerous)
            if handed.verdict == "allow":
                hosting.ran(hosting.now, handed.id)
                fields = {**call.fields, "call": handed.id}
                hosting.hand(hosting.now, "tool.after", "tool", session, handed.id, fields)
        self._go_on(act, number, done + 1)

    def _end(self, act: Act, number: int) -> None:
        world = self._world
        world.hosting.task_over(world.hosting.now, act)
        if world.hosting.is_up:
            self._ready(act, number)
        else:
            self._over.append((act, number))

    def _ready(self, act: Act, number: int) -> None:
        world = self._world
        if not world.hosting.is_up:  # it died again at this very instant
            self._over.append((act, number))
            return
        path = act.argument.get("touches")
        if isinstance(path, str) and path:
            world.changed(path, act.id, world.of(act.session).name)
        fields = {"task": act.id, "policy": act.policy, "result": f"notes of task {number}"}
        world.hosting.hand(world.hosting.now, READY, act.origin, act.session, act.id, fields)


def _calls(task: dict[str, Any]) -> int:
    calls = task.get("calls")
    return min(calls, MOST_CALLS) if type(calls) is int and calls > 0 else 0


def _lasts(task: dict[str, Any]) -> int:
    """ns. What a wrong core makes of a task is taken as if it said nothing."""
    lasts: Any = task.get("duration_s")
    is_said = isinstance(lasts, int | float) and not isinstance(lasts, bool) and 0 <= lasts < 1e7
    return round((lasts if is_said else _USUAL_S) * 1_000_000_000)
