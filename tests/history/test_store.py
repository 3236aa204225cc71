from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest
from tests.history.hand import S, applied

from fleetbeat.checks.model import PostFate
from fleetbeat.history import store

duckdb = pytest.importorskip("duckdb")


def rows(path: Path, columns: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as connection:
        found: list[tuple[object, ...]] = connection.execute(
            f"SELECT {columns} FROM read_parquet(?)", [str(path)]
        ).fetchall()
    return found


def test_a_post_is_a_row_with_its_times_and_parts(tmp_path: Path) -> None:
    path = tmp_path / "it's 100%.parquet"
    fates = [
        applied("v2/a-0#1", "a-0", S, 4 * S, begun=S - 1, read=2 * S, unlinked=2 * S + 7, persisted=3 * S),
        PostFate("v2/a-1#1", "v2", "a-1", "bob", "pending", 'say "hi"\n\x1b \ud800', begun=S),
    ]
    store.write_posts(path, fates)
    assert rows(
        path, "post, version, agent, operator, fate, begun, completed, read, unlinked, persisted, effective"
    ) == [
        ("v2/a-0#1", "v2", "a-0", "op", "applied", S - 1, S, 2 * S, 2 * S + 7, 3 * S, 4 * S),
        ("v2/a-1#1", "v2", "a-1", "bob", "pending", S, None, None, None, None, None),
    ]
    parts = rows(path, "lag, lag_read, lag_unlinked, lag_persisted, lag_effective")
    assert parts == [(3 * S, S, 7, S - 7, S), (None,) * 5]
    assert rows(path, "note")[1] == ('say "hi"\n\x1b \\ud800',)


def test_no_posts_are_a_file_with_its_columns_and_no_rows(tmp_path: Path) -> None:
    store.write_posts(tmp_path / "p", [])
    assert rows(tmp_path / "p", "post, lag") == []


def test_the_same_posts_are_the_same_bytes(tmp_path: Path) -> None:
    fates = [applied(f"v2/a-{i}#1", f"a-{i}", i, 2 * i + 1) for i in range(100)]
    store.write_posts(tmp_path / "a", fates)
    store.write_posts(tmp_path / "b", fates)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_1500_posts_cost_less_than_a_twentieth_of_a_second_of_work(tmp_path: Path) -> None:
    fates = [applied(f"v2/a-{i}#1", f"a-{i}", i * S, i * S + 9) for i in range(1500)]
    spent = []
    for attempt in range(3):
        begin = time.process_time()
        store.write_posts(tmp_path / str(attempt), fates)
        spent.append(time.process_time() - begin)
    assert min(spent) < 0.05


def test_a_full_disk_is_said_to_be_full_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "posts.parquet"

    class Full:
        def execute(self, *_: object) -> None:
            path.write_text("half")
            raise duckdb.IOException("IO Error: Could not write file: No space left on device")

        def close(self) -> None:
            pass

    monkeypatch.setattr(duckdb, "connect", lambda **_: Full())
    with pytest.raises(OSError) as error:
        store.write_posts(path, [applied("v2/a-0#1", "a-0", 0, 1)])
    assert error.value.errno == errno.ENOSPC
    assert not path.exists()


def test_a_directory_that_is_not_there_is_an_operating_systems_error(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        store.write_posts(tmp_path / "missing" / "p", [])


def test_what_stands_at_the_name_already_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "posts.parquet"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        store.write_posts(path, [])
    assert path.read_text() == "mine"
