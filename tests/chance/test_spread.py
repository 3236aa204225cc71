from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fleetbeat.chance.choices import Hashed, actor_hash, unit
from fleetbeat.chance.spread import MOST_NS, draw, is_constant, nominal, quantile
from fleetbeat.chance.spread_array import quantile_array
from fleetbeat.chance.step import Step
from fleetbeat.chance.vector import uniform_array
from fleetbeat.scenario.model import Constant, Empirical, Exponential, Lognormal, NoJitter, Normal, Uniform

SECOND = 1_000_000_000
#: As loaded: whole nanoseconds (the models themselves read a bare number as seconds).
CONSTANT = Constant.model_construct(value=7)
UNIFORM = Uniform.model_construct(kind="uniform", low=2 * SECOND, high=5 * SECOND)
NORMAL = Normal.model_construct(kind="normal", mean=3 * SECOND, sd=SECOND // 2)
EXPONENTIAL = Exponential.model_construct(kind="exponential", mean=2 * SECOND)
LOGNORMAL = Lognormal.model_construct(kind="lognormal", median=4 * SECOND, sigma=0.7)
EMPIRICAL = Empirical.model_construct(kind="empirical", values=(10, 10, 20, 40))
ALL = [CONSTANT, UNIFORM, NORMAL, EXPONENTIAL, LOGNORMAL, EMPIRICAL, NoJitter()]
cell = st.integers(0, 2**64 - 1).map(unit)


@pytest.mark.parametrize(
    ("spread", "law"),
    [
        (UNIFORM, stats.uniform(2e9, 3e9)),
        (NORMAL, stats.norm(3e9, 0.5e9)),
        (EXPONENTIAL, stats.expon(scale=2e9)),
        (LOGNORMAL, stats.lognorm(0.7, scale=4e9)),
    ],
)
def test_draws_follow_their_law(spread, law):
    u = uniform_array(5, "s", actor_hash("a"), 0, np.arange(50_000), spread.kind)
    assert stats.kstest(quantile_array(spread, u), law.cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("spread", "law"),
    [
        (UNIFORM, stats.uniform(2e9, 3e9)),
        (NORMAL, stats.norm(3e9, 0.5e9)),
        (EXPONENTIAL, stats.expon(scale=2e9)),
        (LOGNORMAL, stats.lognorm(0.7, scale=4e9)),
    ],
)
@pytest.mark.parametrize("u", [0.001, 0.1, 0.25, 0.5, 0.9, 0.999])
def test_a_quantile_is_the_nearest_nanosecond(spread, law, u):
    assert quantile(spread, u) == round(law.ppf(u))


def test_empirical_lengths_come_as_often_as_they_are_listed():
    u = uniform_array(5, "s", actor_hash("a"), 0, np.arange(40_000))
    values, counts = np.unique(quantile_array(EMPIRICAL, u), return_counts=True)
    assert values.tolist() == [10, 20, 40]
    assert stats.chisquare(counts, [20_000, 10_000, 10_000]).pvalue > 0.01


@pytest.mark.parametrize("spread", ALL, ids=lambda s: s.kind)
@pytest.mark.parametrize("at_least", [0, None, 3 * SECOND])
def test_arrays_give_the_same_integers(spread, at_least):
    u = uniform_array(6, "s", actor_hash("a"), 0, np.arange(2000))
    many = quantile_array(spread, u, at_least)
    assert many.dtype == np.int64
    assert many.tolist() == [quantile(spread, x, at_least) for x in u.tolist()]


@given(
    st.lists(cell, min_size=1, max_size=5),
    st.integers(0, 10**18),
    st.integers(0, 10**18),
    st.floats(0.01, 5),
)
def test_arrays_give_the_same_integers_for_any_parameters(us, low, more, sigma):
    spreads = [
        Uniform.model_construct(kind="uniform", low=low, high=low + more),
        Normal.model_construct(kind="normal", mean=low, sd=more),
        Exponential.model_construct(kind="exponential", mean=more),
        Lognormal.model_construct(kind="lognormal", median=low, sigma=sigma),
    ]
    for spread in spreads:
        alone = [quantile(spread, u) for u in us]
        assert quantile_array(spread, np.array(us)).tolist() == alone
        assert all(type(value) is int and 0 <= value <= low + more + MOST_NS for value in alone)


@pytest.mark.parametrize("spread", [UNIFORM, NORMAL, EXPONENTIAL, LOGNORMAL], ids=lambda s: s.kind)
def test_a_quantile_grows_with_its_share(spread):
    values = [quantile(spread, (i + 0.5) / 5000, None) for i in range(5000)]
    assert values == sorted(values)
    assert len(set(values)) == 5000


def test_a_latency_is_never_negative_and_a_jitter_may_be():
    jitter = Normal.model_construct(kind="normal", mean=0, sd=10)
    assert quantile(jitter, 0.01) == 0
    assert quantile(jitter, 0.01, at_least=None) == -23
    assert quantile(jitter, 0.01, at_least=-5) == -5


def test_halves_are_rounded_to_even():
    assert [quantile(Uniform.model_construct(kind="uniform", low=0, high=n), 0.5) for n in (1, 3, 5)] == [0, 2, 2]


def test_what_is_drawn_is_cut_where_floats_stop_being_whole():
    wild = Lognormal.model_construct(kind="lognormal", median=10**18, sigma=5)
    assert quantile(wild, 0.999) == MOST_NS
    assert quantile_array(wild, np.array([0.999])).tolist() == [MOST_NS]


def test_a_draw_is_the_quantile_of_its_choice_and_a_constant_draws_nothing():
    choices, step = Hashed(4), Step("a", 1, 2, "unlink")
    assert draw(NORMAL, choices, "latency", step) == quantile(NORMAL, unit(choices.bits("latency", step)))
    beyond = step._replace(episode=2**40)
    assert draw(CONSTANT, choices, "latency", beyond) == 7
    with pytest.raises(ValueError, match="episode"):
        draw(NORMAL, choices, "latency", beyond)
    assert [is_constant(s) for s in ALL] == [True, False, False, False, False, False, True]


def test_nominal_lengths():
    assert [nominal(s) for s in ALL] == [7, 3_500_000_000, 3 * SECOND, 2 * SECOND, 4 * SECOND, 20, 0]


def test_an_empirical_spread_whose_file_was_not_read_is_refused():
    empty = Empirical.model_construct(kind="empirical", file="waits.txt")
    for ask in (nominal, lambda s: quantile(s, 0.5), lambda s: quantile_array(s, np.array([0.5]))):
        with pytest.raises(ValueError, match="got no values"):
            ask(empty)


def test_an_unknown_kind_is_refused():
    class Odd:
        kind = "pareto"

    for ask in (nominal, lambda s: quantile(s, 0.5), lambda s: quantile_array(s, np.array([0.5]))):
        with pytest.raises(ValueError, match="got kind 'pareto'"):
            ask(Odd())
