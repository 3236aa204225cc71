"""The test of the checks themselves: agents that get the protocol wrong must die, and the known ones come out as known.

A mutant is searched in the small world of the scenario in its folder; the scenario's `expect: broken` names the checks that
are meant to kill it. What its base agent breaks there too kills nobody, since a mutant is to die of its own mistake.
The reference and the claim agent are searched in the same worlds, made here, of posts, rebuilds, a fault and a crash.
Rejected: playing each scenario once on the engine, which shows that a check can see the mistake, and not that the search
finds it.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fleetbeat.checks.model import Check
from fleetbeat.explore.exhaust import Exhaust, Stopped
from fleetbeat.explore.model import Bounds, ExploreError, Found, Outcome
from fleetbeat.explore.plan import plan_of
from fleetbeat.explore.search import explore
from fleetbeat.explore.space import Meddled, Space
from fleetbeat.explore.tally import Tally, few_collections
from fleetbeat.explore.walk import Walk
from fleetbeat.scenario.library import find, find_agent
from fleetbeat.scenario.load import load
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.model import Scenario

Key = tuple[str, str, str]
KNOWN = ("reference", "claim")
#: Worlds of the known agents: what to set in the scenario `lost-update`, and how far to go.
FULL_DISK = "{operation: write, path: 'system/*', probability: 1%, error: ENOSPC, effect: partial}"
WORLDS = (
    Bounds(agents=1, posts=2, beats=1, rebuilds=1, faults=1, crashes=0),
    Bounds(agents=1, posts=1, beats=1, rebuilds=1, faults=1, crashes=1),
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant and its world. `named`: the checks that are meant to kill it."""

    name: str
    about: str
    base: str
    named: tuple[str, ...]
    scenario: Scenario
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Row:
    """One agent's result.

    `killed`: the finding that a mutant died of; `also`: what fired before. For known agents `broke` and `known` are the
    gaps found and those that the manifest names; `ended` says how the search ended.
    """

    agent: str
    about: str
    passed: bool
    states: int
    schedules: int
    killed: Key | None = None
    sentence: str = ""
    also: tuple[Key, ...] = ()
    named: tuple[str, ...] = ()
    broke: tuple[Key, ...] = ()
    known: tuple[str, ...] = ()
    ended: str = ""


# --- mutants ---


def mutants() -> list[Mutant]:
    """All wrong agents of the library by name; wrong cores are none. Raises `ExploreError` for one without base or check."""
    folder = find_agent("reference").parent / "mutants"
    return [_mutant(program.parent) for program in sorted(folder.glob("*/program.py"))]


def _mutant(folder: Path) -> Mutant:
    manifest = load_manifest(folder)
    scenario = load(folder / "scenario.yaml")
    base = re.search(r'program_of\("\.\./\.\./([\w-]+)"', (folder / manifest.program).read_text(encoding="utf-8"))
    named = tuple(scenario.expect.broken)
    if base is None or not named:
        raise ExploreError(f"mutant {manifest.name}: got no {'base agent' if base is None else 'expect: broken'}")
    bounds = bounds_of(scenario)
    if bounds.power:  # the writers are not to blame for what a power failure takes, and one post says it all
        synced = tuple(one.model_copy(update={"write": "atomic-synced"}) for one in scenario.rollouts[:1])
        scenario = scenario.model_copy(update={"rollouts": synced})
    return Mutant(manifest.name, manifest.about, base[1], named, scenario, bounds)


def bounds_of(scenario: Scenario) -> Bounds:
    """How far the search of a mutant's scenario goes: as often as the scenario lets things happen."""
    errors = sum(_times(fault.occurrence) for fault in scenario.faults if fault.error is not None)
    crashes = sum(1 for fault in scenario.faults if fault.crash is not None)
    power = any(fault.power for fault in scenario.faults)
    posts = 1 if power else len(scenario.rollouts)
    rebuilds = 1 if scenario.fleet.lifecycle.rebuilds else 0
    return Bounds(1, posts, posts, rebuilds, errors, crashes, None, power)


def _times(occurrence: object) -> int:
    return len(occurrence) if isinstance(occurrence, tuple | list) else 1


def breaks(mutant: Mutant, checks: Sequence[Check] | None = None, *, agent: str | None = None) -> set[Key]:
    """All ways in which a mutant (or `agent` in its place) breaks promises in the mutant's world."""
    return {one.key for one in explore(plan_of(mutant.scenario, mutant.bounds, agent=agent), checks=checks).found}


def judged_mutant(mutant: Mutant) -> Row:
    """Searches for a mutant until the first finding by a check that is meant for it."""
    inherited = breaks(mutant, agent=mutant.base)
    plan = plan_of(mutant.scenario, mutant.bounds)
    for trusting in (True, False):
        try:
            with few_collections():
                return _hunt(mutant, Space(plan, trusting), inherited)
        except Meddled:
            continue
    raise AssertionError("a space that trusts nobody is not meddled with")


def _hunt(mutant: Mutant, space: Space, inherited: set[Key]) -> Row:
    also: list[Key] = []
    killed: list[Found] = []

    def met(found: Found) -> None:
        if found.key in inherited:
            return
        if found.invariant not in mutant.named:
            also.append(found.key)
            return
        killed.append(found)
        raise Stopped

    bounds = space.plan.bounds
    walk = Walk(space)
    search = Exhaust(walk, Tally(space, on_found=met))
    row = partial(Row, mutant.name, mutant.about, named=mutant.named)
    try:
        count = search.run(*walk.start(bounds.faults or 0, bounds.crashes or 0, bounds.preemptions))
    except Stopped:
        one = killed[0]
        return row(True, search.states, search.count() + 1, one.key, one.finding.message, tuple(also))
    ended = Outcome((), True, search.states, count).summary
    return row(False, search.states, count, also=tuple(also), ended=ended)


# --- the agents that are known ---


def judged_known(agent: str) -> Row:
    """Searches all worlds of the known agents; the gaps must be those of the manifest, and nothing may be violated."""
    folder = find_agent(agent)
    manifest = load_manifest(folder)
    scenario = load(find("lost-update"), overrides=[f"faults=[{FULL_DISK}]"])
    outcomes = [explore(plan_of(scenario, bounds, agent=agent)) for bounds in WORLDS]
    broke = {found.key: found for outcome in outcomes for found in outcome.found}
    gaps = {invariant for invariant, kind, _ in broke if kind == "gap"}
    whole = all(outcome.complete for outcome in outcomes)
    passed = whole and gaps == set(manifest.known_gaps) and all(kind == "gap" for _, kind, _ in broke)
    states = sum(outcome.states for outcome in outcomes)
    schedules = sum(outcome.schedules for outcome in outcomes)
    ended = Outcome((), True, states, schedules).summary if whole else "the search was not complete"
    first = next(iter(broke.values()), None)
    return Row(
        agent,
        manifest.about,
        passed,
        states,
        schedules,
        sentence="" if first is None else first.finding.message,
        broke=tuple(sorted(broke)),
        known=tuple(manifest.known_gaps),
        ended=ended,
    )


# --- all of them ---


def selftest(jobs: int = 1) -> Iterator[Row]:
    """One row for each agent, in a fixed order: the known agents, then the mutants by name.

    Raises `ExploreError` for no jobs, no mutants, or where processes cannot be forked.
    """
    if jobs < 1:
        raise ExploreError(f"jobs: got {jobs}, expected at least 1")
    found = mutants()
    if not found:
        raise ExploreError("mutants: got none, expected some beside the agent reference")
    tasks: list[Mutant | str] = [*KNOWN, *found]
    if jobs == 1:
        yield from map(_judged, tasks)
        return
    if "fork" not in multiprocessing.get_all_start_methods():
        raise ExploreError(f"jobs: got {jobs}, expected 1: this system cannot fork processes")
    with multiprocessing.get_context("fork").Pool(min(jobs, len(tasks))) as pool:
        yield from pool.imap(_numbered, range(len(tasks)))


def _judged(task: Mutant | str) -> Row:
    return judged_known(task) if isinstance(task, str) else judged_mutant(task)


def _numbered(number: int) -> Row:
    """For another process: a mutant is looked up there, so that it need not be pickled."""
    return judged_known(KNOWN[number]) if number < len(KNOWN) else judged_mutant(mutants()[number - len(KNOWN)])
