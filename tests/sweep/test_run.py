"""`fleetbeat sweep` as a whole: tables, resuming after kill -9 and ctrl-C, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.sweep.test_one import TEXT

from fleetbeat.cli import main

VARY = ["--vary", "fleet.heartbeat.interval=1s,4s"]
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def _sweep(*arguments: str) -> int:
    return main(["sweep", "s.yaml", *VARY, "--jobs", "1", *arguments])


def _tables(folder: str) -> list[bytes]:
    return [Path(folder, name).read_bytes() for name in ("runs.parquet", "cells.parquet")]


def _kept(folder: str) -> int:
    """Opened for writing: what a killed process left half written is rolled back first, as a resumed sweep would."""
    ledger = sqlite3.connect(Path(folder, "ledger.sqlite"))
    count: int = ledger.execute("SELECT count(*) FROM runs").fetchone()[0]
    ledger.close()
    return count


def test_a_row_a_cell_with_intervals_and_paired_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--seeds", "10", "--metric", "lag_p99", "--metric", "failed", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    fast, slow = (row for row in document["cells"] if row["metric"] == "lag_p99")
    assert fast["values"] == {"fleet.heartbeat.interval": "1s"}
    assert fast["best"]
    assert fast["difference"] is None
    assert fast["estimate"]["low"] <= fast["estimate"]["value"] <= fast["estimate"]["high"]
    assert slow["difference"]["value"] == pytest.approx(slow["estimate"]["value"] - fast["estimate"]["value"])
    assert slow["difference"]["low"] > 0
    assert [row["statistic"] for row in document["cells"]] == ["mean", "mean", "share", "share"]
    assert document["seeds"] == list(range(3, 13))
    assert document["verdicts"] == {"held": 20}


def test_the_text_names_methods_with_their_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--seeds", "8", "--statistic", "p50") == 0
    out = capsys.readouterr().out
    assert "2 cells, 16 runs, seeds 3 to 10 in each" in out
    for word in ("Efron", "Wilson", "best"):
        assert word in out


def test_jobs_change_no_byte_and_more_seeds_can_follow() -> None:
    assert _sweep("--seeds", "6", "-o", "whole") == 0
    assert main(["sweep", "s.yaml", *VARY, "--jobs", "2", "--seeds", "6", "-o", "split"]) == 0
    assert _tables("split") == _tables("whole")
    assert _sweep("--seeds", "4", "-o", "grown") == 0
    assert _tables("grown") != _tables("whole")
    assert _sweep("--seeds", "6", "--resume", "grown") == 0
    assert _tables("grown") == _tables("whole")


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_stopped_sweep_goes_on_with_none_lost_and_none_twice(sign: int, code: int) -> None:
    wanted = ["--seeds", "60"]
    call = [sys.executable, "-m", "fleetbeat", "sweep", "s.yaml", *VARY, *wanted, "--jobs", "2", "-o", "d"]
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until:
            ledger = Path("d/ledger.sqlite")
            if ledger.exists() and ledger.stat().st_size > 40_000:  # several batches
                break
            time.sleep(0.005)
        os.kill(process.pid, sign)
        assert process.wait(PATIENCE_S) == code
    kept = _kept("d")
    assert 0 < kept < 120
    assert _sweep(*wanted, "--resume", "d") == 0
    assert _kept("d") == 120
    assert _sweep(*wanted, "-o", "whole") == 0
    assert _tables("d") == _tables("whole")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--vary", "fleet.heartbeat.intervall=1s,2s"], "heartbeat.interval"),
        (["--vary", "fleet.agents=5..1:3"], "expected the first below the last"),
        (["--vary", "seed=1,2"], "expected another path"),
        (
            ["--vary", "fleet.agents=1..1000:1000", "--vary", "duration=1s..1000s:1000", "--seeds", "1"],
            "1,000,000 runs, expected at most 10,000",
        ),
        (["--sample", "0"], "--sample: got 0"),
        (["--metric", "lag_p98"], "did you mean"),
        (["--statistic", "p51"], "expected one of mean"),
        (["--resume", "nowhere"], "expected the directory of a sweep"),
        (["-o", "."], "expected a new or empty one"),
        (["-o", "a", "--resume", "b"], "expected one of the two"),
    ],
)
def test_bad_input_is_told_and_exits_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", "s.yaml", "--jobs", "1", *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--vary", "fleet.agents=3,4"], "whose --vary is"),
        ([*VARY, "--set", "duration=30s"], "whose scenario's digest"),
    ],
)
def test_another_sweeps_directory_is_refused(change: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--seeds", "2", "-o", "d") == 0
    capsys.readouterr()
    assert main(["sweep", "s.yaml", *change, "--seeds", "2", "--resume", "d"]) == 2
    assert words in capsys.readouterr().err
