"""Intervals held against laws that are known: how many of 1,000 hold the truth, and closed forms where there are any."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from fleetbeat.chance import arithmetic_array
from fleetbeat.chance.choices import actor_hash
from fleetbeat.chance.vector import uniform_array
from fleetbeat.sweep import stats
from fleetbeat.sweep.stats import Estimate

REPETITIONS = 1000
Floats = NDArray[np.float64]


def drawn(law: str, count: int) -> Floats:
    """Uniforms in (0, 1), shape (REPETITIONS, count), the same every time."""
    rows = np.arange(REPETITIONS, dtype=np.int64)[:, None]
    return uniform_array(0, f"test:{law}", np.uint64(actor_hash("value")), episode=np.arange(count)[None, :], nth=rows)


def normal(u: Floats) -> Floats:
    return 3 + 2 * arithmetic_array.normal_quantile(u)


def exponential(u: Floats) -> Floats:
    return -np.log(u)


def uniform(u: Floats) -> Floats:
    return u


def geometric(u: Floats) -> Floats:
    """Tries until one of probability 0.7 succeeds: a law of few, equal values."""
    return np.ceil(np.log(u) / log(0.3))


def holds(estimate: Estimate, truth: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


# --- coverage ---


@pytest.mark.parametrize(
    ("law", "count", "truth"),
    [
        (normal, 12, 3.0),
        (normal, 40, 3.0),
        (uniform, 20, 0.5),
        (exponential, 100, 1.0),
        (geometric, 100, 1 / 0.7),
    ],
)
def test_a_mean_lies_in_95_of_100_intervals(law: Callable[[Floats], Floats], count: int, truth: float) -> None:
    held = sum(holds(stats.mean(row.tolist()), truth) for row in law(drawn(f"mean {law.__name__}", count)))
    assert 0.92 <= held / REPETITIONS <= 0.98, held


def test_the_plain_percentile_interval_would_not_pass_for_few_values() -> None:
    """The wrong variant: without the widening and the correction fewer than 92 % hold the mean of 12 normal values."""
    held = 0
    for row in normal(drawn("mean normal", 12)):
        low, high = np.quantile(row[stats._places(12, 0, stats.RESAMPLES)].mean(axis=1), [0.025, 0.975])
        held += low <= 3.0 <= high
    assert held / REPETITIONS < 0.92, held


@pytest.mark.parametrize(
    ("law", "share", "count", "truth"),
    [(exponential, 0.5, 60, log(2)), (exponential, 0.9, 100, log(10)), (uniform, 0.99, 500, 0.99)],
)
def test_a_quantile_lies_in_95_of_100_intervals(
    law: Callable[[Floats], Floats], share: float, count: int, truth: float
) -> None:
    """Ranks are whole, so that such intervals hold it rather too often."""
    rows = law(drawn(f"quantile {share}", count))
    held = sum(holds(stats.quantile(row.tolist(), share), truth) for row in rows)
    assert 0.94 <= held / REPETITIONS <= 0.99, held


@pytest.mark.parametrize(
    ("law", "share", "count"), [(exponential, 0.5, 60), (exponential, 0.9, 100), (normal, 0.9, 60)]
)
def test_a_difference_of_quantiles_lies_in_95_of_100_intervals(
    law: Callable[[Floats], Floats], share: float, count: int
) -> None:
    """Values of a law and, seed by seed, of the same law one higher, both with half the same noise: the truth is 1."""
    noise, names = exponential(drawn(f"noise {share}", count)), (f"high {share}", f"low {share}")
    high, low = (law(drawn(name, count)) + noise / 2 for name in names)
    pairs = zip(high[:400].tolist(), low[:400].tolist(), strict=True)
    held = sum(
        holds(stats.quantile_difference([one + 1 for one in these], those, share), 1.0) for these, those in pairs
    )
    assert 0.93 <= held / 400 <= 0.99, held


def test_a_share_lies_in_95_of_100_intervals() -> None:
    hits = (drawn("share", 80) < 0.1).sum(axis=1)
    held = sum(holds(stats.proportion(int(n), 80), 0.1) for n in hits)
    assert 0.92 <= held / REPETITIONS <= 0.98, held


def test_a_paired_difference_is_as_narrow_as_what_the_pairs_do_not_share() -> None:
    """Both runs of a seed share noise that is a hundred times what they differ by: pairing takes it out."""
    noise, own = 100 * exponential(drawn("shared", 40)), normal(drawn("own", 40))
    held = widths = unpaired = 0.0
    for shared, extra in zip(noise, own, strict=True):
        found = stats.difference((shared + extra).tolist(), shared.tolist())
        held += holds(found, 3.0)
        alone = stats.mean(shared.tolist())
        assert found.low is not None
        assert found.high is not None
        assert alone.low is not None
        assert alone.high is not None
        widths, unpaired = widths + found.high - found.low, unpaired + alone.high - alone.low
    assert 0.92 <= held / REPETITIONS <= 0.98, held
    assert widths < unpaired / 20


# --- closed forms ---


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("count", [5, 36, 100, 299, 1000])
def test_the_ranks_are_those_of_the_binomial(count: int, share: float) -> None:
    low, high = stats.ranks(count, share)
    below = scipy_stats.binom(count, share).cdf
    assert low == max((r for r in range(1, count + 1) if below(r - 1) <= 0.025), default=None)
    assert high == min((r for r in range(1, count + 1) if 1 - below(r - 1) <= 0.025), default=None)


@pytest.mark.parametrize(("share", "count"), [(0.5, 6), (0.9, 36), (0.99, 368), (0.01, 368)])
def test_a_quantile_says_how_many_values_its_interval_needs(share: float, count: int) -> None:
    assert stats.least_count(share) == count
    assert stats.quantile([float(n) for n in range(count)], share).is_whole
    short = stats.quantile([float(n) for n in range(count - 1)], share)
    assert short.value is not None
    assert not short.is_whole
    assert short.why == f"both ends of the interval need {count} values, got {count - 1}"


@pytest.mark.parametrize("freedom", [7, 12, 40, 500])
def test_students_quantile_is_close(freedom: int) -> None:
    assert stats._student(freedom) == pytest.approx(scipy_stats.t.ppf(0.975, freedom), abs=0.002)


def test_an_interval_agrees_with_scipys_but_for_the_widening() -> None:
    """scipy resamples with its own draws and does not widen; with 400 values the widening is a thousandth."""
    values = exponential(drawn("scipy", 400))[0]
    found = stats.mean(values.tolist())
    theirs = scipy_stats.bootstrap((values,), np.mean, n_resamples=9999, method="BCa", random_state=1)
    width = theirs.confidence_interval.high - theirs.confidence_interval.low
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=width / 20)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=width / 20)


def test_many_values_are_resampled_in_slices_and_give_the_same() -> None:
    values = exponential(drawn("slices", 1000))[:2].reshape(-1)
    whole = values[stats._places.__wrapped__(len(values), 0, stats.RESAMPLES)].mean(axis=1)
    assert np.array_equal(stats._resampled_means(values), whole)


# --- what is missing, few or equal ---


def test_too_few_values_have_a_mean_and_no_interval() -> None:
    found = stats.mean([1.0, 2.0, None, 3.0])
    assert (found.value, found.low, found.high, found.count) == (2.0, None, None, 3)
    assert found.why == "an interval needs 8 values, got 3"


@pytest.mark.parametrize("found", [stats.mean([None]), stats.quantile([], 0.5), stats.proportion(0, 0)])
def test_no_values_have_no_estimate(found: Estimate) -> None:
    assert (found.value, found.low, found.high, found.why) == (None, None, None, "no values")


def test_equal_values_are_told_to_be_equal() -> None:
    found = stats.difference([3.0] * 20, [1.0] * 20)
    assert (found.value, found.low, found.high, found.why) == (2.0, 2.0, 2.0, "all 20 values are the same")
    assert found.excludes_zero


def test_a_pair_of_which_one_is_missing_is_left_out() -> None:
    found = stats.difference([5.0, None, 7.0], [1.0, 2.0, None])
    assert (found.value, found.count) == (4.0, 1)


def test_never_is_longer_than_any_time() -> None:
    half = stats.quantile([1.0, None, 2.0, None, None, None, None], 0.5)
    assert (half.value, half.why) == (None, "never reached in so many runs")
    most = stats.quantile([1.0] * 9 + [None], 0.5)
    assert most.value == 1.0
    assert stats.quantile([1.0] * 4 + [None] * 3, 0.5).why == "the upper end is never"


def test_the_best_cell_is_the_lowest_in_the_mean_and_the_others_are_told_from_it() -> None:
    noise = exponential(drawn("best", 30))[0]
    best, told = stats.to_best([(noise + 1).tolist(), noise.tolist(), [None] * 30])
    assert best == 1
    assert told[1] is None
    assert told[0] is not None
    assert told[0].value == pytest.approx(1.0)
    assert told[2] is not None
    assert told[2].value is None
    assert stats.to_best([(noise + 1).tolist(), noise.tolist()], lowest=False)[0] == 0
    assert stats.to_best([[None]]) == (None, (None,))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: stats.mean([float("inf")]), "not finite"),
        (lambda: stats.quantile([float("nan")], 0.5), "got nan"),
        (lambda: stats.quantile([1.0], 1.0), "share: got 1.0"),
        (lambda: stats.proportion(3, 2), "hits: got 3 of 2, expected 0 to 2"),
        (lambda: stats.difference([1.0], []), "pairs: got 1 and 0 values"),
    ],
)
def test_what_cannot_be_estimated_is_refused_in_words(ask: Callable[[], object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ask()


def test_every_estimate_names_its_method_and_source() -> None:
    for found in (stats.mean([1.0]), stats.quantile([1.0], 0.5), stats.proportion(1, 2), stats.difference([1], [2])):
        assert found.method
        assert found.source[-4:].isdigit() or "section" in found.source


def test_a_nearest_rank_is_not_moved_by_rounding() -> None:
    """0.55 * 100 is 55.00000000000001 in floating point, whose ceiling would be the 56th value."""
    assert ceil(0.55 * 100) == 56
    assert stats.quantile([float(n) for n in range(1, 101)], 0.55).value == 55.0


def test_a_cell_that_seldom_gets_there_is_not_the_best_for_the_few_times_it_did() -> None:
    slow, seldom = [5.0 + n / 10 for n in range(10)], [1.0, 1.1, *[None] * 8]
    assert stats.to_best([seldom, slow])[0] == 1
    assert stats.to_best([seldom, [None] * 10])[0] == 0


def test_the_best_cell_goes_by_the_statistic_that_is_shown() -> None:
    """The mean prefers the cell that is worst in its slowest tenth; the 90 % quantile does not."""
    steady, wild = [2.0 + n / 1000 for n in range(40)], [1.0 + n / 1000 for n in range(34)] + [5.0] * 6
    assert stats.to_best([steady, wild])[0] == 1
    best, told = stats.to_best([steady, wild], share=0.9)
    assert best == 0
    assert told[1] is not None
    assert told[1].value == pytest.approx(5.0 - 2.035)
    assert told[1].method == stats.PAIRED_QUANTILES
    assert stats.to_best([steady, wild], lowest=False, share=0.9)[0] == 1


def test_a_quantile_that_is_never_reached_is_not_the_best_and_has_no_difference() -> None:
    seldom, always = [1.0] * 10 + [None] * 30, [2.0] * 40
    best, told = stats.to_best([seldom, always], share=0.5)
    assert best == 1
    assert told[0] is not None
    assert (told[0].value, told[0].low, told[0].why) == (None, None, "never reached in one of the two")
    assert stats.to_best([seldom, seldom], share=0.5) == (None, (None, None))
    both = stats.quantile_difference(seldom, seldom, 0.5)
    assert (both.value, both.low, both.high) == (0.0, 0.0, 0.0)


def test_a_difference_of_quantiles_of_few_values_has_no_interval() -> None:
    found = stats.quantile_difference([2.0] * 35, [1.0] * 35, 0.9)
    assert (found.value, found.low, found.why) == (1.0, None, "an interval needs 36 values, got 35")
    assert stats.quantile_difference([], [], 0.9).why == "no values"
    with pytest.raises(ValueError, match="pairs: got 1 and 0 values"):
        stats.quantile_difference([1.0], [], 0.9)
