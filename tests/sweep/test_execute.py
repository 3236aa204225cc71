"""Playing batches: the same rows whoever plays them, and a killed worker's batch again."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.sweep.test_one import TEXT

from fleetbeat.sweep.execute import Batch, ExecuteError, Inline, Row, execute, local, work

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


@pytest.mark.slow
def test_workers_that_keep_dying_end_it_in_words() -> None:
    with pytest.raises(ExecuteError, match="died in a row"):
        _played(2, partial(_dies))


def test_a_worker_of_another_version_refuses() -> None:
    with pytest.raises(ExecuteError, match=r"got fleetbeat .*, expected 0\.0"):
        work(Batch(0, TEXT, (1,), "0.0"))


def test_an_error_of_a_run_comes_through() -> None:
    with pytest.raises(ExecuteError, match=r"expected 0\.0"):
        execute([Batch(0, TEXT, (1,), "0.0")], local(1), 1, lambda rows: None)


class Silent(Executor):
    """Takes tasks, says nothing, and when it is asked has lost its workers."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()

    def check(self) -> None:
        raise BrokenExecutor("nobody is there")


def test_an_executor_that_lost_its_workers_is_asked_and_what_it_had_is_played_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without the question it would wait for ever."""
    monkeypatch.setattr("fleetbeat.sweep.execute.CHECK_S", 0.01)
    rows: list[Row] = []
    executors = [Silent(), Silent(), Inline()]
    execute(BATCHES, lambda: executors.pop(0), 1, rows.extend)
    assert sorted(rows, key=lambda row: (row.cell, row.seed)) == _played(1)
    with pytest.raises(ExecuteError, match=r"got 3 that died in a row \(nobody is there\)"):
        execute(BATCHES, Silent, 1, rows.extend)


def test_any_task_is_played_not_only_batches() -> None:
    found: list[str] = []
    execute([1, 2, 3], local(1), 1, found.append, str)
    assert found == ["1", "2", "3"]


def test_a_scenario_that_does_not_load_where_it_is_played_is_said_so_and_travels() -> None:
    """The loader's own error cannot be unpickled: it would break the pool that should carry it."""
    batch = Batch(0, TEXT.replace("fleet: {", "fleet: {agent: ./nowhere, "), (1,))
    with pytest.raises(ExecuteError, match="worker: got a scenario that does not load here") as caught:
        work(batch)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
