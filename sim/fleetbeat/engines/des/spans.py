"""Idle beats, written as spans: runs of consecutive beats that changed nothing, whether they were played or skipped.

A span holds beats that are alike to an observer: all runnable or all not, the same operations, and all begun on the same
side of every change at the name `.rules` (`generation` counts these). So the number of beats that began after a post
can be counted from the history exactly, and a skipped beat leaves the same trace as a played one.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetbeat.engines.recorder import Recorder, When


@dataclass(frozen=True, slots=True)
class Idle:
    """Idle beats `first` to `last`; times in ns; `ops` are the operations that each made, by kind."""

    first: int
    last: int
    start: When
    last_start: int
    end: int
    runnable: bool
    generation: int
    ops: tuple[tuple[str, int], ...]


class Spans:
    """The idle beats of one life, joined as far as they are alike."""

    def __init__(self, recorder: Recorder, agent: str, life: int) -> None:
        self._recorder = recorder
        self._agent = agent
        self._life = life
        self._open: Idle | None = None

    def add(self, idle: Idle) -> None:
        if not self.extend(idle.first, idle.last, idle.last_start, idle.end, idle.runnable, idle.generation, idle.ops):
            self.close()
            self._open = idle

    def extend(
        self,
        first: int,
        last: int,
        last_start: int,
        end: int,
        runnable: bool,
        generation: int,
        ops: tuple[tuple[str, int], ...],
    ) -> bool:
        """Joins these beats to the open span, if they follow on it and are like it; says whether it did."""
        span = self._open
        if (
            span is None
            or span.last + 1 != first
            or (span.runnable, span.generation, span.ops) != (runnable, generation, ops)
        ):
            return False
        self._open = Idle(span.first, last, span.start, last_start, end, runnable, generation, ops)
        return True

    def close(self) -> None:
        """Writes the span that is open, if there is one."""
        idle, self._open = self._open, None
        if idle is not None:
            self._recorder.add(
                idle.start,
                f"{self._agent}/beat",
                "beats",
                agent=self._agent,
                life=self._life,
                first=idle.first,
                last=idle.last,
                last_start=idle.last_start,
                end=idle.end,
                runnable=idle.runnable,
                ops=dict(idle.ops),
            )
