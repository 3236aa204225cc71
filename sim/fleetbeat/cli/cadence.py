"""`fleetbeat cadence`: which heartbeat meets the objectives, at what cost, and by what margin."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import HELD, INCONCLUSIVE, Missing, Refused
from fleetbeat.cli.output import emit, narrate
from fleetbeat.cli.progress import pace, shown, stopwatch

if TYPE_CHECKING:
    from fleetbeat.history.records import Record
    from fleetbeat.scenario.model import Scenario
    from fleetbeat.sweep.advise import Advice, Asked, CellAdvice
    from fleetbeat.sweep.advise_measure import Ask
    from fleetbeat.sweep.cadence import Laid, Wanted, Where

#: More runs than this are played only with --yes.
MANY = 10_000
#: The first of the ranking that hold with fresh seeds is recommended; after so many that did not, none is.
TRIES = 3


@dataclass(frozen=True, slots=True)
class Given:
    """The command's arguments, as given."""

    scenario: str
    slos: tuple[str, ...]
    costs: tuple[str, ...]
    interval: str | None
    jitter: str | None
    phase: str | None
    faults: str | None
    sets: tuple[str, ...]
    seed: int | None
    seeds: int
    statistic: str
    shift: str | None
    jobs: int
    executor: str | None
    calibrate: bool
    output: str | None
    yes: bool
    as_json: bool
    quiet: bool


@click.command("cadence", short_help="Recommend a heartbeat for objectives and costs.")
@click.argument("scenario")
@click.option("--slo", "slos", multiple=True, metavar="TEXT", help="'p99 lag < 3s', 'pending < 1% after 10s'; again.")
@click.option("--max-cost", "costs", multiple=True, metavar="TEXT", help="'ops/s < 2000' on the busiest host; again.")
@click.option("--interval", metavar="LIST", help="0.5s,1s,2s,5s; else 1/2, 1, 2 and 5 times the scenario's.")
@click.option("--jitter", metavar="LIST", help="none, 10% (of the interval, either way), 50ms; else the scenario's.")
@click.option("--phase", metavar="LIST", help="random, aligned, splay:30s; else the scenario's.")
@click.option("--faults", metavar="LIST", help="Levels: chances of faults times 0,1,2; else 0,1 (1 without chances).")
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field everywhere; again for more.")
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="The first seed; else the scenario's.")
@click.option("--seeds", type=click.IntRange(1), default=30, show_default=True, metavar="N", help="Runs of each cell.")
@click.option("--statistic", default="mean", show_default=True, metavar="NAME", help="Over runs: mean, p50, p90, p95.")
@click.option("--shift", metavar="TIME", help="Each run's rollouts start later by a draw of up to so much.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes that play; else one a core.")
@click.option("--executor", metavar="dask://HOST:PORT", help="Play on the workers of a Dask scheduler (extra dask).")
@click.option(
    "--calibrate",
    is_flag=True,
    help="Measure real beats on this machine (12 s): cost in processor time. An objective for cpu does so too.",
)
@click.option("-o", "--output", metavar="DIR", help="Keep advice and tables in a new or empty directory.")
@click.option("--yes", is_flag=True, help=f"Play even if there are more than {MANY:,} runs.")
@click.option("--json", "as_json", is_flag=True, help="The advice as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No narration.")
def command(
    scenario: str,
    slos: tuple[str, ...],
    costs: tuple[str, ...],
    interval: str | None,
    jitter: str | None,
    phase: str | None,
    faults: str | None,
    sets: tuple[str, ...],
    seed: int | None,
    seeds: int,
    statistic: str,
    shift: str | None,
    jobs: int | None,
    executor: str | None,
    calibrate: bool,
    output: str | None,
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play SCENARIO (a file, or a name that `fleetbeat scenarios` lists) at many heartbeats and fault levels, and advise.

    Recommended is the cheapest cadence whose 95 % intervals lie within every objective at every level, and do so again
    with fresh seeds. Exit code 0 if one is recommended, 3 if none meets everything (the nearest is shown).
    """
    if executor is not None and jobs is not None:
        raise Refused("--jobs: got --executor too, expected one of the two: its workers are as many as they are")
    given = Given(
        scenario, slos, costs, interval, jitter, phase, faults, sets, seed, seeds, statistic, shift,
        jobs or len(os.sched_getaffinity(0)), executor, calibrate, output, yes, as_json, quiet,
    )  # fmt: skip
    with _told():
        return cadence(given)


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the sweep as the command line's: which exit code they have is told by their class."""
    from fleetbeat.sweep.advise_slo import AdviseError
    from fleetbeat.sweep.cadence_cost import CostError
    from fleetbeat.sweep.execute import ExecuteError
    from fleetbeat.sweep.vary import VaryError

    try:
        yield
    except (AdviseError, VaryError) as error:
        raise Refused(str(error)) from error
    except (ExecuteError, CostError) as error:
        raise Missing(str(error)) from error


def cadence(given: Given) -> int:
    """Lay, play, judge, confirm, warn, tell, keep. Returns the exit code."""
    from fleetbeat.cli.staging import Staging
    from fleetbeat.scenario.library import find
    from fleetbeat.sweep import advise, advise_tables, advise_words
    from fleetbeat.sweep.advise_measure import Ask
    from fleetbeat.sweep.advise_slo import measurable, parse_cost, parse_slo
    from fleetbeat.sweep.cadence import lay, play
    from fleetbeat.sweep.cadence_warn import warnings
    from fleetbeat.sweep.tables import write
    from fleetbeat.sweep.vary import is_utf8

    if not given.slos:
        raise Refused("--slo: got none, expected an objective or more such as 'p99 lag < 3s'")
    if given.output is not None and not is_utf8(given.output):
        raise Refused(f"-o: got {given.output!r}, expected a name in UTF-8: DuckDB writes no other")
    objectives = (*map(parse_slo, given.slos), *map(parse_cost, given.costs))
    _enough(given)
    shift_ns = _shift(given)
    sets = [*given.sets, *([] if given.seed is None else [f"seed={given.seed}"])]
    ask, wanted, path = Ask(objectives, shift_ns), _wanted(given), find(given.scenario)
    _affordable(given, wanted, sets, path, ask)
    laid = lay(path, sets, wanted, given.seeds)
    is_calibrated = given.calibrate or any(one.name == "cpu" for one in objectives)
    measurable(objectives, laid.cells[0].scenario, is_calibrated, shift_ns)
    with ExitStack() as stack:
        staging = stack.enter_context(Staging(given.output)) if given.output is not None else None
        if staging is not None:
            staging.claim()
        where = stack.enter_context(_where(given, laid))
        cpu_s, calibration = _calibrated(given, laid.cells[0].scenario) if is_calibrated else (None, ())
        asked = advise.Asked(objectives, given.statistic, cpu_s)
        played = play(laid, range(len(laid.cells)), laid.seeds, ask, where, pace("runs", quiet=given.quiet))
        cells = [advise.cell_of(place, numbers, asked) for place, numbers in played.items()]
        found = _confirmed(laid, advise.advise(laid, cells), ask, asked, where, given.quiet)
        lines = tuple(warnings(laid, cells, shift_ns))
        told = advise_words.Told(laid, found, given.statistic, lines, calibration, shift_ns)
        text, document = advise_words.text(told), advise_words.document(told)
        if staging is not None:
            staging.write("advice.txt", text)
            staging.write("advice.json", document)
            staging.place("runs.parquet", lambda path: write(path, advise_tables.runs(told)))
            staging.place("cells.parquet", lambda path: write(path, advise_tables.cells(told)))
            staging.commit()
    emit(document if given.as_json else text)
    return INCONCLUSIVE if found.recommended is None else HELD


def _confirmed(laid: Laid, first: Advice, ask: Ask, asked: Asked, where: Where, quiet: bool) -> Advice:
    """The advice once the recommended cadence was played with fresh seeds: the first of the ranking that holds."""
    from dataclasses import replace

    from fleetbeat.sweep import advise
    from fleetbeat.sweep.cadence import play

    fell: list[int] = []
    missed: tuple[CellAdvice, ...] = ()
    for number in advise.ranked(laid, first.cells)[:TRIES]:
        places = [place for place, cell in enumerate(laid.cells) if cell.cadence == number]
        played = play(laid, places, laid.fresh(), ask, where, pace("fresh runs", quiet=quiet))
        cells: tuple[CellAdvice, ...] = tuple(advise.cell_of(place, runs, asked) for place, runs in played.items())
        if all(cell.met for cell in cells):
            return replace(first, recommended=number, confirmed=cells, fell=tuple(fell))
        fell.append(number)
        missed = missed or cells
    return replace(advise.without(laid, first), confirmed=missed, fell=tuple(fell))


@contextmanager
def _where(given: Given, laid: Laid) -> Iterator[Where]:
    """Processes of this machine, or a scheduler's workers. Raises as `Remote`."""
    from fleetbeat.sweep.cadence import Where
    from fleetbeat.sweep.execute import local

    if given.executor is None:
        yield Where(given.jobs, local(given.jobs))
        return
    from fleetbeat.sweep.remote import Remote

    with Remote(given.executor, laid.agents) as remote:
        yield Where(remote.width, remote.opened)


def _enough(given: Given) -> None:
    """Raises Refused for a statistic that there is not, or too few seeds for its interval."""
    from fleetbeat.sweep import stats
    from fleetbeat.sweep.advise import STATISTICS

    if given.statistic not in STATISTICS:
        raise Refused(f"--statistic: got {given.statistic!r}, expected one of {', '.join(STATISTICS)}")
    share = STATISTICS[given.statistic]
    least = stats.LEAST if share is None else max(stats.LEAST, stats.least_count(share))
    if given.seeds < least:
        raise Refused(
            f"--seeds: got {given.seeds}, expected at least {least}, for an interval of the {given.statistic}"
        )


def _shift(given: Given) -> int:
    from pydantic_core import PydanticCustomError

    from fleetbeat.scenario.units import parse_duration

    try:
        return 0 if given.shift is None else parse_duration(given.shift)
    except PydanticCustomError as error:
        raise Refused(f"--shift: got {given.shift!r}, expected {error.message()}") from error


def _wanted(given: Given) -> Wanted:
    """The axes, before any cell is made. Raises Refused for an empty one."""
    from fleetbeat.sweep.cadence import Wanted

    axes = []
    for flag, text in (
        ("--interval", given.interval),
        ("--jitter", given.jitter),
        ("--phase", given.phase),
        ("--faults", given.faults),
    ):
        values = () if text is None else tuple(_split(text))
        if text is not None and not (values and all(values)):
            raise Refused(f"{flag}: got {text!r}, expected values between commas")
        axes.append(values)
    return Wanted(*axes)


def _affordable(given: Given, wanted: Wanted, sets: Sequence[str], path: Path, ask: Ask) -> None:
    """Raises Refused for too many runs, before any cell but the first is made: a run of it tells how long all take, the
    second one, for the first imports the engine."""
    from fleetbeat.sweep.advise_measure import run_of
    from fleetbeat.sweep.cadence import lay

    runs = wanted.cells() * given.seeds
    if runs <= MANY or given.yes:
        return
    one = lay(path, sets, wanted.first(), 1).cells[-1]
    run_of(ask, one.text, one.scenario.seed)
    spent = stopwatch()
    run_of(ask, one.text, one.scenario.seed)
    hours = spent() * runs / given.jobs / 3600
    raise Refused(
        f"--seeds: got {wanted.cells():,} cells x {given.seeds:,} seeds = {runs:,} runs, expected at most {MANY:,}"
        f" (about {hours:,.1f} h with {given.jobs} jobs; --yes plays them)"
    )


def _split(text: str) -> Iterator[str]:
    """At commas, but not at those within braces."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()


def _calibrated(given: Given, scenario: Scenario) -> tuple[float, tuple[str, ...]]:
    """Processor time of one real beat in s, and what was measured, in words. Raises what the process engine raises."""
    import resource

    from fleetbeat.conform.calibrate import measure
    from fleetbeat.engines import ENGINES
    from fleetbeat.metrics.words import seconds
    from fleetbeat.sweep.cadence_cost import measured

    def cpu_s() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    def play(one: Scenario) -> Sequence[Record]:
        with shown(one.duration, quiet=given.quiet) as progress:
            records = ENGINES.engine("process")(one, None, progress)
        if records[-1].get("reason") == "interrupted":
            raise KeyboardInterrupt
        return records

    if not given.quiet:
        narrate("fleetbeat: measuring real beats on this machine, 12 s")
    cost = measured(scenario.fleet.agent, play, cpu_s)
    lines = [f"one beat: {cost.cpu_s * 1e6:,.0f} us of processor time (slope over {cost.beats:,} real beats)"]
    for kind in measure(cost.histories).kinds:
        lines.append(f"{kind.kind}: median {seconds(kind.median)} ({kind.count:,} measured)")
    return cost.cpu_s, tuple(lines)
