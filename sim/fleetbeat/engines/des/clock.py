"""SimPy's event loop with ties in our hands: events of one instant happen in the order of their ties, not of insertion.

An `Instant` is scheduled behind everything that SimPy itself does at that time (starting processes, waking waiters), and
among instants by `Tie`. The rule that keeps this an order: an instant is always scheduled for a later nanosecond than
the one that caused it; what must happen at once happens inside its cause.
"""

from __future__ import annotations

from heapq import heappop
from typing import Any

import simpy

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.engines.recorder import Tie

#: SimPy's own priorities, before every instant of the same time. Nothing draws for them: their value is given.
_SIMPYS = (Tie(Hashed(0), Step("simpy"), -2), Tie(Hashed(0), Step("simpy"), -1))


class Clock(simpy.Environment):
    """Virtual time in integer nanoseconds."""

    #: Whether `jump` may move time on past SimPy's queue.
    leaps = True
    _alone = False

    def step(self) -> None:
        """As SimPy's, and notes whether the event now handled is an `Instant`, which one process alone waits for."""
        if not self._queue:
            raise simpy.core.EmptySchedule
        self._now, _, _, event = heappop(self._queue)
        self._alone = type(event) is Instant
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
        if not event._ok and not event.defused:
            raise event._value

    def jump(self, at_ns: int) -> bool:
        """Moves on to `at_ns` at once if nothing else happens until then, and says whether it did.

        Saves a process the way through the queue. Only while it handles an instant of its own; nobody else notices.
        """
        if self.leaps and self._alone and self._queue[0][0] > at_ns:
            self._now = at_ns
            return True
        return False

    def schedule(self, event: simpy.Event, priority: Any = 1, delay: int | float = 0) -> None:
        super().schedule(event, _SIMPYS[priority] if isinstance(priority, int) else priority, delay)  # type: ignore[arg-type]

    def instant(self, at_ns: int, tie: Tie) -> Instant:
        """An event at `at_ns`, in the order of `tie` among the others of that time."""
        return Instant(self, at_ns, tie)

    def settle(self) -> None:
        """Lets SimPy finish what it does by itself at this time, and no instant."""
        while self._queue and self._queue[0][0] <= self.now and type(self._queue[0][3]) is not Instant:
            self.step()


class Instant(simpy.Event):
    def __init__(self, clock: Clock, at_ns: int, tie: Tie) -> None:
        super().__init__(clock)
        self._ok = True
        self._value = None
        clock.schedule(self, tie, at_ns - clock._now)
