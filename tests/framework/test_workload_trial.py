"""scenarios/core-trial: one workload that does not know which core it meets, under which every wrong one shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import pytest

from fleetbeat.checks.framework import Streamed
from fleetbeat.engines import MODULES
from fleetbeat.engines.cores import load_core
from fleetbeat.engines.framework import weave
from fleetbeat.history.records import Record
from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.library import cores, find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

SELF, GUARD = "no-self-trigger", "guard-not-silenced"
RIGHT = ("reference", "strict", "plugin")
WRONG = {
    "core-no-guard": SELF,
    "core-origin-only": SELF,
    "core-forgets-across-tasks": SELF,
    "core-forgets-at-restart": SELF,
    "core-notify-as-event": SELF,
    "core-two-notifies": SELF,
    "core-cools-gates": GUARD,
    "core-silences-gates": GUARD,
    "core-raise-allows": GUARD,
    "core-slow-allows": GUARD,
    "core-failure-cancels-deny": GUARD,
    "core-breaks-gates": GUARD,
    "core-body-removes-guard": GUARD,
}


@cache
def _signal(overrides: tuple[str, ...] = ()) -> tuple[Scenario, Sequence[Record]]:
    """The scenario, and the history of its signal without the framework."""
    from importlib import import_module

    scenario = load(find("core-trial"), overrides=overrides)
    return scenario, import_module(MODULES["des"]).run(scenario)


def _played(core: str, *overrides: str) -> list[Record]:
    scenario, signal = _signal(overrides)
    return weave(scenario, signal, load_core(scenario.fleet.core.model_copy(update={"program": core})))


def _broken(records: Iterable[Record]) -> dict[str, int]:
    """How often each of the two invariants is broken."""
    streamed = Streamed(None)
    for record in records:
        streamed.feed(record)
    return {verdict.invariant: len(verdict.findings) for verdict in streamed.verdicts() if verdict.findings}


def test_the_trial_is_of_every_core_that_there_is() -> None:
    assert sorted(cores()) == sorted((*WRONG, *RIGHT))


@pytest.mark.parametrize("core", RIGHT)
def test_a_right_core_breaks_nothing(core: str) -> None:
    assert _broken(_played(core)) == {}


@pytest.mark.parametrize("core", list(WRONG))
def test_a_wrong_core_breaks_the_invariant_that_it_is_wrong_about_and_no_other(core: str) -> None:
    assert list(_broken(_played(core))) == [WRONG[core]]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 7))
def test_the_trial_does_not_hang_on_its_seed(seed: int) -> None:
    for core in (*RIGHT, *WRONG):
        broken = _broken(_played(core, f"seed={seed}"))
        assert list(broken) == [WRONG[core]] if core in WRONG else broken == {}, core


def test_the_trial_meets_all_that_it_speaks_of() -> None:
    """A vacuous trial would catch nothing: what it means to do, happens."""
    records = _played("reference")
    kinds = Counter(record.kind for record in records)
    events = Counter(record["type"] for record in records if record.kind == "event")
    answers = Counter(
        record["fields"]["answer"] for record in records if record.kind == "event" and record["type"] == "answer"
    )
    said = Counter(record["answer"] for record in records if record.kind == "judged")
    actions = Counter(record["action"] for record in records if record.kind == "action")
    assert min(events[type] for type in ("prompt", "reply", "tool.after", "file.changed", "ready", "dismissed")) > 10
    assert min(answers[answer] for answer in ("approve", "reject", "ignore")) > 10
    assert min(said[answer] for answer in ("allow", "ask", "deny", "raised", "slow")) > 10
    assert min(actions[action] for action in ("prepare", "inject", "notify")) > 10
    malformed = [record for record in records if record.kind == "core.rules" and record["malformed"]]
    assert len(malformed) >= 3
    assert kinds["core.end"] == 6  # the second time while a malformed body is there
    over = _over_the_crash(records)
    assert over, "no background task was running when the agents crashed"
    assert any(
        record["session"].endswith("/sub") and record["dangerous"] for record in records if record.kind == "event"
    )


def _over_the_crash(records: Sequence[Record]) -> list[Any]:
    crash = next(record.t for record in records if record.kind == "core.end")
    begun = {(r["agent"], r["id"]): r.t for r in records if r.kind == "action" and r["action"] == "prepare"}
    ready = [r for r in records if r.kind == "event" and r["type"] == "ready"]
    return [r["id"] for r in ready if begun[r["agent"], r["cause"]] < crash < r.t]


def test_the_workload_of_an_agent_hangs_on_its_own_name_alone() -> None:
    few, many = _played("reference"), _played("reference", "fleet.agents=5")
    one, two = ([str(r) for r in records if r.kind == "event" and r["agent"] == "a-1"] for records in (few, many))
    assert one == two
    assert len(one) > 300


def test_only_agents_that_the_adversary_means_are_attacked() -> None:
    records = _played("reference", "workload.adversary.agents=a-2")
    assert {r["agent"] for r in records if r.kind == "event" and r["session"] == "s-3"} == {"a-2"}
    failing = {r["agent"] for r in records if r.kind == "judged" and r["answer"] in ("raised", "slow")}
    assert failing == {"a-2"}


def test_the_trial_written_down_again_is_the_same_scenario() -> None:
    scenario = load(find("core-trial"))
    assert load(dump(scenario)) == scenario
