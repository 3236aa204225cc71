"""`fleetbeat check` on an event ledger of another system: report, exit codes, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import Desk

SPIRAL: list[dict[str, Any]] = [
    {"id": 1, "ts": 0, "type": "prompt", "origin": "user", "session": "s-1", "cause": None},
    {"id": 2, "ts": 0.5, "action": "prepare", "policy": "homework", "session": "s-1", "cause": 1, "cost": 0.2},
    {"id": 3, "ts": 8, "type": "ready", "origin": "proactive", "session": "s-1", "cause": 2},
    {"id": 4, "ts": 8, "action": "prepare", "policy": "again", "session": "s-1", "cause": 3, "cost": 0.2},
]


@pytest.fixture
def ledger(desk: Desk) -> Path:
    path = desk.folder / "app.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in SPIRAL))
    return path


def test_a_broken_ledger_exits_1_and_draws_the_shortest_chain(desk: Desk, ledger: Path) -> None:
    said = desk("check", "app.jsonl")
    assert (said.code, said.err) == (1, "")
    assert said.out.startswith("ledger app.jsonl: 4 lines, 2 events, 2 actions, 1 agent, 1 session, 8.00s\n")
    tree = said.out.split("Shortest chain\n")[1].split("\n\n")[0].splitlines()
    assert tree == [
        "  prompt #1, s-1, at 0s",
        "  └─ prepare homework #2, s-1, at 500ms  <- the framework's chain begins",
        "     └─ ready #3, s-1, at 8s",
        "        └─ prepare again #4, s-1, at 8s  <- breaks it",
    ]
    assert said.out.endswith("· 2 events · fleetbeat check app.jsonl\n")


def test_quiet_is_one_line_and_json_is_one_object(desk: Desk, ledger: Path) -> None:
    assert desk("check", "-q", "app.jsonl").out.count("\n") == 1
    said = desk("check", "--json", "app.jsonl")
    data = json.loads(said.out)
    assert (data["schema"], data["exit_code"], data["verdict"]) == ("fleetbeat.ledger/1", 1, "broken")
    assert [one["outcome"] for one in data["invariants"]] == ["broken", "held"]
    assert [link["id"] for link in data["invariants"][0]["shortest"]] == [1, 2, 3, 4]
    assert said.err.startswith("broken · ")


def test_what_cannot_be_judged_exits_3_and_says_what_was_missing(desk: Desk, ledger: Path) -> None:
    ledger.write_text(
        "".join(json.dumps({k: v for k, v in line.items() if k != "cause"}) + "\n" for line in SPIRAL[1:])
    )
    said = desk("check", "app.jsonl")
    assert said.code == 3
    assert "Not in the ledger\n  - cause: 3 lines do not have it\n" in said.out


@pytest.mark.parametrize("bad", ['{"id": 9, "action": "Notify"}', "{", '{"id": 1, "type": "x"}', "3"])
def test_a_bad_line_exits_2_in_one_line_with_its_number(desk: Desk, ledger: Path, bad: str) -> None:
    ledger.write_text(ledger.read_text() + bad + "\n")
    said = desk("check", "app.jsonl")
    assert (said.code, said.out) == (2, "")
    assert "app.jsonl:5: " in said.one_line


def test_checks_of_ones_own_are_for_histories(desk: Desk, ledger: Path) -> None:
    said = desk("check", "--checks", ".", "app.jsonl")
    assert said.code == 2
    assert "expected a history" in said.one_line


def test_harmful_text_in_a_ledger_is_escaped(desk: Desk, ledger: Path) -> None:
    bad = {**SPIRAL[3], "policy": "again\x1b[2J\u202e"}
    ledger.write_text("".join(json.dumps(line) + "\n" for line in [*SPIRAL[:3], bad]))
    said = desk("check", "app.jsonl")
    assert "\x1b" not in said.out
    assert "\u202e" not in said.out
    assert "again\\x1b[2J\\u202e" in said.out


def test_a_run_without_a_workload_keeps_no_ledger(desk: Desk) -> None:
    desk("run", "s.yaml", "-o", "out")
    assert not Path("out/ledger.jsonl").exists()
    assert Path("out/history.jsonl").exists()
