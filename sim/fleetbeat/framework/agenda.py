"""What is to happen to one agent's sessions, in the one order of (time, key). Insertion order never decides.

The explorer has an agenda of its own, which takes whatever it chooses next.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

#: The name of what is to happen: (kind, whose, number, number within that). Unique on its agent among what waits.
Key = tuple[str, str, int, int]
Act = Callable[[], None]


class Agenda(Protocol):
    """Where sessions, tasks and users put what they will do."""

    def add(self, at_ns: int, key: Key, act: Act) -> None:
        """`act` is called at `at_ns` or later. A key that waits already is an error (ValueError)."""
        ...

    def drop(self, key: Key) -> None:
        """Takes back what waits under this key, if anything does."""
        ...


class Timed:
    """The agenda of a simulation: nearest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, Key]] = []
        self._acts: dict[Key, tuple[int, Act]] = {}

    def add(self, at_ns: int, key: Key, act: Act) -> None:
        if key in self._acts:
            raise ValueError(f"agenda: got {key} twice, expected every key once among what waits")
        self._acts[key] = (at_ns, act)
        heappush(self._heap, (at_ns, key))

    def drop(self, key: Key) -> None:
        self._acts.pop(key, None)

    def next(self, before_ns: int) -> tuple[int, Act] | None:
        """Takes out the nearest thing that is due before `before_ns`: its time and what to call."""
        heap, acts = self._heap, self._acts
        while heap and heap[0][0] < before_ns:
            at_ns, key = heappop(heap)
            found = acts.get(key)
            if found is not None and found[0] == at_ns:
                del acts[key]
                return found
        return None

    def __len__(self) -> int:
        return len(self._acts)
