"""A small explorer: re-executes programs under every order of their operations, depth first, on the same files and processes
that the engine uses. It shows that the seam holds: a program is driven by whoever feeds it results, and a state is found
again by feeding the same results. No pruning, no faults, no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fleetbeat.files.memory import MemoryFiles
from fleetbeat.protocol.process import Process
from fleetbeat.protocol.vocabulary import Episode, Op


@dataclass
class Actor:
    """A process and the episodes it goes through, one after another."""

    name: str
    process: Process
    episodes: list[Callable[[], Episode]]
    running: Episode | None = None
    answer: Any = None
    failure: OSError | None = None
    fed: list[Any] = field(default_factory=list)

    def ready(self) -> Op | None:
        """The next operation, or None when there is none left."""
        while self.episodes or self.running is not None:
            if self.running is None:
                self.running, self.answer, self.failure = self.episodes.pop(0)(), None, None
            try:
                if self.failure is not None:
                    return self.running.throw(self.failure)
                return self.running.send(self.answer)
            except StopIteration:
                self.running = None
            except OSError as error:
                self.running = None
                self.fed.append(f"ended {error.errno}")
        return None

    def take(self, op: Op) -> None:
        try:
            self.answer, self.failure = self.process.perform(op, self.name), None
        except OSError as error:
            self.answer, self.failure = None, error
        self.fed.append((op, self.answer if self.failure is None else self.failure.errno))


World = tuple[MemoryFiles, list[Actor]]


def schedules(make: Callable[[], World]) -> Iterator[tuple[tuple[str, ...], World]]:
    """Every order of the actors' operations, with the world that it leads to; a fresh world is played for each."""
    stack: list[tuple[int, ...]] = [()]
    while stack:
        prefix = stack.pop()
        world = make()
        waiting = [(actor, op) for actor in world[1] if (op := actor.ready()) is not None]
        order: list[str] = []
        depth = 0
        while waiting:
            index = prefix[depth] if depth < len(prefix) else 0
            if depth >= len(prefix):
                stack += [(*prefix, *[0] * (depth - len(prefix)), other) for other in range(1, len(waiting))]
            actor, op = waiting[index]
            actor.take(op)
            order.append(actor.name)
            following = actor.ready()
            waiting[index : index + 1] = [] if following is None else [(actor, following)]
            depth += 1
        yield tuple(order), world
