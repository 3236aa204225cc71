"""The tables of an advice, as `fleetbeat query` reads them."""

from __future__ import annotations

from fleetbeat.sweep.advise_words import Told
from fleetbeat.sweep.cadence import Cell
from fleetbeat.sweep.stats import Estimate
from fleetbeat.sweep.tables import Columns


def cells(told: Told) -> Columns:
    """One row a cell and objective or cost, as `cells.parquet` of a sweep."""
    laid = told.laid
    rows: list[tuple[Cell, str, Estimate, bool | None, float | None]] = []
    for cell in told.advice.cells:
        mine = laid.cells[cell.place]
        rows += [(mine, one.objective.text, one.estimate, one.met, one.margin) for one in cell.judged]
        rows += [(mine, name, one, None, None) for name, one in cell.costs.items()]
    of = [laid.cadences[row[0].cadence] for row in rows]
    return {
        "cadence": ("BIGINT", [row[0].cadence for row in rows]),
        "interval": ("VARCHAR", [one.interval for one in of]),
        "jitter": ("VARCHAR", [one.jitter for one in of]),
        "phase": ("VARCHAR", [one.phase for one in of]),
        "faults": ("DOUBLE", [row[0].level for row in rows]),
        "metric": ("VARCHAR", [row[1] for row in rows]),
        "runs": ("BIGINT", [row[2].count for row in rows]),
        "value": ("DOUBLE", [row[2].value for row in rows]),
        "low": ("DOUBLE", [row[2].low for row in rows]),
        "high": ("DOUBLE", [row[2].high for row in rows]),
        "met": ("BOOLEAN", [row[3] for row in rows]),
        "margin": ("DOUBLE", [row[4] for row in rows]),
    }


def runs(told: Told) -> Columns:
    """One row a run: the cell, the seed, and what it came to; a lag that never ended is infinite."""
    laid, found = told.laid, told.advice.cells
    rows = [(laid.cells[c.place], seed, run) for c in found for seed, run in zip(laid.seeds, c.numbers, strict=True)]
    names = list(found[0].numbers[0])
    of = [laid.cadences[cell.cadence] for cell, _, _ in rows]
    return {
        "cadence": ("BIGINT", [cell.cadence for cell, _, _ in rows]),
        "interval": ("VARCHAR", [one.interval for one in of]),
        "jitter": ("VARCHAR", [one.jitter for one in of]),
        "phase": ("VARCHAR", [one.phase for one in of]),
        "faults": ("DOUBLE", [cell.level for cell, _, _ in rows]),
        "seed": ("UBIGINT", [seed for _, seed, _ in rows]),
        **{name: ("DOUBLE", [run[name] for _, _, run in rows]) for name in names},
    }
