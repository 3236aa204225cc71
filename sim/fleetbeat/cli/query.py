"""`fleetbeat query`: SQL over the tables of a sweep's or a run's directory. It reads; nothing it is asked can write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetbeat.cli.errors import HELD, Refused
from fleetbeat.cli.output import emit

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_HISTORY = "history.jsonl"
#: Tables that may be too large to be read for nothing -> the names that they go by.
_LARGE = {"posts": ("posts",), "history": ("history", "records")}
#: Words with which somebody asks what there is.
_ASKING = ("show", "describe", "summarize", "information_schema", "duckdb_", "pragma")
_EVENTS = (
    "SELECT CAST(json->>'t' AS BIGINT) AS t, json->>'actor' AS actor, json->>'kind' AS kind, json->>'agent' AS agent,"
    " json->>'post' AS post, json AS record"
    " FROM read_json_objects(?, format = 'newline_delimited', maximum_object_size = 67108864)"
)


@click.command("query", short_help="Ask the tables of a sweep or a run in SQL.")
@click.argument("folder", metavar="DIR")
@click.argument("sql")
@click.option("--json", "as_json", is_flag=True, help="Rows as a JSON list of objects.")
def command(folder: str, sql: str, as_json: bool) -> int:
    """Run SQL (DuckDB's) over the tables in DIR, which `fleetbeat sweep -o` or `fleetbeat run -o` made.

    A sweep has `runs` (one row a run) and `cells` (one row a cell and metric), with --keep also `posts` or `records` of
    every run (by cell and seed); a run has `posts` and `records` (t in ns, actor, kind, agent, post, and the whole
    record; `history` is the same). `show tables` and `describe runs` tell more. Nothing is written.
    """
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    try:
        sql.encode()
        if not connection.extract_statements(sql):
            raise Refused(f"SQL: got {sql!r}, expected a question such as 'select * from runs'")
        _fill(connection, Path(folder), sql.lower())
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        asked = connection.execute(sql)
        names = [column[0] for column in asked.description or ()]
        rows = asked.fetchall()
    except UnicodeEncodeError as error:
        raise Refused(f"SQL: got {sql!r}, expected text in UTF-8") from error
    except duckdb.Error as error:
        raise Refused(f"SQL: got {_first(error)}, expected what DuckDB can answer from these tables") from error
    finally:
        connection.close()
    emit(_document(names, rows) if as_json else _text(names, rows))
    return HELD


def _fill(connection: DuckDBPyConnection, folder: Path, sql: str) -> None:
    """The tables of the directory, in memory, by their files' names; a large one only if `sql` (in lower case) names it.

    Views would not do: whoever may read a file for one may write it too. Raises Refused where there is no table.
    """
    from fleetbeat.sweep.ledger import FILE
    from fleetbeat.sweep.tables import quoted

    if not folder.is_dir():
        raise Refused(f"DIR: {folder}: got no directory, expected one that sweep -o or run -o made")
    tables = sorted(path for path in folder.glob("*.parquet") if not path.name.startswith("."))
    history = folder / _HISTORY
    if not tables and (folder / FILE).is_file():
        raise Refused(f"DIR: {folder}: got a sweep that was stopped, expected a finished one: sweep --resume goes on")
    if not tables and not history.is_file():
        raise Refused(f"DIR: {folder}: got no table in it, expected runs, cells, posts (.parquet) or {_HISTORY}")
    for path in [path for path in tables if _asked_for(path.stem, sql)]:
        connection.execute(f"CREATE TABLE {quoted(path.stem)} AS SELECT * FROM read_parquet(?)", [str(path)])
    if not _asked_for("history", sql):
        return
    if history.is_file():
        connection.execute(f"CREATE TABLE history AS {_EVENTS}", [str(history)])
    if history.is_file() or any(path.stem == "history" for path in tables):
        connection.execute("CREATE VIEW records AS SELECT * FROM history")


def _asked_for(table: str, sql: str) -> bool:
    return table not in _LARGE or any(word in sql for word in (*_LARGE[table], *_ASKING))


def _first(error: Exception) -> str:
    """What the database says, on one line; its caret drawing is left out."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return " ".join(kept) or type(error).__name__


def _document(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2, default=str) + "\n"


def _text(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    from fleetbeat.report.plain import safe
    from fleetbeat.report.tables import table

    drawn = [["-" if value is None else safe(_shown(value)) for value in row] for row in rows]
    return f"{table([safe(name) for name in names], drawn, len(names))}\n" if names else ""


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
