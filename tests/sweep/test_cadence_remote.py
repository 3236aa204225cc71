"""The advice from workers elsewhere is the same bytes; an address that leads nowhere is one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.sweep.cluster import PATIENCE_S, need_dask, scheduler, workers
from tests.sweep.test_cadence import TEXT

WORDS = ["s.yaml", "--slo", "p50 lag < 2s", "--interval", "1s,2s", "--seeds", "8"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def _advised(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: Dask's threads and warnings stay out of this one."""
    call = [sys.executable, "-m", "fleetbeat", "cadence", *WORDS, *arguments]
    return subprocess.run(call, capture_output=True, text=True, timeout=5 * PATIENCE_S, check=False)


@pytest.mark.slow
def test_workers_elsewhere_give_the_same_advice(tmp_path: Path) -> None:
    need_dask()
    alone = _advised("--jobs", "1", "--json")
    with scheduler(tmp_path) as (_, address), workers(tmp_path, address, 2):
        there = _advised("--executor", address, "--json")
    assert (there.returncode, there.stderr) == (0, "")
    assert there.stdout == alone.stdout


def test_what_is_no_address_is_refused_and_jobs_are_not_asked_for_too() -> None:
    wrong = _advised("--executor", "dask:8786")
    assert wrong.returncode == 2
    assert wrong.stderr.count("\n") == 1
    assert "expected dask://HOST:PORT" in wrong.stderr
    both = _advised("--executor", "dask://127.0.0.1:8786", "--jobs", "2")
    assert both.returncode == 2
    assert "--jobs: got --executor too" in both.stderr
