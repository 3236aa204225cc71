"""Do the framework's checks see what they are for? Wrong cores must die, in a run and in the search; right ones must live.

One workload for all, which does not know whom it meets: the scenario core-trial. A wrong core must be caught by the check
that is meant for it when the scenario is run, and again, with a chain as short as can be, in its small worlds.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fleetbeat.checks.chains import drawn
from fleetbeat.checks.framework import Streamed
from fleetbeat.checks.model import Verdict
from fleetbeat.engines.cores import load_core
from fleetbeat.engines.framework import weave
from fleetbeat.explore.case import CaseError
from fleetbeat.explore.framework.case import make_case
from fleetbeat.explore.framework.plan import Limits, plan_of
from fleetbeat.explore.framework.search import Found, Key, explore
from fleetbeat.explore.model import ExploreError
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import cores, find, find_core
from fleetbeat.scenario.load import load
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.model import Scenario

TRIAL = "core-trial"
CHAINS, GUARD = "no-self-trigger", "guard-not-silenced"
#: Every wrong core of the library, and the check that it is meant to die by.
MEANT = {
    "core-body-removes-guard": GUARD,
    "core-breaks-gates": GUARD,
    "core-cools-gates": GUARD,
    "core-failure-cancels-deny": GUARD,
    "core-forgets-across-tasks": CHAINS,
    "core-forgets-at-restart": CHAINS,
    "core-no-guard": CHAINS,
    "core-notify-as-event": CHAINS,
    "core-origin-only": CHAINS,
    "core-raise-allows": GUARD,
    "core-silences-gates": GUARD,
    "core-slow-allows": GUARD,
    "core-two-notifies": CHAINS,
}
RIGHT = ("reference", "strict", "plugin")
#: How far right and wrong cores are searched here; `fleetbeat explore core-trial --only framework` goes further.
SHORT, LONG = Limits(tasks=1, calls=2, waits=0), Limits(tasks=1, waits=0)


@dataclass(frozen=True, slots=True)
class CoreRow:
    """One core's result. `named`: the check that a wrong one is meant to die by, "" for right ones; `in_run`: what broke in
    the run; `killed`: what broke in the search, with `sentence`, `tree` and `moves`; `ended`: how the search ended."""

    core: str
    about: str
    passed: bool
    named: str
    in_run: tuple[str, ...]
    states: int
    killed: Key | None = None
    sentence: str = ""
    tree: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()
    ended: str = ""


def wrong_cores() -> list[str]:
    """Raises `ExploreError` if those in the library are not those of which it is known what they do wrong."""
    there = {name for name in cores() if name.startswith("core-")}
    if there != set(MEANT):
        more, less = sorted(there - set(MEANT)), sorted(set(MEANT) - there)
        raise ExploreError(
            f"wrong cores: got {more or 'none'} besides those expected, and {less or 'none'} of them missing"
        )
    return sorted(MEANT)


def judged_core(name: str, signal: Sequence[Record] | None = None) -> CoreRow:
    """Runs the trial with this core and searches its small worlds. `signal`: the trial's history without a framework, which
    is the same whatever the core does."""
    scenario = trial(name)
    named = MEANT.get(name, "")
    verdicts = in_run(scenario, play_signal() if signal is None else signal)
    broke = tuple(verdict.invariant for verdict in verdicts if verdict.outcome == "broken")
    plan = plan_of(scenario, LONG if named else SHORT)
    row = CoreRow(name, load_manifest(find_core(name)).about, False, named, broke, 0)
    if not named:
        outcome = explore(plan)
        lives = outcome.complete and not outcome.found and not outcome.vacuous
        judged = all(verdict.outcome == "held" and verdict.examined for verdict in verdicts)
        row = replace(row, passed=lives and judged, states=outcome.states, ended=outcome.summary)
        return _killed(row, outcome.found[0]) if outcome.found else row
    # Where nothing is dangerous, nothing is guarded; and chains are short where nothing else goes on.
    plan = replace(plan, scenes=tuple(scene for scene in plan.scenes if (scene.danger is None) == (named == CHAINS)))
    outcome = explore(plan, invariant=named, until=None if named == CHAINS else lambda found: True)
    row = replace(row, states=outcome.states, ended=outcome.summary)
    return replace(_killed(row, outcome.found[0]), passed=named in broke) if outcome.found else row


def _killed(row: CoreRow, found: Found) -> CoreRow:
    try:
        case, played = make_case(found)
    except CaseError as error:
        return replace(row, killed=found.key, sentence=str(error), moves=tuple(map(str, found.schedule)))
    chain = () if played.finding is None else played.finding.chain
    tree, moves = tuple(drawn(chain)), tuple(map(str, case.schedule))
    return replace(row, killed=found.key, sentence=case.sentence, tree=tree, moves=moves)


def trial(core: str) -> Scenario:
    """The scenario that all cores meet, with this one."""
    return load(find(TRIAL), overrides=[f"fleet.core.program={core}"])


def play_signal(core: str = "reference") -> list[Record]:
    """The trial's history without its framework, which is the same whichever core is named."""
    from fleetbeat.engines.des import run

    return run(trial(core))


def in_run(scenario: Scenario, signal: Sequence[Record]) -> tuple[Verdict, Verdict]:
    """What the checks say of a run."""
    checks = Streamed()
    for record in weave(scenario, signal, load_core(scenario.fleet.core)):
        checks.feed(record)
    return checks.verdicts()


def selftest(jobs: int = 1) -> Iterator[CoreRow]:
    """One row for each core: the right ones, then the wrong ones by name. `jobs`: processes. Raises `ExploreError`."""
    names = (*RIGHT, *wrong_cores())
    signal = play_signal()
    if jobs == 1:
        yield from (judged_core(name, signal) for name in names)
        return
    with multiprocessing.get_context("fork").Pool(min(jobs, len(names))) as pool:
        yield from pool.imap(partial(judged_core, signal=signal), names)
