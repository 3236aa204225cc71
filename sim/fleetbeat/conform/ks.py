"""A two-sample Kolmogorov-Smirnov test with an exact size, and with room for what measuring adds.

Null hypothesis: one distribution is the other, moved by at most `room`. Statistic: the largest amount by which one
sample's distribution function is above the other's moved by `room`; without room that is the usual one. Its p-value is
the exact chance of so large a value (or larger) for two samples of one continuous distribution; ties and room only make
it smaller, so that a test at `alpha` rejects a true hypothesis at most that often.

Source of the recursion: Hodges (1958), "The significance probability of the Smirnov two-sample test": the merged order
of two samples is a lattice path, each equally likely, and the test accepts those that stay near the diagonal. The path's
chance to reach (i, j) inside is p(i, j) = p(i-1, j) i/(i+j) + p(i, j-1) j/(i+j). Rejected: the asymptotic series (wrong
for ten posts), permutations (chance where none is needed), scipy (1.7 s of import).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]


def distance(one: Sequence[int], other: Sequence[int], room: int = 0) -> int:
    """The statistic, times both sizes, so that it is a whole number. `room` in the unit of the samples, at least 0."""
    first, second = (np.sort(np.asarray(values, dtype=np.int64)) for values in (one, other))
    return max(0, _above(first, second, room), _above(second, first, room))


def _above(low: Values, high: Values, room: int) -> int:
    """By how much the first distribution function is above the second moved up by `room`, times both sizes."""
    steps = np.arange(1, low.size + 1, dtype=np.int64) * high.size
    moved = np.searchsorted(high, low + room, side="right").astype(np.int64) * low.size
    return int((steps - moved).max()) if low.size else 0


def p_value(one: Sequence[int], other: Sequence[int], room: int = 0) -> float:
    """Raises ValueError if either sample is empty."""
    if not len(one) or not len(other):
        raise ValueError(f"samples: got {len(one)} and {len(other)} values, expected at least one of each")
    return exceeds(distance(one, other, room), *sorted((len(one), len(other))))


def exceeds(least: int, small: int, large: int) -> float:
    """The chance that the statistic of samples of these sizes (`small` not above `large`) is at least `least`."""
    if least <= 0:
        return 1.0
    index = np.arange(small + 1, dtype=np.int64)
    inside = np.zeros(small + 1)
    inside[0] = 1.0
    for length in range(1, small + large + 1):
        before = np.concatenate(([0.0], inside[:-1]))
        inside = before * (index / length) + inside * ((length - index) / length)
        other = length - index
        inside[(other < 0) | (other > large) | (np.abs(index * large - other * small) >= least)] = 0.0
    return float(min(1.0, max(0.0, 1.0 - inside[small])))


def would_notice(base: Sequence[int], count: int, room: int, size: float) -> bool:
    """Whether a test of this size would reject `count` values that are spread as the base's are, only twice as large.

    What could not even tell that has no power worth the name: too few values, or too much room.
    """
    ordered = sorted(base)
    doubled = [2 * ordered[(2 * index + 1) * len(ordered) // (2 * count)] for index in range(count)]
    return bool(base) and count > 0 and p_value(ordered, doubled, room) < size
