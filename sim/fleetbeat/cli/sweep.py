"""`fleetbeat sweep`: a scenario over many cells and seeds, and what can be said of each cell with which certainty."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import HELD, INTERRUPTED, Missing, Refused
from fleetbeat.cli.output import Unwritable, emit, narrate
from fleetbeat.cli.progress import pace, stopwatch

if TYPE_CHECKING:
    from fleetbeat.sweep.execute import Row
    from fleetbeat.sweep.run import CellRow, Plan
    from fleetbeat.sweep.stats import Estimate
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
    metrics: tuple[str, ...]
    statistic: str
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
    metrics: tuple[str, ...],
    statistic: str,
    output: str | None,
    resume: str | None,
    yes: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Play SCENARIO (a file, or a name that `fleetbeat scenarios` lists) in every cell of a grid with the same seeds.

    Every cell meets the same posts and faults, so that differences to the best cell are paired, seed by seed. Exit code 0
    whatever the runs came to. Ask the tables more with `fleetbeat query DIR SQL`.
    """
    width = jobs or len(os.sched_getaffinity(0))
    first = (scenario, vary, sets, seed, seeds, sample, width, metrics, statistic)
    with _told():
        return sweep(Asked(*first, output, resume, yes, as_json, quiet))


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
    from fleetbeat.sweep.run import estimates, in_plan, planned, play_all, write_tables
    from fleetbeat.sweep.vary import parse_axes

    metrics = _metrics(asked)
    path, axes = find(asked.scenario), parse_axes(asked.vary)
    sets = [*asked.sets, *([] if asked.seed is None else [f"seed={asked.seed}"])]
    plan = planned(path, sets, axes, _cells(asked, path, sets, axes), asked.seeds)
    folder = _folder(asked)
    with Ledger(folder, plan.words()) as ledger:
        interrupted = False
        try:
            rows = play_all(plan, ledger, asked.jobs, pace("runs", quiet=asked.quiet))
        except KeyboardInterrupt:
            interrupted, rows = True, in_plan(plan, ledger)
        found = estimates(plan, rows, metrics, asked.statistic)
        if folder is not None:
            try:
                write_tables(folder, plan, rows, found)
            except OSError as error:
                raise Unwritable.at(f"{folder}: tables", error) from error
    emit(_document(plan, rows, found) if asked.as_json else _text(plan, rows, found))
    if interrupted:
        saved = "" if folder is None else f"; what was finished is saved, --resume {folder} goes on"
        narrate(f"fleetbeat: interrupted after {len(rows):,} of {plan.runs:,} runs{saved}")
    return INTERRUPTED if interrupted else HELD


def _metrics(asked: Asked) -> tuple[str, ...]:
    from difflib import get_close_matches

    from fleetbeat.sweep.one import METRICS
    from fleetbeat.sweep.run import SHOWN, STATISTICS

    if asked.statistic not in STATISTICS:
        raise Refused(f"--statistic: got {asked.statistic!r}, expected one of {', '.join(STATISTICS)}")
    for name in asked.metrics:
        if name not in METRICS:
            close = get_close_matches(name, METRICS, 1)
            meant = f" (did you mean {close[0]!r}?)" if close else ""
            raise Refused(f"--metric: got {name!r}, expected one of {', '.join(METRICS)}{meant}")
    return tuple(dict.fromkeys(asked.metrics)) or SHOWN


def _cells(asked: Asked, path: Path, sets: Sequence[str], axes: Sequence[Axis]) -> list[Cell]:
    """The cells to play. Raises Refused for too many, before they are made."""
    from fleetbeat.scenario.load import load
    from fleetbeat.sweep.one import play
    from fleetbeat.sweep.vary import cells, count, sample

    number = count(axes) if asked.sample is None else min(count(axes), asked.sample)
    runs = number * asked.seeds
    if runs > MANY and not asked.yes:
        laid = [*sets, *(f"{axis.path}={axis.values[0]}" for axis in axes)]
        scenario = load(path, None, laid)
        spent = stopwatch()
        play(scenario, (), scenario.seed)
        hours = spent() * runs / asked.jobs / 3600
        raise Refused(
            f"--vary: got {number:,} cells x {asked.seeds:,} seeds = {runs:,} runs, expected at most {MANY:,}"
            f" (about {hours:,.1f} h with {asked.jobs} jobs; --yes plays them, --sample takes some of the cells)"
        )
    return cells(axes) if asked.sample is None else sample(axes, asked.sample, asked.seed or 0)


def _folder(asked: Asked) -> Path | None:
    from fleetbeat.sweep.ledger import FILE

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
    try:
        folder.mkdir(exist_ok=True)
        if any(folder.iterdir()):
            raise Refused(
                f"-o: {folder}: got a directory with something in it, expected a new or empty one, or --resume"
            )
    except OSError as error:
        raise Unwritable.at(folder, error) from error
    return folder


def _document(plan: Plan, rows: Sequence[Row], found: Sequence[CellRow]) -> str:
    lines = [{**_values(plan, row.cell), **asdict(row)} for row in found]
    head = {"schema": "fleetbeat.sweep/1", "scenario": plan.name, "seeds": list(plan.seeds), "runs": len(rows)}
    return json.dumps({**head, "verdicts": _verdicts(rows), "cells": lines}, indent=2) + "\n"


def _verdicts(rows: Sequence[Row]) -> dict[str, int]:
    """How many runs came to each verdict: a run that never reached what it set out to test is no success."""
    words = [row.verdict for row in rows]
    return {word: words.count(word) for word in sorted(dict.fromkeys(words))}


def _values(plan: Plan, cell: int) -> dict[str, dict[str, str]]:
    axes = zip(plan.axes, plan.cells[cell], strict=True)
    return {"values": {axis.path: value for axis, value in axes}}


def _text(plan: Plan, rows: Sequence[Row], found: Sequence[CellRow]) -> str:
    """One table a metric, one row a cell, then the methods with their sources."""
    from fleetbeat.report.plain import safe
    from fleetbeat.report.tables import table
    from fleetbeat.sweep.one import METRICS

    first, last = plan.seeds[0], plan.seeds[-1]
    blocks = [f"{safe(plan.name)}: {len(plan.cells):,} cells, {len(rows):,} runs, seeds {first} to {last} in each"]
    blocks += [f"verdicts: {', '.join(f'{count:,} {word}' for word, count in _verdicts(rows).items())}"] if rows else []
    heads = [safe(axis.path) for axis in plan.axes]
    for metric in dict.fromkeys(row.metric for row in found):
        mine = [row for row in found if row.metric == metric]
        drawn = [[*map(safe, plan.cells[row.cell]), *_row(row)] for row in mine]
        headers = [*heads, "runs", mine[0].statistic, "95 %", "to the best", "95 %"]
        blocks.append(f"{metric}: {METRICS[metric]}\n{table(headers, drawn, len(heads))}")
    blocks.append("\n".join(["Methods:", *_methods(found)]))
    return "\n\n".join(blocks) + "\n"


def _row(row: CellRow) -> list[str]:
    own = [str(row.estimate.count), _number(row.estimate.value), _interval(row.estimate)]
    if row.best:
        return [*own, "best", ""]
    if row.difference is None:
        return [*own, "-", "-"]
    return [*own, _number(row.difference.value, "+"), _interval(row.difference, "+")]


def _methods(found: Sequence[CellRow]) -> list[str]:
    """Each method once with its source, then why intervals are missing, each reason once."""
    named: dict[str, None] = {}
    reasons: dict[str, None] = {}
    for row in found:
        differing = () if row.difference is None else ((f"{row.metric}, difference", row.difference),)
        for what, estimate in ((row.metric, row.estimate), *differing):
            named.setdefault(f"  {estimate.method} ({estimate.source})", None)
            if estimate.why:
                reasons.setdefault(f"  {what}: {estimate.why}", None)
    return [*named, *reasons, "  the best cell is the one with the best mean; differences are means, seed by seed"]


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4g}"


def _interval(one: Estimate, sign: str = "") -> str:
    return "-" if one.low is None and one.high is None else f"{_number(one.low, sign)} to {_number(one.high, sign)}"
