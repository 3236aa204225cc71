"""What a run comes to: exit codes, words and reasons under every kind of expectation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.histories.build import Story
from tests.histories.tell import V1, V2, applied, lost_update, started

from fleetbeat.checks import Check, Decision, Finding, Invariant, World, decide, judge
from fleetbeat.checks.lag import lags, nearest_rank, reached
from fleetbeat.history.records import Record

SECOND = 1_000_000_000


def held() -> list[Record]:
    """v1 applied everywhere, nothing broken: canonical was replaced by rename."""
    story = started().rollout("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).canonical(3.02, "v1", "replaced")
    return story.prompt(3.05, "v1").log(3.06).idle(4, 16).history()


def broken() -> list[Record]:
    return lost_update().rollout("v1").rollout("v2").history()


def decided(records: list[Record], extra: Iterable[Check] = (), **expect: Any) -> Decision:
    return decide(expect, judge(records, tuple(extra)), records)


def check(run: Callable[[World], list[Finding]], name: str = "mine") -> Check:
    return Check(Invariant(name, "mine"), run)


def hazard(world: World) -> list[Finding]:
    return [Finding("mine", "hazard", "agent", 0, "a hazard")]


def raising(world: World) -> list[Finding]:
    raise ValueError("oops")


# --- invariants ---


def test_a_run_in_which_all_holds_exits_0() -> None:
    assert decided(held()) == Decision(0, "held")


def test_a_gap_that_nobody_expected_exits_1_and_says_which() -> None:
    found = decided(broken())
    assert (found.exit_code, found.verdict) == (1, "broken")
    assert any(reason.startswith("no-silent-loss is broken: a-0: v2/a-0#1 landed") for reason in found.reasons)


def test_breaking_exactly_what_was_expected_exits_0() -> None:
    found = decided(broken(), broken=["no-silent-loss", "last-write-wins"])
    assert (found.exit_code, found.verdict) == (0, "broken-as-expected")


def test_breaking_more_than_expected_exits_1() -> None:
    found = decided(broken(), broken=["no-silent-loss"])
    assert found.exit_code == 1
    assert [reason.split()[0] for reason in found.reasons] == ["last-write-wins"]


def test_breaking_less_than_expected_exits_1_in_words() -> None:
    found = decided(held(), broken=["no-silent-loss"])
    assert found == Decision(1, "broken", ("no-silent-loss was expected to break, and it held",))


def test_an_expected_name_that_no_check_has_exits_1() -> None:
    assert "no check has that name" in decided(held(), broken=["no-such"]).reasons[0]


def test_a_hazard_fails_only_where_the_scenario_says_so() -> None:
    checks = [check(hazard)]
    assert decided(held(), checks).exit_code == 0
    assert decided(held(), checks, hazards=True).exit_code == 1
    assert decided(held(), checks, hazards=["mine"]).exit_code == 1
    assert decided(held(), checks, hazards=["other"]).exit_code == 0
    assert decided(held(), checks, hazards=[]).exit_code == 0


def test_a_hazard_alone_counts_where_it_was_expected_to_break_or_to_be_met() -> None:
    assert decided(held(), [check(hazard)], broken=["mine"], hazards=True).verdict == "broken-as-expected"
    assert decided(held(), [check(hazard)], sometimes=[{"broken": "mine"}]).exit_code == 0


# --- unknown ---


def test_an_unknown_verdict_with_nothing_broken_exits_3() -> None:
    found = decided(held(), [check(raising)])
    assert (found.exit_code, found.verdict) == (3, "unknown")
    assert "oops" in found.reasons[0]


def test_an_unknown_verdict_beside_a_broken_one_exits_1_and_is_told_as_well() -> None:
    found = decided(broken(), [check(raising)])
    assert found.exit_code == 1
    assert "mine is unknown" in found.reasons[-1]


def test_an_unknown_verdict_is_neither_the_break_that_was_expected_nor_a_failure() -> None:
    assert decided(held(), [check(raising)], broken=["mine"]).exit_code == 3


# --- thresholds ---


def test_convergence_within_the_time_is_met_and_missed() -> None:
    want = {"version": "v1", "share": 1.0, "within": SECOND}
    assert decided(held(), converge=[want]).exit_code == 0
    found = decided(held(), converge=[{**want, "within": SECOND // 2}])
    assert found.reasons == ("v1 became effective on 0 of 1 target within 500ms, expected at least 100%",)
    assert [(item.id, item.held) for item in found.thresholds] == [("converge v1", False)]


def test_convergence_counts_targets_of_the_rollout_not_posts() -> None:
    story = Story("v0", agents=("a-0", "a-1")).rollout("v1", "a-0", "a-1").boot(0, "v0").posts(2.5, V1, "v1")
    records = story.consumes(3, "v1").idle(4, 15).history()
    assert not decided(records, converge=[{"version": "v1", "share": "51%", "within": "10s"}]).thresholds[0].held
    assert decided(records, converge=[{"version": "v1", "share": "50%", "within": "10s"}]).thresholds[0].held


def test_convergence_of_a_version_that_nobody_rolled_out_is_missed() -> None:
    assert decided(held(), converge=[{"version": "v7", "share": 0.0, "within": SECOND}]).exit_code == 1


def test_an_unchanged_target_has_converged() -> None:
    records = started("v1").rollout("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).idle(4, 16).history()
    assert decided(records, converge=[{"version": "v1", "within": "1s"}]).exit_code == 0


def test_lag_limits_are_met_below_and_missed_at_the_limit() -> None:
    lag = 550_000_000
    assert decided(held(), lag=[{"quantile": 0.99, "below": lag + 1, "version": None}]).exit_code == 0
    assert "550ms" in decided(held(), lag=[{"quantile": 0.99, "below": lag}]).reasons[0]
    assert decided(held(), lag=[{"quantile": 0.5, "below": "1s", "version": "v9"}]).exit_code == 1


def test_bounds_on_fates_are_judged_at_both_ends() -> None:
    assert decided(held(), fates={"applied": [1, 1], "lost": [0, 0]}).exit_code == 0
    assert decided(held(), fates={"applied": (1, None)}).exit_code == 0
    assert "expected at least 2" in decided(held(), fates={"applied": [2, None]}).reasons[0]
    assert "expected from 0 to 0" in decided(held(), fates={"applied": [0, 0]}).reasons[0]


# --- vacuous ---


def test_a_run_in_which_no_post_began_is_vacuous() -> None:
    records = started().idle(3, 17).history()
    assert decided(records) == Decision(3, "vacuous", ("no post began",))
    records = started().planned(2, V1, "v1").ended(2.1, V1, "failed").idle(3, 17).history()
    assert decided(records).verdict == "vacuous"


def with_plan(**fields: Any) -> list[Record]:
    story = applied()
    plan = {"fault": "f", "means": "EIO on read", "on": "agents", "targets": ["a-0"], "from": 0, "to": None}
    return story.rollout("v1").plan("fault.plan", **{**plan, **fields}).idle(14, 6).history()


@pytest.mark.parametrize("probability", [None, 1])
def test_a_fault_that_must_strike_and_never_fired_makes_the_run_vacuous(probability: float | None) -> None:
    records = with_plan(operation="read", probability=probability)
    other = Story().fault(15, "stat", ".rules").told[-1]
    found = decided([*records[:-1], Record(other.t, other.actor, "fault", {**other.fields, "fault": "g"}), records[-1]])
    assert (found.exit_code, found.reasons) == (3, ("fault f never fired: EIO on read",))


@pytest.mark.parametrize("fields", [{"operation": "read", "probability": 0.5}, {"operation": None}])
def test_a_fault_left_to_chance_may_stay_away_unless_no_fault_fired_at_all(fields: dict[str, Any]) -> None:
    records = with_plan(**fields)
    assert (decided(records).exit_code, decided(records).reasons) == (3, ("no fault fired at all",))
    other = Story().fault(15, "stat", ".rules").told[-1]
    assert decided([*records[:-1], other, records[-1]]).exit_code == 0


def test_a_fault_of_probability_zero_is_none() -> None:
    assert decided(with_plan(operation="read", probability=0)).exit_code == 0


def test_a_run_that_parts_from_its_case_is_vacuous() -> None:
    records = applied().rollout("v1").idle(14, 6).history()
    unmet = Record(records[-1].t, "harness", "choice.unmet", {"choice": "tie of a-9"})
    held = Record(records[-1].t, "harness", "hold.unmet", {"step": "a", "until": "b"})
    found = decided([*records[:-1], unmet, held, records[-1]])
    assert found.exit_code == 3
    assert [reason.split(" decided")[0].split(" until")[0] for reason in found.reasons] == [
        "the case's tie of a-9",
        "the case holds a",
    ]


def test_a_fault_that_fired_is_enough() -> None:
    records = with_plan(operation="stat")
    fired = Story().fault(15, "stat", ".rules").told[-1]
    assert decided([*records[:-1], fired, records[-1]]).exit_code == 0


@pytest.mark.parametrize(
    ("item", "count"),
    [
        ({"fate": "applied"}, 1),
        ({"fate": "lost"}, 1),
        ({"event": "rules_loaded"}, 1),
        ({"event": "crash"}, 1),
        ({"event": "restart"}, 1),
        ({"event": "rebuild"}, 1),
        ({"event": "stall"}, 2),
        ({"event": "pause"}, 1),
        ({"event": "spawn"}, 1),
        ({"event": "retry"}, 1),
        ({"event": "timeout"}, 1),
        ({"event": "leftover"}, 1),
        ({"fault": "f"}, 2),
        ({"broken": "no-silent-loss"}, 1),
    ],
)
def test_a_state_that_must_be_reached_is_counted(item: dict[str, Any], count: int) -> None:
    story = (
        lost_update()
        .fault(14, "emit")
        .fault(14.1, "emit")
        .rebuild(14.2, 14.3, "v1")
        .dies(14.4)
        .boot(14.5, "v1", life=1)
    )
    story.add(15, "pause", agent="a-0", what="thread", end=15 * SECOND, fault=None)
    story.add(15, "pause", agent="a-0", what="thread", end=16 * SECOND, fault=None)
    story.add(15, "pause", agent="a-0", what="process", end=15 * SECOND, fault=None)
    story.spawns(16, "a-9", None).claim(17, V2, "timeout").planned(17.1, "v2/a-0#2", "v2", attempt=2)
    records = story.ended(17.2, "v2/a-0#2", "failed", leftover="/a-0/.rules.x").history()
    judgement = judge(records)
    name = next(iter(item.values()))

    def told(least: int) -> bool | None:
        found = decide({"sometimes": [{**item, "at_least": least}]}, judgement, records)
        return next(one.held for one in found.thresholds if name in one.id)

    assert told(count) is True
    assert told(count + 1) is None


def test_a_state_not_reached_is_vacuous_in_words() -> None:
    found = decided(held(), sometimes=[{"fate": "torn", "at_least": 1}])
    assert found.reasons == ("fate torn happened 0 times, expected at least 1",)
    assert (found.exit_code, found.verdict) == (3, "vacuous")


def test_a_failure_comes_before_what_is_vacuous() -> None:
    found = decided(held(), fates={"applied": [5, None]}, sometimes=[{"fate": "torn"}])
    assert found.exit_code == 1
    assert len(found.reasons) == 2


# --- lag arithmetic ---


def test_nearest_rank_takes_the_value_that_a_share_does_not_exceed() -> None:
    hundred = list(range(1, 101))
    assert [nearest_rank(hundred, q) for q in (0.01, 0.5, 0.99, 0.991, 1)] == [1, 50, 99, 100, 100]
    assert nearest_rank([7], 0.5) == 7
    assert nearest_rank([], 0.5) is None
    assert nearest_rank(list(range(1, 11)), 0.7) == 7  # 0.7 * 10 is above 7 in binary


def test_lags_are_of_applied_posts_alone() -> None:
    records = applied().posts(14.5, "v1/a-0#2", "v1").beat(15, 15.1).vanished(15.01).history()
    fates = judge(records).fates
    assert lags(fates) == [530_000_000]
    assert lags(fates, "v2") == []
    assert reached(fates, "v1", 2 * SECOND) == {"a-0": 1_030_000_000}
