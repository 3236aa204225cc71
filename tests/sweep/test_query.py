"""`fleetbeat query`: SQL over a directory's tables, reading alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sweep.test_one import TEXT

from fleetbeat.cli import main

VARY = ["--vary", "fleet.agents=2,3"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)
    assert main(["sweep", "s.yaml", "--seeds", "3", *VARY, "--jobs", "1", "-o", "d"]) == 0
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


def test_the_records_of_a_run_go_by_that_name_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert _asked("r", "select count(*) n from records", capsys) == _asked(
        "r", "select count(*) n from history", capsys
    )


@pytest.mark.parametrize("sql", ["show tables", "SELECT table_name AS name FROM information_schema.tables"])
def test_whoever_asks_what_there_is_is_told_all(sql: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(str(row["name"]) for row in _asked("r", sql, capsys)) == ["history", "posts", "records"]


def test_a_history_that_nobody_asks_for_is_not_read(capsys: pytest.CaptureFixture[str]) -> None:
    """It may be gigabytes. Here it cannot be read at all."""
    Path("r/history.jsonl").write_text("no record")
    assert _asked("r", "select count(*) n from Posts", capsys) == [{"n": 12}]
    assert main(["query", "r", "select count(*) n from Records"]) == 2


def test_posts_of_every_run_of_a_sweep_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.yaml", "--seeds", "3", *VARY, "--jobs", "1", "--keep", "posts", "-o", "p"]) == 0
    capsys.readouterr()
    sql = (
        "select cell, seed, count(*) n, max(lag) / 1e9 longest, max(lag_max) same"
        " from posts join runs using (cell, seed) where fate = 'applied' group by all order by cell, seed"
    )
    found = _asked("p", sql, capsys)
    assert [(row["cell"], row["seed"], row["n"]) for row in found] == [
        (cell, seed, cell + 2) for cell in (0, 1) for seed in (3, 4, 5)
    ]
    assert [row["longest"] for row in found] == [row["same"] for row in found]


def test_histories_of_every_run_of_a_sweep_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.yaml", "--seeds", "2", *VARY, "--jobs", "1", "--keep", "histories", "-o", "h"]) == 0
    assert main(["run", "s.yaml", "-q", "--set", "fleet.agents=3", "--seed", "4", "-o", "one"]) == 0
    capsys.readouterr()
    mine = _asked("h", "select t, actor, kind, agent, post from records where cell = 1 and seed = 4", capsys)
    assert mine == _asked("one", "select t, actor, kind, agent, post from records", capsys)
    ends = "select seed, record->>'why' why, count(*) n from records where kind = 'end' group by all order by seed"
    assert [(row["seed"], row["n"]) for row in _asked("h", ends, capsys)] == [(3, 2), (4, 2)]


def test_what_is_kept_is_the_same_after_resuming(capsys: pytest.CaptureFixture[str]) -> None:
    def swept(*arguments: str) -> None:
        assert main(["sweep", "s.yaml", *VARY, "--keep", "histories", *arguments]) == 0

    swept("--seeds", "4", "--jobs", "1", "-o", "whole")
    swept("--seeds", "2", "--jobs", "1", "-o", "grown")
    swept("--seeds", "4", "--jobs", "1", "--resume", "grown")
    names = [Path(folder, "history.parquet") for folder in ("whole", "grown")]
    assert len({path.read_bytes() for path in names}) == 1
    capsys.readouterr()
    assert main(["sweep", "s.yaml", *VARY, "--keep", "posts", "--seeds", "4", "--resume", "grown"]) == 2
    assert "whose --keep is histories, expected posts" in capsys.readouterr().err


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
        ("d", "", "SQL: got '', expected a question"),
        ("d", "select '\udcff'", "expected text in UTF-8"),
        ("d", " -- nothing;\n", "expected a question"),
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
