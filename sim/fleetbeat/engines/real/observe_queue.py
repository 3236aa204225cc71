"""The events at hand: handled one by one, with a look at those that follow."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from fleetbeat.engines.real.inotify import MODIFY, MOVED_TO, Event, Kernel

#: A call's second event follows its first within microseconds; nobody waits longer for it than this.
PARTNER_MS = 2


class Queue:
    """Iterating takes events out until the kernel has no more, or `MOST` were taken."""

    #: So many events are handled in one go, so that an agent that writes without end stops nobody.
    MOST = 100_000

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._events: deque[Event] = deque()
        self._writes: Counter[tuple[int, str]] = Counter()

    def __iter__(self) -> Iterator[Event]:
        for _ in range(self.MOST):
            if not self._events and not self._more(0):
                return
            event = self._events.popleft()
            if event.mask & MODIFY:
                key = event[0], event[3]
                left = self._writes[key] = self._writes[key] - 1
                if not left:
                    del self._writes[key]
            yield event

    def _more(self, wait_ms: int) -> bool:
        events = self._kernel.read(wait_ms)
        self._events.extend(events)
        self._writes.update((event[0], event[3]) for event in events if event[1] & MODIFY)
        return bool(events)

    def has_writes(self, event: Event) -> bool:
        """Whether the same file is written to again, later in what is at hand."""
        return (event.watch, event.name) in self._writes

    def writes_left(self, event: Event) -> int:
        """How many more writes to the same file the kernel has told of until now."""
        self._more(0)
        return self._writes.get((event.watch, event.name), 0)

    def partner(self, event: Event) -> Event | None:
        """The other half of a rename, if need be after a short wait; None if it led out of sight."""
        for one in self._events:
            if one.cookie == event.cookie and one.mask & MOVED_TO:
                return one
        at_hand = len(self._events)
        self._more(PARTNER_MS)
        new = list(self._events)[at_hand:]
        return next((one for one in new if one.cookie == event.cookie and one.mask & MOVED_TO), None)
