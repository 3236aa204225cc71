from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cadence.heartbeats import JITTERS, MS, NONE, NORMAL, SECOND, UNIFORM, Normal, heartbeat

from fleetbeat.cadence import make_cadence
from fleetbeat.cadence.clock import JITTER, STREAM
from fleetbeat.cadence.make import FixedDelay
from fleetbeat.cadence.waits_normal import BEATS, DEPTH
from fleetbeat.chance.choices import Hashed, Overrides
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step

kinds = st.sampled_from(sorted(JITTERS))


def cadence(jitter=NONE, agent="a-3", life=0, ppm=0.0, choices=None, **fields) -> FixedDelay:
    made = make_cadence(heartbeat(jitter, **fields), choices or Hashed(1), agent, life, ppm)
    assert isinstance(made, FixedDelay)
    return made


class Counting(Hashed):
    """Counts draws."""

    drawn = 0

    def bits(self, stream, step):
        self.drawn += 1
        return super().bits(stream, step)


@pytest.mark.parametrize("kind", JITTERS)
@pytest.mark.parametrize("ppm", [0.0, 250.0])
def test_beats_strictly_follow_each_other_from_the_phase_on(kind, ppm):
    beats = cadence(JITTERS[kind], ppm=ppm)
    times = [beats.elapsed(k) for k in range(3000)]
    assert times[0] == beats.phase_ns
    assert all(type(t) is int for t in times)
    assert all(a < b for a, b in itertools.pairwise(times))


def test_waits_without_jitter_are_the_interval():
    beats = cadence(phase="aligned")
    assert [beats.elapsed(k) for k in (0, 1, 2, 10**9)] == [0, SECOND, 2 * SECOND, 10**18]


@pytest.mark.parametrize("kind", ["uniform", "wild", "exponential", "lognormal", "empirical"])
@pytest.mark.parametrize("ppm", [0.0, -300.0])
def test_chunked_sums_are_the_sums_of_single_waits(kind, ppm):
    choices, rate = Hashed(1), 1.0 + ppm * 1e-6
    beats = cadence(JITTERS[kind], ppm=ppm, life=2)
    expected = beats.phase_ns
    interval = SECOND if ppm == 0.0 else round(SECOND / rate)
    for k in range(2100):
        assert beats.elapsed(k) == expected
        jitter = draw(JITTERS[kind], choices, STREAM, Step("a-3", 2, k, JITTER), at_least=None)
        expected += max(1, interval + (jitter if ppm == 0.0 else round(jitter / rate)))


@given(kinds, st.lists(st.integers(0, 2 * BEATS + 5), max_size=4), st.sampled_from([0.0, 40.5]))
def test_elapsed_is_the_same_in_whatever_order_it_is_asked(kind, questions, ppm):
    if kind not in ("none", "normal", "shifted"):
        questions = [k % 5000 for k in questions]
    asked = cadence(JITTERS[kind], ppm=ppm)
    for k in questions:
        alone = cadence(JITTERS[kind], ppm=ppm)
        assert asked.elapsed(k) == alone.elapsed(k)
        assert asked.reach(asked.elapsed(k)) == k
        assert asked.elapsed(k + 1) == alone.elapsed(k + 1) > alone.elapsed(k)


@given(
    kinds,
    st.integers(-SECOND, 2500 * SECOND),
    st.sampled_from([0, 1, 3 * MS, 2 * SECOND]),
    st.integers(0, 2200),
    st.sampled_from([0.0, -77.7]),
)
def test_reach_is_what_walking_the_beats_finds(kind, target, work, first, ppm):
    beats = WALKED.get((kind, ppm)) or WALKED.setdefault((kind, ppm), cadence(JITTERS[kind], ppm=ppm))
    k = first
    while beats.elapsed(k) + (k - first) * work < target:
        k += 1
    assert cadence(JITTERS[kind], ppm=ppm).reach(target, work, first) == k
    assert beats.reach(target, work, first) == k


WALKED: dict = {}


@pytest.mark.parametrize("kind", sorted(set(JITTERS) - {"wild"}))  # its waits may be 1 ns
@pytest.mark.parametrize("k", [0, 1, 2, 1023, 1024, 1025, 2048])
def test_reach_is_exact_to_the_nanosecond_at_the_edges_of_chunks(kind, k):
    beats = cadence(JITTERS[kind])
    at = beats.elapsed(k)
    assert (beats.reach(at), beats.reach(at + 1), beats.reach(at - 1)) == (k, k + 1, k)


@pytest.mark.parametrize("k", [BEATS - 1, BEATS, BEATS + 1, 3 * BEATS, 3 * BEATS + 2**16, 5 * BEATS - 1])
def test_reach_is_exact_to_the_nanosecond_at_the_edges_of_blocks(k):
    at = cadence(NORMAL).elapsed(k)
    for beats in (cadence(NORMAL), cadence(NORMAL)):
        assert (beats.reach(at), beats.reach(at + 1), beats.reach(at - 1)) == (k, k + 1, k)
    assert cadence(NORMAL).reach(at + 5 * MS, MS, k - 5) == k
    assert cadence(NORMAL).reach(at + 5 * MS + 1, MS, k - 5) == k + 1


def test_far_beats_cost_few_draws_and_near_ones_fewer():
    choices = Counting(1)
    beats = cadence(NORMAL, choices=choices)
    choices.drawn = 0
    beats.elapsed(BEATS - 1)
    assert choices.drawn <= DEPTH + 1
    choices.drawn = 0
    found = beats.reach(10**15 // 9)
    assert choices.drawn <= DEPTH
    choices.drawn = 0
    for k in range(found, found + 256):
        beats.elapsed(k)
    assert choices.drawn <= 256 + 9
    choices.drawn = 0
    cadence(NORMAL, choices=choices).elapsed(5 * BEATS // 8)
    assert choices.drawn == 1 + 1 + 3  # phase, block, halves down to an eighth


def test_sums_without_jitter_draw_the_phase_alone():
    choices = Counting(1)
    beats = cadence(choices=choices)
    assert beats.reach(10**18) == 10**9
    assert choices.drawn == 1


def test_waits_stay_positive_even_where_the_scenario_should_have_been_refused():
    wild = Normal.model_construct(kind="normal", mean=0, sd=3 * SECOND)
    beats = cadence(wild)
    times = [beats.elapsed(k) for k in range(2000)]
    assert all(a < b for a, b in itertools.pairwise(times))


@pytest.mark.parametrize("agent", ["a-0", "a-1", "a-2", "a-3", "a-4"])
def test_blocks_keep_room_for_all_their_waits_whatever_was_drawn(agent):
    wild = Normal.model_construct(kind="normal", mean=0, sd=5000 * SECOND)
    beats = cadence(wild, agent=agent)
    for edge in (BEATS, 2 * BEATS, 3 * BEATS):
        times = [beats.elapsed(k) for k in range(edge - 3, edge + 4)]
        assert all(a < b for a, b in itertools.pairwise(times))


def test_a_mean_wait_below_a_nanosecond_is_refused():
    with pytest.raises(ValueError, match="heartbeat of a-3: mean wait: got 0 ns"):
        cadence(Normal.model_construct(kind="normal", mean=-SECOND, sd=1))


def test_agents_lives_and_seeds_have_their_own_jitter():
    for jitter in (NORMAL, UNIFORM):
        waits = {
            cadence(jitter, **change).elapsed(700) - cadence(jitter, **change).elapsed(0)
            for change in ({}, {"agent": "a-4"}, {"life": 1}, {"choices": Hashed(2)})
        }
        assert len(waits) == 4


def test_an_override_of_one_wait_moves_all_later_beats_by_its_change():
    step = Step("a-3", 0, 1500, JITTER)
    choices = Hashed(1, Overrides(bits={(STREAM, step): 0}))
    plain, forced = cadence(UNIFORM), cadence(UNIFORM, choices=choices)
    assert forced.elapsed(1500) == plain.elapsed(1500)
    assert forced.elapsed(1501) - forced.elapsed(1500) == SECOND - SECOND // 10
    change = forced.elapsed(1501) - plain.elapsed(1501)
    assert change != 0
    assert all(forced.elapsed(k) - plain.elapsed(k) == change for k in (1502, 2047, 2048, 4000))
    assert choices.unused == Overrides()


def test_a_fast_clock_waits_less():
    assert cadence(phase="aligned", ppm=1000.0).elapsed(1001) == 1001 * round(SECOND / 1.001)
    slow, true, fast = (cadence(NORMAL, ppm=ppm, phase="aligned").elapsed(50_000) for ppm in (-500.0, 0.0, 500.0))
    assert slow / true == pytest.approx(1.0005, rel=1e-6)
    assert fast / true == pytest.approx(0.9995, rel=1e-6)


@pytest.mark.parametrize("ask", [lambda c: c.elapsed(-1), lambda c: c.reach(5, 0, -1), lambda c: c.reach(5, -1)])
def test_negative_beats_and_work_are_refused(ask):
    with pytest.raises(ValueError, match="got -1"):
        ask(cadence(NORMAL))


def test_every_beat_has_time_for_any_work():
    assert cadence(NORMAL).leaves_room_for(10**15)
