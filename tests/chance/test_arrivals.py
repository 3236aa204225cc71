from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fleetbeat.chance.arrivals import HOUR_NS, Arrivals
from fleetbeat.chance.choices import Hashed, Overrides
from fleetbeat.chance.step import Step


def arrivals(per_hour: float = 30.0, actor: str = "a-3", seed: int = 1) -> Arrivals:
    return Arrivals(Hashed(seed), "stall", actor, per_hour)


def test_arrivals_come_at_their_rate():
    counts = []
    for i in range(200):
        found = arrivals(actor=f"a-{i}").after(10 * HOUR_NS)
        assert found is not None
        counts.append(found[0])
    assert abs(sum(counts) - 200 * 300) < 4 * math.sqrt(200 * 300)
    assert 200 < stats.tvar(counts) < 430  # Poisson: 300


def test_gaps_are_exponential():
    many = arrivals()
    times = [0, *(many.time(j) for j in range(5000))]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert stats.kstest(gaps, stats.expon(scale=HOUR_NS / 30).cdf).pvalue > 0.01


@given(st.lists(st.integers(-1, 3 * HOUR_NS), min_size=1, max_size=5))
def test_after_is_the_first_later_arrival_in_whatever_order_it_is_asked(questions):
    asked, other = arrivals(), arrivals()
    known = [other.time(j) for j in range(180)]
    for t in questions:
        j = next(j for j, time in enumerate(known) if time > t)
        assert asked.after(t) == (j, known[j])


def test_an_arrival_at_the_very_instant_is_not_after_it():
    many = arrivals()
    assert many.after(many.time(4)) == (5, many.time(5))
    assert many.after(many.time(4) - 1) == (4, many.time(4))


def test_times_are_whole_and_strictly_increasing_at_any_rate():
    for per_hour in (1e-300, 0.001, 3600.0, 1e15):
        many = arrivals(per_hour)
        times = [many.time(j) for j in range(50)]
        assert all(type(t) is int for t in times)
        assert times[0] >= 1
        assert all(a < b for a, b in itertools.pairwise(times))


def test_seed_actor_and_stream_each_give_other_times():
    times = {
        arrivals().time(0),
        arrivals(seed=2).time(0),
        arrivals(actor="a-4").time(0),
        Arrivals(Hashed(1), "crash", "a-3", 30.0).time(0),
    }
    assert len(times) == 4


def test_an_override_moves_one_gap():
    step = Step("a-3", 0, 2, "arrival")
    forced = Arrivals(Hashed(1, Overrides(bits={("stall", step): 0})), "stall", "a-3", 30.0)
    plain = arrivals()
    assert forced.time(1) == plain.time(1)
    assert forced.time(2) == forced.time(1) + 1
    assert forced.time(3) - forced.time(2) == plain.time(3) - plain.time(2)


def test_a_rate_of_nought_has_no_arrivals():
    assert arrivals(0.0).after(10**18) is None
    with pytest.raises(ValueError, match="there is none"):
        arrivals(0.0).time(0)


@pytest.mark.parametrize("per_hour", [-1.0, math.inf, math.nan])
def test_what_is_no_rate_is_refused(per_hour):
    with pytest.raises(ValueError, match="per_hour: got"):
        arrivals(per_hour)
