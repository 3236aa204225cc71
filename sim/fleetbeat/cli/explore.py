"""`fleetbeat explore`: search the orders, faults and crashes of a small world for those under which a promise breaks.

A scenario with a workload has two halves, as in a run: what becomes of its posts, and what its agents' event framework
does. They are searched one after the other, each in small worlds of its own.

Cases kept from earlier searches of the same scenario and agent are replayed first: what broke once is the likeliest to break
again. Each new finding is told on standard error as soon as it is there, and becomes a case file, shrunk on the engine;
the results stand on standard output at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import INTERRUPTED, Refused
from fleetbeat.cli.output import emit, narrate

if TYPE_CHECKING:
    from fleetbeat.checks.model import Check
    from fleetbeat.cli import explored, explored_framework
    from fleetbeat.scenario.model import Scenario

CASES = ".fleetbeat/cases"


@click.command("explore", short_help="Search for orders, faults and crashes that break a promise.")
@click.argument("scenario")
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field of the scenario.")
@click.option("--agent", metavar="NAME", help="Another agent program than the scenario's, for all of its agents.")
@click.option("--strategy", default="exhaustive", show_default=True, metavar="NAME", help="exhaustive, pct or random.")
@click.option("--agents", type=int, metavar="N", help="How many agents take part.  [1]")
@click.option("--posts", type=int, metavar="N", help="How many posts are made.  [2, or what there is]")
@click.option("--beats", type=int, metavar="N", help="Beats of each agent, besides two at the end.  [1]")
@click.option("--rebuilds", type=int, metavar="N", help="Rebuilds of each agent.  [1]")
@click.option("--faults", type=int, metavar="N", help="How many of the scenario's faults strike.  [1, if it has any]")
@click.option("--crashes", type=int, metavar="N", help="How many times a process dies.  [1]")
@click.option("--preemptions", type=int, metavar="N", help="How often an episode is interrupted.  [any number]")
@click.option("--prompts", type=int, metavar="N", help="Framework: prompts of its user.  [1]")
@click.option("--calls", type=int, metavar="N", help="Framework: dangerous calls of a turn.  [4]")
@click.option("--tasks", type=int, metavar="N", help="Framework: background tasks that go on.  [3]")
@click.option(
    "--troubles", type=int, metavar="N", help="Framework: other rules, rebuilds, crashes, failing gates, in all.  [1]"
)
@click.option("--only", type=click.Choice(["signal", "framework"]), help="Search one of a scenario's two halves.")
@click.option("--power", is_flag=True, help="Crashes take the host's power; what is unsynced may be lost.")
@click.option("--budget", metavar="TIME", help="Give up after this long, as in 60s.")
@click.option("--max-states", type=int, metavar="N", help="Give up after so many states.")
@click.option("--jobs", type=int, default=1, show_default=True, metavar="N", help="Processes to search with.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="For pct and random; the scenario's.")
@click.option("--runs", type=int, default=2_000, show_default=True, metavar="N", help="Schedules of pct and random.")
@click.option("--depth", type=int, default=3, show_default=True, metavar="D", help="Ordering constraints, for pct.")
@click.option("--invariant", metavar="ID", help="Look for this promise alone.")
@click.option("--cases", default=CASES, show_default=True, metavar="DIR", help="Where cases are kept.")
@click.option("--checks", metavar="DIR", help="A folder of checks of your own, judged like the built-in ones.")
@click.option("-o", "--output", metavar="DIR", help="Write the results into a new or empty directory.")
@click.option("--json", "as_json", is_flag=True, help="The results as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="The last line alone; no narration.")
def command(
    scenario: str,
    sets: tuple[str, ...],
    agent: str | None,
    strategy: str,
    agents: int | None,
    posts: int | None,
    beats: int | None,
    rebuilds: int | None,
    faults: int | None,
    crashes: int | None,
    preemptions: int | None,
    prompts: int | None,
    calls: int | None,
    tasks: int | None,
    troubles: int | None,
    only: str | None,
    power: bool,
    budget: str | None,
    max_states: int | None,
    jobs: int,
    seed: int | None,
    runs: int,
    depth: int,
    invariant: str | None,
    cases: str,
    checks: str | None,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Search the small world of SCENARIO (a file, or a name that `fleetbeat scenarios` lists) for broken promises.

    With a workload, its event framework is searched as well: --posts are then bodies that come into effect, --faults
    gates that fail, --crashes and --rebuilds the agent's.

    Exit code 1: something broke, told with its case; 0: nothing did, and the search was complete within its bounds; 3:
    nothing did before the budget ran out, or nothing could have.
    """
    from fleetbeat.cli.explored import Results, Telling
    from fleetbeat.cli.explored_both import Both
    from fleetbeat.cli.explored_framework import search as search_framework
    from fleetbeat.explore.framework import plan as framework
    from fleetbeat.explore.model import Bounds, ExploreError
    from fleetbeat.explore.plan import plan_of
    from fleetbeat.explore.search import explore, refuse

    _known(invariant)
    stop = _deadline(budget)
    usual = Bounds()
    bounds = Bounds(
        agents,
        posts,
        usual.beats if beats is None else beats,
        rebuilds,
        faults,
        crashes,
        preemptions,
        power,
    )
    limits = framework.Limits(
        **{
            name: value
            for name, value in (
                ("prompts", prompts), ("calls", calls), ("tasks", tasks), ("bodies", posts), ("rebuilds", rebuilds),
                ("crashes", crashes), ("failures", faults), ("troubles", troubles),
            )
            if value is not None
        }
    )  # fmt: skip
    signal: explored.Told | None = None
    events: explored_framework.Told | None = None
    try:
        refuse(strategy, jobs, max_states, runs, depth)
        loaded = _load(scenario, sets, seed)
        halves = _halves(loaded, only, invariant, strategy)
        plan = plan_of(loaded, bounds, agent=agent) if "signal" in halves else None
        small = framework.plan_of(loaded, limits) if "framework" in halves else None
        with Results(output) as results:
            if plan is not None:
                telling = Telling(plan, scenario, Path(cases), quiet)
                telling.replay_kept()
                outcome = explore(
                    plan,
                    strategy,
                    invariant=invariant,
                    extra=_extra(checks),
                    on_found=telling.found,
                    stop=stop,
                    max_states=max_states,
                    jobs=jobs,
                    seed=seed,
                    runs=runs,
                    depth=depth,
                )
                signal = telling.told(outcome)
            if small is not None and not (signal is not None and signal.outcome.interrupted):
                events = search_framework(
                    small, Path(cases), quiet, invariant=invariant, stop=stop, max_states=max_states
                )
            told = Both(scenario, signal, events)
            results.write(told)
    except ExploreError as error:
        raise Refused(str(error)) from error
    emit(told.json() if as_json else told.last_line() + "\n" if quiet else told.text())
    if told.interrupted:
        narrate("fleetbeat: interrupted; what was found is saved")
        return INTERRUPTED
    return told.code()


def _halves(scenario: Scenario, only: str | None, invariant: str | None, strategy: str) -> tuple[str, ...]:
    """Which of `signal` and `framework` are searched."""
    from fleetbeat.scenario.words import OF_FRAMEWORK

    if scenario.workload is None:
        if only == "framework" or invariant in OF_FRAMEWORK:
            asked = "--only framework" if only == "framework" else f"--invariant {invariant}"
            raise Refused(f"{asked}: got a scenario without a workload, expected one: it has no event framework")
        return ("signal",)
    wanted = [only] if only is not None else ["signal", "framework"]
    if invariant is not None:
        wanted = [one for one in wanted if (one == "framework") == (invariant in OF_FRAMEWORK)]
        if not wanted:
            raise Refused(f"--only: got {only}, expected the half that {invariant} belongs to")
    if only is None and not scenario.rollouts:
        wanted = [one for one in wanted if one == "framework"]
        if not wanted:
            raise Refused(f"--invariant: got {invariant}, expected one of the framework: the scenario posts nothing")
    if strategy != "exhaustive" and "framework" in wanted:
        if wanted == ["framework"]:
            raise Refused(f"--strategy: got {strategy}, expected exhaustive: the framework is not sampled")
        wanted.remove("framework")
        narrate(f"fleetbeat explore: the event framework is left out: it is not searched by {strategy}")
    return tuple(wanted)


def _load(name: str, sets: tuple[str, ...], seed: int | None) -> Scenario:
    from fleetbeat.scenario import library
    from fleetbeat.scenario.load import load

    path = library.find(name)
    more = [] if seed is None else [f"seed={seed}"]
    return load(path, name if path == Path(name) else None, [*sets, *more])


def _deadline(budget: str | None) -> Callable[[], bool] | None:
    from fleetbeat.cli.progress import deadline
    from fleetbeat.scenario.units import parse_duration

    if budget is None:
        return None
    try:
        length = parse_duration(budget)
    except ValueError as error:
        raise Refused(f"--budget: got {budget!r}, expected a time such as 60s") from error
    if length <= 0:
        raise Refused(f"--budget: got {budget!r}, expected more than 0s")
    return deadline(length / 1e9)


def _known(invariant: str | None) -> None:
    from fleetbeat.checks import CHECKS, FRAMEWORK_CHECKS

    names = [check.invariant.id for check in (*CHECKS, *FRAMEWORK_CHECKS)]
    if invariant is not None and invariant not in names:
        raise Refused(f"--invariant: got {invariant!r}, expected one of {', '.join(names)}")


def _extra(folder: str | None) -> Sequence[Check]:
    from fleetbeat.cli.pipeline import extra_checks

    return () if folder is None else extra_checks(folder)
