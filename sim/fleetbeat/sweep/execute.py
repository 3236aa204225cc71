"""Playing tasks through a `concurrent.futures.Executor`, and giving a task to another worker when its own dies.

What comes back depends on tasks alone, so it is the same whichever executor played them and in which order; only the
order of `keep` calls differs. Local workers are started afresh (`spawn`): forked ones would share locks and threads. They
ignore ctrl-C, which is the parent's to answer, and end when the parent is gone, be it by kill -9.
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
from typing import Any, Protocol, TypeVar, runtime_checkable

from fleetbeat import __version__
from fleetbeat.scenario.mistakes import ScenarioError
from fleetbeat.sweep.one import played
from fleetbeat.sweep.pack import packed

#: How often in a row workers may die before any task is finished.
PATIENCE = 3
#: How often an executor that can say so is asked whether it still has workers, seconds.
CHECK_S = 10.0


class ExecuteError(Exception):
    """Runs that cannot be played: why, and what would help."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some seeds of one cell. `text`: the cell's resolved scenario, which needs no other file; `version`: who made it;
    `keep`: what is kept of each run besides its row, one of `pack.KEPT` or nothing."""

    cell: int
    text: str
    seeds: tuple[int, ...]
    version: str = __version__
    keep: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One finished run. `kept`: its posts or its history, as `pack` packs them; None where they were not asked for."""

    cell: int
    seed: int
    verdict: str
    metrics: dict[str, float | None]
    kept: bytes | None = None


@runtime_checkable
class Watched(Protocol):
    """An executor whose workers are elsewhere: `check` raises ExecuteError or BrokenExecutor if there is no hope left."""

    def check(self) -> None: ...


Given = TypeVar("Given")
Got = TypeVar("Got")
Opened = Callable[[], Executor]
Work = Callable[[Batch], list[Row]]
Keep = Callable[[list[Row]], None]


def work(batch: Batch) -> list[Row]:
    """Play a batch; this is what a worker does.

    Raises ExecuteError if the batch is from another version of fleetbeat, or if its scenario does not load here.
    """
    if batch.version != __version__:
        raise ExecuteError(
            f"worker: got fleetbeat {__version__}, expected {batch.version} as where the sweep was started"
        )
    rows = []
    for seed in batch.seeds:
        try:
            run = played(batch.text, (), seed)
        except ScenarioError as error:  # it cannot travel between processes, and it loaded where the sweep was started
            first = str(error).splitlines()[0]
            raise ExecuteError(f"worker: got a scenario that does not load here, expected it to: {first}") from None
        kept = packed(batch.keep, run) if batch.keep else None
        rows.append(Row(batch.cell, seed, run.outcome.verdict, run.outcome.metrics, kept))
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


def local(jobs: int) -> Opened:
    """What opens an executor on this machine: this process for one job, else as many processes."""
    if jobs == 1:
        return Inline
    return lambda: ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin_worker)


def execute(
    tasks: Iterable[Given],
    opened: Opened,
    width: int,
    keep: Callable[[Got], None],
    task: Callable[[Given], Got] = work,  # type: ignore[assignment]
) -> None:
    """Play all tasks, `width` at a time and as many more waiting, and hand what each came to to `keep` as they come.

    After ctrl-C, what is being played on this machine is finished and kept. Raises ExecuteError when workers keep dying,
    and whatever a task raises.
    """
    waiting, deaths = deque(tasks), 0
    while waiting:
        kept, why = _once(waiting, opened(), width, keep, task)
        if waiting:
            deaths = 1 if kept else deaths + 1
            if deaths == PATIENCE:
                raise ExecuteError(
                    f"workers: got {PATIENCE} that died in a row{f' ({why})' if why else ''},"
                    " expected one to finish a batch (is memory short?)"
                )


def _once(
    waiting: deque[Given], pool: Executor, width: int, keep: Callable[[Got], None], task: Callable[[Given], Got]
) -> tuple[int, str]:
    """With one executor until all is done or it breaks; then `waiting` holds what is left. Returns how many were kept,
    and in which words it broke."""
    flying: dict[Future[Got], Given] = {}
    most = 1 if isinstance(pool, Inline) else 2 * width
    kept, why = 0, ""
    try:
        while waiting or flying:
            while waiting and len(flying) < most:
                future = pool.submit(task, waiting[0])
                flying[future] = waiting.popleft()
            done, _ = wait(flying, CHECK_S if isinstance(pool, Watched) else None, FIRST_COMPLETED)
            if not done and isinstance(pool, Watched):
                pool.check()
            for future in [future for future in flying if future in done]:
                got = future.result()
                del flying[future]  # first, so that ctrl-C in the middle of keeping cannot have it kept twice
                keep(got)
                kept += 1
    except (BrokenExecutor, KeyboardInterrupt) as error:
        pool.shutdown(wait=True, cancel_futures=True)
        for future, given in flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                keep(future.result())
                kept += 1
            else:
                waiting.appendleft(given)
        if isinstance(error, KeyboardInterrupt):
            raise
        why = str(error) if isinstance(pool, Watched) else ""
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return kept, why


def _begin_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
