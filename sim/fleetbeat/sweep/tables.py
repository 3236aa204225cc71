"""A table of columns as a Parquet file, written by duckdb from plain lists, and put in the old one's place whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: name -> (type of duckdb, values), all equally long.
Columns = dict[str, tuple[str, Sequence[Any]]]


def write(path: Path, columns: Columns) -> None:
    """Write the file; one of that name is replaced. Raises OSError (ENOSPC for a full disk), and leaves the old one."""
    import duckdb

    select = ", ".join(f"unnest(?::{kind}[]) AS {quoted(name)}" for name, (kind, _) in columns.items())
    connection = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
    try:
        connection.execute(f"CREATE TABLE made AS SELECT {select}", [list(values) for _, values in columns.values()])
        with replaced(path) as partial:
            connection.table("made").write_parquet(os.fspath(partial), compression="zstd")
    except duckdb.Error as error:
        full = "No space left" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error).splitlines()[0], os.fspath(path)) from error
    finally:
        connection.close()


@contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Yields a place beside `path` to write to, which is put in its place in the end, or removed after an error."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
