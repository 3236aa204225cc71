"""Playing batches: the same rows whoever plays them, and a killed worker's batch again."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest
from tests.sweep.test_one import TEXT

from fleetbeat.sweep.execute import Batch, ExecuteError, Row, execute, local, work

BATCHES = [Batch(cell, TEXT, (seed, seed + 1)) for cell in (0, 1) for seed in (0, 2)]


def _played(jobs: int, task: partial[list[Row]] | None = None) -> list[Row]:
    rows: list[Row] = []
    execute(BATCHES, local(jobs), jobs, rows.extend, task or work)
    return sorted(rows, key=lambda row: (row.cell, row.seed))


def _dies_once(mark: str, batch: Batch) -> list[Row]:
    """Kills its own process the first time that cell 1 comes."""
    if batch.cell == 1 and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(batch)


def _dies(batch: Batch) -> list[Row]:
    os.kill(os.getpid(), signal.SIGKILL)
    return work(batch)


def test_processes_and_this_process_give_the_same_rows() -> None:
    alone = _played(1)
    assert [(row.cell, row.seed) for row in alone] == [(cell, seed) for cell in (0, 1) for seed in range(4)]
    assert _played(2) == alone


def test_a_killed_worker_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    rows = _played(2, partial(_dies_once, str(mark)))
    assert mark.exists()
    assert rows == _played(1)


def test_workers_that_keep_dying_end_it_in_words() -> None:
    with pytest.raises(ExecuteError, match="died in a row"):
        _played(2, partial(_dies))


def test_a_worker_of_another_version_refuses() -> None:
    with pytest.raises(ExecuteError, match=r"got fleetbeat .*, expected 0\.0"):
        work(Batch(0, TEXT, (1,), "0.0"))


def test_an_error_of_a_run_comes_through() -> None:
    with pytest.raises(ExecuteError, match=r"expected 0\.0"):
        execute([Batch(0, TEXT, (1,), "0.0")], local(1), 1, lambda rows: None)
