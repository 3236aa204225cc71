from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.wrong_agents import CASES, Case
from tests.explore.small_cases import as_case, finding_of, history, library, lost_update

from fleetbeat.checks import judge
from fleetbeat.engines.des import run
from fleetbeat.explore import case as cases
from fleetbeat.explore.case import CaseError, dump, make_case
from fleetbeat.explore.minimal import minimal
from fleetbeat.explore.shrink import shrink
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

LOST = ("no-silent-loss", "gap", "protocol")


def big(agents: int = 20, seed: int = 1) -> Scenario:
    """Three rollouts with retries to many agents under faults, crashes, jitter and rebuilds."""
    rollout = {"targets": "all", "verify": "canonical", "timeout": "4s", "spacing": "7ms"}
    data = {
        "name": "big",
        "seed": seed,
        "duration": "60s",
        "fleet": {
            "agents": agents,
            "start": {"rules": "as it was"},
            "heartbeat": {"jitter": {"kind": "normal", "sd": "60ms"}},
            "latency": {"unlink": {"kind": "exponential", "mean": "400ms"}},
            "lifecycle": {"rebuilds": [{"every": "9s", "cause": "refresh", "beside_beat": True}]},
        },
        "faults": [
            {"id": "unreadable", "operation": "read", "probability": 0.1, "error": "EIO"},
            {"id": "unwritable", "operation": "write", "probability": 0.1, "error": "EIO", "effect": "partial"},
            {"id": "slow", "operation": "stat", "probability": 0.05, "delay": "3ms"},
            {"id": "dies", "operation": "unlink", "probability": 0.2, "crash": "after", "restart": "2s"},
        ],
        "rollouts": [
            {
                "version": f"v{n}",
                "operator": f"op{n}",
                "at": f"{at}s",
                "body": f"rules of version {n}",
                "retries": n // 3,
                **rollout,
            }
            for n, at in ((1, 10), (2, 10.4), (3, 30))
        ],
    }
    return load(json.dumps(data), name="big")


def test_the_lost_update_shrinks_to_two_posts_and_three_choices_at_most() -> None:
    case = shrink(as_case(library("lost-update"), *LOST))
    assert len(case.scenario.rollouts) == 2
    assert case.size <= 3
    assert case.sentence == (
        "a-0 read rules v1; v2 was renamed over it; the agent unlinked v2 unread and applied v1; v2 is lost"
    )


def test_what_a_search_found_shrinks_like_what_an_engine_played() -> None:
    case = shrink(make_case(lost_update()))
    played = shrink(as_case(library("lost-update"), *LOST))
    assert (case.size, case.scenario.duration) == (played.size, played.scenario.duration)
    assert case.overrides == played.overrides


@pytest.fixture(scope="module")
def faulty() -> tuple[Scenario, Any]:
    world = big()
    return world, judge(run(world))


def reasons(judgement: Any) -> set[tuple[str, str, str]]:
    return {(f.invariant, f.kind, f.cause) for v in judgement.verdicts for f in v.findings if f.kind != "hazard"}


@pytest.mark.parametrize(
    ("reason", "posts", "faults"),
    [
        (LOST, 2, 0),
        (("no-silent-loss", "gap", "environment"), 1, 1),
        (("whole-body", "gap", "environment"), 1, 1),
        (("survives-rebuild", "gap", "environment"), 2, 1),
    ],
    ids=str,
)
def test_a_big_faulty_run_shrinks_to_one_agent_and_what_it_takes(
    faulty: tuple[Scenario, Any], reason: tuple[str, str, str], posts: int, faults: int
) -> None:
    world, judgement = faulty
    assert reason in reasons(judgement), "the run never met what this test is about"
    case = shrink(as_case(world, *reason))
    assert case.scenario.fleet.agents == 1
    assert (len(case.scenario.rollouts), len(case.scenario.faults)) == (posts, faults)
    assert case.size <= 3
    assert case.scenario.duration <= 4_000_000_000
    assert (case.invariant, case.kind, case.cause) == reason
    assert cases.replay(cases.load(dump(case))).outcome == "reproduced"


def test_the_reason_stays_the_same_though_another_would_be_smaller() -> None:
    """Of a run in which a crash and a race both lose posts, the race is kept and the crash is left out, and back."""
    world = big(6)
    for cause in ("protocol", "environment"):
        case = shrink(as_case(world, "no-silent-loss", "gap", cause))
        judged = judge(history(case))
        assert {(f.kind, f.cause) for v in judged.verdicts for f in v.findings if f.invariant == "no-silent-loss"} == {
            ("gap", cause)
        }
        assert bool(case.scenario.faults) == (cause == "environment")


def test_nothing_that_is_left_can_be_left_out() -> None:
    case = shrink(as_case(library("lost-update"), *LOST))
    for index in range(2):
        rollouts = case.scenario.rollouts[:index] + case.scenario.rollouts[index + 1 :]
        fewer = replace(case, scenario=case.scenario.model_copy(update={"rollouts": rollouts}))
        with pytest.raises(CaseError):
            shrink(fewer)
    with pytest.raises(CaseError, match="got a case that does not break so, expected one"):
        shrink(replace(case, overrides=type(case.overrides)()))


def test_with_a_budget_of_one_run_the_case_stays_as_it_is() -> None:
    case = as_case(library("lost-update"), *LOST)
    assert shrink(case, budget=1).scenario == case.scenario
    told: list[int] = []
    small = shrink(case, lambda runs, _: told.append(runs), budget=12)
    assert told == sorted(told)
    assert told[-1] <= 12
    assert cases.replay(small).outcome == "reproduced"


@pytest.mark.slow
def test_shrinking_gives_the_same_case_in_every_process() -> None:
    code = (
        "from tests.explore.test_shrink import LOST, as_case, big, dump, shrink; import sys\n"
        "sys.stdout.write(dump(shrink(as_case(big(6), *LOST))))"
    )
    outs = set()
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outs.add(done.stdout)
    assert len(outs) == 1
    assert "v1" in outs.pop()


def _wrong(case: Case) -> tuple[Scenario, dict[str, Any]]:
    return load(json.dumps(case.scenario()), name="wrong"), {"reference": case.agent}


@pytest.mark.slow
@pytest.mark.parametrize("wrong", CASES, ids=lambda case: f"{type(case.agent).__name__}-{case.check}")
def test_what_a_wrong_agent_breaks_shrinks_to_a_few_posts(wrong: Case) -> None:
    world, programs = _wrong(wrong)
    finding = finding_of(run(world, programs=programs), wrong.check, wrong.kind)
    case = shrink(as_case(world, finding.invariant, finding.kind, finding.cause), programs=programs)
    assert case.scenario.fleet.agents == 1
    assert len(case.scenario.rollouts) <= len(wrong.bodies)
    assert len(case.scenario.faults) <= 1
    assert cases.replay(case, programs).outcome == "reproduced"
    assert case.sentence


def test_a_case_that_needs_two_agents_shrinks_as_a_scenario() -> None:
    case = shrink(as_case(library("late-spawn"), "coverage", "hazard", "protocol"))
    assert len(case.scenario.fleet.lifecycle.spawns) == 1
    assert (case.scenario.fleet.agents, case.scenario.fleet.lifecycle.spawns[0].count) == (1, 1)


@given(st.sets(st.integers(0, 30)), st.integers(1, 30))
def test_minimal_keeps_what_is_needed_and_nothing_else(needed: set[int], size: int) -> None:
    items = tuple(range(size))
    wanted = needed & set(items)
    asked: list[tuple[int, ...]] = []

    def holds(kept: tuple[int, ...]) -> bool:
        asked.append(kept)
        return wanted <= set(kept)

    assert minimal(items, holds) == tuple(sorted(wanted))
    assert all(list(kept) == sorted(kept) for kept in asked)


@given(st.lists(st.sets(st.integers(0, 12), min_size=1), min_size=1, max_size=4))
def test_nothing_of_a_minimal_part_can_be_left_out(ways: list[set[int]]) -> None:
    def holds(kept: tuple[int, ...]) -> bool:
        return any(way <= set(kept) for way in ways)

    kept = minimal(tuple(range(13)), holds)
    assert holds(kept)
    assert not any(holds(tuple(item for item in kept if item != one)) for one in kept)
