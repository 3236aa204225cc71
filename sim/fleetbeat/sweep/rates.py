"""How often posts meet a rare fate, cell by cell, by the explorer's estimator: one task a cell, through any executor.

The estimator's trials are draws by name from the scenario's seed, so that every cell gets the same ones. Differences take
the cells' estimates as independent, which makes their intervals too long rather than too short (MOVER, Zou and Donner 2008).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

from fleetbeat import __version__
from fleetbeat.explore.model import ExploreError
from fleetbeat.explore.rate import LEAST_RUNS, rate_of
from fleetbeat.sweep.execute import ExecuteError, Opened, execute, local
from fleetbeat.sweep.ledger import Ledger
from fleetbeat.sweep.one import loaded
from fleetbeat.sweep.run import CellRow, Plan
from fleetbeat.sweep.stats import Estimate
from fleetbeat.sweep.vary import VaryError

METHOD = "rate near beats and far from them, weighted"
SOURCE = "Wilson 1927; Kish 1965; Zou and Donner 2008"
APART = "difference of two rates taken as independent (MOVER)"
APART_SOURCE = "Zou and Donner 2008"
PREFIX = "rate_"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How often posts of a cell meet `fate`, by about so many runs of single agents."""

    cell: int
    text: str
    fate: str
    runs: int
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Told:
    """What was wanted, and the estimate's fields as JSON; `trouble`: why there is none."""

    wanted: Wanted
    found: str
    trouble: str = ""


def rate(wanted: Wanted) -> Told:
    """Estimate one; this is what a worker does. Raises ExecuteError for another version, KeyboardInterrupt."""
    if wanted.version != __version__:
        raise ExecuteError(
            f"worker: got fleetbeat {__version__}, expected {wanted.version} as where the sweep was started"
        )
    try:
        found = rate_of(loaded(wanted.text, ()), wanted.fate, wanted.runs)
    except ExploreError as error:
        return Told(wanted, "", str(error))
    if found.interrupted:
        raise KeyboardInterrupt
    return Told(wanted, json.dumps(asdict(found)))


def rate_all(
    plan: Plan,
    fates: Sequence[str],
    runs: int,
    ledger: Ledger,
    jobs: int,
    tell: Callable[[int, int], None],
    opened: Opened | None = None,
) -> None:
    """Estimate what the ledger lacks. Raises as `execute` and `Ledger.keep_rate`, VaryError for what cannot be estimated."""
    if runs < LEAST_RUNS:
        raise VaryError(f"--rate-runs: got {runs}, expected at least {LEAST_RUNS}")
    done = ledger.rates()
    cells = range(len(plan.cells))
    lacking = [(cell, fate) for fate in fates for cell in cells if (cell, fate, runs) not in done]
    count = 0

    def keep(told: Told) -> None:
        nonlocal count
        if told.trouble:
            raise VaryError(f"--rate-of {told.wanted.fate}: {told.trouble}")
        ledger.keep_rate(told.wanted.cell, told.wanted.fate, runs, told.found)
        count += 1
        tell(count, len(lacking))

    tasks = [Wanted(cell, plan.texts[cell], fate, runs) for cell, fate in lacking]
    execute(tasks, opened or local(jobs), jobs, keep, rate)


def rate_rows(plan: Plan, fates: Sequence[str], runs: int, ledger: Ledger) -> list[CellRow]:
    """One row a cell and fate, for those that the ledger has."""
    done = ledger.rates()
    rows = []
    for fate in fates:
        keys = [(cell, fate, runs) for cell in range(len(plan.cells))]
        found = {key[0]: _estimate(json.loads(done[key])) for key in keys if key in done}
        if not found:
            continue
        best = min(found, key=lambda cell: _rank(fate, found[cell]))
        for cell, one in found.items():
            apart = None if cell == best else difference(one, found[best])
            rows.append(CellRow(cell, f"{PREFIX}{fate}", "rate", one, cell == best, apart))
    return rows


def _rank(fate: str, one: Estimate) -> float:
    value = one.value or 0.0
    return -value if fate == "applied" else value


def _estimate(found: dict[str, Any]) -> Estimate:
    why = "; ".join(found["assumptions"]) or None
    return Estimate(found["rate"], found["low"], found["high"], found["runs"], METHOD, SOURCE, why)


def difference(this: Estimate, that: Estimate) -> Estimate:
    """`this` minus `that`, both with value and ends; their distances from their ends add up as those of sides at right
    angles do."""
    assert this.value is not None and this.low is not None and this.high is not None  # noqa: PT018
    assert that.value is not None and that.low is not None and that.high is not None  # noqa: PT018
    apart = this.value - that.value
    low = apart - sqrt((this.value - this.low) ** 2 + (that.high - that.value) ** 2)
    high = apart + sqrt((this.high - this.value) ** 2 + (that.value - that.low) ** 2)
    return Estimate(apart, low, high, this.count + that.count, APART, APART_SOURCE)
