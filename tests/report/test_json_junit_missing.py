from __future__ import annotations

import json as stdlib_json
from xml.etree import ElementTree

import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.history.hand import end, run_record
from tests.report.made import EVIL, hostile, made, report

from fleetbeat.checks.model import Finding, Judgement, Verdict
from fleetbeat.metrics import MissingTarget, NextAction
from fleetbeat.report import json, junit, missing
from fleetbeat.report.data import MOST, Ruling


def test_json_carries_its_schema_and_the_numbers_of_the_text() -> None:
    data = stdlib_json.loads(json.render(report()))
    assert data["schema"] == "fleetbeat.report/1"
    assert data["fates"]["lost"] == 1
    assert sum(data["fates"].values()) == data["posts"] == 2
    assert data["ruling"]["code"] == 1
    assert data["replay"] == "fleetbeat run by-hand"
    assert data["verdicts"][0]["kinds"] == {"gap": 1}
    assert data["verdicts"][0]["known_gap"] == ["reference"]
    assert data["metrics"]["convergence"][0]["missing"][0]["action"]["id"] == "post-again"
    assert data["faults"][0]["effects"] == {"EIO": 1}


def test_json_is_printable_ascii_and_loses_nothing() -> None:
    shown = json.render(hostile())
    assert all(char == "\n" or " " <= char <= "~" for char in shown)
    assert stdlib_json.loads(shown)["scenario"] == EVIL


def test_json_holds_no_more_findings_than_its_limit_and_counts_the_rest() -> None:
    found = tuple(Finding("scope", "violation", "agent", i, "x") for i in range(MOST + 5))
    judged = Judgement((), (Verdict("scope", "p", "broken", found, 1),))
    row = stdlib_json.loads(json.render(made([run_record(), end()], judged)))["verdicts"][0]
    assert (len(row["findings"]), row["findings_total"]) == (MOST, MOST + 5)


def cases(document: str) -> dict[str, list[str]]:
    root = ElementTree.fromstring(document)
    return {case.attrib["name"]: [child.tag for child in case] for case in root.iter("testcase")}


def test_junit_has_a_case_for_each_invariant_and_each_threshold() -> None:
    assert cases(junit.render(report())) == {
        "no-silent-loss": ["failure"],
        "honest-operator": ["system-out"],
        "scope": [],
        "coverage": ["error"],
        "converge v2": ["failure"],
        "sometimes stuck": ["error"],
        "lag p99": ["system-out"],
        "verdict": ["failure"],
    }


def test_junit_counts_what_it_holds() -> None:
    suite = ElementTree.fromstring(junit.render(report())).find("testsuite")
    assert suite is not None
    assert [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")] == ["8", "3", "2", "0"]


def test_an_invariant_broken_as_expected_is_a_passed_case_that_says_so() -> None:
    document = junit.render(report(Ruling(0, "broken as expected")))
    assert cases(document)["no-silent-loss"] == ["system-out"]


def test_a_vacuous_run_is_red_although_every_invariant_held() -> None:
    judged = Judgement((), (Verdict("scope", "p", "held"),))
    document = junit.render(made([run_record(), end()], judged, Ruling(3, "vacuous", ("no post began",))))
    assert cases(document) == {"scope": [], "verdict": ["error"]}
    assert "no post began" in document


def test_junit_is_well_formed_whatever_an_agent_wrote() -> None:
    names = list(cases(junit.render(hostile())))
    assert len(names) == 3
    assert all(name.isprintable() for name in names)


@given(st.text(st.characters()))
def test_junit_is_well_formed_for_any_text(text: str) -> None:
    finding = Finding("scope", "gap", "agent", 0, text)
    judged = Judgement((), (Verdict(text, text, "broken", (finding,), 1, text),))
    cases(junit.render(made([run_record(scenario=text), end()], judged, Ruling(1, "broken", (), (text,)))))


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_missing_yaml_gives_every_text_back(text: str) -> None:
    target = MissingTarget(text, text, text, "lost", text, NextAction("post-again", text))
    shown = missing.render(text, 7, [target])
    assert all(char == "\n" or " " <= char <= "~" for char in shown)
    row = dict.fromkeys(("version", "agent", "post", "why", "do"), text) | {"fate": "lost", "action": "post-again"}
    whole = {"schema": "fleetbeat.missing/1", "scenario": text, "seed": 7, "count": 1, "missing": [row]}
    assert yaml.safe_load(shown) == whole


def test_missing_yaml_of_nothing_is_an_empty_list_and_a_post_may_be_null() -> None:
    assert yaml.safe_load(missing.render("s", 1, []))["missing"] == []
    target = MissingTarget("v", "a", None, "unposted", "", NextAction("post", "post it"))
    assert yaml.safe_load(missing.render("s", 1, [target]))["missing"][0]["post"] is None


def test_missing_yaml_holds_lone_surrogates_as_their_escape() -> None:
    target = MissingTarget("v", "\ud800", None, "lost", "", NextAction("post", "x"))
    assert yaml.safe_load(missing.render("s", 1, [target]))["count"] == 1
