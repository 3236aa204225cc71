"""`fleetbeat explore` and `replay` with a workload: both halves, one of them, and what they leave behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.explore.framework_worlds import SCENARIO

from fleetbeat.cli import main

FEW = ["--tasks", "1", "--calls", "1", "--troubles", "0"]


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(SCENARIO.replace("CORE", "reference"))
    return "small.yaml"


def asked(scenario: str, core: str = "core-no-guard", *more: str) -> list[str]:
    return ["explore", scenario, "--set", f"fleet.core={core}", "--only", "framework", *FEW, *more]


def test_a_wrong_core_is_told_with_its_tree_and_a_case_that_replays(
    scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(asked(scenario)) == 1
    told = capsys.readouterr().out
    assert "no-self-trigger (violation, agent): a-0: prepare" in told
    assert "└─ prepare homework #2, s-0, at 1ms  <- the framework's chain begins" in told
    assert "framework: 1 way to break an invariant; complete within these bounds" in told
    path = told.partition("replay: fleetbeat replay ")[2].split()[0]
    assert main(["replay", path]) == 1
    assert "reproduced: no-self-trigger (violation, agent)" in capsys.readouterr().out
    assert main(asked(scenario)) == 1
    ends = capsys.readouterr()
    assert "still failing" in ends.err
    assert "framework: 1 way to break an invariant" in ends.out


def test_a_right_core_exits_0(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(scenario, "reference", "-q")) == 0
    assert capsys.readouterr().out.startswith("framework: nothing broke; complete within these bounds: ")


def test_a_search_in_which_nothing_could_break_exits_3(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*asked(scenario, "reference", "-q"), "--set", "workload.dangers.share=0%"]) == 3
    assert capsys.readouterr().out.endswith("vacuous: no dangerous call was made\n")


def test_a_budget_that_runs_out_exits_3(scenario: str) -> None:
    assert main(asked(scenario, "reference", "-q", "--max-states", "4")) == 3


def test_both_halves_are_told_and_one_of_them_on_request(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--crashes", "0", "--rebuilds", "0", "--posts", "1", "--json", *FEW]
    assert main(["explore", scenario, *small]) in (0, 1)
    both = json.loads(capsys.readouterr().out)
    assert both["framework"]["core"] == "reference"
    assert both["states"] > 0
    assert main(["explore", scenario, "--only", "signal", *small]) in (0, 1)
    assert "framework" not in json.loads(capsys.readouterr().out)
    assert main(["explore", scenario, "--invariant", "no-self-trigger", *small]) == 0
    assert "schedules" not in json.loads(capsys.readouterr().out)


def test_results_and_cases_are_written(scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(asked(scenario, "core-no-guard", "-o", "out", "--json")) == 1
    data = json.loads(capsys.readouterr().out)
    assert json.loads((tmp_path / "out" / "results.json").read_text()) == data
    (one,) = data["framework"]["broken"]
    assert one["invariant"] == "no-self-trigger"
    assert one["tree"][0].startswith("prompt #1")
    case = tmp_path / "out" / "framework-no-self-trigger-violation-agent.yaml"
    assert main(["replay", str(case), "-o", "again", "-q"]) == 1
    assert sorted(path.name for path in (tmp_path / "again").iterdir()) == [
        "case.yaml",
        "chain.txt",
        "history.jsonl",
        "verdict.txt",
    ]
    capsys.readouterr()
    assert main(["check", "again/history.jsonl"]) == 1
    assert "no-self-trigger is broken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--strategy", "pct", "--only", "framework"], "--strategy: got pct, expected exhaustive"),
        (["--only", "signal", "--invariant", "no-self-trigger"], "--only: got signal"),
        (["--calls", "0"], "calls: got 0, expected 1 to 12"),
        (["--only", "framework", "--set", "workload=null"], "--only framework: got a scenario without a workload"),
        (["--invariant", "nothing"], "--invariant: got 'nothing'"),
    ],
)
def test_what_is_of_no_use_is_refused_in_one_line(
    scenario: str, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explore", scenario, *words]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_tree_is_no_svg(scenario: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(asked(scenario))
    path = capsys.readouterr().out.partition("replay: fleetbeat replay ")[2].split()[0]
    assert main(["replay", path, "--diagram", "svg"]) == 2
    assert main(["replay", path, "--diagram", "text"]) == 1
    assert main(["replay", path, "--json"]) == 1
