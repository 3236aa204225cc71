"""`fleetbeat sweep`: a scenario over many cells and seeds, and what can be said of each cell with which certainty."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import HELD, INCONCLUSIVE, INTERRUPTED, Missing, Refused
from fleetbeat.cli.output import Unwritable, emit, narrate
from fleetbeat.cli.progress import pace, stopwatch
from fleetbeat.cli.swept import document, text

if TYPE_CHECKING:
    from fleetbeat.sweep.execute import Opened, Row
    from fleetbeat.sweep.ledger import Ledger
    from fleetbeat.sweep.run import CellRow, Plan
    from fleetbeat.sweep.until import Goal, Round
    from fleetbeat.sweep.vary import Axis, Cell

#: More runs than this are played only with --yes.
MANY = 10_000


@dataclass(frozen=True, slots=True)
class Asked:
    """The command's arguments, as given."""

    scenario: str
    vary: tuple[str, ...]
    sets: tuple[str, ...]
    seed: int | None
    seeds: int
    sample: int | None
    jobs: int
    executor: str | None
    until: str | None
    most_seeds: int
    metrics: tuple[str, ...]
    statistic: str
    rates: tuple[str, ...]
    rate_runs: int
    keep: str
    output: str | None
    resume: str | None
    yes: bool
    as_json: bool
    quiet: bool


@click.command("sweep", short_help="Play a scenario over a grid of values and many seeds.")
@click.argument("scenario")
@click.option(
    "--vary", multiple=True, metavar="PATH=VALUES", help="v1,v2,.. or a..b:n (n values evenly); again for more."
)
@click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a field in every cell; again for more."
)
@click.option("--seed", type=click.IntRange(0, 2**64 - 1), metavar="N", help="The first seed; else the scenario's.")
@click.option("--seeds", type=click.IntRange(1), default=30, show_default=True, metavar="N", help="Runs of each cell.")
@click.option("--sample", type=int, metavar="N", help="N cells spread over the grid instead of all.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Processes that play; else one a core.")
@click.option("--executor", metavar="dask://HOST:PORT", help="Play on the workers of a Dask scheduler (extra dask).")
@click.option(
    "--until", metavar="'METRIC ± WIDTH'", help="More seeds until every cell's interval is so narrow: 'p99 lag ± 5%'."
)
@click.option(
    "--max-seeds",
    "most_seeds",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    metavar="N",
    help="But no more.",
)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="What to estimate; again for more. A wrong one lists all.",
)
@click.option(
    "--statistic", default="mean", show_default=True, metavar="NAME", help="Over a cell's runs: mean, p50, p90, p95."
)
@click.option(
    "--rate-of",
    "rates",
    multiple=True,
    metavar="FATE",
    help="How often posts meet a rare fate, as `rate` does; for more again.",
)
@click.option(
    "--rate-runs", type=int, default=2000, show_default=True, metavar="N", help="About how many runs for each rate."
)
@click.option(
    "--keep", type=click.Choice(["posts", "histories"]), default=None, help="Keep these of every run in DIR too."
)
@click.option("-o", "--output", metavar="DIR", help="Keep runs and tables in a new or empty directory.")
@click.option("--resume", metavar="DIR", help="Go on with the sweep of this directory; --seeds may be more.")
@click.option("--yes", is_flag=True, help=f"Play even if there are more than {MANY:,} runs.")
@click.option("--json", "as_json", is_flag=True, help="The estimates as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No narration.")
def command(
    scenario: str,
    vary: tuple[str, ...],
    sets: tuple[str, ...],
    seed: int | None,
    seeds: int,
    sample: int | None,
    jobs: int | None,
    executor: str | None,
    until: str | None,
    most_seeds: int,
    metrics: tuple[str, ...],
    statistic: str,
    rates: tuple[str, ...],
    rate_runs: int,
    keep: str | None,
    output: str | None,
    resume: str | None,
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play SCENARIO (a file, or a name that `fleetbeat scenarios` lists) in every cell of a grid with the same seeds.

    Every cell meets the same posts and faults, so that differences to the best cell are paired, seed by seed. Exit code 0
    whatever the runs came to, 3 if --until was not reached with --max-seeds. Ask the tables more with `fleetbeat query`.
    """
    if executor is not None and jobs is not None:
        raise Refused("--jobs: got --executor too, expected one of the two: its workers are as many as they are")
    if until is not None and most_seeds < seeds:
        raise Refused(f"--max-seeds: got {most_seeds:,}, expected at least --seeds ({seeds:,}), the first round")
    if keep is not None and output is None and resume is None:
        raise Refused(f"--keep: got {keep} and no -o, expected -o DIR to keep them in")
    width = jobs or len(os.sched_getaffinity(0))
    first = (scenario, vary, sets, seed, seeds, sample, width, executor, until, most_seeds)
    with _told():
        return sweep(
            Asked(*first, metrics, statistic, rates, rate_runs, keep or "", output, resume, yes, as_json, quiet)
        )


@contextmanager
def _told() -> Iterator[None]:
    """Errors of the sweep as the command line's: which exit code they have is told by their class."""
    from fleetbeat.sweep.execute import ExecuteError
    from fleetbeat.sweep.ledger import LedgerError, LedgerFull
    from fleetbeat.sweep.vary import VaryError

    try:
        yield
    except (VaryError, LedgerError) as error:
        raise Refused(str(error)) from error
    except ExecuteError as error:
        raise Missing(str(error)) from error
    except LedgerFull as error:
        raise Unwritable(f"{error}; what was finished is saved, --resume goes on") from error


def sweep(asked: Asked) -> int:
    """Plan, play, estimate, tell, and keep. Returns the exit code."""
    from fleetbeat.scenario.library import find
    from fleetbeat.sweep.ledger import Ledger
    from fleetbeat.sweep.run import planned, write_tables
    from fleetbeat.sweep.vary import parse_axes

    wanted = _wanted(asked)
    path, axes = find(asked.scenario), parse_axes(asked.vary)
    sets = [*asked.sets, *([] if asked.seed is None else [f"seed={asked.seed}"])]
    plan = planned(path, sets, axes, _cells(asked, path, sets, axes), asked.seeds, asked.keep)
    with _where(asked, plan) as (width, opened):
        folder = _folder(asked)
        with _unbegun_removed(asked, folder, plan), Ledger(folder, plan.words()) as ledger:
            course = Course(asked, wanted, ledger, plan, width, opened)
            course.play()
            found = course.estimates()
            if folder is not None:
                try:
                    write_tables(folder, course.plan, course.rows, found, ledger)
                except OSError as error:
                    raise Unwritable.at(f"{folder}: tables", error) from error
    told = (course.plan, course.rows, found, course.end)
    emit(document(*told) if asked.as_json else text(*told))
    if course.end is not None and not course.end.is_reached:
        narrate(f"fleetbeat: {course.end.words()}")
    if course.interrupted:
        saved = "" if folder is None else f"; what was finished is saved, --resume {folder} goes on"
        narrate(f"fleetbeat: interrupted after {len(course.rows):,} of {course.plan.runs:,} runs{saved}")
        return INTERRUPTED
    return HELD if course.end is None or course.end.is_reached else INCONCLUSIVE


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be estimated: metrics of runs, and fates whose rates are."""

    metrics: tuple[str, ...]
    fates: tuple[str, ...]
    goal: Goal | None


@dataclass(slots=True)
class Course:
    """A sweep while it is played: what it came to so far, also after ctrl-C."""

    asked: Asked
    wanted: Wanted
    ledger: Ledger
    plan: Plan
    width: int
    opened: Opened | None
    rows: list[Row] = field(default_factory=list)
    end: Round | None = None
    interrupted: bool = False

    def play(self) -> None:
        """Rates first: whether they can be had at all shows only there."""
        from fleetbeat.sweep.run import in_plan
        from fleetbeat.sweep.until import play_until

        asked, goal = self.asked, self.wanted.goal
        try:
            self._rates()
            if goal is None:
                self.rows = self._runs(self.plan)
            else:
                found = play_until(self.plan, goal, asked.statistic, asked.most_seeds, self._runs)
                self.plan, self.rows, self.end = found
        except KeyboardInterrupt:
            self.interrupted, self.rows = True, in_plan(self.plan, self.ledger)

    def _runs(self, plan: Plan) -> list[Row]:
        from fleetbeat.sweep.run import play_all

        self.plan = plan
        return play_all(plan, self.ledger, self.width, pace("runs", quiet=self.asked.quiet), self.opened)

    def _rates(self) -> None:
        if self.wanted.fates:
            from fleetbeat.sweep.rates import rate_all

            told = pace("rates", quiet=self.asked.quiet)
            rate_all(self.plan, self.wanted.fates, self.asked.rate_runs, self.ledger, self.width, told, self.opened)

    def estimates(self) -> list[CellRow]:
        from fleetbeat.sweep.run import estimates

        found = estimates(self.plan, self.rows, self.wanted.metrics, self.asked.statistic)
        if self.wanted.fates:
            from fleetbeat.sweep.rates import rate_rows

            found += rate_rows(self.plan, self.wanted.fates, self.asked.rate_runs, self.ledger)
        return found


@contextmanager
def _where(asked: Asked, plan: Plan) -> Iterator[tuple[int, Opened | None]]:
    """How many tasks are played at a time, and what opens their executor. Raises as `Remote`."""
    if asked.executor is None:
        yield asked.jobs, None
        return
    from fleetbeat.sweep.remote import Remote

    with Remote(asked.executor, plan.agents()) as remote:
        yield remote.width, remote.opened


def _wanted(asked: Asked) -> Wanted:
    from fleetbeat.checks.model import FATES
    from fleetbeat.sweep.until import parse_goal

    named = [name.removeprefix("rate_") for name in asked.metrics if name.startswith("rate_")]
    fates = tuple(dict.fromkeys([*asked.rates, *named]))
    for fate in fates:
        if fate not in FATES:
            raise Refused(f"--rate-of: got {fate!r}, expected one of {', '.join(FATES)}{_meant(fate, FATES)}")
    goal = None if asked.until is None else parse_goal(asked.until)
    metrics = _metrics(asked)
    if goal is not None and goal.metric not in metrics:
        metrics = (goal.metric, *metrics)
    return Wanted(metrics, fates, goal)


def _meant(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word, known, 1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _metrics(asked: Asked) -> tuple[str, ...]:
    from fleetbeat.sweep.one import METRICS
    from fleetbeat.sweep.run import SHOWN, STATISTICS

    if asked.statistic not in STATISTICS:
        raise Refused(f"--statistic: got {asked.statistic!r}, expected one of {', '.join(STATISTICS)}")
    named = [name for name in asked.metrics if not name.startswith("rate_")]
    for name in named:
        if name not in METRICS:
            raise Refused(f"--metric: got {name!r}, expected one of {', '.join(METRICS)}{_meant(name, list(METRICS))}")
    return tuple(dict.fromkeys(named)) or SHOWN


def _cells(asked: Asked, path: Path, sets: Sequence[str], axes: Sequence[Axis]) -> list[Cell]:
    """The cells to play. Raises Refused for too many, before they are made."""
    from fleetbeat.scenario.load import load
    from fleetbeat.sweep.one import play
    from fleetbeat.sweep.vary import cells, count, sample

    number = count(axes) if asked.sample is None else min(count(axes), asked.sample)
    runs = number * (asked.seeds if asked.until is None else asked.most_seeds)
    if runs > MANY and not asked.yes:
        laid = [*sets, *(f"{axis.path}={axis.values[0]}" for axis in axes)]
        scenario = load(path, None, laid)
        play(scenario, (), scenario.seed)  # the first imports the engine
        spent = stopwatch()
        play(scenario, (), scenario.seed)
        hours = spent() * runs / asked.jobs / 3600
        raise Refused(
            f"--vary: got {number:,} cells x {runs // number:,} seeds = {runs:,} runs, expected at most {MANY:,}"
            f" (about {hours:,.1f} h with {asked.jobs} jobs; --yes plays them, --sample takes some of the cells)"
        )
    return cells(axes) if asked.sample is None else sample(axes, asked.sample, asked.seed or 0)


@contextmanager
def _unbegun_removed(asked: Asked, folder: Path | None, plan: Plan) -> Iterator[None]:
    """Takes a new directory away again if an error came before any run was finished."""
    from fleetbeat.sweep.ledger import FILE, Ledger, LedgerError, LedgerFull

    try:
        yield
    except Exception:
        if folder is None or asked.resume is not None:
            raise
        try:
            with Ledger(folder, plan.words()) as ledger:
                is_empty = not ledger.finished() and not ledger.rates()
            if is_empty:
                (folder / FILE).unlink()
                folder.rmdir()
        except (OSError, LedgerError, LedgerFull):
            pass  # what stands there is told by the error that brought us here
        raise


def _folder(asked: Asked) -> Path | None:
    from fleetbeat.sweep.ledger import FILE
    from fleetbeat.sweep.vary import is_utf8

    if asked.resume is not None:
        if asked.output is not None:
            raise Refused("--resume: got -o too, expected one of the two")
        folder = Path(asked.resume)
        if not (folder / FILE).is_file():
            raise Refused(f"--resume: {folder}: got no {FILE} in it, expected the directory of a sweep")
        return folder
    if asked.output is None:
        return None
    folder = Path(asked.output)
    if not is_utf8(asked.output):
        raise Refused(f"-o: got {asked.output!r}, expected a name in UTF-8: DuckDB writes no other")
    if folder.exists() and not folder.is_dir():
        raise Refused(f"-o: {folder}: got something that is no directory, expected a new or empty one")
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise Refused(
                f"-o: {folder}: got a directory with something in it, expected a new or empty one, or --resume"
            )
    except OSError as error:
        raise Unwritable.at(folder, error) from error
    return folder
