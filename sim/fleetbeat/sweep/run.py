"""A sweep as a whole: plan it, play what the ledger lacks, estimate, and write the tables.

Every cell is played with the same seeds, counted up from the scenario's own. A cell is shipped as its resolved text, so a
worker needs none of the scenario's files. Tables: `runs` (one row a run), `cells` (one row a cell and metric), and, if they
are kept, `posts` or `history` of all runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from fleetbeat import __version__
from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.load import ScenarioError, load
from fleetbeat.sweep import pack, stats
from fleetbeat.sweep.execute import Batch, Opened, Row, execute, local
from fleetbeat.sweep.ledger import Ledger
from fleetbeat.sweep.one import METRICS, loaded
from fleetbeat.sweep.tables import Columns, write
from fleetbeat.sweep.vary import Axis, Cell, VaryError

#: What a table shows unless other metrics are asked for.
SHOWN = ("lag_p99", "at_end", "failed", "ops_per_s")
#: Metrics of which more is better; of all others less is.
HIGHEST = ("applied", "at_end", "fate_applied")
#: Metrics that are 0 or 1 in each run, so that their mean is a share.
SHARES = ("failed",)
STATISTICS = {"mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95}
_MOST_BATCH = 16
_SEEDS = 2**64


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be played. `texts`: each cell's resolved scenario; `keep`: one of `pack.KEPT`, or nothing."""

    name: str
    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    texts: tuple[str, ...]
    seeds: tuple[int, ...]
    keep: str = ""

    @property
    def runs(self) -> int:
        return len(self.cells) * len(self.seeds)

    def agents(self) -> tuple[str, ...]:
        """Names or folders of the agents' programs in any cell."""
        fleets = [loaded(text, ()).fleet for text in self.texts]
        named = [name for fleet in fleets for name in (fleet.agent, *(group.agent for group in fleet.groups)) if name]
        return tuple(sorted(dict.fromkeys(named)))

    def with_seeds(self, count: int) -> Plan:
        """The same with so many seeds, counted up from the first."""
        first = self.seeds[0]
        return replace(self, seeds=tuple((first + index) % _SEEDS for index in range(count)))

    def words(self) -> dict[str, str]:
        """What tells this sweep from another. Seeds do not: a sweep may be resumed with more of them."""
        vary = "; ".join(f"{axis.path}={','.join(axis.values)}" for axis in self.axes) or "nothing"
        digest = sha256("\0".join(self.texts).encode()).hexdigest()[:16]
        name = "scenario's digest over all cells"
        kept = self.keep or "nothing"
        return {"version": __version__, "scenario": self.name, "--vary": vary, name: digest, "--keep": kept}


def planned(
    path: Path, sets: Sequence[str], axes: Sequence[Axis], cells: Sequence[Cell], seeds: int, keep: str = ""
) -> Plan:
    """Load every cell. Raises ScenarioError for the first that is wrong, VaryError for a sweep over `seed`."""
    if any(axis.path == "seed" for axis in axes):
        raise VaryError("--vary seed: got the seed, expected another path: every cell is played with --seeds many")
    found = []
    for cell in cells:
        laid = [f"{axis.path}={value}" for axis, value in zip(axes, cell, strict=True)]
        try:
            found.append(load(path, None, [*sets, *laid]))
        except ScenarioError as error:
            raise _of_vary(error, axes) from error
    texts = tuple(dump(scenario) for scenario in found)
    return Plan(found[0].name, tuple(axes), tuple(cells), texts, (found[0].seed,), keep).with_seeds(seeds)


def _of_vary(error: ScenarioError, axes: Sequence[Axis]) -> ScenarioError:
    """The same mistakes; those of an axis are told as those of `--vary`, not of the `--set` that it was laid with."""
    names = {f"--set {axis.path}": f"--vary {axis.path}" for axis in axes}
    return ScenarioError(
        replace(one, where=replace(one.where, name=names.get(one.where.name, one.where.name))) for one in error.mistakes
    )


def play_all(
    plan: Plan, ledger: Ledger, jobs: int, tell: Callable[[int, int], None], opened: Opened | None = None
) -> list[Row]:
    """Play what the ledger lacks; `tell` hears of runs finished in this call, and how many there were to play.

    `jobs`: how many play at a time; `opened`: what opens their executor, else processes of this machine. Returns the
    plan's rows by cell and seed. Raises as `execute` and `Ledger.keep`.
    """
    done = ledger.finished()
    lacking = [(cell, seed) for cell in range(len(plan.cells)) for seed in plan.seeds if (cell, seed) not in done]
    played = 0

    def keep(rows: list[Row]) -> None:
        nonlocal played
        ledger.keep(rows)
        played += len(rows)
        tell(played, len(lacking))

    execute(batches(plan, lacking, jobs), opened or local(jobs), jobs, keep)
    return in_plan(plan, ledger)


def in_plan(plan: Plan, ledger: Ledger) -> list[Row]:
    """The finished runs that the plan asks for, by cell and seed (in the plan's order)."""
    done = ledger.finished()
    keys = [(cell, seed) for cell in range(len(plan.cells)) for seed in plan.seeds]
    return [done[key] for key in keys if key in done]


def batches(plan: Plan, lacking: Sequence[tuple[int, int]], jobs: int) -> list[Batch]:
    """The runs in batches of one cell each; small enough that all jobs end at about the same time."""
    size = max(1, min(_MOST_BATCH, len(lacking) // (8 * jobs)))
    seeds: dict[int, list[int]] = {}
    for cell, seed in lacking:
        seeds.setdefault(cell, []).append(seed)
    return [
        Batch(cell, plan.texts[cell], tuple(some[first : first + size]), keep=plan.keep)
        for cell, some in seeds.items()
        for first in range(0, len(some), size)
    ]


@dataclass(frozen=True, slots=True)
class CellRow:
    """One metric in one cell. `difference`: to the best cell, seed by seed; None in the best one."""

    cell: int
    metric: str
    statistic: str
    estimate: stats.Estimate
    best: bool
    difference: stats.Estimate | None = field(default=None)


def estimates(plan: Plan, rows: Sequence[Row], metrics: Sequence[str], statistic: str = "mean") -> list[CellRow]:
    """One row a metric and cell, metric by metric. A statistic other than the mean is a quantile over runs."""
    known = {(row.cell, row.seed): row for row in rows}
    found = []
    for metric in metrics:
        values: list[list[float | None]] = []
        for cell in range(len(plan.cells)):
            some = [known.get((cell, seed)) for seed in plan.seeds]
            values.append([None if row is None else row.metrics[metric] for row in some])
        share = None if metric in SHARES else STATISTICS[statistic]
        best, differences = stats.to_best(values, metric not in HIGHEST, share)
        for cell, mine in enumerate(values):
            there = [value for value, seed in zip(mine, plan.seeds, strict=True) if (cell, seed) in known]
            name, estimate = estimated(metric, statistic, there)
            found.append(CellRow(cell, metric, name, estimate, cell == best, differences[cell]))
    return found


def estimated(metric: str, statistic: str, values: Sequence[float | None]) -> tuple[str, stats.Estimate]:
    """The statistic's name, which is "share" for a metric that is one, and its estimate from one value a run."""
    if metric in SHARES:
        return "share", stats.proportion(sum(value == 1 for value in values), len(values))
    share = STATISTICS[statistic]
    return statistic, stats.mean(values) if share is None else stats.quantile(values, share)


def write_tables(folder: Path, plan: Plan, rows: Sequence[Row], found: Sequence[CellRow], ledger: Ledger) -> None:
    """runs.parquet, cells.parquet, and what is kept of each run, each file replaced whole. Raises OSError."""
    write(folder / "runs.parquet", _runs(plan, rows))
    write(folder / "cells.parquet", _cells(plan, found))
    if plan.keep:
        pack.write(folder, plan.keep, ledger.packs((row.cell, row.seed) for row in rows))


def _axes(plan: Plan, cells: Sequence[int]) -> Columns:
    axes = enumerate(plan.axes)
    values: Columns = {axis.path: ("VARCHAR", [plan.cells[cell][place] for cell in cells]) for place, axis in axes}
    return {"cell": ("BIGINT", list(cells)), **values}


def _runs(plan: Plan, rows: Sequence[Row]) -> Columns:
    metrics: Columns = {name: ("DOUBLE", [row.metrics[name] for row in rows]) for name in METRICS}
    seeds: Columns = {"seed": ("UBIGINT", [row.seed for row in rows])}
    verdicts: Columns = {"verdict": ("VARCHAR", [row.verdict for row in rows])}
    return {**_axes(plan, [row.cell for row in rows]), **seeds, **verdicts, **metrics}


def _cells(plan: Plan, found: Sequence[CellRow]) -> Columns:
    own = [row.estimate for row in found]
    to_best = [row.difference for row in found]
    return {
        **_axes(plan, [row.cell for row in found]),
        "metric": ("VARCHAR", [row.metric for row in found]),
        "statistic": ("VARCHAR", [row.statistic for row in found]),
        "runs": ("BIGINT", [one.count for one in own]),
        "value": ("DOUBLE", [one.value for one in own]),
        "low": ("DOUBLE", [one.low for one in own]),
        "high": ("DOUBLE", [one.high for one in own]),
        "method": ("VARCHAR", [one.method for one in own]),
        "source": ("VARCHAR", [one.source for one in own]),
        "why": ("VARCHAR", [one.why for one in own]),
        "best": ("BOOLEAN", [row.best for row in found]),
        "difference": ("DOUBLE", [None if one is None else one.value for one in to_best]),
        "difference_low": ("DOUBLE", [None if one is None else one.low for one in to_best]),
        "difference_high": ("DOUBLE", [None if one is None else one.high for one in to_best]),
    }
