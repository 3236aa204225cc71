"""A progress bar for a run that takes longer than two seconds, on a terminal's standard error and nowhere else.

The one clock of the command line: it decides what is shown and when a search gives up, never what happens in a run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fleetbeat.cli.output import is_terminal

PATIENCE_S = 2.0


def deadline(seconds: float) -> Callable[[], bool]:
    """A question: have that many seconds gone by since now? It keeps its meaning in forked processes."""
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


@contextmanager
def shown(duration_ns: int, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Yields the function to be told virtual time in ns, or None where nobody is watching."""
    if quiet or not is_terminal(sys.stderr):
        yield None
        return
    bar = _Bar(duration_ns)
    try:
        yield bar
    finally:
        bar.stop()


def teller(*, quiet: bool) -> Callable[[str, int, int], None]:
    """A function to be told what is being prepared ("starting containers", 12, 100): one line on a terminal, rewritten
    again and again and taken away at the end; nothing elsewhere."""
    if quiet or not is_terminal(sys.stderr):
        return lambda what, done, total: None

    def tell(what: str, done: int, total: int) -> None:
        line = f"{what}: {done} of {total}" if done < total else ""
        sys.stderr.write(f"\r{line:<60}\r{line}")
        sys.stderr.flush()

    return tell


class _Bar:
    """rich's bar, made and drawn only once the patience is over."""

    def __init__(self, duration_ns: int) -> None:
        self.duration_ns = duration_ns
        self.began = time.monotonic()
        self.drawn: Any = None
        self.task: Any = None

    def __call__(self, now_ns: int) -> None:
        if self.drawn is None:
            if time.monotonic() - self.began < PATIENCE_S:
                return
            self._draw()
        self.drawn.update(self.task, completed=min(now_ns, self.duration_ns))

    def _draw(self) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.drawn = Progress(console=Console(stderr=True), transient=True)
        self.task = self.drawn.add_task("playing", total=self.duration_ns)
        self.drawn.start()

    def stop(self) -> None:
        if self.drawn is not None:
            self.drawn.stop()


def stopwatch() -> Callable[[], float]:
    """How many seconds have gone by since now?"""
    began = time.monotonic()
    return lambda: time.monotonic() - began


def pace(what: str, *, quiet: bool) -> Callable[[int, int], None]:
    """A function to be told how many of how many are done: one line with rate and time left on a terminal, rewritten and
    taken away at the end; nothing elsewhere."""
    if quiet or not is_terminal(sys.stderr):
        return lambda done, total: None
    spent = stopwatch()

    def tell(done: int, total: int) -> None:
        rate = done / max(spent(), 1e-9)
        left = f"{done:,} of {total:,} {what}, {rate:.3g} a second, {(total - done) / rate:,.0f} s left" if rate else ""
        line = left if done < total else ""
        sys.stderr.write(f"\r{line:<79}\r{line}")
        sys.stderr.flush()

    return tell
