"""The small world of a scenario, and bounds that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from tests.explore.small import bounds, plan, post, scenario

from fleetbeat.explore.model import ExploreError
from fleetbeat.explore.plan import plan_of
from fleetbeat.explore.search import explore


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"agents": 0}, "agents: got 0, expected at least 1"),
        ({"posts": 0}, "posts: got 0, expected at least 1"),
        ({"beats": 0}, "beats: got 0, expected at least 1"),
        ({"crashes": -1}, "crashes: got -1, expected at least 0"),
        ({"agents": 2}, "agents: got 2, expected at most 1"),
        ({"posts": 2}, "posts: got 2, expected at most 1"),
        ({"agents": 1_000_000}, "agents: got 1,000,000, expected at most 8"),
        ({"beats": 10**9}, "beats: got 1,000,000,000, expected at most"),
        ({"faults": 1}, "faults: got 1, expected 0"),
        ({"power": True}, "crashes: got 0, expected at least 1"),
    ],
)
def test_a_bound_that_is_of_no_use_is_refused_in_words(numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(ExploreError) as error:
        plan_of(scenario(post("v1")), bounds(**numbers))
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_a_million_agents_are_refused_before_they_are_made() -> None:
    with pytest.raises(ExploreError, match=r"fleet: got 1,000,000 agents, expected at most 20,000"):
        plan_of(scenario(post("v1"), agents=1_000_000))


def test_a_scenario_that_posts_nothing_is_refused() -> None:
    with pytest.raises(ExploreError, match="rollouts: got none"):
        plan_of(scenario())


@pytest.mark.parametrize(
    ("name", "value"), [("strategy", "luck"), ("jobs", 0), ("max_states", 0), ("runs", 0), ("depth", 0)]
)
def test_an_argument_that_is_of_no_use_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ExploreError, match=f"{name.replace('_', '-')}: got"):
        explore(plan(post("v1")), **{name: value})


def test_the_first_posts_come_from_the_earliest_rollouts_and_the_first_agents() -> None:
    late, early = post("late", at="9s"), post("early", at="2s")
    world = plan_of(scenario(late, early, agents=3), bounds(agents=2, posts=3))
    assert [one.post for one in world.posts] == ["early/a-0#1", "early/a-1#1", "late/a-0#1"]
    assert [agent.name for agent in world.agents] == ["a-0", "a-1"]
    rollouts = [record for record in world.head if record.kind == "rollout"]
    assert {record["version"]: record["targets"] for record in rollouts} == {
        "early": ["a-0", "a-1"],
        "late": ["a-0"],
    }


def test_faults_that_only_take_time_are_left_out_and_windows_and_chances_do_not_count() -> None:
    faults = (
        {"operation": "read", "delay": "1s"},
        {"id": "rare", "operation": "read", "error": "EIO", "probability": 0.0001, "from": "9s"},
    )
    world = plan_of(scenario(post("v1"), faults=faults), bounds())
    assert [fault.id for fault in world.faults] == ["rare"]
    assert explore(world).schedules > explore(plan_of(scenario(post("v1")), bounds())).schedules


def test_what_is_left_out_of_a_search_is_said() -> None:
    lifecycle = {"suspend": [{"from": "1s", "to": "2s"}], "spawns": [{"at": "3s", "name": "late"}]}
    world = plan_of(scenario(post("v1", verify="effective"), lifecycle=lifecycle), bounds())
    notes = " ".join(world.notes)
    assert all(word in notes for word in ("spawned", "suspend", "verify"))
