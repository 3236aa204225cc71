"""A history as a file: JSON Lines, one record a line, in canonical bytes.

The same records give the same bytes whatever engine built them: `t`, `actor`, `kind` first, then the fields sorted by
name at every depth, fixed separators, ASCII only. Everything outside printable ASCII is escaped, DEL too, so a history
can be shown on a terminal whatever an agent wrote into it. Rejected: fields in the order in which an engine put them in
(two engines would have to agree on it), and UTF-8 as it is (terminal control characters of the C1 set).

A file that does not end in an `end` record is refused: cut short, it would be judged as a shorter run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import IO, Any, NoReturn

from fleetbeat.history.records import KINDS, SCHEMA, Record
from fleetbeat.history.shape import problem, shown

#: Longest line that is read or written, in bytes with its newline; a body of 8 MiB fits however it is escaped.
MAX_LINE_BYTES = 64 * 2**20
#: Most records of one file.
MAX_RECORDS = 100_000_000
_BLOCK = 4096


class HistoryError(Exception):
    """A file that is not a history of this schema: `file:line: got .., expected ..`."""


def _refuse(_: str) -> NoReturn:
    raise ValueError("got a number that JSON does not have, expected a finite one")


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode
_decode = json.JSONDecoder(parse_constant=_refuse).decode


@lru_cache(maxsize=1 << 16)
def _who(actor: str, kind: str) -> str:
    return f',"actor":{_encode(actor)},"kind":{_encode(kind)}'


def line(record: Record) -> bytes:
    """The record's canonical line, newline included. Raises ValueError for fields that JSON cannot hold."""
    fields = record.fields
    body = _encode(fields if type(fields) is dict else dict(fields))
    text = f'{{"t":{record.t}{_who(record.actor, record.kind)}' + ("}" if body == "{}" else "," + body[1:])
    if "\x7f" in text:
        text = text.replace("\x7f", "\\u007f")
    return text.encode("ascii") + b"\n"


def lines(records: Iterable[Record]) -> Iterator[bytes]:
    """Blocks of canonical lines; together they are the file."""
    block: list[bytes] = []
    for record in records:
        one = line(record)
        if len(one) > MAX_LINE_BYTES:
            raise ValueError(
                f"{record.kind} at {record.t} ns: got a line of {len(one)} bytes, expected at most {MAX_LINE_BYTES}"
            )
        block.append(one)
        if len(block) == _BLOCK:
            yield b"".join(block)
            block.clear()
    yield b"".join(block)


def dumps(records: Iterable[Record]) -> bytes:
    """The whole file's bytes."""
    return b"".join(lines(records))


def write(path: str | os.PathLike[str], records: Iterable[Record]) -> None:
    """Write a history to a new file. Raises OSError; what was begun is removed again, whatever stops it."""
    target = Path(path)
    with open(target, "xb") as file:
        try:
            for block in lines(records):
                file.write(block)
            file.flush()
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def read(path: str | os.PathLike[str]) -> list[Record]:
    """Read a history. Raises HistoryError with file and line for anything that is not one, a missing file too."""
    name = shown_path(path)
    try:
        with open(path, "rb") as file:
            return parse(file, name)
    except IsADirectoryError:
        raise HistoryError(f"{name}: got a directory, expected a history file") from None
    except FileNotFoundError:
        raise HistoryError(f"{name}: got no such file, expected a history file") from None
    except OSError as error:
        raise HistoryError(f"{name}: got {error.strerror or error}, expected a readable history file") from None
    except ValueError as error:  # a null byte in the path
        raise HistoryError(f"{name}: got {error}, expected the path of a history file") from None


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path in one line that is safe on a terminal."""
    text = os.fspath(path)
    return text if text.isprintable() else ascii(text)


def parse(file: IO[bytes], name: str) -> list[Record]:
    """The records of an open file; `name` stands in error messages."""
    records: list[Record] = []
    intern: dict[str, str] = {}
    before = 0
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        record = _record(raw, intern, partial(_fail, name, number))
        if number == 1:
            _first(record, name)
        elif record.kind == "run":
            _fail(name, number, "got a second run record, expected one history in one file")
        if record.t < before:
            _fail(name, number, f"got t = {record.t} after t = {before}, expected times in order")
        if records and records[-1].kind == "end":
            _fail(name, number, f"got a {record.kind} record after the end record, expected nothing")
        if number > MAX_RECORDS:
            _fail(name, number, f"got more than {MAX_RECORDS} records, expected at most that many")
        before = record.t
        records.append(record)
    if not records:
        raise HistoryError(f"{name}: got an empty file, expected a history that begins with a run record")
    if records[-1].kind != "end":
        _fail(name, number + 1, "got the end of the file, expected an end record: the history was cut short")
    return records


def _fail(name: str, number: int, got: str) -> NoReturn:
    raise HistoryError(f"{name}:{number}: {got}")


def _record(raw: bytes, intern: dict[str, str], fail: Callable[[str], NoReturn]) -> Record:
    return _typed(mapping_of(raw, fail), intern, fail)


def mapping_of(raw: bytes, fail: Callable[[str], NoReturn]) -> dict[str, Any]:
    """The JSON object of one line, newline included. Calls `fail` for anything else."""
    if len(raw) > MAX_LINE_BYTES:
        fail(f"got a line of more than {MAX_LINE_BYTES} bytes, expected a record")
    if not raw.endswith(b"\n"):
        fail(f"got {len(raw)} bytes without an end of line, expected a whole line: the last line was cut short")
    try:
        value = _decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        fail("got bytes that are not UTF-8, expected a JSON object")
    except json.JSONDecodeError as error:
        fail(f"got {shown(raw[:40])} ({error.msg} in column {error.colno}), expected a JSON object")
    except ValueError as error:
        fail(
            str(error) if str(error).startswith("got") else "got a number with too many digits, expected a JSON object"
        )
    except RecursionError:
        fail("got brackets nested too deeply, expected a JSON object")
    if not isinstance(value, dict):
        fail(f"got {shown(value)}, expected a JSON object")
    return value


def _typed(value: dict[str, Any], intern: dict[str, str], fail: Callable[[str], NoReturn]) -> Record:
    t, actor, kind = value.pop("t", None), value.pop("actor", None), value.pop("kind", None)
    if type(t) is not int or t < 0:
        fail(f"t: got {shown(t)}, expected a time in whole nanoseconds, at least 0")
    if not isinstance(actor, str):
        fail(f"actor: got {shown(actor)}, expected text")
    if not isinstance(kind, str) or kind not in KINDS:
        fail(f"kind: got {shown(kind)}, expected {_kinds(kind)}")
    if kind == "run" and type(value.get("schema")) is int and value["schema"] != SCHEMA:
        fail(f"run.schema: got {value['schema']}, expected {SCHEMA}, the schema that this version reads")
    wrong = problem(kind, value)
    if wrong:
        fail(wrong)
    return Record(t, intern.setdefault(actor, actor), intern.setdefault(kind, kind), value)


def _kinds(kind: object) -> str:
    import difflib

    close = difflib.get_close_matches(kind, KINDS, 1) if isinstance(kind, str) else []
    return f"a kind of the schema (did you mean {close[0]!r}?)" if close else "a kind of the schema"


def _first(record: Record, name: str) -> None:
    if record.kind != "run":
        _fail(name, 1, f"got a {record.kind} record, expected the run record that begins a history")
