"""Two plans on the same bad days: the same draws on both sides, differences seed by seed, and intervals that hold."""

from __future__ import annotations

from math import comb

import pytest

from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.load import load
from fleetbeat.sweep.execute import ExecuteError
from fleetbeat.sweep.pairs import (
    COMPARED,
    SHOWN,
    Got,
    Numbers,
    Task,
    compared,
    differing,
    paired,
    play_pairs,
    play_side,
    share_difference,
    verdicts,
)
from fleetbeat.sweep.pairs_words import alike, differs, sentence

TEXT = """\
name: small
seed: 5
duration: 3m
fleet: {{agents: 10, start: {{rules: old}}}}
faults:
  - {{operation: read, probability: 20%, error: EIO}}
rollouts:
  - {{version: v1, at: 5s, targets: all, body: be kind}}
  - {{version: v2, at: 20s, targets: all, body: be rude, bad: true, errors_per_hour: 300, {plan}}}
"""
HASTY = load(TEXT.format(plan="waves: [{upto: 20%, bake: 10s}, {upto: 100%}]"))
GATED = load(
    TEXT.format(
        plan="waves: [{upto: 20%, bake: 20s}, {upto: 100%, bake: 20s}],"
        " gate: {errors_per_hour: 30}, on_failure: rollback, rollback_to: v1"
    )
)
SEEDS = range(5, 17)


def played(first: str, second: str, jobs: int = 1) -> list[tuple[Numbers, Numbers]]:
    got: list[Got] = []
    play_pairs((first, second), SEEDS, jobs, lambda done, of: None, got)
    return paired(got, SEEDS)


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Numbers, Numbers]]:
    return played(dump(HASTY), dump(GATED))


def test_a_gate_spares_agents_the_bad_version_and_the_difference_says_by_how_much(
    pairs: list[tuple[Numbers, Numbers]],
) -> None:
    rows = {row.metric: row for row in compared(pairs, SHOWN)}
    exposure = rows["exposure"]
    assert differs(exposure)
    assert exposure.apart.value == pytest.approx((exposure.second.value or 0) - (exposure.first.value or 0))
    assert (exposure.apart.value or 0) < -500
    assert rows["slipped"].statistic == "share"
    assert rows["slipped"].first.value == 1


def test_both_sides_meet_the_same_faults(pairs: list[tuple[Numbers, Numbers]]) -> None:
    """Up to the second rollout both plans are the same, so that the first version's lags are too, seed by seed."""
    assert [one["good_p99"] for one, _ in pairs] == [two["good_p99"] for _, two in pairs]
    assert len({one["good_p99"] for one, _ in pairs}) > 3, "seeds differ"


def test_a_plan_against_itself_differs_in_nothing() -> None:
    rows = compared(played(dump(HASTY), dump(HASTY)), SHOWN)
    assert [row.metric for row in rows if differs(row)] == []
    assert all(row.apart.value in (0, None) for row in rows)


@pytest.mark.slow
def test_workers_come_to_the_same(pairs: list[tuple[Numbers, Numbers]]) -> None:
    assert played(dump(HASTY), dump(GATED), jobs=2) == pairs


def test_a_seed_of_which_one_side_was_not_played_is_left_out() -> None:
    numbers: Numbers = dict.fromkeys(COMPARED, 1.0)
    got = [Got(side, seed, "held", numbers) for side, seed in ((0, 5), (1, 6), (1, 5), (0, 7))]
    assert paired(got, SEEDS) == [(numbers, numbers)]
    assert verdicts([*got, Got(0, 9, "vacuous", numbers)], 0) == {"held": 2, "vacuous": 1}


def test_a_pair_of_which_one_has_no_value_is_left_out_of_the_difference_alone() -> None:
    pairs = [({"finish": None if n < 4 else float(n)}, {"finish": float(n + 2)}) for n in range(20)]
    row = compared([(dict(a), dict(b)) for a, b in pairs], ["finish"])[0]
    assert (row.first.count, row.second.count, row.apart.count, row.apart.value) == (16, 20, 16, 2.0)


def test_a_count_that_is_more_than_one_somewhere_is_no_share() -> None:
    pairs: list[tuple[Numbers, Numbers]] = [({"slipped": 1.0}, {"slipped": 0.0})] * 9 + [
        ({"slipped": 2.0}, {"slipped": 0.0})
    ]
    assert compared(pairs, ["slipped"])[0].statistic == "mean"
    assert compared(pairs[:9], ["slipped"])[0].statistic == "share"


def test_a_worker_of_another_version_says_so() -> None:
    with pytest.raises(ExecuteError, match=r"expected 9\.9 as where it was started"):
        play_side(Task(0, dump(HASTY), (1,), version="9.9"))


def test_what_two_scenarios_differ_in_besides_their_plans_is_named() -> None:
    assert differing(HASTY, GATED) == []
    assert differing(HASTY, HASTY.model_copy(update={"faults": ()})) == ["faults"]
    other = HASTY.rollouts[1].model_copy(update={"bad": False})
    assert len(differing(HASTY, HASTY.model_copy(update={"rollouts": (HASTY.rollouts[0], other)}))) == 1


# --- paired shares ---


def _pairs(yes: int, second: int, first: int, no: int) -> list[tuple[bool, bool]]:
    return [(True, True)] * yes + [(False, True)] * second + [(True, False)] * first + [(False, False)] * no


def test_the_interval_of_a_difference_of_paired_shares_is_the_published_one() -> None:
    """Newcombe 1998, table III: 36, 12, 2, 0 pairs."""
    found = share_difference(_pairs(36, 12, 2, 0))
    assert (found.value, round(found.low or 0, 4), round(found.high or 0, 4)) == (pytest.approx(0.2), 0.0569, 0.3404)


def test_where_no_run_differs_the_interval_is_no_point() -> None:
    found = share_difference(_pairs(0, 0, 0, 50))
    assert found.value == 0
    assert (found.low or 0) < -0.01
    assert share_difference([]).why == "no pairs"


def test_the_other_way_round_the_interval_is_mirrored() -> None:
    one, other = share_difference(_pairs(10, 7, 3, 20)), share_difference(_pairs(10, 3, 7, 20))
    assert (one.low, one.high) == (pytest.approx(-(other.high or 0)), pytest.approx(-(other.low or 0)))


def test_what_the_two_have_in_common_makes_the_interval_narrower() -> None:
    """The same shares, 22 of 44 each: pairs that agree, and pairs that know nothing of each other."""
    alike, apart = share_difference(_pairs(20, 2, 2, 20)), share_difference(_pairs(11, 11, 11, 11))
    assert (alike.high or 0) < 0.6 * (apart.high or 0)


@pytest.mark.parametrize(
    "law", [(0.5, 0.2, 0.1, 0.2), (0.05, 0.1, 0.02, 0.83), (0.1, 0.5, 0.1, 0.3), (0.2, 0.3, 0.3, 0.2)]
)
def test_the_interval_holds_the_difference_in_nineteen_of_twenty_or_more(
    law: tuple[float, float, float, float],
) -> None:
    """Coverage worked out, not sampled: every outcome of 24 pairs with its probability. Where few pairs differ it is too
    wide rather than too narrow. Wald's interval falls to 91 % in the second law."""
    count, truth, covered = 24, law[1] - law[2], 0.0
    for a in range(count + 1):
        for b in range(count - a + 1):
            for c in range(count - a - b + 1):
                d = count - a - b - c
                ways = comb(count, a) * comb(count - a, b) * comb(count - a - b, c)
                chance = ways * law[0] ** a * law[1] ** b * law[2] ** c * law[3] ** d
                if chance > 1e-7:
                    found = share_difference(_pairs(a, b, c, d))
                    covered += chance * ((found.low or 0) <= truth <= (found.high or 0))
    assert 0.94 <= covered <= 0.99


# --- words ---


def test_a_sentence_says_which_way_by_how_much_with_which_certainty_and_whether_that_is_good(
    pairs: list[tuple[Numbers, Numbers]],
) -> None:
    rows = {row.metric: row for row in compared(pairs, COMPARED)}
    said = sentence(rows["exposure"], "hasty", "gated")
    assert said.startswith("exposure (agents x time on a bad version, agent-seconds): gated ")
    assert " less (95 %: " in said
    assert said.endswith(", better, 12 pairs.")
    more = [({"lag_p99": 1.0 + n / 100}, {"lag_p99": 2.0 + n / 90}) for n in range(20)]
    assert ", worse, " in sentence(compared([(dict(a), dict(b)) for a, b in more], ["lag_p99"])[0], "a", "b")
    high = [({"at_end": 0.1 + n / 100}, {"at_end": 0.5 + n / 90}) for n in range(20)]
    assert ", better, " in sentence(compared([(dict(a), dict(b)) for a, b in high], ["at_end"])[0], "a", "b")


def test_what_does_not_differ_and_what_nobody_has_is_said_too(pairs: list[tuple[Numbers, Numbers]]) -> None:
    said = alike(compared(pairs, SHOWN))
    assert any("No difference is shown in" in line and "gaps" in line for line in said)
    assert "No pair of runs has stop_after on both sides." in said
