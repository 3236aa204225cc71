from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.calls import Desk, stop
from tests.history.hand import end

from fleetbeat.cli import errors, main
from fleetbeat.cli.output import Unwritable
from fleetbeat.history import jsonl


@pytest.mark.parametrize("code", [0, 1, 3])
def test_the_decision_is_the_exit_code_of_run_and_of_check(desk: Desk, code: int) -> None:
    desk.decide(code, "as decided")
    assert desk("run", "s.yaml", "-o", "out").code == code
    assert desk("check", "out").code == code
    assert desk("check", "out/history.jsonl").code == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], "rnu"),
        (["run"], "SCENARIO"),
        (["run", "s.yaml", "--bogus"], "--bogus"),
        (["run", "s.yaml", "--seed", "-1"], "--seed"),
        (["run", "s.yaml", "--seed", str(2**64)], "--seed"),
        (["run", "s.yaml", "--engine", "magic"], "got 'magic', expected one of des"),
        (["run", "s.yaml", "--color", "pink"], "pink"),
        (["run", "none.yaml"], "none.yaml"),
        (["run", "."], "."),
        (["run", "s.yaml", "--set", "fleet.agents=-1"], "-1"),
        (["run", "s.yaml", "--case", "none.yaml"], "none.yaml"),
        (["run", "s.yaml", "--checks", "none"], "none"),
        (["check", "none.jsonl"], "got no such file"),
        (["check", "."], "got a directory"),
        (["check", "s.yaml"], "s.yaml:1: got "),
        (["diff", "s.yaml", "s.yaml"], "s.yaml:1: got "),
        (["diff", "s.yaml"], "RUN"),
    ],
)
def test_wrong_usage_and_wrong_files_exit_2_with_one_line(desk: Desk, arguments: list[str], words: str) -> None:
    said = desk(*arguments)
    assert said.code == 2
    assert said.out == ""
    assert words in said.one_line


def test_every_mistake_of_a_scenario_has_its_line(desk: Desk) -> None:
    Path("bad.yaml").write_text("fleet: {agents: 0}\nseed: x\nbogus: 1\n")
    said = desk("run", "bad.yaml")
    assert said.code == 2
    assert len(said.err.splitlines()) == 3
    assert all(line.startswith("bad.yaml:") for line in said.err.splitlines())


def test_no_command_at_all_says_where_the_help_is(desk: Desk) -> None:
    said = desk()
    assert (said.code, said.out) == (2, "")
    assert "fleetbeat --help" in said.one_line


def test_a_mistyped_command_is_guessed(desk: Desk) -> None:
    assert "(did you mean 'check'?)" in desk("chekc", "x").one_line


def test_what_a_case_file_chooses_reaches_the_engine(desk: Desk) -> None:
    Path("case.yaml").write_text(
        "format: 1\nchoices:\n  bits: [{stream: jitter, step: 'a-0/beat#0.3:tick', value: 7}]\n"
    )
    said = desk("run", "s.yaml", "--case", "case.yaml")
    assert said.code == 0
    assert list(desk.played[0][1].bits.values()) == [7]
    assert "--case case.yaml" in said.out.splitlines()[-1]
    Path("case.yaml").write_text("format: 2\n")
    assert desk("run", "s.yaml", "--case", "case.yaml").code == 2


def test_what_the_environment_lacks_exits_4(desk: Desk) -> None:
    desk.on_play(stop(ModuleNotFoundError("No module named 'simpy'", name="simpy")))
    said = desk("run", "s.yaml")
    assert said.code == 4
    assert "simpy" in said.one_line


def test_no_memory_exits_4(desk: Desk) -> None:
    desk.on_play(stop(MemoryError()))
    assert desk("run", "s.yaml").code == 4


def test_an_internal_error_exits_70_and_says_how_to_see_where(desk: Desk) -> None:
    desk.on_play(stop(RuntimeError("what\x1b[2J\nnow")))
    said = desk("run", "s.yaml")
    assert said.code == 70
    assert "RuntimeError: what\\x1b[2J\\x0anow" in said.one_line
    assert "FLEETBEAT_TRACEBACK=1" in said.one_line


def test_an_operating_system_error_of_the_simulated_fleet_is_internal(desk: Desk) -> None:
    desk.on_play(stop(OSError(28, "No space left on device")))
    assert desk("run", "s.yaml").code == 70


def test_the_traceback_is_shown_when_asked_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETBEAT_TRACEBACK", "1")
    desk.on_play(stop(RuntimeError("oops")))
    said = desk("run", "s.yaml")
    assert said.code == 70
    assert "Traceback (most recent call last)" in said.err


def test_interrupted_before_anything_was_finished_exits_130_and_leaves_nothing(desk: Desk) -> None:
    desk.on_play(stop(KeyboardInterrupt()))
    said = desk("run", "s.yaml", "-o", "out")
    assert said.code == 130
    assert desk.left() == []
    assert "interrupted" in said.err
    assert "Traceback" not in said.err


def test_interrupted_in_the_middle_exits_130_with_what_was_finished(desk: Desk) -> None:
    desk.records = [*desk.records[:-1], end(30 * 10**9, "interrupted")]
    said = desk("run", "s.yaml", "-o", "out")
    assert said.code == 130
    assert jsonl.read("out/history.jsonl")[-1]["reason"] == "interrupted"
    assert Path("out/report.json").exists()
    assert "what was finished is saved" in said.err
    assert desk("check", "out").code == 130


def test_interrupted_while_judging_saves_the_history(desk: Desk) -> None:
    desk.on_judge(stop(KeyboardInterrupt()))
    said = desk("run", "s.yaml", "-o", "out")
    assert said.code == 130
    assert desk.left() == ["out", "out/history.jsonl", "out/scenario.yaml"]
    assert jsonl.read("out/history.jsonl") == desk.records


def test_a_subclass_has_the_code_of_its_base_and_a_namesake_elsewhere_has_none() -> None:
    class Worse(Unwritable):
        pass

    class HistoryError(Exception):
        pass

    assert errors.code_of(Worse("x")) == 4
    assert errors.code_of(HistoryError("x")) == 70


def test_every_exit_code_stands_in_the_help(desk: Desk) -> None:
    said = desk("--help")
    assert said.code == 0
    for code in (0, 1, 2, 3, 4, 70, 130):
        assert any(line.split()[:1] == [str(code)] for line in said.out.splitlines())


def test_a_check_that_exits_cannot_turn_a_broken_run_into_a_success(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text(
        "import sys\nfrom fleetbeat.checks import Invariant\nINVARIANT = Invariant('leaves', 'nothing')\n\n\n"
        "def check(world):\n    sys.exit(0)\n    yield\n"
    )
    assert main(["run", "lost-update", "-q", "--checks", str(tmp_path)]) == 1
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    assert main(["run", "lost-update", "-q", "--checks", str(tmp_path)]) == 2


def test_an_agent_whose_program_exits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: leaves\n")
    (tmp_path / "program.py").write_text("import sys\nsys.exit(0)\n")
    assert main(["run", "lost-update", "-q", "--set", f"fleet.agent={tmp_path}"]) == 2
