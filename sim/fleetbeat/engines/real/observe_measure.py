"""How late an observer is, in numbers: nearest-rank percentiles of what was measured."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

SHARES = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True)
class Measured:
    """All in ns; None where nothing was measured."""

    count: int
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None


def measured(values: Sequence[int]) -> Measured:
    """Percentiles by nearest rank: the smallest value that at least such a share of the values does not exceed."""
    if not values:
        return Measured(0, None, None, None, None)
    ordered = sorted(values)
    count = len(ordered)
    p50, p90, p99 = (ordered[max(0, -int(-share * count // 1) - 1)] for share in SHARES)
    return Measured(count, p50, p90, p99, ordered[-1])


class Lag:
    """Collects lags. Those told by an agent's own program are kept apart from those told by our driver, whose clock is
    known: they count only where there are no others."""

    #: Further off than this is a clock that is wrong, not a late look; ns.
    MOST_NS = 60_000_000_000

    def __init__(self) -> None:
        self._trusted = array("q")
        self._others = array("q")

    def add(self, lag_ns: int, trusted: bool) -> None:
        if abs(lag_ns) < self.MOST_NS:
            (self._trusted if trusted else self._others).append(lag_ns)

    def measured(self) -> Measured:
        return measured(self._trusted or self._others)
