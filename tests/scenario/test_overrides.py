from __future__ import annotations

import pytest
from tests.scenario.examples import mistakes

from fleetbeat.scenario.load import load

BASE = """\
fleet: {agents: 5, heartbeat: &beat {interval: 1s}, hosts: [{name: h.0}, {name: h.0.1}]}
faults:
  - {id: disk, operation: read, error: EIO, probability: 1%}
  - {operation: unlink, error: EIO}
rollouts:
  - {version: v1.2, at: 1s, targets: all, body: x}
  - {version: v2, at: 5s, targets: all, body: y}
"""


def test_a_field_is_laid_over() -> None:
    scenario = load(BASE, overrides=["fleet.heartbeat.interval=2s", "fleet.agents = 1e1", "seed=0x10"])
    assert (scenario.fleet.heartbeat.interval, scenario.fleet.agents, scenario.seed) == (2_000_000_000, 10, 16)


def test_items_go_by_index_id_version_and_name() -> None:
    sets = ["faults.0.probability=0.5", "faults.disk.error=ENOSPC", "rollouts.v2.at=10s", "fleet.hosts.h.0.1.disk=1KiB"]
    scenario = load(BASE, overrides=sets)
    assert (scenario.faults[0].probability, scenario.faults[0].error) == (0.5, "ENOSPC")
    assert [rollout.at for rollout in scenario.rollouts] == [1_000_000_000, 10_000_000_000]
    assert [host.disk for host in scenario.fleet.hosts] == [None, 1024]


def test_a_version_may_hold_dots() -> None:
    assert load(BASE, overrides=["rollouts.v1.2.at=3"]).rollouts[0].at == 3_000_000_000


def test_missing_sections_are_made() -> None:
    sets = ["fleet.lifecycle.rebuilds.+={every: 10s}", "expect.broken=[drains]", "fleet.lifecycle.boot=1s"]
    scenario = load(BASE, overrides=sets)
    assert scenario.fleet.lifecycle.rebuilds[0].every == 10_000_000_000
    assert scenario.expect.broken == ("drains",)


def test_an_item_is_appended_and_then_goes_by_its_name() -> None:
    sets = ["faults.+={id: new, operation: write, error: EIO}", "faults.new.probability=2%"]
    scenario = load(BASE, overrides=sets)
    assert [fault.probability for fault in scenario.faults] == [0.01, None, 0.02]


def test_an_item_is_appended_by_one_of_its_fields() -> None:
    assert len(load(BASE, overrides=["fleet.hosts.+.name=h9"]).fleet.hosts) == 3


def test_the_last_of_two_overrides_counts() -> None:
    assert load(BASE, overrides=["seed=5", "seed=6"]).seed == 6


def test_a_whole_section_can_be_replaced_and_nothing_given() -> None:
    scenario = load(BASE, overrides=["faults=[]", "rollouts.0.mark="])
    assert scenario.faults == ()
    assert scenario.rollouts[0].mark is None


def test_a_value_may_hold_an_equals_sign() -> None:
    assert load(BASE, overrides=["rollouts.0.body=a=b"]).rollouts[0].body == "a=b"


def test_what_shares_an_anchor_stays_as_it_was() -> None:
    text = "fleet: {groups: [{name: a, count: 1, start: &s {rules: x}}, {name: b, count: 1, start: *s}]}"
    groups = load(text, overrides=["fleet.groups.a.start.rules=y"]).fleet.groups
    assert [group.start and group.start.rules for group in groups] == ["y", "x"]


@pytest.mark.parametrize(
    ("override", "line"),
    [
        (
            "fleet.agentz=5",
            "--set fleet.agentz: got the unknown key 'agentz', expected agents, groups, agent, core, heartbeat, latency, "
            "start, hosts, lifecycle or uid (did you mean 'agents'?)",
        ),
        ("fleet.agents=-5", "--set fleet.agents: got -5, expected at least 1"),
        (
            "rollouts.v3.at=1s",
            "--set rollouts.v3.at: got 'v3', expected v1.2 or v2, an index from 0 to 1, or + for a new one "
            "(did you mean 'v2'?)",
        ),
        (
            "rollouts.7.at=1s",
            "--set rollouts.7.at: got '7', expected v1.2 or v2, an index from 0 to 1, or + for a new one",
        ),
        ("seed", "--set seed: got 'seed', expected path=value, such as fleet.agents=10"),
        ("=5", "--set '=5': got '=5', expected path=value, such as fleet.agents=10"),
        ("fleet..agents=5", "--set fleet..agents: got 'fleet..agents=5', expected path=value, such as fleet.agents=10"),
        ("fleet.agents.x=5", "--set fleet.agents.x: fleet.agents: got 5, expected a mapping or a list there"),
        ("fleet.heartbeat={mode: x}",
         "--set fleet.heartbeat: fleet.heartbeat.mode: got 'x', expected fixed-delay or fixed-rate"),
        ("seed=[1", "--set seed: got broken YAML (did not find expected ',' or ']'), expected valid YAML"),
        ("faults.+.operation=raed", "--set faults.+.operation: got 'raed', expected stat, list, open, read, write, "
         "truncate, close, rename, unlink, mkdir, sync, emit or flush (did you mean 'read'?)"),
        ("rollouts.v2.targets=a-7", "--set rollouts.v2.targets: got 'a-7', expected an agent (a-0 to a-4), a pattern, "
         "a range, a share, group:NAME, host:NAME or all (did you mean 'a-4'?)"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_told_as_one(override: str, line: str) -> None:
    assert mistakes(BASE, override) == [line]


def test_a_name_that_two_items_carry_is_not_guessed() -> None:
    text = "fleet: {agents: 5, groups: [], hosts: [{name: h}, {name: h}]}"
    assert (
        mistakes(text, "fleet.hosts.h.disk=1")[-1]
        == "--set fleet.hosts.h.disk: got 'h', which several carry, expected an index (0 or 1)"
    )


def test_wrong_overrides_are_told_with_the_mistakes_of_the_file() -> None:
    told = mistakes("fleet: {agents: -1}", "seed=x", "nonsense")
    assert [line.split(": got")[0] for line in told] == ["x.yaml:1:17: fleet.agents", "--set nonsense", "--set seed"]
