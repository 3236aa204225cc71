"""Cases of the framework: what a search found, kept so that it breaks again anywhere, and says so when it does not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tests.explore.framework_worlds import plan_for, scenario_of

from fleetbeat.checks.chains import drawn
from fleetbeat.explore.framework.case import Case, Replay, dump, is_case, keep, load, make_case, replay
from fleetbeat.explore.framework.search import explore
from fleetbeat.explore.framework.world import Move
from fleetbeat.history import jsonl
from fleetbeat.scenario.mistakes import ScenarioError


@cache
def made(core: str = "core-no-guard") -> tuple[Case, Replay]:
    (found,) = explore(plan_for(core), until=lambda one: True).found
    return make_case(found)


def test_a_case_reads_back_as_it_was_written(tmp_path: Path) -> None:
    case, _ = made()
    path = keep(case, tmp_path)
    assert load(path) == case
    assert is_case(path)
    assert keep(case, tmp_path) == path
    assert path.read_text() == dump(load(path))


def test_a_case_breaks_again_as_it_did(tmp_path: Path) -> None:
    case, first = made()
    again = replay(load(keep(case, tmp_path)))
    assert again.outcome == "reproduced"
    assert again.broken == ("no-self-trigger",)
    assert jsonl.dumps(list(again.records)) == jsonl.dumps(list(first.records))
    assert again.finding is not None
    assert again.finding.message == case.sentence


def test_the_tree_leads_from_what_the_user_did_to_the_action_that_breaks_it() -> None:
    _, played = made()
    assert played.finding is not None
    lines = drawn(played.finding.chain)
    assert lines[0].startswith("prompt #1, s-0")
    assert "prepare homework #2" in lines[1]
    assert "begins" in lines[1]
    assert lines[-1].endswith("<- breaks it")
    assert "prepare again" in lines[-1]


def test_a_case_with_a_right_core_does_not_break() -> None:
    case, _ = made()
    played = replay(replace(case, scenario=scenario_of("reference")))
    assert played.outcome == "differs"
    assert played.broken == ()
    assert "made with the core core-no-guard, its scenario runs reference" in played.notes


def test_a_core_that_has_changed_since_is_said() -> None:
    case, _ = made()
    assert "has changed since" in replay(replace(case, core=(case.core[0], "0" * 16))).notes[0]


def test_a_move_that_cannot_be_made_any_more_is_named_with_those_that_can() -> None:
    case, _ = made()
    played = replay(replace(case, schedule=(Move("task", "s-0"), *case.schedule)))
    assert played.outcome == "diverged"
    assert played.diverged[0].startswith("move 1, task s-0 0: cannot be made; what can: ")
    assert "prompt s-0 0" in played.diverged[0]


def test_a_world_that_the_scenario_has_not_is_a_mistake() -> None:
    case, _ = made()
    with pytest.raises(ScenarioError, match="got the world 'calls push', expected one of 'chains', 'calls rm'"):
        replay(replace(case, world="calls push"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("world: chains", "wolrd: chains", "framework"),
        ("move: prompt", "mvoe: prompt", "framework.schedule.0"),
        ("move: prompt,", "move: prompt, number: -1,", "got -1, expected at least 0"),
        ("prompts: 1", "prompts: 99", "got 99, expected at most 12"),
        ("invariant: no-self-trigger", "invariant: scope", "an invariant of the framework"),
        ("format: 1", "format: 2", "format"),
    ],
)
def test_a_mistake_in_a_case_is_told_at_its_place(old: str, new: str, said: str) -> None:
    text = dump(made()[0])
    assert old in text
    with pytest.raises(ScenarioError, match=r"<text>:[0-9]+") as caught:
        load(text.replace(old, new, 1))
    assert said in str(caught.value)


def test_a_case_of_the_signal_is_none_of_the_framework(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text("format: 1\nscenario: {}\n")
    assert not is_case(path)
    path.write_bytes(b"\xff")
    assert not is_case(path)
    assert not is_case(tmp_path / "nothing.yaml")
