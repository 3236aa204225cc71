from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cadence.heartbeats import JITTERS, NORMAL, SECOND, UNIFORM, Normal, heartbeat

from fleetbeat.cadence import make_cadence
from fleetbeat.cadence.vector import elapsed_array, foresee, phase_array, tick_array
from fleetbeat.cadence.waits_normal import BEATS
from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.vector import actor_hashes

NAMES = ["a-0", "a-1", "web-7"]
HASHES = actor_hashes(NAMES)
beats = st.lists(st.integers(0, 4 * BEATS), min_size=1, max_size=4)
drifts = st.sampled_from([0.0, 12.5, -800.0])
seeds = st.integers(0, 2**64 - 1)
phases = st.sampled_from(["random", "aligned", "splay"])


@given(beats, drifts, phases, st.sampled_from(["none", "normal", "shifted"]), st.integers(0, 2**64 - 1))
def test_fixed_delay_on_arrays_gives_the_same_integers(ks, ppm, phase, kind, seed):
    beat = heartbeat(JITTERS[kind], phase=phase, splay=7 * SECOND)
    many = elapsed_array(beat, seed, HASHES[:, None], 3, np.array(ks)[None, :], ppm)
    assert many.dtype == np.int64
    assert many.tolist() == [[make_cadence(beat, Hashed(seed), n, 3, ppm).elapsed(k) for k in ks] for n in NAMES]


@given(beats, drifts, phases, st.sampled_from(sorted(JITTERS)), st.integers(0, 2**64 - 1))
def test_fixed_rate_on_arrays_gives_the_same_integers(ks, ppm, phase, kind, seed):
    beat = heartbeat(JITTERS[kind], "fixed-rate", phase=phase, splay=7 * SECOND)
    many = tick_array(beat, seed, HASHES[:, None], 3, np.array([*ks, 0])[None, :], ppm)
    made = [make_cadence(beat, Hashed(seed), n, 3, ppm) for n in NAMES]
    assert many.tolist() == [[m.tick(k) for k in (*ks, 0)] for m in made]
    assert phase_array(beat, seed, HASHES, 3, ppm).tolist() == [m.phase_ns for m in made]


def test_lives_beats_and_drifts_may_differ_from_agent_to_agent():
    lives, ks, ppm = [0, 1, 65535], [BEATS, 17, 3 * BEATS - 1], [0.0, 500.0, -500.0]
    for beat, form in ((heartbeat(NORMAL), elapsed_array), (heartbeat(NORMAL, "fixed-rate"), tick_array)):
        many = form(beat, 5, HASHES, np.array(lives), np.array(ks), np.array(ppm))
        alone = [
            make_cadence(beat, Hashed(5), name, life, drift)
            for name, life, drift in zip(NAMES, lives, ppm, strict=True)
        ]
        asked = [a.elapsed(k) if a.mode == "fixed-delay" else a.tick(k) for a, k in zip(alone, ks, strict=True)]
        assert many.tolist() == asked


def test_the_cut_that_keeps_waits_positive_is_the_same_on_arrays():
    wild = heartbeat(Normal.model_construct(kind="normal", mean=0, sd=5000 * SECOND))
    ks = [*range(40), *range(BEATS - 2, BEATS + 3), 3 * BEATS, 3 * BEATS + 1]
    many = elapsed_array(wild, 5, HASHES[:, None], 0, np.array(ks)[None, :])
    assert many.tolist() == [[make_cadence(wild, Hashed(5), n, 0).elapsed(k) for k in ks] for n in NAMES]


def test_no_agents_give_no_beats():
    none = np.array([], dtype=np.uint64)
    assert elapsed_array(heartbeat(NORMAL), 5, none, 0, 7).shape == (0,)


def test_what_has_no_form_on_arrays_is_refused():
    with pytest.raises(ValueError, match="got uniform, expected none or normal"):
        elapsed_array(heartbeat(UNIFORM), 5, HASHES, 0, 7)
    with pytest.raises(ValueError, match="beat: got -1"):
        elapsed_array(heartbeat(), 5, HASHES, 0, -1)
    with pytest.raises(ValueError, match="mean wait: got 0 ns"):
        elapsed_array(heartbeat(Normal.model_construct(kind="normal", mean=-SECOND, sd=1)), 5, HASHES, 0, 7)
    with pytest.raises(ValueError, match="clock drift"):
        elapsed_array(heartbeat(), 5, HASHES, 0, 7, np.array([0.0, 2e6, 0.0]))


@given(st.lists(st.integers(-SECOND, 3 * BEATS * SECOND), min_size=3, max_size=3), st.integers(0, SECOND), seeds)
def test_what_is_foreseen_changes_no_answer(targets, work, seed):
    def made():
        return [make_cadence(heartbeat(NORMAL), Hashed(seed), name, 2) for name in NAMES]

    known, alone = made(), made()
    foresee(one.question(target, work, 3) for one, target in zip(known, targets, strict=True))
    found = [one.reach(target, work, 3) for one, target in zip(known, targets, strict=True)]
    assert found == [one.reach(target, work, 3) for one, target in zip(alone, targets, strict=True)]
    assert [one.elapsed(k) for one, k in zip(known, found, strict=True)] == [
        one.elapsed(k) for one, k in zip(made(), found, strict=True)
    ]


def test_what_is_foreseen_is_not_drawn_again(monkeypatch):
    known = make_cadence(heartbeat(NORMAL), Hashed(7), "a-0", 0)
    foresee([known.question(500 * SECOND, 10, 0)])
    monkeypatch.setattr(Hashed, "bits", None)
    assert 450 < known.reach(500 * SECOND, 10) < 550


def test_other_jitters_are_left_alone():
    drawn = make_cadence(heartbeat(UNIFORM), Hashed(7), "a-0", 0)
    foresee([drawn.question(500 * SECOND, 10, 0)])
    foresee([])
    assert drawn.reach(500 * SECOND, 10) == make_cadence(heartbeat(UNIFORM), Hashed(7), "a-0", 0).reach(
        500 * SECOND, 10
    )
