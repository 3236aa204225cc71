"""The search on several processes: the states at some depth are handed out, each with all that follows it.

What is found and how many schedules there are does not depend on the number of processes: a state's schedules are a
property of the space, and of two findings alike the one that comes first in the order of the search is kept. States are
counted by each process for itself, so those that two of them met count twice.
"""

from __future__ import annotations

import multiprocessing
import signal
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, NamedTuple

from fleetbeat.checks.model import Finding
from fleetbeat.explore.exhaust import Exhaust, Stop, Stopped
from fleetbeat.explore.model import Event, ExploreError, Found, Outcome
from fleetbeat.explore.observe import Past
from fleetbeat.explore.tally import Tally
from fleetbeat.explore.walk import State, Walk

#: Tasks for each process: enough that a large one does not leave the others idle.
TASKS = 24


class _Task(NamedTuple):
    """A state by the choices that lead to it, and by how many ways it is reached."""

    path: tuple[int, ...]
    ways: int


class _Done(NamedTuple):
    schedules: int
    complete: bool
    states: int
    #: key, schedule, finding: the plan stays with the parent, its programs need not be pickled
    found: tuple[tuple[tuple[str, str, str], tuple[Event, ...], Finding], ...]
    ends: frozenset[bytes]
    outcomes: frozenset[object]
    where: str


def split(walk: Walk, tally: Tally, limits: Stop, jobs: int, state: State, past: Past) -> Outcome:
    """As `Exhaust.run`. Raises `ExploreError` where processes cannot be forked."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise ExploreError(f"jobs: got {jobs}, expected 1: this system cannot fork processes")
    tasks, states = _tasks(walk, state, past, jobs * TASKS)
    context = multiprocessing.get_context("fork")
    halt = context.Event()
    _SHARED[:] = [(walk, tally, limits, state, past, halt)]
    complete, schedules, interrupted, where = True, 0, False, ""
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_quiet)
    futures: list[Future[_Done]] = []
    try:
        futures = [pool.submit(_search, task.path) for task in tasks]
        for _ in _finished(futures):
            pass
    except KeyboardInterrupt:
        interrupted = True
        halt.set()
        for future in futures:
            future.cancel()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        _SHARED.clear()
    for task, future in zip(tasks, futures, strict=False):
        if future.cancelled():
            complete = False
            continue
        done = future.result()
        complete = complete and done.complete
        where = where or done.where
        schedules += task.ways * done.schedules
        states += done.states
        found = [Found(*key, schedule, walk.space.plan, finding) for key, schedule, finding in done.found]
        tally.join(found, done.ends, done.outcomes)
    notes = (f"states are counted by each of {jobs} processes for itself",)
    if complete and not interrupted:
        return Outcome((), True, states, schedules, notes=notes)
    where = where or f"{states:,} states"
    return Outcome((), False, states, schedules, where, interrupted=interrupted, notes=notes)


def _finished(futures: list[Future[_Done]]) -> Any:
    for future in futures:
        yield future.result()


def _tasks(walk: Walk, state: State, past: Past, wanted: int) -> tuple[list[_Task], int]:
    """States some way into the space, at least `wanted` where there are as many, in the order of the search."""
    layer: dict[bytes, tuple[tuple[int, ...], int, State, Past]] = {walk.key(state, past): ((), 1, state, past)}
    ended: dict[bytes, tuple[tuple[int, ...], int]] = {}
    states = 0
    while layer and len(layer) + len(ended) < wanted:
        below: dict[bytes, tuple[tuple[int, ...], int, State, Past]] = {}
        for key, (path, ways, here, before) in layer.items():
            states += 1
            choices = walk.choices(here)
            if not choices:
                ended[key] = (path, ways)
            for number, choice in enumerate(choices):
                after, shown = walk.take(here, before, choice)
                key = walk.key(after, shown)
                known = below.get(key)
                if known is None:
                    below[key] = ((*path, number), ways, after, shown)
                else:
                    below[key] = (known[0], known[1] + ways, known[2], known[3])
        layer = below
    found = [_Task(path, ways) for path, ways in ended.values()]
    found += [_Task(path, ways) for path, ways, _, _ in layer.values()]
    return sorted(found), states


# --- in a process of its own ---

#: What a forked process finds of its parent: walk, tally, limits, start, past, and the event that says stop.
_SHARED: list[tuple[Walk, Tally, Stop, State, Past, Any]] = []
_SEARCH: list[Exhaust] = []


def _quiet() -> None:
    """Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    walk, tally, limits, _, _, halt = _SHARED[0]
    tally.on_found = None
    _SEARCH[:] = [Exhaust(walk, tally, stop=lambda states: halt.is_set() or limits(states))]


def _search(path: tuple[int, ...]) -> _Done:
    walk, tally, _, state, past, _ = _SHARED[0]
    search = _SEARCH[0]
    before, ends = search.states, set(tally.ends)
    events: list[Event] = []
    for number in path:
        choice = walk.choices(state)[number]
        events.append(walk.event(state, choice))
        state, past = walk.take(state, past, choice)
    complete, where = True, ""
    try:
        schedules = search.run(state, past, tuple(events))
    except Stopped:
        complete, schedules = False, search.count()
        where = f"{search.states:,} states of one process, at {(*events, *search.path())[-1]}"
    found = tuple((key, one.schedule, one.finding) for key, one in tally.found.items())
    new = frozenset(tally.ends - ends)
    return _Done(schedules, complete, search.states - before, found, new, frozenset(tally.outcomes), where)
