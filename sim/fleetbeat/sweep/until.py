"""Playing seeds in rounds until an estimate is narrow enough in every cell: `--until 'p99 lag ± 5%'`.

All cells get the same seeds, also those that are narrow already, so that differences stay paired. A round is as large as
the widths so far ask for (they go down with the square root), at least a quarter more and at most twice as many.

The stopping rule and its limit: Chow and Robbins 1965. To stop when the interval looks narrow picks moments at which the
values happen to lie close, so that an interval holds the truth a little too seldom; this goes away as the width asked for
goes to 0. Few rounds keep it small: 92 to 96 of 100 hold it at widths of 10 to 30 % (`tests/sweep/test_until.py`).
Rejected: an error rate divided among the looks (2.5 times as many runs for a tenth of a percent or two).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

from pydantic_core import PydanticCustomError

from fleetbeat.scenario.mistakes import nearest
from fleetbeat.scenario.units import parse_duration
from fleetbeat.sweep.execute import Row
from fleetbeat.sweep.one import METRICS
from fleetbeat.sweep.run import Plan, estimated
from fleetbeat.sweep.stats import Estimate
from fleetbeat.sweep.vary import VaryError

ROUNDS = "seeds in rounds until intervals are narrow enough: they hold the truth a little too seldom"
SOURCE = "Chow and Robbins 1965"
_FORM = re.compile(r"\s*(?P<metric>.+?)\s*(?:±|\+/-|\+-)\s*(?P<width>\S.*?)\s*")
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_TIMES = ("lag_", "time_")
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Goal:
    """`half`: how far the interval may reach to either side, in the metric's unit, or as a share of the value."""

    text: str
    metric: str
    half: float
    is_relative: bool

    def reach(self, estimate: Estimate) -> float:
        """How far it reaches to its longer side, in the goal's measure. Infinite for one that has no end there."""
        if estimate.value is None or estimate.low is None or estimate.high is None:
            return inf
        reach = max(estimate.value - estimate.low, estimate.high - estimate.value)
        if not self.is_relative or not reach:
            return reach
        return reach / abs(estimate.value) if estimate.value else inf

    def shown(self, reach: float) -> str:
        if reach == inf:
            return "no interval" if not self.is_relative else "no interval to measure by its value"
        return f"± {reach * 100:.3g} %" if self.is_relative else f"± {reach:.3g}"


def parse_goal(text: str) -> Goal:
    """`METRIC ± WIDTH`: a metric of `METRICS` by name or in words ("p99 lag"), a number, a duration, or a percent of the
    value. `+-` will do for ±. Raises VaryError."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise VaryError(f"--until: got {text!r}, expected METRIC ± WIDTH, as in 'p99 lag ± 5%' (+- will do)")
    metric, width = _metric(match["metric"]), match["width"]
    percent, number = _PERCENT.fullmatch(width), _NUMBER.fullmatch(width)
    half: float | None = None
    if percent is not None:
        half = float(percent[1]) / 100
    elif number is not None:
        half = float(width)
    elif metric.startswith(_TIMES):
        try:
            half = parse_duration(width) / _SECOND
        except PydanticCustomError:
            half = None
    if half is None or not 0 < half < inf:
        kinds = "a percent or a duration" if metric.startswith(_TIMES) else "a percent or a number"
        raise VaryError(f"--until: got the width {width!r}, expected {kinds} above 0")
    return Goal(text, metric, half, percent is not None)


def _metric(words: str) -> str:
    """The metric that is called so: its name, or its parts in any order, "ops/s" for "ops_per_s"."""
    said = sorted(re.findall(r"[a-z0-9]+", words.lower().replace("/", " per ")))
    for name in METRICS:
        if said == sorted(name.split("_")):
            return name
    for name in METRICS:
        if [*said, "fate"] == name.split("_")[::-1]:
            return name
    near = nearest("_".join(words.lower().split()), METRICS)
    meant = f" (did you mean {near!r}?)" if near else ""
    raise VaryError(f"--until: got {words!r}, expected one of {', '.join(METRICS)}{meant}")


@dataclass(frozen=True, slots=True)
class Round:
    """Where the rounds ended: after `seeds`, with how far each cell's interval reaches."""

    goal: Goal
    seeds: int
    most: int
    reaches: tuple[float, ...]

    @property
    def is_reached(self) -> bool:
        return max(self.reaches) <= self.goal.half

    def words(self) -> str:
        """Which of the two ended it; above the limit also how many cells are wider, and the widest."""
        if self.is_reached:
            return f"--until {self.goal.text}: every cell is narrow enough with {self.seeds:,} seeds"
        wide = sum(reach > self.goal.half for reach in self.reaches)
        widest = self.goal.shown(max(self.reaches))
        return (
            f"--until {self.goal.text}: stopped at --max-seeds {self.most:,}: {wide:,} of {len(self.reaches):,} cells are"
            f" wider, the widest has {widest}"
        )


def play_until(
    plan: Plan, goal: Goal, statistic: str, most: int, play: Callable[[Plan], Sequence[Row]]
) -> tuple[Plan, list[Row], Round]:
    """Play the plan, then with more seeds, at most `most`. Returns the last plan, its rows, and where it ended.

    `play` returns a plan's rows by cell and seed. The same values give the same rounds, so that a sweep that is resumed
    ends where one that was never stopped would.
    """
    while True:
        rows = list(play(plan))
        end = judged(plan, rows, goal, statistic, most)
        if end.is_reached or end.seeds >= most:
            return plan, rows, end
        plan = plan.with_seeds(min(most, larger(end.seeds, max(end.reaches) / goal.half)))


def judged(plan: Plan, rows: Sequence[Row], goal: Goal, statistic: str, most: int) -> Round:
    """How wide each cell's interval is."""
    values: dict[int, list[float | None]] = {cell: [] for cell in range(len(plan.cells))}
    for row in rows:
        values[row.cell].append(row.metrics[goal.metric])
    reaches = tuple(goal.reach(estimated(goal.metric, statistic, some)[1]) for some in values.values())
    return Round(goal, len(plan.seeds), most, reaches)


def larger(seeds: int, times: float) -> int:
    """Seeds of the next round, where the interval is `times` as wide as it may be."""
    least, most = seeds + max(1, seeds // 4), 2 * seeds
    return most if times == inf else max(least, min(most, ceil(seeds * times * times)))
