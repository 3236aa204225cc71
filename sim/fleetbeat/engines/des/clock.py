"""SimPy's event loop with ties in our hands: events of one instant happen in the order of their ties, not of insertion.

An `Instant` comes behind everything that SimPy itself does at that time (starting processes, waking waiters), and among
instants by `Tie`. The rule that keeps this an order: an instant is always scheduled for a later nanosecond than the one
that caused it, or for the very place in the order that caused it; what must happen at once happens inside its cause.

Instants do not go through SimPy's heap: they wait in one list for each nanosecond, so that times are compared as
integers, and ties only where two share a nanosecond, drawn for all of them in one go.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import simpy

from fleetbeat.chance.step import Step
from fleetbeat.engines.recorder import Tie, draw_all

#: An instant in the order of its nanosecond: its tie, its step, the order of insertion.
Placed = tuple[int, Step, int, "Instant"]


class Clock(simpy.Environment):
    """Virtual time in integer nanoseconds."""

    #: Whether `jump` may move time on past the queue.
    leaps = True
    _alone = False

    def __init__(self, initial_time: int = 0) -> None:
        super().__init__(initial_time)
        self._times: list[int] = []
        self._waiting: dict[int, list[Instant]] = {}
        self._opened: list[Placed] = []
        self._opened_at = -1
        self._count = 0

    def step(self) -> None:
        """As SimPy's, and notes whether the event now handled is an `Instant`, which one process alone waits for."""
        times, queue = self._times, self._queue
        if queue and not (times and times[0] < queue[0][0]):
            self._now, _, _, event = heappop(queue)
            self._alone = False
        elif times:
            event = self._next(times[0])
            self._alone = True
        else:
            raise simpy.core.EmptySchedule
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
        if not event._ok and not event.defused:
            raise event._value

    def _next(self, at_ns: int) -> Instant:
        """The first instant of the nearest nanosecond at which any waits."""
        self._now = at_ns
        if self._opened_at != at_ns:
            found = self._waiting.pop(at_ns)
            if len(found) == 1:
                heappop(self._times)
                return found[0]
            draw_all([one.tie for one in found])
            self._opened = [(one.tie.drawn(), one.tie.step, one.number, one) for one in found]
            heapify(self._opened)
            self._opened_at = at_ns
        first = heappop(self._opened)[3]
        if not self._opened:
            heappop(self._times)
            self._opened_at = -1
        return first

    def jump(self, at_ns: int) -> bool:
        """Moves on to `at_ns` at once if nothing else happens until then, and says whether it did.

        Saves a process the way through the queue. Only while it handles an instant of its own; nobody else notices.
        """
        times, queue = self._times, self._queue
        if self.leaps and self._alone and not (times and times[0] <= at_ns) and not (queue and queue[0][0] <= at_ns):
            self._now = at_ns
            return True
        return False

    def instant(self, at_ns: int, tie: Tie) -> Instant:
        """An event at `at_ns`, in the order of `tie` among the others of that time."""
        self._count += 1
        one = Instant(self, tie, self._count)
        if at_ns == self._opened_at:
            heappush(self._opened, (tie.drawn(), tie.step, one.number, one))
            return one
        others = self._waiting.get(at_ns)
        if others is None:
            self._waiting[at_ns] = [one]
            heappush(self._times, at_ns)
        else:
            others.append(one)
        return one

    def settle(self) -> None:
        """Lets SimPy finish what it does by itself at this time, and no instant."""
        while self._queue and self._queue[0][0] <= self.now:
            self.step()


class Instant(simpy.Event):
    """A place in the order that one process waits for."""

    def __init__(self, clock: Clock, tie: Tie, number: int) -> None:
        super().__init__(clock)
        self._ok = True
        self._value = None
        self.tie = tie
        self.number = number
