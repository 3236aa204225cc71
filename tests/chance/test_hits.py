from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fleetbeat.chance.choices import Hashed, Overrides
from fleetbeat.chance.hits import BLOCK, is_hit, next_hit
from fleetbeat.chance.step import Step

LOOK = Step("a-3/beat", 0, 0, "stat", ".rules")
READ = LOOK._replace(operation="read")


def hits(p: float, step: Step, count: int, choices: Hashed | None = None) -> list[int]:
    choices = choices or Hashed(1)
    return [e for e in range(count) if is_hit(p, choices, "f", step._replace(episode=e))]


@pytest.mark.parametrize("step", [LOOK, READ, LOOK._replace(operation="list"), LOOK._replace(nth=3)])
@pytest.mark.parametrize("p", [0.001, 0.03, 0.5, 0.97])
def test_a_share_p_of_the_steps_is_hit(step, p):
    n = 60_000
    assert abs(len(hits(p, step, n)) - n * p) < 4 * math.sqrt(n * p * (1 - p))


@pytest.mark.parametrize("step", [LOOK, READ])
def test_gaps_between_hits_are_geometric_also_across_blocks(step):
    found = hits(0.02, step, 120_000)
    gaps = [b - a for a, b in itertools.pairwise(found)]
    edges = [0, 5, 10, 20, 30, 50, 80, 120, 200, 10**9]
    law = stats.geom(0.02).cdf(edges)
    counts = [sum(low < g <= high for g in gaps) for low, high in itertools.pairwise(edges)]
    expected = [(b - a) * len(gaps) for a, b in itertools.pairwise(law)]
    assert stats.chisquare(counts, expected).pvalue > 0.01


def test_every_place_of_a_block_is_hit_equally_often():
    p = 0.05
    found = hits(p, LOOK, 400 * BLOCK)
    places = [0] * 16
    for episode in found:
        places[episode % BLOCK // 64] += 1
    assert stats.chisquare(places).pvalue > 0.001  # one seed in a thousand fails: this one does not
    assert abs(sum(e % BLOCK == 0 for e in found) - 400 * p) < 4 * math.sqrt(400 * p)
    assert abs(sum(e % BLOCK == BLOCK - 1 for e in found) - 400 * p) < 4 * math.sqrt(400 * p)


@pytest.mark.parametrize(
    "changed", [{"actor": "a-4/beat"}, {"life": 1}, {"path": "system/rules.md"}, {"nth": 1}, {"operation": "list"}]
)
def test_looking_steps_of_another_name_are_hit_independently(changed):
    ours, theirs = set(hits(0.1, LOOK, 20_000)), set(hits(0.1, LOOK._replace(**changed), 20_000))
    assert abs(len(ours & theirs) - 200) < 4 * math.sqrt(200)


def test_a_greater_probability_hits_the_same_reads_and_more():
    small, large = set(hits(0.1, READ, 5000)), set(hits(0.2, READ, 5000))
    assert small < large


@pytest.mark.parametrize("step", [LOOK, READ])
def test_nought_never_hits_and_one_always(step):
    assert hits(0.0, step, 3000) == []
    assert hits(1.0, step, 3000) == list(range(3000))
    assert next_hit(0.0, Hashed(1), "f", step, 10**9) is None
    assert next_hit(1.0, Hashed(1), "f", step, 10**9) == 1


def test_a_tiny_probability_is_not_rounded_away_and_costs_a_draw_a_block():
    p, choices = 1e-5, Hashed(1)
    first = [next_hit(p, choices, "f", LOOK._replace(actor=f"a-{i}"), 2_000_000) for i in range(60)]
    assert all(f is not None for f in first)
    mean = sum(f for f in first if f is not None) / 60
    assert abs(mean - 1 / p) < 4 / p / math.sqrt(60)
    assert next_hit(1e-300, choices, "f", LOOK, 100_000) is None


@given(
    st.sampled_from([LOOK, READ, LOOK._replace(nth=2, life=1)]),
    st.sampled_from([0.0, 0.0005, 0.01, 0.4, 1.0]),
    st.integers(0, 2500),
    st.integers(-1, 2600),
    st.dictionaries(st.integers(0, 2600), st.sampled_from([0, 2**62, 2**64 - 1]), max_size=6),
)
def test_next_hit_agrees_with_is_hit(step, p, start, limit, forced):
    overrides = Overrides(bits={("f", step._replace(episode=e)): bits for e, bits in forced.items()})
    choices = Hashed(7, overrides)
    naive = next(
        (e for e in range(start + 1, limit + 1) if is_hit(p, choices, "f", step._replace(episode=e))),
        None,
    )
    assert next_hit(p, Hashed(7, overrides), "f", step._replace(episode=start), limit) == naive


@pytest.mark.parametrize("p", [0.01, 0.4])
@pytest.mark.parametrize("step", [LOOK, READ])
def test_next_hit_looks_no_further_than_its_limit_and_no_nearer(p, step):
    found, choices = hits(p, step, 2 * BLOCK + 100), Hashed(1)
    for start in [*range(-1, 200), *range(BLOCK - 5, BLOCK + 5), *range(2 * BLOCK - 5, 2 * BLOCK + 50)]:
        for limit in range(start, start + 4):
            expected = next((e for e in found if start < e <= limit), None)
            assert next_hit(p, choices, "f", step._replace(episode=start), limit) == expected


@pytest.mark.parametrize("step", [LOOK, READ])
def test_next_hit_goes_on_behind_a_hit_that_an_override_took_away(step):
    first, second, third = hits(0.02, step, 3000)[:3]
    taken = {("f", step._replace(episode=e)): 2**64 - 1 for e in (first, second)}
    choices = Hashed(1, Overrides(bits=taken))
    assert next_hit(0.02, choices, "f", step._replace(episode=first - 1), 3000) == third
    assert next_hit(0.02, choices, "f", step._replace(episode=first - 1), third - 1) is None


@pytest.mark.parametrize("step", [LOOK, READ])
def test_an_override_decides_its_own_step_and_no_other(step):
    plain = hits(0.02, step, 3000)
    free = next(e for e in range(2000, 3000) if e not in plain)
    overrides = {("f", step._replace(episode=plain[3])): 2**64 - 1, ("f", step._replace(episode=free)): 0}
    choices = Hashed(1, Overrides(bits=overrides))
    assert hits(0.02, step, 3000, choices) == sorted({*plain, free} - {plain[3]})
    assert choices.unused == Overrides()


def test_asking_in_any_order_gives_the_same_hits():
    choices = Hashed(1)
    backwards = [e for e in reversed(range(5000)) if is_hit(0.01, choices, "f", LOOK._replace(episode=e))]
    assert backwards[::-1] == hits(0.01, LOOK, 5000)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
def test_what_is_no_probability_is_refused(p):
    with pytest.raises(ValueError, match="expected 0 to 1"):
        is_hit(p, Hashed(1), "f", LOOK)
    with pytest.raises(ValueError, match="expected 0 to 1"):
        next_hit(p, Hashed(1), "f", LOOK, 5)
