"""From what runs came to, the advice: what each cadence reaches and costs, which of them is recommended, by what margin.

An objective is met where the end of its 95 % interval that is the worse one lies within the bound: a cadence that misses
it does that by chance once in forty. It must be met at every level of faults. Of those that meet everything the one with
the fewest file operations is recommended; then it is played again with seeds that did not choose it, and its margin is
theirs: what was chosen among many is flattered by the runs that chose it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from fleetbeat.sweep import stats
from fleetbeat.sweep.advise_measure import counted
from fleetbeat.sweep.advise_slo import Objective
from fleetbeat.sweep.cadence import Laid, Numbers
from fleetbeat.sweep.front import SAME, front

#: A statistic over runs: the mean, or the value that a share of runs does not exceed.
STATISTICS = {"mean": None, "p50": 0.5, "p90": 0.9, "p95": 0.95}
SHARES = ("failed",)
COSTS = ("beats/s", "ops/s", "wakes/s", "peak/s")
_POOLED = f"{stats.WILSON} over all deliveries of all runs, as if none met what another met"


@dataclass(frozen=True, slots=True)
class Judged:
    """One objective in one cell. `never`, `missing`: runs in which it was not reached, or that tell nothing.

    `margin`: from the worse end of the interval to the bound, above 0 where it is met; None where there is no such end.
    """

    objective: Objective
    estimate: stats.Estimate
    never: int
    missing: int
    met: bool
    margin: float | None

    @property
    def within(self) -> bool:
        """Whether the estimate itself lies within the bound, whatever its interval says."""
        value, bound = self.estimate.value, self.objective.bound
        if value is None:
            return False
        inside = value < bound if self.objective.below else value > bound
        return inside or (self.objective.equal and value == bound)

    @property
    def worst(self) -> float:
        """How far off, as a share of the bound (or in itself, where that is 0); below 0 where it is met."""
        if self.margin is None:
            return inf
        return -self.margin / self.objective.bound if self.objective.bound else -self.margin


@dataclass(frozen=True, slots=True)
class CellAdvice:
    """One cell. `costs`: by name, of the busiest host; `numbers`: what its runs came to."""

    place: int
    judged: tuple[Judged, ...]
    costs: Mapping[str, stats.Estimate]
    numbers: tuple[Numbers, ...]

    @property
    def met(self) -> bool:
        return all(one.met for one in self.judged)

    @property
    def worst(self) -> float:
        return max((one.worst for one in self.judged), default=-inf)

    @property
    def never(self) -> int:
        return sum(one.never + one.missing for one in self.judged)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of every cadence. `cpu_s`: processor time of one beat, where it was measured."""

    objectives: tuple[Objective, ...]
    statistic: str = "mean"
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """`cells`: in the plan's order. `front`: cadences. `recommended`, `nearest`: a cadence; one of the two is None.

    `confirmed`: the cells of the cadence that was recommended at first, on fresh seeds; where those did not meet everything
    it is only the nearest. `fell`: cadences that met everything at first, and not then.
    """

    cells: tuple[CellAdvice, ...]
    front: tuple[int, ...]
    recommended: int | None
    nearest: int | None
    confirmed: tuple[CellAdvice, ...] = ()
    fell: tuple[int, ...] = ()


def cell_of(place: int, numbers: Sequence[Numbers], asked: Asked) -> CellAdvice:
    """Judge one cell by its runs."""
    known = [dict(one) for one in numbers]
    if asked.cpu_s is not None:
        for one in known:
            one["cpu"] = (one["beats/s"] or 0.0) * asked.cpu_s
    judged = tuple(judge(one, known, asked.statistic) for one in asked.objectives)
    names = [*COSTS, *(["cpu"] if asked.cpu_s is not None else [])]
    costs = {name: stats.mean([one[name] for one in known]) for name in names}
    return CellAdvice(place, judged, costs, tuple(known))


def judge(one: Objective, runs: Sequence[Numbers], statistic: str) -> Judged:
    """One objective by one cell's runs: its estimate, and whether the worse end of its interval lies within the bound."""
    values = [run[one.name if one.kind == "cost" else one.text] for run in runs]
    there = [value for value in values if value is not None]
    never = sum(value == inf for value in there)
    estimate = _estimate(one, runs, there, statistic)
    end = estimate.high if one.below else estimate.low
    if end is None:
        return Judged(one, estimate, never, len(values) - len(there), False, None)
    margin = one.bound - end if one.below else end - one.bound
    met = margin > 0 or (one.equal and margin == 0)
    return Judged(one, estimate, never, len(values) - len(there), met, margin)


def _estimate(one: Objective, runs: Sequence[Numbers], there: Sequence[float], statistic: str) -> stats.Estimate:
    share = STATISTICS[statistic]
    if one.name in SHARES:
        return stats.proportion(sum(value == 1 for value in there), len(there))
    if share is not None and one.kind != "cost":
        return stats.quantile([None if value == inf else value for value in there], share)
    if any(value == inf for value in there):
        method = stats.mean([]).method
        why = f"never in {sum(value == inf for value in there)} of {len(there)} runs, so there is no mean"
        return stats.Estimate(None, None, None, len(there), method, stats.BOOTSTRAP_SOURCE, why)
    if one.kind == "pending" and there and not any(there):
        total = round(sum(run[counted(one)] or 0 for run in runs))
        return replace(stats.proportion(0, total), method=_POOLED, count=len(there))
    return stats.mean(there)


def advise(laid: Laid, cells: Sequence[CellAdvice]) -> Advice:
    """Front, and the recommended cadence or the nearest one. Cells in the plan's order, all of them."""
    mine = [[cell for cell in cells if laid.cells[cell.place].cadence == n] for n in range(len(laid.cadences))]
    ranking = ranked(laid, cells)
    best = ranking[0] if ranking else None
    nearest = None if ranking else min(range(len(mine)), key=lambda n: _distance(mine[n]))
    return Advice(tuple(cells), front([_point(some) for some in mine], SAME), best, nearest)


def without(laid: Laid, advice: Advice) -> Advice:
    """The advice where nothing is recommended after all: the nearest is the first of the ranking, or what it was."""
    ranking = ranked(laid, advice.cells)
    return replace(advice, recommended=None, nearest=ranking[0] if ranking else advice.nearest)


def undecided(laid: Laid, advice: Advice) -> list[int]:
    """Cadences, cheaper than the recommended one, whose estimates meet everything while an interval holds a bound: more
    runs would tell."""
    mine = [[cell for cell in advice.cells if laid.cells[cell.place].cadence == n] for n in range(len(laid.cadences))]
    most = inf if advice.recommended is None else _cost(mine[advice.recommended], "ops/s") * (1 - SAME)
    return [
        number
        for number, some in enumerate(mine)
        if all(one.within for cell in some for one in cell.judged)
        and not all(cell.met for cell in some)
        and _cost(some, "ops/s") < most
    ]


def ranked(laid: Laid, cells: Sequence[CellAdvice]) -> list[int]:
    """The cadences that meet everything at every level, the cheapest first: by file operations, then peak, then margin.

    Costs within a share `SAME` of the least are alike, as on the front.
    """
    mine = [[cell for cell in cells if laid.cells[cell.place].cadence == n] for n in range(len(laid.cadences))]
    fit = [n for n, some in enumerate(mine) if some and all(cell.met for cell in some)]
    found: list[int] = []
    while len(found) < len(fit):
        near = [n for n in fit if n not in found]
        for name in ("ops/s", "peak/s"):
            least = min(_cost(mine[n], name) for n in near)
            near = [n for n in near if _cost(mine[n], name) <= least * (1 + SAME)]
        found.append(min(near, key=lambda n: (max(cell.worst for cell in mine[n]), n)))
    return found


def _cost(cells: Sequence[CellAdvice], name: str) -> float:
    return max(cell.costs[name].value or 0.0 for cell in cells)


def _distance(cells: Sequence[CellAdvice]) -> tuple[int, float, float]:
    """Runs that never got there, then how far off the worst objective is, then cost."""
    return (
        sum(cell.never for cell in cells),
        max(min(cell.worst, 1e300) for cell in cells),
        _cost(cells, "ops/s"),
    )


def _point(cells: Sequence[CellAdvice]) -> list[float]:
    """A cadence as a point where less is better: every objective at its worst level, file operations, peak."""
    objectives = []
    for index, first in enumerate(cells[0].judged):
        if first.objective.kind == "cost":
            continue
        values = [cell.judged[index].estimate.value for cell in cells]
        signed = [inf if value is None else value if first.objective.below else -value for value in values]
        objectives.append(max(signed))
    return [*objectives, _cost(cells, "ops/s"), _cost(cells, "peak/s")]
