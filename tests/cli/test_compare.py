"""`fleetbeat compare`: what it prints, what it refuses, and its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.sweep.cluster import PATIENCE_S, need_dask, scheduler, workers

from fleetbeat.cli import main
from fleetbeat.sweep import pairs

TEXT = """\
name: small
seed: 5
duration: 60s
fleet: {agents: 5}
rollouts:
  - {version: v1, at: 5s, targets: all, body: be kind}
  - {version: v2, at: 10s, targets: all, body: be rude, bad: true, WAVES}
"""
SLOW = "waves: [{upto: 40%, bake: 30s}, {upto: 100%}]"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fast.yaml").write_text(TEXT.replace(", WAVES", ""))
    Path("slow.yaml").write_text(TEXT.replace("WAVES", SLOW))


def call(*arguments: str) -> int:
    return main(["compare", *arguments, "--jobs", "1", "-q"])


def test_a_table_and_a_sentence_for_what_differs(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("fast.yaml", "slow.yaml", "--seeds", "10") == 0
    out = capsys.readouterr().out
    assert out.startswith("fast against slow: 10 pairs of runs, seeds 5 to 14\n")
    said = " ".join(out.split())
    assert "fast: 10 held slow: 10 held" in said
    assert "exposure (agents x time on a bad version, agent-seconds): slow " in said
    assert "No difference is shown in " in said
    assert "Efron 1987" in said
    assert max(map(len, out.splitlines())) <= 100


def test_json_holds_every_number_and_the_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("fast.yaml", "slow.yaml", "--seeds", "9", "--metric", "exposure", "--metric", "lag_p99", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "fleetbeat.compare/1"
    assert told["seeds"] == list(range(5, 14))
    assert [row["metric"] for row in told["metrics"]] == ["exposure", "lag_p99"]
    assert told["metrics"][0]["differs"] is True
    assert told["metrics"][0]["apart"]["count"] == 9
    assert told["warnings"] == []


def test_scenarios_that_differ_in_more_than_the_plan_are_compared_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("other.yaml").write_text(Path("slow.yaml").read_text().replace("agents: 5", "agents: 6"))
    assert call("fast.yaml", "other.yaml", "--seeds", "2") == 0
    assert "warning: the two differ in more than their plans" in capsys.readouterr().out


def test_two_files_of_one_name_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    Path("sub").mkdir()
    Path("sub/fast.yaml").write_text(Path("slow.yaml").read_text())
    assert call("fast.yaml", "sub/fast.yaml", "--seeds", "2") == 0
    assert capsys.readouterr().out.startswith("A against B: ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fast.yaml", "slow.yaml", "--metric", "exposur"), "did you mean 'exposure'?"),
        (("fast.yaml", "slow.yaml", "--seeds", "0"), "--seeds"),
        (("fast.yaml", "slow.yaml", "--seeds", "9999"), "19,998 runs, expected at most 10,000 (about "),
        (("fast.yaml", "none.yaml"), "none.yaml"),
        (("fast.yaml",), "SECOND"),
        (("fast.yaml", "slow.yaml", "--executor", "dask://x:1"), "--jobs: got --executor too"),
        (("fast.yaml", "slow.yaml", "--set", "fleet.agentz=3"), "did you mean 'agents'?"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(*arguments) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err


def test_an_executor_that_is_not_there_or_no_address_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "fast.yaml", "slow.yaml", "--executor", "nonsense", "-q"]) == 2
    assert "expected dask://HOST:PORT" in capsys.readouterr().err


@pytest.mark.slow
def test_workers_of_a_scheduler_come_to_the_same(tmp_path: Path) -> None:
    need_dask()

    def said(*arguments: str) -> tuple[int, str]:
        call = [sys.executable, "-m", "fleetbeat", "compare", "fast.yaml", "slow.yaml", "--seeds", "20", "--json", "-q"]
        done = subprocess.run([*call, *arguments], capture_output=True, text=True, timeout=5 * PATIENCE_S, check=False)
        return done.returncode, done.stdout

    here = said("--jobs", "1")
    assert here[0] == 0
    with scheduler(tmp_path) as (_, address), workers(tmp_path, address, 2):
        assert said("--executor", address) == here
    assert said("--executor", address) == (4, "")


def test_ctrl_c_compares_the_pairs_that_are_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play, played = pairs.played, []

    def stops(*arguments: object) -> object:
        played.append(arguments)
        if len(played) == 6:
            raise KeyboardInterrupt
        return play(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(pairs, "played", stops)
    monkeypatch.setattr(pairs, "_MOST_BATCH", 1)
    assert call("fast.yaml", "slow.yaml", "--seeds", "20") == 130
    told = capsys.readouterr()
    assert "2 pairs of runs" in told.out
    assert "interrupted after 5 of 40 runs" in told.err


@pytest.mark.slow
def test_the_librarys_gates_cost_time_and_save_agents(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--seeds", "12", "--set", "fleet.agents=80"]
    assert call("hasty-rollout", "gated-rollout", *few, "--metric", "exposure", "--metric", "finish", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    found = {row["metric"]: row["apart"] for row in told["metrics"] if row["differs"]}
    assert found["exposure"]["high"] < -20_000
    assert found["finish"]["low"] > 100
    assert told["warnings"] == []
