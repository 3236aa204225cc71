"""Sums of normal waits made from the top down have the law of sums made one by one.

Seeds are fixed, and the bar is one in a thousand. Over 200 seeds p-values were even, means and variances right.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.cadence.heartbeats import JITTERS, NORMAL, SECOND, SHIFTED, heartbeat

from fleetbeat.cadence import make_cadence
from fleetbeat.cadence.vector import elapsed_array
from fleetbeat.cadence.waits_normal import BEATS
from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.vector import actor_hashes

AGENTS = actor_hashes(f"a-{i}" for i in range(4000))


def sums(beats, jitter=SHIFTED, seed=8):
    """elapsed(k) of every agent, one row for each k."""
    return elapsed_array(heartbeat(jitter, phase="aligned"), seed, AGENTS[None, :], 0, np.asarray(beats)[:, None])


@pytest.mark.parametrize("k", [1, 2, 3, 7, 100, 1000, 65_536, 100_000, BEATS, BEATS + 1, 200_000])
def test_the_sum_of_k_waits_is_normal_with_k_times_the_mean_and_variance(k):
    (row,) = sums([k])
    law = stats.norm(k * (SECOND + SHIFTED.mean), math.sqrt(k) * SHIFTED.sd)
    assert stats.kstest(row, law.cdf).pvalue > 0.001


@pytest.mark.parametrize(
    ("start", "count"), [(0, 1), (5, 2), (3, 10), (1000, 500), (BEATS - 3, 6), (BEATS - 4000, 9000)]
)
def test_any_stretch_of_waits_has_the_same_law_and_is_independent_of_what_came_before(start, count):
    before, after = sums([start, start + count], NORMAL)
    stretch = after - before
    assert stats.kstest(stretch, stats.norm(count * SECOND, math.sqrt(count) * NORMAL.sd).cdf).pvalue > 0.001
    if start:
        assert abs(stats.pearsonr(before, stretch).statistic) < 4 / math.sqrt(len(AGENTS))


def test_the_waits_of_one_agent_are_normal_and_independent_of_each_other():
    made = make_cadence(heartbeat(NORMAL), Hashed(11), "a-3", 0)
    times = [made.elapsed(k) for k in range(BEATS - 4000, BEATS + 4000)]
    waits = np.diff(times)
    assert stats.kstest(waits, stats.norm(SECOND, NORMAL.sd).cdf).pvalue > 0.001
    for lag in (1, 2, 3, 4, 8, 1024):
        assert abs(np.corrcoef(waits[:-lag], waits[lag:])[0, 1]) < 4 / math.sqrt(len(waits) - lag), lag


def test_agents_and_lives_are_independent_of_each_other():
    (row,) = sums([500], NORMAL)
    other = elapsed_array(heartbeat(NORMAL, phase="aligned"), 8, AGENTS, 1, 500)
    bound = 4 / math.sqrt(len(AGENTS))
    assert abs(stats.pearsonr(row[:-1], row[1:]).statistic) < bound
    assert abs(stats.pearsonr(row, other).statistic) < bound


@pytest.mark.parametrize(
    ("kind", "law"),
    [
        ("uniform", stats.uniform(0.9e9, 0.3e9)),
        ("exponential", stats.expon(1e9, 0.1e9)),
        ("lognormal", stats.lognorm(1.0, 1e9, 0.05e9)),
    ],
)
def test_other_waits_follow_their_own_law_also_across_chunks(kind, law):
    made = make_cadence(heartbeat(JITTERS[kind]), Hashed(12), "a-3", 0)
    waits = np.diff([made.elapsed(k) for k in range(6000)])
    assert stats.kstest(waits, law.cdf).pvalue > 0.001
    assert abs(np.corrcoef(waits[:-1], waits[1:])[0, 1]) < 4 / math.sqrt(len(waits))
