"""`fleetbeat sweep` as a whole: tables, resuming after kill -9 and ctrl-C, and what it refuses."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sweep.test_one import TEXT

from fleetbeat.cli import main, progress
from fleetbeat.sweep.execute import ExecuteError

VARY = ["--vary", "fleet.heartbeat.interval=1s,4s"]
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def _sweep(*arguments: str) -> int:
    return main(["sweep", "s.yaml", *VARY, "--jobs", "1", *arguments])


def tables(folder: str) -> list[bytes]:
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
    for word in ("Efron", "Wilson", "David and Nagaraja", "best p50 or share, as shown"):
        assert word in out


def test_the_best_cell_and_differences_go_by_the_statistic(capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--seeds", "10", "--statistic", "p50", "--metric", "lag_p99", "--json") == 0
    fast, slow = json.loads(capsys.readouterr().out)["cells"]
    assert (fast["best"], slow["best"]) == (True, False)
    assert slow["difference"]["value"] == slow["estimate"]["value"] - fast["estimate"]["value"]
    assert "quantiles" in slow["difference"]["method"]


def test_jobs_change_no_byte_and_more_seeds_can_follow() -> None:
    assert _sweep("--seeds", "6", "-o", "whole") == 0
    assert main(["sweep", "s.yaml", *VARY, "--jobs", "2", "--seeds", "6", "-o", "split"]) == 0
    assert tables("split") == tables("whole")
    assert _sweep("--seeds", "4", "-o", "grown") == 0
    assert tables("grown") != tables("whole")
    assert _sweep("--seeds", "6", "--resume", "grown") == 0
    assert tables("grown") == tables("whole")


def test_an_added_cell_leaves_the_runs_of_all_others_as_they_were(capsys: pytest.CaptureFixture[str]) -> None:
    """Draws that went by the cell's number, or one stream for all, would change them."""

    def runs(folder: str, vary: str) -> str:
        assert main(["sweep", "s.yaml", "--vary", vary, "--jobs", "1", "--seeds", "5", "-o", folder]) == 0
        capsys.readouterr()
        sql = "select * exclude (cell) from runs where \"fleet.heartbeat.interval\" in ('1s', '4s') order by 1, seed"
        assert main(["query", folder, sql, "--json"]) == 0
        return capsys.readouterr().out

    assert runs("few", "fleet.heartbeat.interval=1s,4s") == runs("more", "fleet.heartbeat.interval=0.5s,1s,2s,4s")


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_stopped_sweep_goes_on_with_none_lost_and_none_twice(sign: int, code: int) -> None:
    wanted = ["--seeds", "60"]
    call = [sys.executable, "-m", "fleetbeat", "sweep", "s.yaml", *VARY, *wanted, "--jobs", "2", "-o", "d"]
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < until:
            ledger = Path("d/ledger.sqlite")  # its tables take less than half of this, all runs thrice as much
            if ledger.exists() and ledger.stat().st_size > 80_000:
                break
            time.sleep(0.005)
        os.kill(process.pid, sign)
        assert process.wait(PATIENCE_S) == code
    kept = _kept("d")
    assert 0 < kept < 120
    assert _sweep(*wanted, "--resume", "d") == 0
    assert _kept("d") == 120
    assert _sweep(*wanted, "-o", "whole") == 0
    assert tables("d") == tables("whole")


def _full(folder: Path, wanted: list[str], limit: Callable[[], object] | None = None) -> None:
    """Plays into a place that has no room for all of it; what fits is kept. `folder` holds the directory d."""
    call = [
        sys.executable,
        "-m",
        "fleetbeat",
        "sweep",
        "s.yaml",
        *VARY,
        *wanted,
        "--jobs",
        "2",
        "-o",
        str(folder / "d"),
    ]
    done = subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE_S, preexec_fn=limit, check=False)
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith(f"fleetbeat: {folder / 'd'}: got "), done.stderr
    assert done.stderr.endswith("what was finished is saved, --resume goes on\n"), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_disk_that_fills_up_is_told_and_the_sweep_goes_on_when_there_is_room() -> None:
    """A limit on the size of files stands for the disk: the ledger meets it as a write that fails."""
    wanted = ["--seeds", "60", "--keep", "posts"]
    _full(Path("."), wanted, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, 80_000)))
    assert 0 < _kept("d") < 120
    assert _sweep(*wanted, "--resume", "d") == 0
    assert _kept("d") == 120
    assert _sweep(*wanted, "-o", "whole") == 0
    assert tables("d") == tables("whole")


@pytest.mark.slow
def test_a_disk_that_is_really_full_loses_nothing(tmp_path: Path) -> None:
    if os.getuid() != 0:
        (pytest.fail if os.environ.get("FLEETBEAT_NEED_ROOT") == "1" else pytest.skip)("needs root to mount a disk")
    disk, wanted = tmp_path / "disk", ["--seeds", "60", "--keep", "posts"]
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=96k", "none", str(disk)], check=True)
    try:
        _full(disk, wanted)
        assert 0 < _kept(f"{disk}/d") < 120
        shutil.copytree(disk / "d", "larger")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert _sweep(*wanted, "--resume", "larger") == 0
    assert _kept("larger") == 120
    assert _sweep(*wanted, "-o", "whole") == 0
    assert tables("larger") == tables("whole")


def test_a_sweep_that_fails_before_its_first_run_leaves_no_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ExecuteError("nobody plays")

    monkeypatch.setattr("fleetbeat.sweep.run.execute", failing)
    assert _sweep("-o", "d") == 4
    assert not Path("d").exists()
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--vary", "fleet.heartbeat.intervall=1s,2s"], "--vary fleet.heartbeat.intervall: got the unknown key"),
        (["--vary", "fleet.agents=1,2", "--set", "duration=soon"], "--set duration: got 'soon'"),
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
        (["--set", "duration=\udcff"], "--set: got 'duration=\\udcff', expected text in UTF-8"),
        (["-o", "d\udcff"], "expected a name in UTF-8"),
        (["--vary", "fleet.agents=1,\udcff"], "expected text in UTF-8"),
        (["-o", "s.yaml"], "-o: s.yaml: got something that is no directory"),
        (["-o", "a", "--resume", "b"], "expected one of the two"),
        (["--keep", "posts"], "expected -o DIR to keep them in"),
        (["--executor", "dask://127.0.0.1:8786"], "--jobs: got --executor too"),
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


def test_progress_tells_rate_and_time_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "is_terminal", lambda stream: True)
    monkeypatch.setattr(progress, "stopwatch", lambda: lambda: 2.0)
    tell = progress.pace("runs", quiet=False)
    tell(10, 40)
    assert "10 of 40 runs, 5 a second, 6 s left" in capsys.readouterr().err
    tell(40, 40)
    assert capsys.readouterr().err.strip() == ""
