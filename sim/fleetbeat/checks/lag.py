"""Lag arithmetic that thresholds and metrics share: nearest rank, and when a version became effective on its
targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil

from fleetbeat.checks.model import PostFate


def nearest_rank(ordered: Sequence[int], quantile: float) -> int | None:
    """The smallest value that at least this share of all values does not exceed; None of none. `ordered` ascending.

    The rank is computed from the decimal that a float stands for: 0.99 of 100 values is the 99th, not the 100th.
    """
    if not ordered:
        return None
    return ordered[max(1, ceil(Fraction(str(quantile)) * len(ordered))) - 1]


def lags(fates: Iterable[PostFate], version: str | None = None) -> list[int]:
    """ns from complete to effective of each post with fate `applied` (0 if it was effective sooner), ascending."""
    return sorted(
        max(0, fate.effective - fate.completed)
        for fate in fates
        if fate.fate == "applied"
        and fate.effective is not None
        and fate.completed is not None
        and version in (None, fate.version)
    )


def reached(fates: Iterable[PostFate], version: str, began: int) -> dict[str, int]:
    """Agent -> ns after `began` at which the version first became effective there by a post of it (or already was)."""
    found: dict[str, int] = {}
    for fate in fates:
        if fate.version == version and fate.fate in ("applied", "unchanged") and fate.effective is not None:
            after = max(0, fate.effective - began)
            found[fate.agent] = min(found.get(fate.agent, after), after)
    return found
