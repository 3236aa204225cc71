from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetbeat.checks import lag as checks_lag
from fleetbeat.metrics.quantile import nearest_rank, rank
from fleetbeat.metrics.words import seconds


@given(st.lists(st.integers(), min_size=1), st.integers(1, 100))
def test_nearest_rank_is_the_smallest_value_that_so_many_percent_do_not_exceed(values: list[int], percent: int) -> None:
    got = nearest_rank(sorted(values), percent)
    assert got in values
    assert got == min(v for v in values if 100 * sum(w <= v for w in values) >= percent * len(values))


@given(st.lists(st.integers(), min_size=1), st.sampled_from([50, 90, 99, 100]))
def test_tables_and_thresholds_have_one_notion_of_a_quantile(values: list[int], percent: int) -> None:
    assert nearest_rank(sorted(values), percent) == checks_lag.nearest_rank(sorted(values), percent / 100)


def test_nearest_rank_of_textbook_values() -> None:
    values = [15, 20, 35, 40, 50]
    assert [nearest_rank(values, p) for p in (0, 5, 30, 40, 50, 100)] == [15, 15, 20, 20, 35, 50]
    assert nearest_rank([], 50) is None
    assert rank(1_000_000, 99) == 990_000


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_percent_outside_its_range_is_refused(percent: int) -> None:
    with pytest.raises(ValueError, match="expected 0 to 100"):
        rank(5, percent)


@pytest.mark.parametrize(
    ("ns", "words"),
    [
        (0, "0ns"),
        (999, "999ns"),
        (1_000, "1.00us"),
        (999_999, "999us"),
        (1_234_567, "1.23ms"),
        (12_345_678, "12.3ms"),
        (999_999_999, "999ms"),
        (1_000_000_000, "1.00s"),
        (59_999_999_999, "59.9s"),
        (60_000_000_000, "1m00.0s"),
        (3_599_999_999_999, "59m59.9s"),
        (3_600_000_000_000, "1h00m00s"),
        (-5_000, "-5.00us"),
        (2**62, "1281023h53m38s"),
    ],
)
def test_durations_are_short_and_never_rounded_up(ns: int, words: str) -> None:
    assert seconds(ns) == words
