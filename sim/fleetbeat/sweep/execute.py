"""Playing batches of runs through a `concurrent.futures.Executor`, and giving a batch to another when its worker dies.

What comes back depends on batches alone, so it is the same whichever executor played them and in which order; only the
order of `keep` calls differs. Workers are started afresh (`spawn`): forked ones would share locks and threads. They ignore
ctrl-C, which is the parent's to answer, and end when the parent is gone, be it by kill -9.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from fleetbeat import __version__
from fleetbeat.sweep.one import play

#: How often in a row workers may die before any batch is finished.
PATIENCE = 3


class ExecuteError(Exception):
    """Runs that cannot be played: why, and what would help."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some seeds of one cell. `text`: the cell's resolved scenario, which needs no other file; `version`: who made it."""

    cell: int
    text: str
    seeds: tuple[int, ...]
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Row:
    """One finished run."""

    cell: int
    seed: int
    verdict: str
    metrics: dict[str, float | None]


Work = Callable[[Batch], list[Row]]
Keep = Callable[[list[Row]], None]


def work(batch: Batch) -> list[Row]:
    """Play a batch; this is what a worker does. Raises ExecuteError if the batch is from another version of fleetbeat."""
    if batch.version != __version__:
        raise ExecuteError(
            f"worker: got fleetbeat {__version__}, expected {batch.version} as where the sweep was started"
        )
    rows = []
    for seed in batch.seeds:
        found = play(batch.text, (), seed)
        rows.append(Row(batch.cell, seed, found.verdict, found.metrics))
    return rows


class Inline(Executor):
    """Plays in this process, at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def local(jobs: int) -> Callable[[], Executor]:
    """What opens an executor on this machine: this process for one job, else as many processes."""
    if jobs == 1:
        return Inline
    return lambda: ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker)


def execute(
    batches: Iterable[Batch], opened: Callable[[], Executor], width: int, keep: Keep, task: Work = work
) -> None:
    """Play all batches, `width` at a time and as many more waiting, and hand each one's rows to `keep` as they come.

    After ctrl-C, what is being played is finished and kept. Raises ExecuteError when workers keep dying, and whatever a
    run raises.
    """
    waiting, deaths = deque(batches), 0
    while waiting:
        kept = _once(waiting, opened(), width, keep, task)
        if waiting:
            deaths = 1 if kept else deaths + 1
            if deaths == PATIENCE:
                raise ExecuteError(
                    f"workers: got {PATIENCE} that died in a row, expected one to finish a batch (is memory short?)"
                )


def _once(waiting: deque[Batch], pool: Executor, width: int, keep: Keep, task: Work) -> int:
    """With one executor until all is done or it breaks; then `waiting` holds what is left. Returns batches kept."""
    flying: dict[Future[list[Row]], Batch] = {}
    most = 1 if isinstance(pool, Inline) else 2 * width
    kept = 0
    try:
        while waiting or flying:
            while waiting and len(flying) < most:
                future = pool.submit(task, waiting[0])
                flying[future] = waiting.popleft()
            wait(flying, return_when=FIRST_COMPLETED)
            for future in [future for future in flying if future.done()]:
                rows = future.result()
                del flying[future]  # first, so that ctrl-C in the middle of keeping cannot have it kept twice
                keep(rows)
                kept += 1
    except (BrokenExecutor, KeyboardInterrupt) as error:
        pool.shutdown(wait=True, cancel_futures=True)
        for future, batch in flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                keep(future.result())
                kept += 1
            else:
                waiting.appendleft(batch)
        if isinstance(error, KeyboardInterrupt):
            raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return kept


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
