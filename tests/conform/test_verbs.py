"""The verbs `agents` and `conform`: what they print, what they keep, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fleetbeat.cli import main
from fleetbeat.engines import ENGINES, des
from fleetbeat.history import jsonl
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

AGENTS = find_agent("reference").parent
SHORT = ["--simulations", "4", "-q"]
Engine = Callable[..., Sequence[Record]]


def _play(monkeypatch: pytest.MonkeyPatch, *sets: str, reason: str = "duration") -> None:
    """Lets the simulation play the part of the real engine, with another seed and by a scenario that is changed."""

    def real(scenario: Scenario, overrides: object = None, progress: object = None) -> list[Record]:
        changed = load(Path("s.yaml"), overrides=sets).model_copy(update={"seed": scenario.seed + 500})
        records = des.run(changed)
        return [*records[:-1], Record(records[-1].t, "harness", "end", {"reason": reason})]

    engines: dict[str, Engine] = {"des": des.run, "process": real}
    monkeypatch.setattr(ENGINES, "engine", lambda name: engines[name])


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.yaml").write_text(
        "name: by-hand\nduration: 20s\nfleet: {agents: 20}\n"
        "faults: [{id: slow, operation: unlink, probability: 1, delay: 300ms}]\n"
        "rollouts: [{version: v1, at: 5s, targets: all, body: x}]\n"
    )


def test_agents_are_listed_with_what_they_are_and_admit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents"]) == 0
    out = capsys.readouterr().out
    assert "reference\n" in out
    assert "known gaps: none" in out
    assert "no-silent-loss" in out


def test_a_right_agent_is_held_and_a_wrong_one_is_broken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents", "check", "claim", "--engine", "des"]) == 0
    assert "40 as specified of 40 rows" in capsys.readouterr().out
    wrong = str(AGENTS / "mutants" / "merges")
    assert main(["agents", "check", wrong, "--engine", "des", "--row", "replaced", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["rows"][0]["answers"]["des"]["answer"] == "differs"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["agents", "check", "nobody", "--engine", "des"], "nobody"),
        (["agents", "check", "./nothing"], "a folder that holds an agent.yaml"),
        (["agents", "check", "claim", "--engine", "magic"], "got 'magic', expected one of des"),
        (["agents", "check", "claim", "--row", "none"], "got 'none', expected one of nothing-posted"),
        (["conform", "s.yaml", "--engines", "des"], "expected des and one real engine or more"),
        (["conform", "s.yaml", "--engines", "process"], "expected des and one real engine or more"),
        (["conform", "s.yaml", "--engines", "des,magic"], "got 'magic'"),
        (["conform", "s.yaml", "--room", "soon"], "--room: got 'soon', expected a duration"),
        (["conform", "none.yaml"], "none.yaml"),
    ],
)
def test_a_mistake_is_told_in_words_with_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_alike_is_exit_code_0_and_what_was_played_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _play(monkeypatch)
    assert main(["conform", "s.yaml", "-o", "out", *SHORT]) == 0
    out = capsys.readouterr().out
    assert out.endswith("process is like des\n")
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "calibrated-process.yaml",
        "comparison.json",
        "comparison.txt",
        "history-process-501.jsonl",
    ]
    assert Path("out/comparison.txt").read_text() == out
    assert load(Path("out/calibrated-process.yaml")).duration == 20 * 10**9
    assert jsonl.read(Path("out/history-process-501.jsonl"))[0].kind == "run"


def test_a_doubled_latency_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _play(monkeypatch, "fleet.heartbeat.interval=400ms", "faults.0.delay=600ms")
    assert main(["conform", "s.yaml", "--set", "fleet.heartbeat.interval=400ms", "--json", *SHORT]) == 1
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    assert (engine["word"], engine["lags"][0]["word"]) == ("differs", "differs")


def test_too_few_posts_are_exit_code_3(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    _play(monkeypatch, "fleet.agents=1")
    assert main(["conform", "s.yaml", "--set", "fleet.agents=1", *SHORT]) == 3
    assert "cannot tell" in capsys.readouterr().out


def test_an_interrupted_run_ends_it_and_keeps_nothing_half_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _play(monkeypatch, reason="interrupted")
    assert main(["conform", "s.yaml", "-o", "out", *SHORT]) == 130
    assert sorted(path.name for path in Path().iterdir()) == ["s.yaml"]
    assert "interrupted" in capsys.readouterr().err


def test_an_agent_of_which_no_row_could_be_observed_is_not_held_for_right(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "agent.yaml").write_text("name: own\ncommand: [sleep, '100']\n")
    assert main(["agents", "check", "./own", "--engine", "des", "--row", "replaced"]) == 3
