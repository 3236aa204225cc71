from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from fleetbeat.cli import main
from fleetbeat.history import jsonl

CASES = Path(__file__).resolve().parents[2] / "scenarios" / "cases"
LOST = str(CASES / "lost-update.yaml")
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["replay", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[str, str], str]:
    def edit(old: str, new: str) -> str:
        text = Path(LOST).read_text()
        assert old in text
        (tmp_path / "edited.yaml").write_text(text.replace(old, new))
        return "edited.yaml"

    return edit


def test_a_case_that_breaks_as_it_says_exits_1_with_its_story(call: Call) -> None:
    code, out, err = call(LOST)
    assert (code, err) == (1, "")
    assert "a-0 read rules v1; v2 was renamed over it" in out
    assert "rename to .rules" in out
    assert out.splitlines()[-1] == f"reproduced: no-silent-loss (gap, protocol): {LOST}"
    assert max(len(line) for line in out.splitlines()[:-1]) <= 100


def test_quiet_prints_the_last_line_alone(call: Call) -> None:
    assert call(LOST, "-q") == (1, f"reproduced: no-silent-loss (gap, protocol): {LOST}\n", "")


def test_json_says_the_same(call: Call) -> None:
    code, out, _ = call(LOST, "--json")
    data = json.loads(out)
    assert code == data["exit_code"] == 1
    assert (data["outcome"], data["broken"]) == ("reproduced", ["no-silent-loss", "last-write-wins"])
    assert data["sentence"].endswith("v2 is lost")
    assert data["diverged"] == []


def test_the_output_directory_holds_the_same_bytes_every_time(call: Call) -> None:
    assert call(LOST, "-o", "one")[0] == call(LOST, "-o", "two")[0] == 1
    names = ["case.yaml", "diagram.svg", "diagram.txt", "history.jsonl", "verdict.txt"]
    assert sorted(path.name for path in Path("one").iterdir()) == names
    for name in names:
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()
    records = jsonl.read(Path("one/history.jsonl"))
    assert records[-1].kind == "end"
    assert call("one/case.yaml", "-q")[0] == 1
    assert "one/case.yaml" not in Path("one/verdict.txt").read_text()


@pytest.mark.parametrize("kind", ["text", "svg"])
def test_a_diagram_stands_alone_on_standard_output(call: Call, kind: str) -> None:
    code, out, err = call(LOST, "--diagram", kind)
    assert code == 1
    assert err.startswith("reproduced: ")
    if kind == "svg":
        ET.fromstring(out)
    else:
        assert out.startswith("no-silent-loss (gap, protocol)\n")


def test_a_step_that_is_gone_exits_3_and_says_what_is_there(call: Call, edited: Callable[[str, str], str]) -> None:
    code, out, _ = call(edited("close .rules", "sync .rules"))
    assert code == 3
    assert "op:v2/a-0#0.1:rename .rules.IgQrcD waits for a-0/beat#0.1:sync .rules, which never comes; " in out
    assert "a-0/beat#0.1 now makes: stat .rules, open .rules" in out
    assert out.splitlines()[-1].startswith("diverged: no-silent-loss (gap, protocol): edited.yaml: 1 of 1 choices")
    code, out, _ = call("edited.yaml", "--json")
    assert (code, json.loads(out)["outcome"]) == (3, "diverged")
    code, out, err = call("edited.yaml", "--diagram", "text")
    assert (code, out) == (3, "")
    assert "which never comes" in err


def test_another_verdict_exits_3_and_says_which(call: Call, edited: Callable[[str, str], str]) -> None:
    code, out, _ = call(edited("at: 600ms", "at: 1.2s"))
    assert code == 3
    assert out == (
        "differs: no-silent-loss (gap, protocol): edited.yaml: "
        "expected no-silent-loss, last-write-wins broken, got nothing\n"
    )


def test_a_changed_program_is_told_on_standard_error(call: Call, edited: Callable[[str, str], str]) -> None:
    code, _, err = call(edited("fleetbeat: 0.1.0", "fleetbeat: 0.0.9"))
    assert code == 1
    assert err == "fleetbeat replay: edited.yaml: made by fleetbeat 0.0.9, this is 0.1.0\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "bad.yaml:"),
        ("format: 2\n", "bad.yaml:1:9: format: got 2, expected 1"),
        ("fleet: {agents: 1}\n", "bad.yaml:1:1: got a scenario, which `fleetbeat run` plays, expected a case"),
        ("format: 1\n", "scenario: got nothing, expected a value: a case that is replayed holds its scenario"),
    ],
)
def test_a_file_that_is_no_case_exits_2_with_its_place(call: Call, text: str, said: str) -> None:
    Path("bad.yaml").write_text(text)
    code, out, err = call("bad.yaml")
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_wrong_usage_exits_2(call: Call) -> None:
    assert call("none.yaml")[0] == 2
    assert call(LOST, "--json", "--diagram", "svg")[0] == 2
    assert call(LOST, "--diagram", "png")[0] == 2
    assert call()[0] == 2


def test_a_case_of_another_scenario_is_inconclusive_under_run(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """`run --case` lays the same file's choices over the scenario that it is given."""
    assert main(["run", str(CASES.parent / "aligned-heartbeats.yaml"), "--case", LOST, "-q"]) == 3
    assert capsys.readouterr().out.startswith("vacuous")
