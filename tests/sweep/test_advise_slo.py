"""Objectives in words: what each means, and what is refused in which words."""

from __future__ import annotations

import pytest

from fleetbeat.scenario.load import load
from fleetbeat.sweep.advise_slo import AdviseError, Objective, measurable, parse_cost, parse_slo, shown

TEXT = """\
name: small
duration: 40s
fleet: {agents: 3}
rollouts: [{version: v1, at: 5s, targets: all, body: be kind}, {version: v2, at: 30s, targets: all, body: be short}]
"""


@pytest.mark.parametrize(
    ("text", "kind", "bound", "unit", "share"),
    [
        ("p99 lag < 3s", "lag", 3.0, "s", 0.99),
        ("lag_p90<=250ms", "lag", 0.25, "s", 0.9),
        ("p99.9 lag < 1m", "lag", 60.0, "s", 0.999),
        ("max lag < 3s", "lag", 3.0, "s", 1.0),
        ("median lag < 3s", "lag", 3.0, "s", 0.5),
        ("pending < 1% after 10s", "pending", 0.01, "share", 0),
        ("at_end > 99%", "metric", 0.99, "share", 0),
        ("time_p99 < 30s", "metric", 30.0, "s", 0),
        ("fate_lost <= 2", "metric", 2.0, "number", 0),
    ],
)
def test_an_objective_is_read(text: str, kind: str, bound: float, unit: str, share: float) -> None:
    one = parse_slo(text)
    assert (one.kind, one.unit) == (kind, unit)
    assert one.bound == pytest.approx(bound)
    assert one.share == pytest.approx(share)
    assert one.below == (">" not in text)
    assert one.equal == ("=" in text)


def test_a_version_and_a_time_are_read() -> None:
    assert parse_slo("p50 lag of v2 < 1s").version == "v2"
    late = parse_slo("pending of v2 < 1% after 10s")
    assert (late.version, late.needs_ns) == ("v2", 10_000_000_000)
    assert parse_slo("p99 lag < 3s").needs_ns == 3_000_000_000


def test_a_cost_is_read() -> None:
    assert parse_cost("ops/s < 2,000") == Objective("ops/s < 2,000", "cost", "ops/s", 2000.0, "number")
    assert parse_cost("cpu <= 2%").bound == 0.02


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p99 lag", "expected such as 'p99 lag < 3s'"),
        ("p99 lag < 3", ": got '3', expected a time with its unit"),
        ("p99 lag < 0s", "a time above 0"),
        ("p99 lag > 3s", "from below"),
        ("p0 lag < 3s", "p1 to p100"),
        ("p99 lag < 3s after 1s", "with a time"),
        ("pending < 1%", "no time after it"),
        ("pending < 1s after 1s", "a share such as"),
        ("ops/s < 3", "--max-cost"),
        ("lga_p99 < 3s", "did you mean 'lag_p99'"),
        ("at_end of v1 > 1%", "got 'of v1'"),
        ("time_p50 < many", "a duration"),
        ("fate_lost < many", "a number"),
    ],
)
def test_what_is_no_objective_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(AdviseError) as raised:
        parse_slo(text)
    assert words in str(raised.value)
    assert "got" in str(raised.value)
    assert "expected" in str(raised.value)


@pytest.mark.parametrize("text", ["lag < 3", "ops/s > 3", "ops/s < x", "op/s < 3", "cpu < 2000"])
def test_what_is_no_cost_is_refused_in_words(text: str) -> None:
    with pytest.raises(AdviseError, match=r"--max-cost .*expected"):
        parse_cost(text)


@pytest.mark.parametrize(
    ("text", "change", "words"),
    [
        ("p99 lag < 3s", "rollouts=[]", "no rollouts"),
        ("at_end > 1%", "rollouts=[]", "no rollouts"),
        ("p99 lag of v3 < 3s", "name=x", "no version 'v3', expected one of v1, v2"),
        ("p99 lag of v2 < 12s", "name=x", "10s from the rollout to the end of the run, expected more than 12s"),
        ("pending < 1% after 35s", "name=x", "35s from the rollout"),
        ("p99 lag of v1 < 3s", "rollouts.0.body=' '", "a blank body"),
        ("p99 lag of v1 < 30s", "name=x", "25s at most until another version"),
    ],
)
def test_what_no_run_can_tell_is_refused_in_words(text: str, change: str, words: str) -> None:
    with pytest.raises(AdviseError) as raised:
        measurable((parse_slo(text),), load(TEXT, overrides=[change]), False)
    assert "not measurable in" in str(raised.value)
    assert words in str(raised.value)


def test_a_version_that_nothing_replaces_on_some_agents_can_be_watched_there() -> None:
    measurable((parse_slo("p99 lag of v1 < 30s"),), load(TEXT, overrides=["rollouts.1.targets=a-0"]), False)


def test_processor_time_needs_a_measured_beat_and_a_shift_takes_from_the_end() -> None:
    with pytest.raises(AdviseError, match="--calibrate"):
        measurable((parse_cost("cpu < 1%"),), load(TEXT), False)
    measurable((parse_cost("cpu < 1%"), parse_slo("p99 lag of v2 < 9s")), load(TEXT), True)
    with pytest.raises(AdviseError, match="8s from the rollout"):
        measurable((parse_slo("p99 lag of v2 < 9s"),), load(TEXT), False, 2_000_000_000)


def test_values_are_shown_in_their_unit() -> None:
    assert shown(parse_slo("p99 lag < 3s"), 1.2345) == "1.23 s"
    assert shown(parse_slo("pending < 1% after 10s"), 0.00123) == "0.123 %"
    assert shown(parse_slo("fate_lost < 1"), 12.0) == "12"
    assert shown(parse_slo("fate_lost < 1"), None) == "-"
