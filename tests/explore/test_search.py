"""What searches find, how they end, and that splitting them changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.explore.small import bounds, broken, plan, post, scenario

from fleetbeat.explore.exhaust import Exhaust
from fleetbeat.explore.model import OK, Found, Outcome
from fleetbeat.explore.plan import plan_of
from fleetbeat.explore.search import explore
from fleetbeat.explore.space import Space
from fleetbeat.explore.tally import Tally
from fleetbeat.explore.walk import Walk
from fleetbeat.scenario import library
from fleetbeat.scenario.load import load

GAPS = {"no-silent-loss", "last-write-wins", "whole-body", "canonical-intact", "effective-follows", "survives-rebuild"}


def _steps(found: Found) -> list[str]:
    return [str(event) for event in found.schedule]


def _only(outcome: Outcome, *key: str) -> Found:
    (found,) = [one for one in outcome.found if one.key == key]
    return found


def test_the_lost_update_is_the_rename_between_the_read_and_the_unlink() -> None:
    outcome = explore(plan(post("v1"), post("v2")))
    steps = _steps(_only(outcome, "no-silent-loss", "gap", "protocol"))
    second = [step for step in steps if "rename .rules." in step][1]
    assert steps.index("a-0/beat#0.0:open .rules") < steps.index(second) < steps.index("a-0/beat#0.0:unlink .rules")
    assert broken(outcome) == {"no-silent-loss", "last-write-wins"}
    assert outcome.summary.startswith("complete within these bounds: ")


def test_a_crash_after_the_unlink_loses_what_was_never_persisted() -> None:
    steps = _steps(_only(explore(plan(post("v1"), crashes=1)), "no-silent-loss", "gap", "environment"))
    unlink = steps.index("a-0/beat#0.0:unlink .rules")
    crash = next(number for number, step in enumerate(steps) if "[crash-" in step)
    assert unlink < crash
    assert not any(step.startswith("a-0/beat#0.0:write system/rules.md") for step in steps[:crash])


def test_a_crash_between_truncation_and_write_leaves_canonical_empty_and_the_boot_loses_the_rules() -> None:
    outcome = explore(plan(post("v1"), crashes=1))
    steps = _steps(_only(outcome, "canonical-intact", "gap", "environment"))
    crash = next(number for number, step in enumerate(steps) if "[crash-" in step)
    assert steps[crash - 1].startswith("a-0/beat#0.0:open system/rules.md@")
    assert any(step.startswith("a-0/rebuild#1.0:") for step in steps[crash:])
    assert "lost" in _only(outcome, "survives-rebuild", "gap", "environment").finding.message


def test_the_reference_agent_breaks_exactly_the_gaps_of_its_manifest_within_the_default_bounds() -> None:
    world = plan_of(scenario(post("v1")))
    assert (world.bounds.rebuilds, world.bounds.crashes, world.bounds.beats) == (1, 1, 1)
    outcome = explore(world)
    assert outcome.complete
    assert broken(outcome) == GAPS == set(world.agents[0].manifest.known_gaps)


@pytest.mark.slow
def test_with_two_posts_too_and_as_gaps_alone() -> None:
    outcome = explore(plan_of(scenario(post("v1"), post("v2"))))
    assert outcome.complete
    assert broken(outcome) == GAPS
    assert {found.kind for found in outcome.found} == {"gap"}


def test_the_schedules_of_a_space_and_its_findings_do_not_depend_on_the_number_of_processes() -> None:
    world = plan(post("v1"), post("v2"), faults=({"operation": "unlink", "error": "EIO"},), crashes=1)
    one = explore(world, keep_outcomes=True)
    for jobs in (2, 3):
        many = explore(world, jobs=jobs, keep_outcomes=True)
        assert (many.schedules, many.ends, many.complete) == (one.schedules, one.ends, True)
        assert many.outcomes == one.outcomes
        assert [(f.key, f.schedule) for f in many.found] == [(f.key, f.schedule) for f in one.found]
        assert any("counted by each" in note for note in many.notes)


def test_the_same_search_gives_the_same_numbers_whatever_came_before_it() -> None:
    world = plan(post("v1"), rebuilds=1)
    with_look, without = explore(world), explore(world, first_look=False)
    assert (with_look.states, with_look.schedules) == (without.states, without.schedules)
    assert {f.key for f in with_look.found} == {f.key for f in without.found}


def test_a_search_whose_budget_ran_out_never_looks_complete() -> None:
    world = plan(post("v1"), post("v2"), crashes=1)
    by_states = explore(world, max_states=50)
    by_time = explore(world, stop=lambda: True)
    for outcome in (by_states, by_time, explore(world, jobs=2, stop=lambda: True)):
        assert not outcome.complete
        assert outcome.summary.startswith("budget ran out at ")
        assert "complete" not in outcome.summary
    assert by_states.states == 50


def test_one_invariant_alone_can_be_looked_for() -> None:
    outcome = explore(plan(post("v1"), post("v2")), invariant="last-write-wins")
    assert broken(outcome) == {"last-write-wins"}


def test_preemptions_bound_how_often_an_episode_is_interrupted() -> None:
    posts = [post("v1"), post("v2"), post("v3")]
    found = [explore(plan(*posts, posts=3, preemptions=limit)) for limit in (0, 1, 2, None)]
    assert [broken(outcome) for outcome in found] == [set()] + [{"no-silent-loss", "last-write-wins"}] * 3
    counts = [outcome.schedules for outcome in found]
    assert counts[0] < counts[1] < counts[2] == counts[3]  # one post has to be there before a beat can be interrupted


def test_an_operation_that_fails_is_one_event_and_the_fault_strikes_no_more_than_allowed() -> None:
    world = plan(post("v1"), faults=({"id": "sticky", "operation": "unlink", "error": "EACCES", "effect": "after"},))
    found = _only(explore(world), "no-silent-loss", "gap", "environment")
    struck = [event for event in found.schedule if event.outcome != OK]
    assert [str(event) for event in struck] == ["a-0/beat#0.0:unlink .rules [fault:sticky]"]


def test_memory_is_bounded_and_a_full_table_changes_no_finding() -> None:
    world = plan(post("v1"), post("v2"), crashes=1)
    found = []
    for limit in (10, 1_000_000):
        walk = Walk(Space(world))
        tally = Tally(walk.space)
        search = Exhaust(walk, tally, seen_limit=limit)
        schedules = search.run(*walk.start(0, 1, None))
        assert len(search.seen) <= limit
        found.append((schedules, sorted(tally.found), len(tally.ends)))
    assert found[0] == found[1]


def test_ctrl_c_keeps_what_was_found() -> None:
    def interrupt(found: Any) -> None:
        raise KeyboardInterrupt

    world = plan(post("v1"), post("v2"), crashes=1)
    for first_look in (True, False):
        outcome = explore(world, on_found=interrupt, first_look=first_look)
        assert outcome.interrupted
        assert not outcome.complete
        assert len(outcome.found) == 1
        assert outcome.summary.startswith("interrupted at ")


@pytest.mark.slow
def test_ctrl_c_ends_the_command_with_130_and_saves_what_was_found(tmp_path: Path) -> None:
    code = "import sys; from fleetbeat.cli import main; sys.exit(main())"
    command = [sys.executable, "-u", "-c", code, "explore", "lost-update", "--beats", "3", "-o", "out"]
    for jobs in ("1", "2"):
        run = subprocess.Popen(
            [*command[:-1], f"out{jobs}", "--jobs", jobs],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ,
        )
        assert run.stderr is not None
        assert "no-silent-loss" in "".join(run.stderr.readline() for _ in range(2))
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=60)
        assert run.returncode == 130, errors
        assert "no-silent-loss" in (tmp_path / f"out{jobs}" / "results.json").read_text()


@pytest.mark.slow
def test_two_posts_with_a_fault_and_a_crash_are_searched_completely() -> None:
    """The speed that is asked for is measured in tests/bench/test_explore.py."""
    text = Path(library.find("lost-update")).read_text() + "faults: [{operation: write, error: EIO, effect: partial}]\n"
    outcome = explore(plan_of(load(text), bounds(beats=2, crashes=1)))
    assert outcome.complete
    assert broken(outcome) == GAPS - {"effective-follows"}


def test_a_search_does_not_depend_on_how_python_hashes() -> None:
    code = """
import sys
from tests.explore.small import explore, plan, post
world = plan(post("v1"), post("v2"), crashes=1)
for how in ("exhaustive", "pct", "random"):
    outcome = explore(world, how, runs=40)
    sys.stdout.write(f"{[(found.key, found.schedule) for found in outcome.found]} {outcome.summary}\\n")
"""
    told = []
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        told.append(run.stdout)
    assert told[0] == told[1]
    assert "no-silent-loss" in told[0]
