"""The tests of a comparison: their p-values are exact, their size is what they say, and they have power."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from fleetbeat.conform import counts, ks

MS = 1_000_000


def _draws(seed: int, count: int, low: int, high: int) -> list[int]:
    return [int(value) for value in np.random.default_rng(seed).integers(low * MS, high * MS, count)]


@pytest.mark.parametrize(("one", "two"), [(5, 7), (16, 320), (40, 41), (3, 3)])
def test_the_exact_p_value_is_that_of_scipy(one: int, two: int) -> None:
    for seed in range(5):
        first, second = _draws(seed, one, 0, 1000), _draws(seed + 100, two, 100 * seed, 1000 + 100 * seed)
        expected = stats.ks_2samp(first, second, method="exact").pvalue
        assert ks.p_value(first, second) == pytest.approx(expected, abs=1e-9)
        assert ks.p_value(second, first) == pytest.approx(expected, abs=1e-9)


def test_samples_of_one_distribution_differ_no_more_often_than_the_size_says() -> None:
    """400 comparisons: at the true size more than this many are rejected once in a thousand times."""
    found = [ks.p_value(_draws(2 * n, 16, 0, 400), _draws(2 * n + 1, 80, 0, 400)) for n in range(400)]
    for size in (0.1, 0.05, 0.01):
        assert sum(p <= size for p in found) <= stats.binom.ppf(0.999, 400, size)
    assert sum(p <= 0.1 for p in found) > 10  # a test that never rejects has no size either


def test_room_keeps_the_size_under_an_error_of_observation_and_none_would_not() -> None:
    """Lags that hardly vary, seen 6 ms late."""
    late = [6 * MS + value for value in _draws(1, 50, 300, 301)]
    true = _draws(2, 500, 300, 301)
    assert ks.p_value(late, true) < 1e-6
    assert ks.p_value(late, true, 10 * MS) == 1.0
    assert ks.p_value(true, late, 10 * MS) == 1.0


def test_a_doubled_delay_is_found_with_the_posts_that_a_scenario_has() -> None:
    """16 posts against 320: 300 ms and 600 ms of delay after a wait anywhere in a beat of 400 ms, at a sixth of 1 %."""
    found = [
        ks.p_value(_draws(2 * n, 16, 600, 1000), _draws(2 * n + 1, 320, 300, 700), 10 * MS) < 0.01 / 6
        for n in range(60)
    ]
    assert sum(found) == 60


def test_a_small_change_is_found_by_many_posts_and_not_by_few() -> None:
    """Power: 60 ms in a beat of 400 ms."""
    many = sum(ks.p_value(_draws(2 * n, 120, 60, 460), _draws(2 * n + 1, 400, 0, 400)) < 0.01 for n in range(40))
    few = sum(ks.p_value(_draws(2 * n, 8, 60, 460), _draws(2 * n + 1, 400, 0, 400)) < 0.01 for n in range(40))
    assert (many > 32, few < 16) == (True, True)


def test_distance_counts_ties_and_is_symmetric() -> None:
    assert ks.distance([1, 1, 1], [1, 1]) == 0
    assert ks.distance([1, 2], [3, 4]) == ks.distance([3, 4], [1, 2]) == 4
    assert ks.distance([1, 2], [3, 4], room=2) == 0
    assert ks.distance([1, 2], [3, 4], room=1) == 2


@pytest.mark.parametrize(
    ("count", "room", "told"), [(16, 10, True), (4, 10, False), (16, 400, False), (200, 100, True), (0, 0, False)]
)
def test_few_values_or_much_room_would_not_notice_lags_twice_as_long(count: int, room: int, told: bool) -> None:
    assert ks.would_notice(_draws(1, 320, 0, 400), count, room * MS, 0.01) == told


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="got 0 and 1 values"):
        ks.p_value([], [1])


# --- counts ---


def test_one_item_is_the_hypergeometric_test() -> None:
    table = stats.hypergeom(21, 5, 1)
    assert counts.p_value([(1, 1, 4, 20)]) == pytest.approx(2 * table.pmf(1))
    assert counts.p_value([(0, 1, 5, 20)]) == 1.0
    assert counts.p_value([]) == 1.0


def test_many_items_are_the_sum_over_all_their_outcomes() -> None:
    items = [(1, 2, 3, 5), (0, 2, 2, 5), (2, 2, 1, 5)]
    chance: dict[int, float] = {}
    for ks_of in product(range(3), repeat=3):
        weight = 1.0
        for (first, runs, second, others), k in zip(items, ks_of, strict=True):
            weight *= stats.hypergeom(runs + others, first + second, runs).pmf(k)
        chance[sum(ks_of)] = chance.get(sum(ks_of), 0.0) + weight
    seen = sum(first for first, *_ in items)
    above = sum(part for total, part in chance.items() if total >= seen)
    below = sum(part for total, part in chance.items() if total <= seen)
    assert counts.p_value(items) == pytest.approx(min(1.0, 2 * min(above, below)))


def test_equal_rates_differ_no_more_often_than_the_size_says_and_doubled_ones_do() -> None:
    """100 posts, of which one in five fails: one real run against 20 simulated ones."""
    draw = np.random.default_rng(3)

    def p_of(rate: float) -> float:
        real, simulated = draw.binomial(1, rate, 100), draw.binomial(20, 0.2, 100)
        return counts.p_value((int(one), 1, int(two), 20) for one, two in zip(real, simulated, strict=True))

    assert sum(p_of(0.2) < 0.01 for _ in range(300)) <= stats.binom.ppf(0.999, 300, 0.01)
    assert sum(p_of(0.4) < 0.01 for _ in range(50)) > 40
