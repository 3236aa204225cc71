from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cadence.heartbeats import JITTERS, NONE, NORMAL, SECOND, WILD, heartbeat

from fleetbeat.cadence import make_cadence
from fleetbeat.cadence.clock import JITTER, STREAM
from fleetbeat.cadence.make import FixedRate
from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step

kinds = st.sampled_from(sorted(JITTERS))


def cadence(jitter=NONE, agent="a-3", life=0, ppm=0.0, **fields) -> FixedRate:
    made = make_cadence(heartbeat(jitter, "fixed-rate", **fields), Hashed(1), agent, life, ppm)
    assert isinstance(made, FixedRate)
    return made


@pytest.mark.parametrize("kind", JITTERS)
@pytest.mark.parametrize("phase", ["random", "aligned"])
@pytest.mark.parametrize("interval", [SECOND, 1_000_001])
def test_ticks_strictly_follow_each_other_and_none_lies_before_the_origin(kind, phase, interval):
    beats = cadence(JITTERS[kind], phase=phase, interval=interval)
    times = [beats.tick(k) for k in range(2000)]
    assert times[0] >= 0
    assert all(a < b for a, b in itertools.pairwise(times))


def test_a_tick_is_its_place_plus_its_own_jitter():
    beats = cadence(NORMAL, life=1)
    for k in (1, 5, 10**6, 2**32 - 1):
        jitter = draw(NORMAL, Hashed(1), STREAM, Step("a-3", 1, k, JITTER), at_least=None)
        assert beats.tick(k) == beats.phase_ns + k * SECOND + jitter


def test_jitter_is_cut_to_two_fifths_of_an_interval():
    beats = cadence(WILD, phase="aligned")
    offsets = {beats.tick(k) - k * SECOND for k in range(1, 200)}
    assert (min(offsets), max(offsets)) == (-2 * SECOND // 5, 2 * SECOND // 5)


@pytest.mark.parametrize("kind", JITTERS)
def test_work_that_is_given_room_is_over_before_any_next_tick(kind):
    beats = cadence(JITTERS[kind], phase="aligned")
    gaps = [b - a for a, b in itertools.pairwise(beats.tick(k) for k in range(5000))]
    room = max(work for work in (1, SECOND // 10, SECOND // 5 - 1, SECOND - 1) if beats.leaves_room_for(work))
    assert room == (SECOND - 1 if kind == "none" else SECOND // 5 - 1)
    assert min(gaps) > room
    assert not beats.leaves_room_for(room + 1)


@given(kinds, st.integers(-2 * SECOND, 10**16), st.integers(0, 10**6), st.sampled_from([0.0, 99.0]), st.integers(-2, 2))
def test_reach_is_the_first_tick_at_or_after_the_target(kind, target, first, ppm, off):
    beats = cadence(JITTERS[kind], ppm=ppm)
    for aim in (target, beats.tick(first) + off):
        k = beats.reach(aim, 10 * SECOND, first)
        assert k >= first
        assert beats.tick(k) >= aim
        assert k == first or beats.tick(k - 1) < aim


def test_a_fast_clock_ticks_sooner():
    assert cadence(phase="aligned", ppm=1000.0).tick(1001) == 1001 * round(SECOND / 1.001)


def test_negative_beats_are_refused():
    with pytest.raises(ValueError, match="got -1"):
        cadence().tick(-1)
