from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from tests.cli.calls import Desk
from tests.history.hand import end, log, run_record

from fleetbeat.history.diff import Change, part
from fleetbeat.report import difference


def test_check_needs_the_file_alone(desk: Desk) -> None:
    desk("run", "s.yaml", "-o", "out", "--json")
    Path("moved.jsonl").write_bytes(Path("out/history.jsonl").read_bytes())
    said = desk("check", "moved.jsonl", "--json")
    theirs, ours = json.loads(Path("out/report.json").read_text()), json.loads(said.out)
    assert ours["replay"] == "fleetbeat check moved.jsonl"
    assert {**theirs, "replay": ""} == {**ours, "replay": ""}


def test_equal_runs_are_identical_and_exit_0(desk: Desk) -> None:
    desk("run", "s.yaml", "-o", "one")
    desk("run", "s.yaml", "-o", "two")
    said = desk("diff", "one", "two/history.jsonl")
    assert (said.code, said.out) == (0, f"identical: {len(desk.records)} records\n")


def test_runs_that_part_exit_1_and_say_where_and_what_changed(desk: Desk) -> None:
    desk("run", "s.yaml", "-o", "one")
    desk.records = [*desk.records[:-2], log(9 * 10**9, "a-1", "other"), end()]
    desk("run", "s.yaml", "-o", "two")
    said = desk("diff", "one", "two")
    assert said.code == 1
    assert f"part at record {len(desk.records) - 1} " in said.out
    assert said.out.splitlines()[-1].startswith("differ · ")


def test_a_difference_shows_both_records_in_words_and_the_fields_that_differ() -> None:
    a, b = [run_record(), log(1, "a-0", "e", x=1), end(9)], [run_record(), log(2, "a-0", "f\x1b", x=1), end(9)]
    parting = part(a, b)
    assert parting is not None
    shown = difference.render(parting, [Change("p", "lost", "applied")], [], ("one", "two"), (3, 3))
    assert "1: one: at 1ns a-0/beat: log (agent a-0, event e" in shown
    assert "2: two: at 2ns a-0/beat: log (agent a-0, event f\\x1b" in shown
    assert "\x1b" not in shown
    assert "t        1    2" in shown
    assert "1 fate that differs" in shown
    assert "No verdict differs." in shown
    assert shown.endswith("differ · 1 fate · 0 verdicts\n")


def test_a_run_that_ended_early_is_said_to_have_ended() -> None:
    whole = [run_record(), log(1, "a-0", "e"), end(9)]
    parting = part(whole[:1], whole)
    assert parting is not None
    shown = difference.render(parting, [], [], ("one", "two"), (1, 3))
    assert "1: one: ended before, after 1 record" in shown


def test_many_changes_are_cut_and_counted() -> None:
    parting = part([], [end(1)])
    assert parting is not None
    shown = difference.render(parting, [Change(f"p{i}", "a", "b") for i in range(25)], [], ("one", "two"), (0, 1))
    assert "... and 5 more" in shown
    assert dataclasses.is_dataclass(parting)
