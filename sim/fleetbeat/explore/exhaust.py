"""Depth first through every choice. Memory holds the path, one entry of 16 bytes and a number for each state seen, and
what the space remembers.

How many schedules a state stands for is added up on the way back, and kept with the state: so the number of schedules is
that of the reduced space, however the search came through it and however it was split. Rejected: counting the schedules
that were played, which says more about the order of the search than about what it covered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fleetbeat.explore.model import Event
from fleetbeat.explore.observe import Past
from fleetbeat.explore.tally import Tally
from fleetbeat.explore.walk import Choice, State, Walk

Stop = Callable[[int], bool]
#: States that are kept, at some 170 bytes each.
SEEN = 3_000_000


class Stopped(Exception):
    """The budget is used up, or somebody pressed ctrl-C."""


class _Frame:
    __slots__ = ("choices", "count", "key", "next", "past", "state")

    def __init__(self, state: State, past: Past, choices: list[Choice], key: bytes) -> None:
        self.state = state
        self.past = past
        self.choices = choices
        self.key = key
        self.next = 0
        self.count = 0


class Exhaust:
    """One search, or several of one space after another.

    `merge`: look up states that were seen. `stop` is told the number of states, each time that `every` more were met,
    and says whether to stop. `seen_limit`: beyond so many states no more are kept, and those met again are searched
    again. When the search was stopped, `path` tells where it was.
    """

    def __init__(
        self,
        walk: Walk,
        tally: Tally,
        merge: bool = True,
        stop: Stop | None = None,
        every: int = 256,
        seen_limit: int = SEEN,
    ) -> None:
        self.walk = walk
        self.tally = tally
        self.merge = merge
        self.stop = stop
        self.every = every
        self.seen_limit = seen_limit
        self.seen: dict[bytes, int] = {}
        self.states = 0
        self.stack: list[_Frame] = []

    def run(self, state: State, past: Past, prefix: tuple[Event, ...] = ()) -> int:
        """Searches all that follows; returns the number of schedules. `prefix` led here. Raises `Stopped`."""
        walk, seen, stack = self.walk, self.seen, self.stack
        key = walk.key(state, past) if self.merge else b""
        if key in seen:
            return seen[key]
        stack.clear()
        total = 0
        self._enter(state, past, key)
        while stack:
            frame = stack[-1]
            if frame.next == len(frame.choices):
                stack.pop()
                if not frame.choices:
                    frame.count = 1
                    self._ended(frame, prefix)
                if self.merge and len(seen) < self.seen_limit:
                    seen[frame.key] = frame.count
                if stack:
                    stack[-1].count += frame.count
                else:
                    total = frame.count
                continue
            choice = frame.choices[frame.next]
            frame.next += 1
            state, past = walk.take(frame.state, frame.past, choice)
            if self.merge:
                key = walk.key(state, past)
                count = seen.get(key)
                if count is not None:
                    frame.count += count
                    continue
            self._enter(state, past, key)
        return total

    def _enter(self, state: State, past: Past, key: bytes) -> None:
        self.states += 1
        if self.stop is not None and self.states % self.every in (0, 1) and self.stop(self.states):
            raise Stopped
        self.stack.append(_Frame(state, past, self.walk.choices(state), key))

    def _ended(self, frame: _Frame, prefix: tuple[Event, ...]) -> None:
        past = self.walk.last_beats(frame.state, frame.past)
        self.tally.end(past, lambda: (*prefix, *self.path()))

    def path(self) -> Iterator[Event]:
        """The events on the way to where the search stands."""
        for frame in self.stack:
            if frame.next:
                yield self.walk.event(frame.state, frame.choices[frame.next - 1])

    def count(self) -> int:
        """Schedules that were covered so far, when the search was stopped."""
        return sum(frame.count for frame in self.stack)
