"""Estimates with their 95 % intervals, from one value a seed: means, quantiles, shares, and paired differences.

Values are independent, one a run: lags of one run are not (its agents met the same faults), so a run's p99 is one value
here. None is a value that a run does not have. Each estimate names its method and source; too few values give none, and
say why.

- A mean: bias-corrected and accelerated bootstrap, its levels widened so that an interval for few values of a normal law
  is as wide as Student's. Resamples are draws by name, (resample, place), so they are the same in every cell and process.
- A quantile: two of the ordered values, at ranks with exact binomial probabilities; it assumes nothing of the law. None is
  longer than any value: an agent that never got there waited longest.
- A share: Wilson's interval.
- A difference: the mean of the differences seed by seed. Runs of a seed meet the same faults, so most of the noise cancels.
  Of two quantiles: the plain bootstrap over seeds, each taken with both its values; where the two share nearly all of
  their noise its interval is too long rather than too short.

Nothing corrects for looking at many: of twenty intervals at 95 % one misses, and the best of many cells is a lucky one.
Rejected: the plain percentile bootstrap (20 values: nine intervals in ten hold the mean), scipy (169 MB, 1.7 s to import).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, erfc, exp, floor, inf, isnan, lgamma, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from fleetbeat.chance.arithmetic import normal_quantile
from fleetbeat.chance.choices import actor_hash
from fleetbeat.chance.vector import bits_array
from fleetbeat.explore.rate import Z, wilson

CONFIDENCE = 0.95
#: Fewer values than this say too little about the shape of their law to resample it.
LEAST = 8
#: With this many, rank (RESAMPLES + 1) * level is whole for the usual levels.
RESAMPLES = 1999
_TAIL = (1 - CONFIDENCE) / 2
_SLICE = 1 << 20
_CACHED = 1024

Floats = NDArray[np.float64]

BOOTSTRAP = "bootstrap, bias-corrected and accelerated, widened for few values"
BOOTSTRAP_SOURCE = "Efron 1987; Hesterberg 2015"
PAIRED = f"mean of the differences seed by seed: {BOOTSTRAP}"
PAIRED_QUANTILES = "difference of the quantiles: percentile bootstrap over seeds, each with both its values"
PERCENTILE_SOURCE = "Efron and Tibshirani 1993, section 13.3"
ORDER = "order statistics, exact binomial ranks"
ORDER_SOURCE = "David and Nagaraja 2003, section 7.1"
WILSON = "Wilson's interval"
WILSON_SOURCE = "Wilson 1927"


@dataclass(frozen=True, slots=True)
class Estimate:
    """`value` with its 95 % interval, in the values' own unit; `count`: how many values it is of.

    `value` is None where there is nothing to tell, `low` or `high` where `count` is too small for that end (of a quantile:
    also where that end, or the value, is "never"). `why` says so in words; it also says when an interval is a point.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int
    method: str
    source: str
    why: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether value and both ends are there."""
        return None not in (self.value, self.low, self.high)

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside of the interval: for a difference, that the two differ."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


def mean(values: Sequence[float | None]) -> Estimate:
    """The mean of the values that are there. Raises ValueError for a value that is not finite."""
    return _mean(_present(values), BOOTSTRAP)


def difference(these: Sequence[float | None], those: Sequence[float | None]) -> Estimate:
    """How much larger `these` are than `those` in the mean, pair by pair; pairs of which one is missing are left out.

    Raises ValueError for sequences of unequal length, or a value that is not finite.
    """
    if len(these) != len(those):
        raise ValueError(f"pairs: got {len(these)} and {len(those)} values, expected as many of each")
    pairs = zip(these, those, strict=True)
    return _mean(_present([None if a is None or b is None else a - b for a, b in pairs]), PAIRED)


def quantile_difference(these: Sequence[float | None], those: Sequence[float | None], share: float) -> Estimate:
    """How much larger the quantile of `these` is than that of `those`; None counts as longer than any, as in `quantile`.

    One value a seed, in the same order in both. Of two that are never reached the difference is 0. Raises ValueError for
    sequences of unequal length, a share that is none, or a value that is not a number.
    """
    if len(these) != len(those):
        raise ValueError(f"pairs: got {len(these)} and {len(those)} values, expected as many of each")
    count, told = len(these), (PAIRED_QUANTILES, PERCENTILE_SOURCE)
    if not count:
        return Estimate(None, None, None, 0, *told, "no values")
    both = [np.array([inf if value is None else _number(value) for value in some]) for some in (these, those)]
    rank = _nearest_rank(count, share)
    value = float(_apart(*(np.sort(some)[rank - 1 : rank] for some in both))[0])
    if count < least_count(share):
        why = f"an interval needs {least_count(share)} values, got {count}"
        return Estimate(_finite(value), None, None, count, *told, why)
    places = _places(count, 0, RESAMPLES) if count <= _CACHED else _places.__wrapped__(count, 0, RESAMPLES)
    drawn = [np.partition(some[places], rank - 1, axis=1)[:, rank - 1] for some in both]
    apart = np.sort(_apart(drawn[0], drawn[1]))
    edge = round((RESAMPLES + 1) * _TAIL)
    ends = [_finite(float(apart[place])) for place in (edge - 1, RESAMPLES - edge)]
    never: str | None = "never reached in one of the two" if None in (_finite(value), *ends) else None
    return Estimate(_finite(value), ends[0], ends[1], count, *told, never)


def _apart(these: Floats, those: Floats) -> Floats:
    """The differences; 0 where both are infinite."""
    same = these == those
    return np.subtract(these, those, out=np.zeros_like(these), where=~same)


def to_best(
    cells: Sequence[Sequence[float | None]], lowest: bool = True, share: float | None = None
) -> tuple[int | None, tuple[Estimate | None, ...]]:
    """The cell whose mean (or quantile `share`) is the lowest or highest, the first of equals, and every cell's paired
    difference to it, in means or in quantiles.

    Of cells in which runs lack a value those with the fewest such runs come first in the mean: one that seldom gets there
    is not the best for the few times it did. A quantile counts them as longer than any; one that is never reached is last.

    One sequence a cell, in the same order of seeds. The best cell's own entry is None, and so are all if no cell has values.
    """
    there = []
    for n, cell in enumerate(cells):
        value = _mean_or_none(cell) if share is None else quantile(cell, share).value
        lacking = sum(one is None for one in cell) if share is None else 0
        if value is not None:
            there.append((lacking, value if lowest else -value, n))
    if not there:
        return None, (None,) * len(cells)
    best = min(there)[2]

    def apart(cell: Sequence[float | None]) -> Estimate:
        return difference(cell, cells[best]) if share is None else quantile_difference(cell, cells[best], share)

    return best, tuple(None if n == best else apart(cell) for n, cell in enumerate(cells))


def quantile(values: Sequence[float | None], share: float) -> Estimate:
    """The value that a share `share` of runs does not exceed, by nearest rank; None counts as longer than any.

    Raises ValueError unless 0 < share < 1, or for a value that is not a number.
    """
    if not 0 < share < 1:
        raise ValueError(f"share: got {share}, expected a number between 0 and 1, both excluded")
    ordered = sorted(inf if value is None else _number(value) for value in values)
    count = len(ordered)
    if not count:
        return Estimate(None, None, None, 0, ORDER, ORDER_SOURCE, "no values")
    low, high = ranks(count, share)
    value = ordered[_nearest_rank(count, share) - 1]
    ends = [None if rank is None else _finite(ordered[rank - 1]) for rank in (low, high)]
    whys = ["never reached in so many runs"] if value == inf else []
    if low is None or high is None:
        needed = least_count(share)
        whys.append(f"both ends of the interval need {needed} values, got {count}")
    elif value != inf and ends[1] is None:
        whys.append("the upper end is never")
    return Estimate(_finite(value), ends[0], ends[1], count, ORDER, ORDER_SOURCE, "; ".join(whys) or None)


def _nearest_rank(count: int, share: float) -> int:
    """From 1; the product is rounded first, so that 0.55 of 100 is the 55th."""
    return max(1, ceil(round(count * share, 9)))


def proportion(hits: int, count: int) -> Estimate:
    """The share `hits` of `count` independent runs. Raises ValueError unless 0 <= hits <= count."""
    if not 0 <= hits <= count:
        raise ValueError(f"hits: got {hits} of {count}, expected 0 to {count}")
    if not count:
        return Estimate(None, None, None, 0, WILSON, WILSON_SOURCE, "no values")
    share = hits / count
    low, high = wilson(share, count)
    return Estimate(share, low, high, count, WILSON, WILSON_SOURCE)


def ranks(count: int, share: float) -> tuple[int | None, int | None]:
    """Ranks, from 1, of the two ordered values that hold the quantile: each end misses it at most once in forty times.

    With B binomial(count, share): the largest low with P(B < low) <= 1/40, the smallest high with P(B >= high) <= 1/40.
    None for an end that so few values do not have.
    """
    below = 0.0  # P(B < rank), rank by rank
    low, high = None, None
    for rank in range(1, count + 1):
        below += _binomial(count, share, rank - 1)
        if below <= _TAIL:
            low = rank
        if 1 - below <= _TAIL:
            high = rank
            break
    return low, high


def least_count(share: float) -> int:
    """How many values both ends of a quantile's interval need: max(share, 1 - share) to that power is 1/40 at most."""
    return ceil(log(_TAIL) / log(max(share, 1 - share)))


def _binomial(count: int, share: float, hits: int) -> float:
    ways = lgamma(count + 1) - lgamma(hits + 1) - lgamma(count - hits + 1)
    return exp(ways + hits * log(share) + (count - hits) * log1p(-share))


def _mean(values: Floats, method: str) -> Estimate:
    count = len(values)
    if not count:
        return Estimate(None, None, None, 0, method, BOOTSTRAP_SOURCE, "no values")
    value = _average(values)
    if count < LEAST:
        why = f"an interval needs {LEAST} values, got {count}"
        return Estimate(value, None, None, count, method, BOOTSTRAP_SOURCE, why)
    if bool(np.all(values == values[0])):
        why = f"all {count} values are the same"
        return Estimate(float(values[0]), float(values[0]), float(values[0]), count, method, BOOTSTRAP_SOURCE, why)
    low, high = _bca(values, value)
    return Estimate(value, low, high, count, method, BOOTSTRAP_SOURCE)


def _bca(values: Floats, value: float) -> tuple[float, float]:
    """Efron's interval. The acceleration of a mean has a closed form: the jackknife's deviations are those of the values."""
    count = len(values)
    means = np.sort(_resampled_means(values))
    below = float(np.count_nonzero(means < value)) + 0.5 * float(np.count_nonzero(means == value))
    bias = normal_quantile(min(max(below, 0.5), RESAMPLES - 0.5) / RESAMPLES)
    away = (values - value) / float(np.max(np.abs(values - value)))
    acceleration = float(np.sum(away**3)) / (6 * float(np.sum(away**2)) ** 1.5)
    wide = sqrt(count / (count - 1)) * _student(count - 1)
    ends = []
    for z in (-wide, wide):
        slope = max(1 - acceleration * (bias + z), 1e-3)
        level = erfc(-(bias + (bias + z) / slope) / sqrt(2)) / 2
        rank = floor((RESAMPLES + 1) * level + 0.5)
        ends.append(float(means[min(max(rank, 1), RESAMPLES) - 1]))
    return ends[0], ends[1]


def _student(freedom: int) -> float:
    """Student's 97.5 % quantile, within 0.002 for 7 degrees of freedom or more.

    Source: Abramowitz and Stegun 1964, 26.7.5, an expansion about the normal quantile.
    """
    z = Z
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom**power for power, term in enumerate(terms, start=1)))


def _resampled_means(values: Floats) -> Floats:
    count = len(values)
    if count <= _CACHED:
        return np.asarray(values[_places(count, 0, RESAMPLES)].mean(axis=1))
    step = max(1, _SLICE // count)
    parts = []
    for first in range(0, RESAMPLES, step):
        places = _places.__wrapped__(count, first, min(step, RESAMPLES - first))
        parts.append(values[places].mean(axis=1))
    return np.concatenate(parts)


@lru_cache(maxsize=4)
def _places(count: int, first: int, resamples: int) -> NDArray[np.int32]:
    """Which value stands at each place of each resample, shape (resamples, count): draw (resample, place) by name."""
    numbers = np.arange(first, first + resamples, dtype=np.int64)[:, None]
    places = np.arange(count, dtype=np.int64)[None, :]
    bits = bits_array(0, "bootstrap", np.uint64(actor_hash("resample")), episode=places, nth=numbers)
    top = np.uint64(32)
    return np.asarray(((bits >> top) * np.uint64(count)) >> top, dtype=np.int32)


def _mean_or_none(values: Sequence[float | None]) -> float | None:
    there = _present(values)
    return _average(there) if len(there) else None


def _average(values: Floats) -> float:
    return float(values.mean())


def _present(values: Sequence[float | None]) -> Floats:
    there = np.array([value for value in values if value is not None], dtype=np.float64)
    if not bool(np.all(np.isfinite(there))):
        raise ValueError("values: got one that is not finite, expected numbers, or None for one that is missing")
    return there


def _number(value: float) -> float:
    if isnan(value):
        raise ValueError("values: got nan, expected numbers, or None for one that is missing")
    return value


def _finite(value: float) -> float | None:
    return None if value in (inf, -inf) else value
