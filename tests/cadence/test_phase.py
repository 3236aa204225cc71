from __future__ import annotations

import pytest
from scipy import stats
from tests.cadence.heartbeats import SECOND, heartbeat

from fleetbeat.cadence import make_cadence
from fleetbeat.chance.choices import Hashed


def phases(count=3000, life=0, ppm=0.0, **fields):
    return [make_cadence(heartbeat(**fields), Hashed(1), f"a-{i}", life, ppm).phase_ns for i in range(count)]


def test_a_random_phase_lies_anywhere_in_one_interval():
    found = phases(interval=20 * SECOND)
    assert 0 <= min(found) <= max(found) < 20 * SECOND
    assert stats.kstest(found, stats.uniform(0, 20e9).cdf).pvalue > 0.001


def test_a_splayed_phase_lies_anywhere_in_the_splay():
    found = phases(phase="splay", splay=300 * SECOND)
    assert 0 <= min(found) <= max(found) < 300 * SECOND
    assert stats.kstest(found, stats.uniform(0, 300e9).cdf).pvalue > 0.001


def test_aligned_heartbeats_and_a_splay_of_nought_begin_at_once():
    assert set(phases(5, phase="aligned")) == set(phases(5, phase="splay", splay=0)) == {0}


def test_a_phase_of_two_nanoseconds_is_nought_or_one():
    assert set(phases(50, phase="splay", splay=2)) == {0, 1}


def test_each_life_has_a_phase_of_its_own_and_both_modes_the_same():
    assert phases(5) != phases(5, life=1)
    assert phases(5) == phases(5, mode="fixed-rate")


def test_a_fast_clock_shortens_the_phase():
    for true, fast in zip(phases(20), phases(20, ppm=1000.0), strict=True):
        assert fast == pytest.approx(true / 1.001, abs=2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phase": "odd"}, "phase: got 'odd'"),
        ({"mode": "odd"}, "heartbeat mode: got 'odd'"),
        ({"ppm": -1e6}, "clock drift: got -1000000"),
        ({"ppm": float("nan")}, "clock drift: got nan"),
    ],
)
def test_what_is_no_heartbeat_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        phases(1, **change)
