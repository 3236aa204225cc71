"""Plans that cannot mean anything are refused where they stand, in words."""

from __future__ import annotations

import pytest

from fleetbeat.scenario.load import ScenarioError, load

TEXT = """\
fleet: {{agents: 3}}
rollouts:
  - {{version: v1, at: 1s, targets: all, body: one}}
  - {{version: v2, at: 5s, targets: all, {}}}
"""


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ("body: x, gate: {}", "rollouts.1.gate: got none of them, expected one of effective, lag, violations,"),
        ("body: x, gate: {every: 0s, violations: 0}", "rollouts.1.gate.every: got '0s', expected at least 1ms"),
        ("body: x, gate: {efective: 90%}", "did you mean 'effective'?"),
        ("body: x, gate: {effective: 190%}", "rollouts.1.gate.effective: got '190%'"),
        ("body: x, gate: {violations: -1}", "rollouts.1.gate.violations: got -1, expected at least 0"),
        ("body: x, gate: {lag: {quantile: 0, below: 1s}}", "rollouts.1.gate.lag.quantile: got 0"),
        ("body: ' ', gate: {effective: 90%}", "expected no effective, for a blank body never becomes effective"),
        (
            "body: x, on_failure: rollback, rollback_to: v1",
            "expected abort, for without a gate or stop_on_failure nothing",
        ),
        (
            "body: x, gate: {violations: 0}, on_failure: rollback",
            "rollouts.1.rollback_to: got nothing, expected a version",
        ),
        (
            "body: x, gate: {violations: 0}, on_failure: rollback, rollback_to: v2",
            "expected a version that is rolled out before this one (v1)",
        ),
        ("body: x, gate: {violations: 0}, on_failure: rollback, rollback_to: v11", "did you mean 'v1'?"),
        (
            "body: x, rollback_to: v1",
            "rollouts.1.rollback_to: got 'v1', expected nothing, unless on_failure is rollback",
        ),
        (
            "body: x, waves: [{upto: 100%, approval: 5s}]",
            "waves.0.approval: got '5s', expected no approval, for no wave follows",
        ),
        ("body: x, waves: [{upto: 100%, hold_until: 5s}]", "expected no hold_until, for no wave follows"),
        (
            "body: x, waves: [{upto: 5%, approval: {kind: uniform, low: -1s, high: 1s}}, {upto: 100%}]",
            "approval.low: got '-1s', expected a duration, not below zero",
        ),
        ("body: x, errors_per_hour: 3601", "rollouts.1.errors_per_hour: got 3601, expected at most 3600"),
        ("body: x, bad: 1", "rollouts.1.bad: got 1, expected true or false"),
    ],
)
def test_a_plan_without_meaning_is_refused(plan: str, said: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(TEXT.format(plan), "x.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("x.yaml:4:")
    assert said in lines[0]


def test_a_rollback_to_a_blank_version_is_refused() -> None:
    text = TEXT.format("body: x, gate: {violations: 0}, on_failure: rollback, rollback_to: v1").replace("one", "' '")
    with pytest.raises(ScenarioError, match="a version with text, for a blank body puts nothing in place"):
        load(text)


def test_nobody_goes_back_to_a_version_that_is_still_to_come() -> None:
    text = TEXT.format("body: x, gate: {violations: 0}, on_failure: rollback, rollback_to: v1").replace(
        "at: 1s", "at: 9s"
    )
    with pytest.raises(ScenarioError, match="got 'v1', expected a version, and its rollout before this one"):
        load(text)


def test_two_rollouts_of_one_version_say_the_same_about_it() -> None:
    text = """\
fleet: {agents: 3}
rollouts:
  - {version: v1, at: 1s, targets: all, body: one, bad: true}
  - {version: v1, operator: other, at: 5s, targets: all, body: one, errors_per_hour: 2}
"""
    with pytest.raises(ScenarioError) as caught:
        load(text, "x.yaml")
    said = str(caught.value)
    assert "rollouts.1.bad: got nothing, expected true, as the rollout of v1 before it says" in said
    assert "rollouts.1.errors_per_hour: got 2, expected 0" in said


def test_a_gate_of_a_wave_stands_in_for_that_of_its_rollout() -> None:
    plan = "body: x, gate: {violations: 0}, waves: [{upto: 5%, gate: {violations: 2}}, {upto: 100%}]"
    rollout = load(TEXT.format(plan)).rollouts[1]
    assert rollout.waves[0].gate is not None
    assert rollout.waves[0].gate.violations == 2
    assert rollout.waves[1].gate is None
