"""What is kept of each run besides its row, if it is asked for: its posts or its whole history, packed by the worker.

A pack is what travels from worker to ledger: compressed lines, the same for the same run. At the end they are laid out as
one table, posts.parquet or history.parquet, in the order of cells and seeds.
"""

from __future__ import annotations

import errno
import json
import os
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetbeat.history import jsonl, store
from fleetbeat.sweep.one import Played
from fleetbeat.sweep.tables import replaced

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What can be kept -> its file.
KEPT = {"posts": "posts.parquet", "histories": "history.parquet"}
_LEVEL = 6
_KEY = "cell BIGINT, seed UBIGINT"
_RECORDS = (
    "CAST(r->>'t' AS BIGINT), r->>'actor', r->>'kind', r->>'agent', r->>'post', r"
    " FROM (SELECT CAST(unnest(?::VARCHAR[]) AS JSON) AS r)"
)


def packed(what: str, run: Played) -> bytes:
    """`what`: one of `KEPT`."""
    if what == "posts":
        text = json.dumps(store.columns(run.judgement.fates), separators=(",", ":")).encode()
    else:
        text = jsonl.dumps(run.records)
    return zlib.compress(text, _LEVEL)


def write(folder: Path, what: str, runs: Iterable[tuple[int, int, bytes]]) -> None:
    """Write the file of `KEPT`, replacing one that is there whole. `runs`: cell, seed and pack of each. Raises OSError."""
    import duckdb

    fill: dict[str, tuple[Callable[[DuckDBPyConnection], None], Callable[[DuckDBPyConnection, Any], None]]] = {
        "posts": (_posts_table, _posts_of),
        "histories": (_records_table, _records_of),
    }
    make, add = fill[what]
    path = folder / KEPT[what]
    connection = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
    try:
        make(connection)
        for run in runs:
            add(connection, run)
        with replaced(path) as partial:
            connection.table("made").write_parquet(os.fspath(partial), compression="zstd")
    except duckdb.Error as error:
        full = "No space left" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error).splitlines()[0], os.fspath(path)) from error
    finally:
        connection.close()


def _posts_table(connection: DuckDBPyConnection) -> None:
    texts = [f"{name} VARCHAR" for name in store.TEXTS]
    times = [f"{name} BIGINT" for name in (*store.TIMES, *store.LAGS)]
    connection.execute(f"CREATE TABLE made ({', '.join([_KEY, *texts, *times])})")


def _posts_of(connection: DuckDBPyConnection, run: tuple[int, int, bytes]) -> None:
    cell, seed, pack = run
    columns = json.loads(zlib.decompress(pack))
    kinds = ["VARCHAR" if name in store.TEXTS else "BIGINT" for name in columns]
    lists = ", ".join(f"unnest(?::{kind}[])" for kind in kinds)
    if columns["post"]:
        connection.execute(f"INSERT INTO made SELECT ?, ?, {lists}", [cell, seed, *columns.values()])


def _records_table(connection: DuckDBPyConnection) -> None:
    words = "actor VARCHAR, kind VARCHAR, agent VARCHAR, post VARCHAR, record JSON"
    connection.execute(f"CREATE TABLE made ({_KEY}, t BIGINT, {words})")


def _records_of(connection: DuckDBPyConnection, run: tuple[int, int, bytes]) -> None:
    cell, seed, pack = run
    lines = zlib.decompress(pack).decode("ascii").rstrip("\n").split("\n")
    connection.execute(f"INSERT INTO made SELECT ?, ?, {_RECORDS}", [cell, seed, lines])
