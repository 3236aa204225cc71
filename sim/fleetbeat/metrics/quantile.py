"""Quantiles by nearest rank, in whole numbers: the smallest value that at least p percent of the values do not exceed.

It is always a value that was measured and needs no floating point, so every machine gives the same. Rejected:
interpolation between ranks (invents lags that no agent had). Source of the formula: the
nearest-rank definition, rank = ceil(p/100 * n).
"""

from __future__ import annotations

from collections.abc import Sequence

METHOD = "nearest rank"


def rank(count: int, percent: int) -> int:
    """The rank, from 1, of the `percent` quantile of `count` values; at least 1. Percent from 0 to 100."""
    if not 0 <= percent <= 100:
        raise ValueError(f"percent: got {percent}, expected 0 to 100")
    return max(1, -(-count * percent // 100))


def nearest_rank(ordered: Sequence[int], percent: int) -> int | None:
    """The `percent` quantile of ascending values, None of none."""
    return ordered[rank(len(ordered), percent) - 1] if ordered else None
