"""Every deliberately wrong agent is caught by the check meant for it, and the reference agent is not."""

from __future__ import annotations

import json

import pytest
from tests.engines.wrong_agents import CASES, REFERENCE, Case

from fleetbeat.checks import judge
from fleetbeat.checks.model import Judgement, Verdict
from fleetbeat.engines.des import run
from fleetbeat.scenario.load import load


def _judged(case: Case, agent: object) -> Judgement:
    scenario = load(json.dumps(case.scenario()), name="wrong")
    return judge(run(scenario, programs={"reference": agent}))  # type: ignore[dict-item]


def _verdict(judgement: Judgement, check: str) -> Verdict:
    return next(verdict for verdict in judgement.verdicts if verdict.invariant == check)


def _name(case: Case) -> str:
    return f"{type(case.agent).__name__}-{case.check}"


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_wrong_agent_is_caught_by_the_check_meant_for_it(case: Case) -> None:
    verdict = _verdict(_judged(case, case.agent), case.check)
    assert verdict.outcome == "broken", verdict
    assert {(finding.kind, finding.cause) for finding in verdict.findings} >= {
        (case.kind, "agent" if case.kind == "violation" else "protocol")
    }, verdict.findings


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_the_reference_agent_breaks_nothing_where_the_wrong_one_does(case: Case) -> None:
    judgement = _judged(case, REFERENCE)
    broken = [verdict for verdict in judgement.verdicts if verdict.outcome != "held"]
    assert broken == []
    assert _verdict(judgement, case.check).examined > 0
