"""`fleetbeat query`: SQL over a directory's tables, reading alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sweep.test_one import TEXT

from fleetbeat.cli import main


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)
    assert main(["sweep", "s.yaml", "--seeds", "3", "--vary", "fleet.agents=2,3", "--jobs", "1", "-o", "d"]) == 0
    assert main(["run", "s.yaml", "-q", "-o", "r"]) == 0
    Path("stopped").mkdir()
    Path("stopped/ledger.sqlite").touch()
    capsys.readouterr()


def _asked(folder: str, sql: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert main(["query", folder, sql, "--json"]) == 0
    rows: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return rows


def test_runs_and_cells_of_a_sweep_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    sql = (
        'select "fleet.agents" agents, count(*) n, min(seed) first, sum(fate_applied) a from runs group by 1 order by 1'
    )
    assert _asked("d", sql, capsys) == [
        {"agents": "2", "n": 3, "first": 3, "a": 6.0},
        {"agents": "3", "n": 3, "first": 3, "a": 9.0},
    ]
    found = _asked("d", "select distinct metric from cells where source is not null order by 1", capsys)
    assert [row["metric"] for row in found] == ["at_end", "failed", "lag_p99", "ops_per_s"]


def test_posts_and_history_of_a_run_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert _asked("r", "select count(*) n from posts where fate = 'applied'", capsys) == [{"n": 12}]
    applied = "select count(distinct agent) n from history where kind = 'prompt' and t > 5000000000"
    assert _asked("r", applied, capsys) == [{"n": 12}]


def test_a_table_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", "d", "select cell, null as nothing from runs limit 1"]) == 0
    assert capsys.readouterr().out.split() == ["cell", "nothing", "------", "---------", "0", "-"]


@pytest.mark.parametrize(
    ("folder", "sql", "words"),
    [
        ("nowhere", "select 1", "expected one that sweep -o or run -o made"),
        (".", "select 1", "got no table in it"),
        ("stopped", "select 1", "--resume goes on"),
        ("d", "selec 1", "syntax error"),
        ("d", "select * from run", "run does not exist"),
        ("d", "copy runs to 'out.csv'", "disabled"),
        ("d", "select * from read_text('s.yaml')", "disabled"),
    ],
)
def test_what_cannot_be_asked_is_told_on_one_line(
    folder: str, sql: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", folder, sql]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert not Path("out.csv").exists()
