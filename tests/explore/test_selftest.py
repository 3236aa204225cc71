"""The checks see what they are for: every mutant dies by a check that is meant for it, and each check is needed for one."""

from __future__ import annotations

import json
from functools import cache

import pytest

from fleetbeat.checks import CHECKS
from fleetbeat.cli import main
from fleetbeat.explore import selftest
from fleetbeat.explore.selftest import Key, Mutant, breaks, judged_known, judged_mutant

MUTANTS = {one.name: one for one in selftest.mutants()}
#: They judge operators, and yield hazards alone: no agent can break them, so none can die of them.
OF_OPERATORS = {"honest-operator", "coverage"}
JUDGES = [check.invariant.id for check in CHECKS if check.invariant.id not in OF_OPERATORS]
QUICK = ("logs-twice", "reads-before-claim", "takes-no-lock")


@cache
def _inherited(name: str) -> set[Key]:
    return breaks(MUTANTS[name], agent=MUTANTS[name].base)


def _lives_without(invariant: str, mutant: Mutant) -> bool:
    """Whether nothing is left that the mutant breaks and its base does not, once one check is gone."""
    checks = [check for check in CHECKS if check.invariant.id != invariant]
    return breaks(mutant, checks) <= _inherited(mutant.name)


def _needs(invariant: str) -> list[str]:
    """Mutants that live without the check and die with it."""
    alone = [one for one in MUTANTS.values() if one.named == (invariant,) and not one.bounds.power]
    return [one.name for one in alone if _lives_without(invariant, one) and breaks(one) - _inherited(one.name)]


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in MUTANTS if n not in QUICK)]
)
def test_a_mutant_dies_by_a_check_that_is_meant_for_it(name: str) -> None:
    row = judged_mutant(MUTANTS[name])
    assert row.passed, row
    assert row.killed is not None
    assert row.killed[0] in MUTANTS[name].named
    assert row.killed not in _inherited(name)
    assert row.schedules >= 1
    assert row.sentence


def test_there_are_a_dozen_mutants_at_least_and_of_both_agents() -> None:
    assert len(MUTANTS) >= 12
    assert {one.base for one in MUTANTS.values()} == {"reference", "claim"}


def test_an_agent_without_a_mistake_lives() -> None:
    """The hunt kills nobody for what the base breaks as well, nor for nothing."""
    mutant = MUTANTS["retries-stale"]
    alike = mutant.scenario.fleet.model_copy(update={"agent": "reference"})
    innocent = Mutant(
        "x", "", "reference", mutant.named, mutant.scenario.model_copy(update={"fleet": alike}), mutant.bounds
    )
    row = judged_mutant(innocent)
    assert not row.passed
    assert row.killed is None
    assert row.ended.startswith("complete within these bounds")
    assert _inherited("retries-stale")


def test_the_claim_agent_lives() -> None:
    row = judged_known("claim")
    assert row.passed
    assert row.broke == ()
    assert row.ended.startswith("complete within these bounds")


@pytest.mark.slow
def test_the_reference_agent_breaks_exactly_the_gaps_of_its_manifest() -> None:
    row = judged_known("reference")
    assert row.passed
    assert {invariant for invariant, _, _ in row.broke} == set(row.known) != set()
    assert {kind for _, kind, _ in row.broke} == {"gap"}


@pytest.mark.parametrize(
    "invariant", [JUDGES[3], *(pytest.param(n, marks=pytest.mark.slow) for n in JUDGES if n != JUDGES[3])]
)
def test_without_this_check_some_mutant_would_live(invariant: str) -> None:
    assert _needs(invariant) != []


def test_the_checks_that_no_mutant_is_for_judge_operators_alone() -> None:
    named = {invariant for one in MUTANTS.values() for invariant in one.named}
    assert {check.invariant.id for check in CHECKS} - named == OF_OPERATORS


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_command_tells_each_mutant_and_fails_if_one_lives(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: str
) -> None:
    some = [MUTANTS["logs-twice"], MUTANTS["merges"]]
    monkeypatch.setattr(selftest, "KNOWN", ("claim",))
    monkeypatch.setattr(selftest, "mutants", lambda: some)
    assert main(["selftest", "--only", "agents", "--jobs", jobs]) == 0
    told = capsys.readouterr().out
    assert "killed by one-log-each (violation, agent)" in told
    assert told.endswith("2 of 2 mutants killed; the known agents as expected\n")
    some[0] = Mutant("logs-twice", "", "claim", ("scope",), some[0].scenario, some[0].bounds)
    assert main(["selftest", "--only", "agents", "--jobs", jobs, "--json"]) == 1
    ends = capsys.readouterr()
    assert [one["passed"] for one in json.loads(ends.out)["agents"]] == [True, False, True]
    assert "logs-twice: LIVES, expected to die by scope" in ends.err


def test_no_jobs_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selftest", "--jobs", "0"]) == 2
    assert "jobs: got 0, expected at least 1" in capsys.readouterr().err
