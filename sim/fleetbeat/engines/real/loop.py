"""The harness's one thread: what is due, in the order of its time, and what the kernel has to tell in between.

A task is a generator. It yields when it goes on: a time in ns since time 0, or a `Flag` that somebody raises; what was
due while the harness was busy is done late, in order, never skipped. Rejected: asyncio, whose clock and scheduling are
its own, where all that is needed is one heap and one `select`.
"""

from __future__ import annotations

import heapq
import select
import time
from collections.abc import Callable, Generator
from functools import partial
from itertools import count

from fleetbeat.engines.real.records import Clock

#: Shorter waits than this are slept away where they are; the kernel is asked first.
SHORT_NS = 100_000
#: How long one wait for the kernel lasts at most: whether it is over is asked this often.
LONGEST_NS = 50_000_000


class Flag:
    """Something that tasks wait for. Once raised it stays up."""

    def __init__(self) -> None:
        self.is_up = False
        self.waiting: list[Task] = []


Task = Generator["int | Flag", None, object]


class Loop:
    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.before: Callable[[], None] = lambda: None
        self._kernel = select.epoll()
        self._watched: dict[int, Callable[[], None]] = {}
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, at_ns: int, act: Callable[[], None]) -> None:
        """Calls `act` at `at_ns`, or as soon as may be if that is past."""
        heapq.heappush(self._due, (at_ns, next(self._numbers), act))

    def every(self, period_ns: int, act: Callable[[], None]) -> None:
        """Calls `act` again and again, the first time at once."""

        def again() -> None:
            act()
            self.at(self.clock.now() + period_ns, again)

        self.at(self.clock.now(), again)

    def start(self, task: Task) -> Flag:
        """Starts a task; returns the flag that goes up when it is over."""
        over = Flag()
        self._step(self._whole(task, over))
        return over

    def raise_flag(self, flag: Flag) -> None:
        """Lets those go on that wait for it, next."""
        flag.is_up = True
        waiting, flag.waiting = flag.waiting, []
        for task in waiting:
            self.at(0, partial(self._step, task))

    def watch(self, descriptor: int, act: Callable[[], None]) -> None:
        """Calls `act` whenever a descriptor is readable."""
        self._kernel.register(descriptor, select.EPOLLIN)
        self._watched[descriptor] = act

    def unwatch(self, descriptor: int) -> None:
        if self._watched.pop(descriptor, None) is not None:
            self._kernel.unregister(descriptor)

    def run(self, end_ns: int, is_over: Callable[[], bool] = lambda: False) -> None:
        """Does what is due until `end_ns`, or until `is_over`. `before` is called before anything due is done."""
        while self.clock.now() < end_ns and not is_over():
            if self._due and self._due[0][0] <= self.clock.now():
                self.before()
                _, _, act = heapq.heappop(self._due)
                act()
            else:
                self._wait(min(end_ns, self.clock.now() + LONGEST_NS))
        self.before()

    @property
    def is_closed(self) -> bool:
        return self._kernel.closed

    def close(self) -> None:
        """Nothing is done any more; what is due is dropped."""
        self._due.clear()
        self._kernel.close()

    def _wait(self, end_ns: int) -> None:
        """Waits for the next thing due, or for the kernel; at most until `end_ns`."""
        at = min(end_ns, self._due[0][0]) if self._due else end_ns
        left = at - self.clock.now()
        readable, _, _ = select.select([self._kernel], (), (), 0 if left < SHORT_NS else left * 1e-9)
        if readable:
            for descriptor, _ in self._kernel.poll(0):
                act = self._watched.get(descriptor)
                if act is not None:
                    act()
        elif 0 < left < SHORT_NS:
            time.sleep(left * 1e-9)
        elif left >= SHORT_NS:
            self.before()

    # --- tasks ---

    def _whole(self, task: Task, over: Flag) -> Generator[int | Flag, None, None]:
        yield from task
        self.raise_flag(over)

    def _step(self, task: Task) -> None:
        """Lets a task go on until it waits for something that is not there yet."""
        while True:
            try:
                wish = next(task)
            except StopIteration:
                return
            if isinstance(wish, Flag):
                if wish.is_up:
                    continue
                wish.waiting.append(task)
            else:
                self.at(wish, partial(self._step, task))
            return
