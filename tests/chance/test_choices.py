from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetbeat.chance.choices import TIE, Hashed, Overrides, actor_hash, unit
from fleetbeat.chance.step import Step
from fleetbeat.chance.vector import actor_hashes, bits_array, bits_of_steps, uniform_array

STEP = Step("a-3/beat", 1, 77, "read", ".rules", 2)
names = st.text(max_size=6)
steps = st.builds(
    Step, names, st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1), names, names, st.integers(0, 2**16 - 1)
)
seeds = st.integers(0, 2**64 - 1)


@given(seeds, names, steps, steps)
def test_a_draw_depends_on_its_name_alone(seed, stream, step, other):
    fresh = Hashed(seed).bits(stream, step)
    busy = Hashed(seed)
    busy.bits(stream, other)
    busy.tie(step)
    assert busy.bits(stream, step) == fresh == busy.bits(stream, step)
    assert 0 <= fresh < 2**64


@pytest.mark.parametrize(
    "changed",
    [
        {"actor": "a-4/beat"}, {"life": 2}, {"episode": 78}, {"operation": "open"}, {"path": ".rule"}, {"nth": 1},
        {"life": 2, "nth": 1}, {"life": 0, "nth": 3},
    ],
)  # fmt: skip
def test_every_part_of_the_name_counts(changed):
    assert Hashed(1).bits("s", STEP) != Hashed(1).bits("s", STEP._replace(**changed))


def test_seed_and_stream_count():
    assert len({Hashed(seed).bits(stream, STEP) for seed in (1, 2, 2**64 - 1) for stream in ("s", "t", "")}) == 9


def test_parts_of_a_name_do_not_run_into_each_other():
    drawn = {
        Hashed(seed).bits(stream, Step("x", 0, 0, operation, path))
        for seed, stream, operation, path in [
            (1, "ab", "c", ""), (1, "a", "bc", ""), (1, "", "abc", ""), (1, "", "", "abc"), (1, "abc", "", ""),
            (11, "", "abc", ""), (1, "1", "abc", ""),
        ]
    }  # fmt: skip
    assert len(drawn) == 7


def test_names_that_are_no_text_can_be_drawn_for():
    assert Hashed(1).bits("s", Step("a", path="\udcff")) != Hashed(1).bits("s", Step("a", path="\udcfe"))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (STEP._replace(life=65536), "life: got 65536, expected 0 to 65535"),
        (STEP._replace(nth=65536), "nth: got 65536, expected 0 to 65535"),
        (STEP._replace(nth=-1), "nth: got -1, expected 0 to 65535"),
        (STEP._replace(episode=2**32), "episode: got 4294967296, expected 0 to 4294967295"),
        (STEP._replace(episode=-1), "episode: got -1"),
    ],
)
def test_a_step_beyond_the_counter_is_refused_in_words(step, message):
    with pytest.raises(ValueError, match=message):
        Hashed(1).bits("s", step)


def test_the_largest_step_can_be_drawn_and_differs_from_its_neighbours():
    top = STEP._replace(life=65535, nth=65535, episode=2**32 - 1)
    assert len({Hashed(1).bits("s", s) for s in (top, top._replace(nth=0), top._replace(life=0), STEP)}) == 4


@pytest.mark.parametrize("bits", [0, 1, 4095, 4096, 2**63, 2**64 - 4096, 2**64 - 1])
def test_units_lie_strictly_between_0_and_1_and_mirror_exactly(bits):
    u = unit(bits)
    assert 0.0 < u < 1.0
    assert unit(2**64 - 1 - bits) == 1.0 - u
    assert 1.0 - (1.0 - u) == u
    assert u == unit(bits | 4095)


def test_units_keep_order():
    assert unit(4095) < unit(4096)
    assert unit(2**63 - 1) < 0.5 < unit(2**63)


def test_each_bit_of_a_draw_is_one_half_of_the_time():
    drawn = bits_array(3, "s", actor_hash("a"), 0, np.arange(20_000), "o", "p")
    for bit in range(64):
        share = float(np.mean((drawn >> np.uint64(bit)) & np.uint64(1)))
        assert abs(share - 0.5) < 5 * math.sqrt(0.25 / 20_000)


# --- arrays -----------------------------------------------------------------------------------------------------------


@given(seeds, names, st.lists(steps, min_size=1, max_size=5))
def test_arrays_give_the_bits_of_single_draws(seed, stream, many):
    operation, path = many[0].operation, many[0].path
    lanes = [
        actor_hashes(s.actor for s in many),
        np.array([s.life for s in many]),
        np.array([s.episode for s in many]),
        np.array([s.nth for s in many]),
    ]
    alone = [Hashed(seed).bits(stream, s._replace(operation=operation, path=path)) for s in many]
    drawn = bits_array(seed, stream, lanes[0], lanes[1], lanes[2], operation, path, lanes[3])
    assert drawn.tolist() == alone
    floats = uniform_array(seed, stream, lanes[0], lanes[1], lanes[2], operation, path, lanes[3])
    assert floats.tolist() == [unit(b) for b in alone]


def test_arrays_longer_than_a_slice_and_of_any_shape_are_drawn_whole():
    actors, episodes = actor_hashes(["a", "b", "c"]), np.arange(7000)
    drawn = bits_array(9, "s", actors[:, None], 1, episodes[None, :], "o", "p", 4)
    assert drawn.shape == (3, 7000)
    for i, j in [(0, 0), (1, 3), (2, 2383), (2, 2384), (2, 6999)]:
        assert int(drawn[i, j]) == Hashed(9).bits("s", Step("abc"[i], 1, j, "o", "p", 4))


def test_drawing_leaves_the_callers_arrays_as_they_were():
    actors, episodes = actor_hashes(["a", "b"]), np.array([5, 6], dtype=np.uint64)
    nth = np.array([1, 2], dtype=np.uint64)
    bits_array(1, "s", actors, 0, episodes, nth=nth)
    assert (episodes.tolist(), nth.tolist(), actors.tolist()) == ([5, 6], [1, 2], actor_hashes(["a", "b"]).tolist())


@pytest.mark.parametrize("lanes", [{"life": [1, 65536]}, {"nth": [-1, 0]}, {"episode": [0, 2**32]}])
def test_arrays_refuse_what_single_draws_refuse(lanes):
    with pytest.raises(ValueError, match="expected 0 to"):
        bits_array(1, "s", actor_hash("a"), **{k: np.array(v) for k, v in lanes.items()})


def test_arrays_refuse_floats():
    with pytest.raises(ValueError, match="expected integers"):
        bits_array(1, "s", actor_hash("a"), episode=np.array([1.5]))


# --- overrides --------------------------------------------------------------------------------------------------------


def test_an_override_changes_its_own_choice_and_no_other():
    plain = Hashed(1)
    forced = Hashed(1, Overrides(bits={("s", STEP): 5}, ties={STEP: 6}, holds={STEP: Step("b")}))
    assert forced.bits("s", STEP) == 5
    assert forced.tie(STEP) == 6
    assert forced.hold(STEP) == Step("b")
    for other in (STEP._replace(episode=78), STEP._replace(actor="b")):
        assert forced.bits("s", other) == plain.bits("s", other)
        assert forced.tie(other) == plain.tie(other)
        assert forced.hold(other) is None
    assert forced.bits("t", STEP) == plain.bits("t", STEP)


def test_an_override_to_nought_is_an_override():
    forced = Hashed(1, Overrides(bits={("s", STEP): 0}, ties={STEP: 0}))
    assert (forced.bits("s", STEP), forced.tie(STEP), forced.forced("s", STEP)) == (0, 0, 0)


def test_a_tie_is_the_draw_of_the_stream_tie_and_can_be_overridden_as_either():
    assert Hashed(1).tie(STEP) == Hashed(1).bits(TIE, STEP) != Hashed(2).tie(STEP)
    assert Hashed(1, Overrides(bits={(TIE, STEP): 7})).tie(STEP) == 7


def test_a_replay_can_tell_which_overrides_were_never_asked_for():
    other = STEP._replace(nth=0)
    overrides = Overrides(
        bits={("s", STEP): 5, ("s", other): 6}, ties={STEP: 7, other: 8}, holds={STEP: other, other: STEP}
    )
    choices = Hashed(1, overrides)
    assert choices.unused == overrides
    choices.bits("s", STEP), choices.tie(other), choices.hold(STEP)
    assert choices.used == Overrides({("s", STEP): 5}, {other: 8}, {STEP: other})
    assert choices.unused == Overrides({("s", other): 6}, {STEP: 7}, {other: STEP})


def test_the_steps_of_overrides_are_listed_so_that_no_actor_skips_them():
    a, b, c, d = (STEP._replace(episode=e) for e in (4, 3, 2, 1))
    assert Overrides(bits={("s", a): 1, ("t", a): 1}, ties={b: 1}, holds={c: d}).steps() == (d, c, b, a)


def test_forced_episodes_are_those_of_the_same_name_in_order():
    overrides = {("s", STEP._replace(episode=e)): e for e in (30, 4, 9)}
    choices = Hashed(1, Overrides(bits={**overrides, ("t", STEP): 1, ("s", STEP._replace(nth=0)): 1}))
    assert choices.forced_episodes("s", STEP) == (4, 9, 30)
    assert choices.forced_episodes("t", STEP) == (77,)
    assert choices.forced_episodes("s", STEP._replace(life=0)) == ()


@pytest.mark.parametrize("value", [-1, 2**64])
def test_an_override_that_is_no_64_bits_is_refused(value):
    with pytest.raises(ValueError, match=f"got {value}, expected 0 to"):
        Overrides(bits={("s", STEP): value})
    with pytest.raises(ValueError, match=f"override of ties .* got {value}"):
        Overrides(ties={STEP: value})


@given(seeds, names, st.lists(steps, max_size=5))
def test_draws_for_many_steps_are_those_of_each(seed, stream, many):
    assert bits_of_steps(seed, stream, many).tolist() == [Hashed(seed).bits(stream, step) for step in many]
