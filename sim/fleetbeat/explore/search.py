"""The front of the explorer: one function for all strategies.

`exhaustive` first takes a short look at orders with one preemption at most and nothing going wrong, since most races
show there and a person waits for the first finding; then it goes through everything. It finds what the long search
alone would, with simpler schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleetbeat.checks.model import Check
from fleetbeat.explore.exhaust import SEEN, Exhaust, Stop, Stopped
from fleetbeat.explore.model import Event, ExploreError, Found, Outcome
from fleetbeat.explore.plan import Plan
from fleetbeat.explore.power import BOUND
from fleetbeat.explore.space import Meddled, Space
from fleetbeat.explore.tally import Tally, few_collections
from fleetbeat.explore.walk import Walk

STRATEGIES = ("exhaustive", "pct", "random")
#: States after which the first look gives way to the whole search.
FIRST_LOOK = 20_000
DISTRUST = "an agent looks beyond its own files: no operation was taken for private"


def explore(
    plan: Plan,
    strategy: str = "exhaustive",
    *,
    invariant: str | None = None,
    checks: Sequence[Check] | None = None,
    extra: Sequence[Check] = (),
    on_found: Callable[[Found], None] | None = None,
    stop: Callable[[], bool] | None = None,
    max_states: int | None = None,
    jobs: int = 1,
    seed: int | None = None,
    runs: int = 2_000,
    depth: int = 3,
    prune: bool = True,
    merge: bool = True,
    first_look: bool = True,
    keep_outcomes: bool = False,
) -> Outcome:
    """Searches `plan`. Findings are distinct by invariant, class and cause; hazards are none.

    `invariant`: look for this one alone. `checks` replaces the built-in checks, `extra` adds to them. `stop` is asked now
    and then whether time is up; `max_states` bounds the search as well. `jobs`: processes. `seed` (the scenario's if
    None), `runs` and `depth` are for `pct` and `random`. `prune` and `merge` switch off what makes the search short, for
    comparison. Ctrl-C ends it with what was found.

    Raises `ExploreError` for an unknown strategy, no jobs or no states.
    """
    refuse(strategy, jobs, max_states, runs, depth)
    told: dict[tuple[str, str, str], Found] = {}

    def tell(found: Found) -> None:
        if found.key not in told:
            told[found.key] = found
            if on_found is not None:
                on_found(found)

    for trusting in (True, False):
        space = Space(plan, trusting)
        tally = Tally(space, invariant, checks, extra, tell, keep_outcomes)
        tally.found.update(told)
        try:
            with few_collections():
                if strategy == "exhaustive":
                    look = first_look and prune and merge
                    outcome = _exhaust(space, tally, _Limits(stop, max_states), jobs, prune, merge, look)
                else:
                    from fleetbeat.explore.sample import sample

                    outcome = sample(space, tally, strategy, seed, runs, depth, stop, max_states)
            break
        except Meddled:
            continue
    notes = (*plan.notes, *outcome.notes, *((BOUND,) if plan.bounds.power else ()), *(() if trusting else (DISTRUST,)))
    return Outcome(
        tuple(tally.found.values()),
        outcome.complete,
        outcome.states,
        outcome.schedules,
        outcome.where,
        len(tally.ends),
        outcome.interrupted,
        notes,
        frozenset(tally.outcomes),
    )


def refuse(strategy: str, jobs: int, max_states: int | None, runs: int, depth: int) -> None:
    """Raises `ExploreError` for arguments of `explore` that are of no use."""
    if strategy not in STRATEGIES:
        raise ExploreError(f"strategy: got {strategy!r}, expected one of {', '.join(STRATEGIES)}")
    for name, value in (("jobs", jobs), ("max-states", max_states), ("runs", runs), ("depth", depth)):
        if value is not None and value < 1:
            raise ExploreError(f"{name}: got {value}, expected at least 1")


class _Limits:
    """When to stop: time is up, or so many states were seen."""

    def __init__(self, stop: Callable[[], bool] | None, max_states: int | None) -> None:
        self.stop = stop
        self.max_states = max_states
        #: States between two questions.
        self.every = min(256, max_states or 256)

    def __call__(self, states: int) -> bool:
        if self.max_states is not None and states >= self.max_states:
            return True
        return self.stop is not None and self.stop()


def _exhaust(space: Space, tally: Tally, limits: _Limits, jobs: int, prune: bool, merge: bool, look: bool) -> Outcome:
    bounds = space.plan.bounds
    try:
        if look and bounds.preemptions != 0:
            _first_look(space, tally, limits)
    except KeyboardInterrupt:
        return Outcome((), False, 0, 0, "the first look", interrupted=True)
    walk = Walk(space, prune)
    state, past = walk.start(bounds.faults or 0, bounds.crashes or 0, bounds.preemptions)
    if jobs > 1:
        from fleetbeat.explore.split import split

        return split(walk, tally, limits, jobs, state, past)
    search = Exhaust(walk, tally, merge, limits, limits.every)
    try:
        count = search.run(state, past)
    except (Stopped, KeyboardInterrupt) as error:
        where = where_of(search.states, len(tally.ends), tuple(search.path()))
        return Outcome((), False, search.states, search.count(), where, interrupted=not isinstance(error, Stopped))
    full = (f"more than {SEEN:,} states: some were searched, and counted, more than once",)
    return Outcome((), True, search.states, count, notes=full if len(search.seen) >= SEEN else ())


def _first_look(space: Space, tally: Tally, limits: Stop) -> None:
    walk = Walk(space)
    search = Exhaust(walk, tally, stop=lambda states: states >= FIRST_LOOK or limits(states))
    try:
        search.run(*walk.start(0, 0, 1))
    except Stopped:
        pass


def where_of(states: int, ends: int, path: tuple[Event, ...]) -> str:
    """Where a search stopped, in words."""
    last = f", at {path[-1]} (event {len(path)} of a schedule)" if path else ""
    return f"{states:,} states, {ends:,} observable pasts judged{last}"
