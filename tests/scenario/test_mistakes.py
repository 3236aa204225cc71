"""Every class of mistake, with the exact line that tells it: mistakes.txt. The words are part of the interface."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.scenario.examples import mistakes

from fleetbeat.scenario.load import load


def _cases() -> dict[str, tuple[str, list[str]]]:
    """Blocks of `### name`, the YAML, and the lines expected, each behind `=> `."""
    found = {}
    for block in Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8").split("### ")[1:]:
        name, _, rest = block.partition("\n")
        lines = rest.rstrip("\n").split("\n")
        text = "".join(f"{line}\n" for line in lines if not line.startswith("=> "))
        found[name] = (text, [line.removeprefix("=> ") for line in lines if line.startswith("=> ")])
    return found


CASES = _cases()


@pytest.mark.parametrize("name", list(CASES))
def test_a_mistake_is_told_with_its_place_what_is_there_and_what_was_expected(name: str) -> None:
    text, lines = CASES[name]
    assert lines
    assert mistakes(text) == lines


def test_every_mistake_is_told_at_once_in_the_order_of_the_file() -> None:
    text = """\
fleet:
  agents: -1
faults:
  - {operation: raed, error: EIO}
  - {operation: read, error: EI0}
rollouts:
  - {version: v1, at: 1s, targets: all, body: x, base64: "%"}
  - {version: v2, at: 1s, targets: 500%, body: x}
seed: x
seed: 3
expect: {broken: nothing, lag: 3}
"""
    told = [line.split(": got")[0] for line in mistakes(text)]
    assert told == [
        "x.yaml:2:11: fleet.agents",
        "x.yaml:4:17: faults.0.operation",
        "x.yaml:5:30: faults.1.error",
        "x.yaml:7:5: rollouts.0",
        "x.yaml:8:36: rollouts.1.targets",
        "x.yaml:9:7: seed",
        "x.yaml:10:1: seed",
        "x.yaml:11:18: expect.broken",
        "x.yaml:11:32: expect.lag",
    ]


def test_a_fleet_with_mistakes_does_not_make_its_agents_unknown() -> None:
    text = "fleet: {groups: [{name: web, count: x}]}\nrollouts: [{version: v1, at: 1s, targets: web-3, body: x}]\n"
    assert [line.split(":")[3] for line in mistakes(text)] == [" fleet.groups.0.count"]


def test_a_rollout_with_mistakes_does_not_make_its_version_unknown() -> None:
    text = """\
fleet: {agents: 5}
rollouts: [{version: v1, at: x, targets: all, body: x}]
expect: {converge: [{version: v1, within: 1s}]}
"""
    assert [line.split(":")[3] for line in mistakes(text)] == [" rollouts.0.at"]


def test_a_value_that_came_by_an_alias_is_told_where_the_alias_stands() -> None:
    text = "fleet: {agents: 5, uid: &x -3}\nseed: *x\n"
    assert [line.split(": got")[0] for line in mistakes(text)] == ["x.yaml:1:25: fleet.uid", "x.yaml:2:7: seed"]


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("agents: 1e3", "agents", 1000),
        ("agents: 0x10", "agents", 16),
        ("agents: 0o17", "agents", 15),
    ],
)
def test_a_whole_number_may_be_written_in_any_way_that_yaml_knows(text: str, field: str, value: int) -> None:
    assert getattr(load(f"fleet: {{{text}}}").fleet, field) == value
