"""The Pareto front against its definition, told one point at a time."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetbeat.sweep.front import front


def test_only_what_nothing_beats_everywhere_is_on_the_front() -> None:
    assert front([(1, 9), (2, 5), (3, 6), (9, 1)]) == (0, 1, 3)
    assert front([(1, 1)]) == (0,)
    assert front([]) == ()


def test_of_equals_the_first_stays_alone() -> None:
    assert front([(1, 2), (1, 2), (2, 1)]) == (0, 2)


def test_what_never_gets_there_is_worse_than_anything() -> None:
    assert front([(inf, 2), (5, 2), (inf, 1)]) == (1, 2)


def test_a_difference_too_small_to_count_dominates_nothing() -> None:
    """Peaks of two cadences differ by chance; without the tolerance the second is dominated by a hair's breadth."""
    points = [(1.0, 100.0), (2.0, 99.9)]
    assert front(points) == (0, 1)
    assert front(points, same=0.01) == (0,)


def test_points_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths 1 and 2"):
        front([(1,), (1, 2)])


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 3), max_size=12))
def test_it_is_what_the_definition_says(points: list[tuple[int, int, int]]) -> None:
    found = front(points)
    for index, point in enumerate(points):
        beaten = any(all(a <= b for a, b in zip(other, point, strict=True)) and other != point for other in points)
        assert (index in found) == (not beaten and point not in points[:index])
