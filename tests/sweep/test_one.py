"""One run in plain numbers, and common random numbers over cells."""

from __future__ import annotations

import pickle

import pytest

from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.sweep.one import METRICS, play

TEXT = """\
name: small
seed: 3
duration: 40s
fleet: {agents: 12, heartbeat: {interval: 1s}}
faults:
  - {id: bad, operation: read, probability: 20%, error: EIO}
rollouts: [{version: v1, at: 5s, targets: all, body: be kind}]
"""


def test_an_outcome_has_every_metric_and_travels() -> None:
    found = play(TEXT, (), 3)
    assert list(found.metrics) == list(METRICS)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found.metrics["applied"] == 1
    assert found.metrics["at_end"] == 1
    assert len(found.lags_ns) == found.metrics["fate_applied"] == 12
    assert found.metrics["lag_max"] == found.lags_ns[-1] / 1e9


def test_what_did_not_happen_is_none_and_not_zero() -> None:
    found = play(TEXT, ("faults.bad.probability=100%",), 3)
    assert found.metrics["lag_p50"] is None
    assert found.metrics["time_p50"] is None
    assert found.metrics["fate_applied"] == 0


def test_overrides_and_a_loaded_scenario_come_to_the_same() -> None:
    sets = ("fleet.heartbeat.interval=2s",)
    assert play(load(TEXT, overrides=sets), (), 5) == play(TEXT, sets, 5)
    with pytest.raises(ValueError, match="loaded scenario"):
        play(load(TEXT), sets, 5)


def test_an_added_fault_that_never_hits_changes_no_lag() -> None:
    more = "faults.+={id: other, operation: unlink, probability: 0%, error: EACCES}"
    assert play(TEXT, (more,), 9).lags_ns == play(TEXT, (), 9).lags_ns


def test_a_higher_fault_probability_meets_the_same_draws() -> None:
    """With draws of their own, one seed in two or so would have lower lags at the higher probability."""
    low = [play(TEXT, ("faults.bad.probability=10%",), seed) for seed in range(8)]
    high = [play(TEXT, ("faults.bad.probability=40%",), seed) for seed in range(8)]
    for few, many in zip(low, high, strict=True):
        assert all(a <= b for a, b in zip(few.lags_ns, many.lags_ns, strict=True))


def test_a_workload_s_numbers_are_those_of_its_report_and_none_without_one() -> None:
    storm = play(find("bad-rule-rollout"), ["fleet.core=core-no-guard", "fleet.agents=20", "duration=5m"], 1).metrics
    calm = play(find("bad-rule-rollout"), ["fleet.agents=20", "duration=5m"], 1).metrics
    assert storm["self_triggered"] == storm["violations"] > 0 == calm["self_triggered"]
    assert storm["prepares"] > calm["prepares"] > 0
    assert calm["suppressed"] > 0
    assert storm["prepare_cost"] == pytest.approx(0.05 * storm["prepares"])
    plain = play(find("lost-update"), [], 1).metrics
    assert {name for name, value in plain.items() if value is None} >= {"prepares", "self_triggered", "guard_met"}
