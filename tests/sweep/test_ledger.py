"""The ledger: whole batches or nothing, no run twice, and no other sweep's directory."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fleetbeat.sweep.execute import Row
from fleetbeat.sweep.ledger import FILE, Ledger, LedgerError, LedgerFull

PLAN = {"version": "1", "scenario": "s"}
BIG = 2**64 - 1


def _row(cell: int, seed: int) -> Row:
    return Row(cell, seed, "held", {"lag": 0.1 + seed, "none": None})


def test_what_was_kept_is_there_again_in_order(tmp_path: Path) -> None:
    rows = [_row(1, 2), _row(0, BIG), _row(0, 9), _row(0, 10)]
    with Ledger(tmp_path, PLAN) as ledger:
        ledger.keep(rows)
    with Ledger(tmp_path, PLAN) as ledger:
        found = ledger.finished()
    assert list(found) == [(0, 9), (0, 10), (0, BIG), (1, 2)]
    assert found[0, BIG] == rows[1]


def test_a_run_is_never_in_it_twice_and_its_batch_is_left_out_whole(tmp_path: Path) -> None:
    with Ledger(tmp_path, PLAN) as ledger:
        ledger.keep([_row(0, 1)])
        with pytest.raises(sqlite3.IntegrityError):
            ledger.keep([_row(0, 2), _row(0, 1)])
        assert list(ledger.finished()) == [(0, 1)]


@pytest.mark.parametrize("name", ["version", "scenario"])
def test_another_version_or_scenario_is_refused_in_words(tmp_path: Path, name: str) -> None:
    with Ledger(tmp_path, PLAN):
        pass
    with pytest.raises(LedgerError, match=f"whose {name} is {PLAN[name]}, expected other"):
        Ledger(tmp_path, {**PLAN, name: "other"})


def test_two_cannot_play_one_sweep(tmp_path: Path) -> None:
    with Ledger(tmp_path, PLAN), pytest.raises(LedgerError, match="being played"):
        Ledger(tmp_path, PLAN)


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("no database, but longer than a header of a hundred bytes would be. " * 20)
    with pytest.raises(LedgerError, match="expected a sweep's ledger"):
        Ledger(tmp_path, PLAN)


def test_a_full_disk_keeps_what_was_kept_and_can_go_on(tmp_path: Path) -> None:
    with Ledger(tmp_path, PLAN) as ledger:
        ledger.keep([_row(0, 1)])
        pages = ledger.connection.execute("PRAGMA page_count").fetchone()[0]
        ledger.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(LedgerFull, match="full"):
            ledger.keep([_row(1, seed) for seed in range(2000)])
    with Ledger(tmp_path, PLAN) as ledger:
        assert list(ledger.finished()) == [(0, 1)]
        ledger.keep([_row(1, seed) for seed in range(2000)])
