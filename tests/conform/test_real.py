"""The conformance suite and the comparison on real files, with real processes. Each test plays one run in real time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import pytest
from tests.conform.test_suite import AGENTS, CAUGHT_AT, KNOWN

from fleetbeat.checks import judge
from fleetbeat.conform import compare_words
from fleetbeat.conform.bench import Laid, lay
from fleetbeat.conform.played import played
from fleetbeat.conform.rows import ROWS
from fleetbeat.conform.seen import seen
from fleetbeat.conform.stage import stage
from fleetbeat.conform.suite import answer
from fleetbeat.engines import ENGINES, des
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

pytestmark = pytest.mark.slow
#: So seldom a run that is right fails here: CI must be able to rely on it.
ALPHA = 0.001


def _process(scenario: Scenario) -> Sequence[Record]:
    return ENGINES.engine("process")(scenario)


@pytest.mark.parametrize("name", ["reference", "claim"])
def test_a_right_agent_is_as_specified_on_real_files_too(name: str) -> None:
    """On a busy machine a rebuild may fall into the reference's own window, which its manifest admits: a row that differs
    is played again. A wrong agent differs each time."""
    results = played(AGENTS / name, "process", ROWS)
    differing = [result.row for result in results if result.answer == "differs"]
    again = played(AGENTS / name, "process", [row for row in ROWS if row.id in differing]) if differing else []
    assert [(result.row, result.why) for result in again if result.answer == "differs"] == []
    hidden = ["power"] if os.geteuid() == 0 else ["not-permitted", "power"]
    assert [result.row for result in results if result.answer == "not observable"] == hidden


def _together(one: Scenario, other: Scenario) -> Scenario:
    """Both scenarios' agents in one fleet."""
    first, second = one.fleet.lifecycle, other.fleet.lifecycle
    lifecycle = first.model_copy(
        update={name: getattr(first, name) + getattr(second, name) for name in ("rebuilds", "suspend", "crashes")}
    )
    fleet = one.fleet.model_copy(update={"groups": one.fleet.groups + other.fleet.groups, "lifecycle": lifecycle})
    parts = {"faults": one.faults + other.faults, "rollouts": one.rollouts + other.rollouts}
    return one.model_copy(update={"fleet": fleet, **parts})


def test_mutants_differ_on_real_files_at_the_rows_at_which_they_differ_in_simulation() -> None:
    rows = {name: replace(KNOWN[row], id=name) for name, row in CAUGHT_AT.items() if not KNOWN[row].simulated}
    staged = []
    for name, row in rows.items():
        scenario = stage(AGENTS / "mutants" / name, [row])
        groups = tuple(group.model_copy(update={"agent": scenario.fleet.agent}) for group in scenario.fleet.groups)
        staged.append(scenario.model_copy(update={"fleet": scenario.fleet.model_copy(update={"groups": groups})}))
    records = _process(reduce(_together, staged))
    found = seen(records, judge(records), rows)
    assert {name: answer(rows[name], found[name]).answer for name in rows} == dict.fromkeys(rows, "differs")


# --- side by side ---


def _side_by_side(*sets: str) -> Scenario:
    return load(find("side-by-side"), overrides=sets)


def _beside(history: Sequence[Record], *sets: str) -> Laid:
    """The real run beside simulations of a scenario that may be another one."""
    return lay(_side_by_side(*sets), "process", lambda scenario: history, des.run, alpha=ALPHA)


def test_a_real_run_is_like_the_simulation_and_not_like_one_with_a_doubled_latency() -> None:
    history = _process(_side_by_side())
    found = _beside(history)
    assert (found.comparison.word, compare_words.differences(found.comparison)) == ("alike", [])
    assert [row.certain for row in found.comparison.fates] == [True] * 10
    assert {"stat", "open", "read", "write", "close", "unlink", "emit"} <= {one.kind for one in found.calibration.kinds}
    shown = {fate for row in found.comparison.fates for fate, _, real in row.shares if real}
    assert shown == {"applied", "lost", "failed", "stuck", "torn"}
    doubled = _beside(history, "faults.0.delay=600ms").comparison
    assert doubled.word == "differs"
    assert {row.version for row in doubled.lags if row.word == "differs"} == {"v1-slow", "v2-slow", "v3-slow"}
    assert doubled.different == ()


@pytest.mark.usefixtures("docker_engine")
def test_containers_are_like_the_simulation_by_what_they_measured() -> None:
    """Half of the scenario's healthy agents, for each of them takes a container."""
    sets = ["fleet.groups.0.count=8", "fleet.groups.1.count=8", "expect.fates.applied=48"]
    found = lay(_side_by_side(*sets), "docker", ENGINES.engine("docker"), des.run, simulations=10, alpha=ALPHA)
    assert compare_words.differences(found.comparison) == []
    shown = {fate for row in found.comparison.fates for fate, _, real in row.shares if real}
    assert shown == {"applied", "lost", "failed", "stuck", "torn"}
