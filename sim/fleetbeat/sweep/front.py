"""The Pareto front: what cannot be had better in one respect without being worse in another."""

from __future__ import annotations

from collections.abc import Sequence

#: Shares of a value by which two must differ to be told apart: beats of one interval come to a few more or less by chance.
SAME = 0.01


def front(points: Sequence[Sequence[float]], same: float = 0.0) -> tuple[int, ...]:
    """The points, by index and ascending, that no other dominates. Less is better; all of one length; inf is worst.

    One dominates another if it is nowhere worse and somewhere better. Values within a share `same` of each other are
    neither; of points that are the same everywhere the first stays alone. Raises ValueError for unequal lengths.
    """
    widths = [len(point) for point in points]
    if widths and min(widths) != max(widths):
        raise ValueError(f"points: got lengths {min(widths)} and {max(widths)}, expected all alike")
    found = tuple(
        index
        for index, point in enumerate(points)
        if not any(
            _beats(other, point, same) or (place < index and not _differ(other, point, same))
            for place, other in enumerate(points)
            if place != index
        )
    )
    return found if found or not points else front(points)  # near equals that beat one another in a circle


def _beats(these: Sequence[float], those: Sequence[float], same: float) -> bool:
    worse = any(_less(b, a, same) for a, b in zip(these, those, strict=True))
    return not worse and any(_less(a, b, same) for a, b in zip(these, those, strict=True))


def _differ(these: Sequence[float], those: Sequence[float], same: float) -> bool:
    return any(_less(a, b, same) or _less(b, a, same) for a, b in zip(these, those, strict=True))


def _less(a: float, b: float, same: float) -> bool:
    """Whether a is less than b by more than the share that does not count."""
    return a < b - same * abs(b) if b != float("inf") else a != b
