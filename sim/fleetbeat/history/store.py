"""The posts of a run as columns: one row a post, written to Parquet by duckdb from plain lists.

Columns: post, version, agent, operator, fate, note (text); begun, completed, read, unlinked, persisted, effective (ns
since the run began, null where it did not come to that); lag, lag_read, lag_unlinked, lag_persisted, lag_effective
(ns: the whole from landed to effective, and its four parts; null where an end was not observed). Rejected: pyarrow and
pandas (two more large installs for one small file), and INSERT row by row (a statement for each post).
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

TEXTS = ("post", "version", "agent", "operator", "fate", "note")
TIMES = ("begun", "completed", "read", "unlinked", "persisted", "effective")
LAGS = ("lag", "lag_read", "lag_unlinked", "lag_persisted", "lag_effective")


class Post(Protocol):
    """What a row is made of: `checks.model.PostFate` fits (history does not import checks)."""

    @property
    def post(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def agent(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def fate(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def begun(self) -> int | None: ...
    @property
    def completed(self) -> int | None: ...
    @property
    def read(self) -> int | None: ...
    @property
    def unlinked(self) -> int | None: ...
    @property
    def persisted(self) -> int | None: ...
    @property
    def effective(self) -> int | None: ...


def between(start: int | None, end: int | None) -> int | None:
    """`end - start`, None where one of them is missing."""
    return None if start is None or end is None else end - start


def columns(posts: Sequence[Post]) -> dict[str, list[Any]]:
    """The table as lists, column by column, in the order of the file. Text that UTF-8 cannot hold is escaped."""
    table: dict[str, list[Any]] = {}
    for name in TEXTS:
        table[name] = [str(getattr(post, name)).encode("utf-8", "backslashreplace").decode() for post in posts]
    for name in TIMES:
        table[name] = [getattr(post, name) for post in posts]
    table["lag"] = [between(post.completed, post.effective) for post in posts]
    table["lag_read"] = [between(post.completed, post.read) for post in posts]
    table["lag_unlinked"] = [between(post.read, post.unlinked) for post in posts]
    table["lag_persisted"] = [between(post.unlinked, post.persisted) for post in posts]
    table["lag_effective"] = [between(post.persisted, post.effective) for post in posts]
    return table


def write_posts(path: str | os.PathLike[str], posts: Sequence[Post]) -> None:
    """Write posts.parquet, a new file. Raises OSError (ENOSPC for a full disk); what was begun is removed again.

    An existing name is refused first, because duckdb would put a file of its own in its place, be it a device.
    """
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(path))
    import duckdb

    table = columns(posts)
    select = ", ".join(f"unnest(?::{'VARCHAR' if name in TEXTS else 'BIGINT'}[]) AS {name}" for name in table)
    target = Path(path)
    connection = duckdb.connect(config={"threads": 1, "autoinstall_known_extensions": False})
    try:
        connection.execute(f"CREATE TABLE posts AS SELECT {select}", list(table.values()))
        connection.table("posts").write_parquet(os.fspath(target), compression="zstd")
    except duckdb.Error as error:
        target.unlink(missing_ok=True)
        full = "No space left" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error).splitlines()[0], os.fspath(target)) from error
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    finally:
        connection.close()
