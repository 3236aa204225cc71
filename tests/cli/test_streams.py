from __future__ import annotations

import dataclasses
import io
import json
import sys
import unicodedata

import pytest
from tests.cli.calls import Desk
from tests.history.hand import log
from tests.report.made import EVIL

from fleetbeat.cli import output
from fleetbeat.cli.output import emit, narrate, painter
from fleetbeat.history.records import Record


def test_json_is_all_that_stands_on_standard_output(desk: Desk) -> None:
    said = desk("run", "s.yaml", "--json")
    assert json.loads(said.out)["schema"] == "fleetbeat.report/1"
    assert said.err.startswith("held · ")
    assert len(said.err.splitlines()) == 1


def test_quiet_is_the_summary_alone_and_quiet_json_has_no_narration(desk: Desk) -> None:
    said = desk("run", "s.yaml", "-q")
    assert (said.err, len(said.out.splitlines())) == ("", 1)
    said = desk("run", "s.yaml", "-q", "--json")
    assert said.err == ""
    json.loads(said.out)


def test_the_text_ends_in_the_summary_with_the_replay_command(desk: Desk) -> None:
    said = desk("run", "s.yaml", "--seed", "3", "--set", "fleet.agents=3")
    assert said.err == ""
    assert said.out.splitlines()[-1].endswith("replay: fleetbeat run --set fleet.agents=3 --seed 3 s.yaml")


def hostile(desk: Desk) -> None:
    """Whatever an agent controls says something to the terminal."""
    late = 59 * 10**9
    told = [log(late, "a-0", EVIL, field=EVIL), Record(late, EVIL, "log", log(0, EVIL, EVIL).fields)]
    desk.records = [*desk.records[:-1], *told, desk.records[-1]]
    bad = dataclasses.replace(desk.judgement.fates[1], note=EVIL, agent=EVIL, version=EVIL)
    desk.judgement = dataclasses.replace(desk.judgement, fates=(desk.judgement.fates[0], bad))


@pytest.mark.parametrize("options", [(), ("--json",), ("-q",), ("--color", "never")])
def test_no_control_character_of_an_agent_reaches_the_streams(desk: Desk, options: tuple[str, ...]) -> None:
    hostile(desk)
    said = desk("run", "s.yaml", *options)
    assert said.code == 0
    assert {unicodedata.category(char) for char in (said.out + said.err).replace("\n", "")} & {
        "Cc",
        "Cf",
        "Cs",
    } == set()


def test_no_control_character_of_an_agent_reaches_the_text_files(desk: Desk) -> None:
    hostile(desk)
    assert desk("run", "s.yaml", "-o", "out").code == 0
    for name in ("history.jsonl", "report.json", "report.txt", "junit.xml", "missing.yaml"):
        text = (desk.folder / "out" / name).read_text()
        assert {unicodedata.category(char) for char in text.replace("\n", "")} & {"Cc", "Cf", "Cs"} == set(), name


def test_no_control_character_of_an_argument_reaches_an_error(desk: Desk) -> None:
    for arguments in (
        ["run", EVIL.replace("\0", "")],
        ["check", "x\x1b[2J"],
        ["\x1b[2J"],
        ["run", "s.yaml", "-o", "\x1b/\n"],
    ):
        said = desk(*[argument.encode("utf-8", "replace").decode() for argument in arguments])
        assert said.code == 2
        assert "\x1b" not in said.err + said.out
        assert "\u202e" not in said.err + said.out


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "coloured"),
    [
        ("auto", True, {}, True),
        ("auto", False, {}, False),
        ("auto", True, {"NO_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": ""}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
        ("never", True, {}, False),
    ],
)
def test_colour_is_the_options_then_no_color_then_the_terminals(
    monkeypatch: pytest.MonkeyPatch, choice: str, terminal: bool, environment: dict[str, str], coloured: bool
) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return terminal

    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    if "NO_COLOR" not in environment:
        monkeypatch.delenv("NO_COLOR", raising=False)
    assert (painter(choice, Screen())("good", "x") != "x") is coloured


def test_colour_always_reaches_the_report_and_not_the_files(desk: Desk) -> None:
    said = desk("run", "s.yaml", "--color", "always", "-o", "out")
    assert "\x1b[32mheld\x1b[0m" in said.out
    assert "\x1b" not in (desk.folder / "out" / "report.txt").read_text()
    assert "\x1b" not in desk("run", "s.yaml").out


def test_closed_streams_stop_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    emit("x")
    narrate("x")
    output.silence_stdout()


def test_an_ascii_terminal_gets_escapes_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.prepare_streams()
    emit("50 % · ▆\n")
    assert raw.getvalue() == b"50 % \\xb7 \\u2586\n"
