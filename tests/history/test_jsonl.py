from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.history.hand import end, log, rec, run_record, small

from fleetbeat.history import jsonl
from fleetbeat.history.jsonl import HistoryError
from fleetbeat.history.records import KINDS, SCHEMA, Record
from fleetbeat.history.shape import type_of

TEXT = st.text(st.characters(), max_size=8)


def policies_with(does: str) -> st.SearchStrategy[Any]:
    fields = {
        "id": TEXT,
        does: TEXT,
        "on": st.lists(TEXT, max_size=2),
        "when": st.dictionaries(TEXT, st.lists(TEXT | st.booleans() | st.integers(), max_size=2), max_size=2),
        "state": st.dictionaries(TEXT, st.lists(st.tuples(TEXT, st.integers()).map(list), max_size=2), max_size=2),
        "cooldown_s": st.integers(0, 9) | st.floats(0, 9),
    }
    return st.lists(st.fixed_dictionaries(fields), max_size=2)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXT,
    "integer": st.integers(-(2**70), 2**70),
    "number": st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False),
    "true or false": st.booleans(),
    "list of texts": st.lists(TEXT, max_size=3),
    "list of lists of texts": st.lists(st.lists(TEXT, max_size=2), max_size=2),
    "mapping": st.dictionaries(
        TEXT, st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXT, max_size=3
    ),
    "list of [text, integer, integer, text]": st.lists(
        st.tuples(TEXT, st.integers(), st.integers(), TEXT).map(list), max_size=2
    ),
    "mapping of counts": st.dictionaries(TEXT, st.integers(0, 9), max_size=3),
    "anything": st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2),
    "list of gates": policies_with("answer"),
    "list of observers": policies_with("action"),
}


@st.composite
def some_record(draw: st.DrawFn) -> Record:
    kind = draw(st.sampled_from(sorted(set(KINDS) - {"run", "end"})))
    fields = {}
    for spelled in draw(st.permutations(list(KINDS[kind]))):
        name = spelled.removesuffix("?")
        value = VALUES[type_of(kind, name)]
        fields[name] = draw(st.none() | value if spelled.endswith("?") else value)
    return Record(draw(st.integers(0, 2**62)), draw(TEXT), kind, fields)


@given(st.lists(some_record(), max_size=5))
def test_a_history_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, middle: list[Record]) -> None:
    records = [run_record(), *sorted(middle, key=lambda record: record.t), end(2**62)]
    path = tmp_path_factory.mktemp("round") / "history.jsonl"
    jsonl.write(path, records)
    again = jsonl.read(path)
    assert again == records
    assert jsonl.dumps(again) == path.read_bytes()


@given(some_record())
def test_a_line_is_printable_ascii_whatever_is_in_it(record: Record) -> None:
    line = jsonl.line(record)
    assert line.endswith(b"\n")
    assert all(0x20 <= byte < 0x7F for byte in line[:-1])


def test_the_order_in_which_an_engine_put_fields_in_does_not_show() -> None:
    a = Record(5, "x", "log", {"agent": "a", "life": 0, "event": "e", "fields": {"p": 1, "q": 2}})
    b = Record(5, "x", "log", {"fields": {"q": 2, "p": 1}, "event": "e", "life": 0, "agent": "a"})
    assert jsonl.line(a) == jsonl.line(b)
    assert (
        jsonl.line(a) == b'{"t":5,"actor":"x","kind":"log","agent":"a","event":"e","fields":{"p":1,"q":2},"life":0}\n'
    )


def test_tuples_and_lists_are_the_same_bytes() -> None:
    assert jsonl.line(rec(0, "unseen", missing=("a",))) == jsonl.line(rec(0, "unseen", missing=["a"]))


@pytest.mark.parametrize("hash_seed", ["0", "1", "4711"])
def test_bytes_do_not_depend_on_the_hash_seed(hash_seed: str) -> None:
    script = (
        "import hashlib; from tests.history.hand import small; from fleetbeat.history import jsonl;"
        "print(hashlib.sha256(jsonl.dumps(small()[0])).hexdigest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.getcwd()}
    got = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    import hashlib

    assert got.stdout.strip() == hashlib.sha256(jsonl.dumps(small()[0])).hexdigest()


def test_numbers_that_json_lacks_are_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        jsonl.line(rec(0, "host", clock_ppm=float("nan")))


def refuse(tmp_path: Path, data: bytes) -> str:
    path = tmp_path / "history.jsonl"
    path.write_bytes(data)
    with pytest.raises(HistoryError) as error:
        jsonl.read(path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert message.isprintable()
    assert "expected" in message
    return message.removeprefix(str(path))


GOOD = jsonl.dumps([run_record(), log(5, "a", "e"), end(9)])
LINES = GOOD.splitlines(keepends=True)


def changed(number: int, **fields: Any) -> bytes:
    lines = [json.loads(line) for line in LINES]
    lines[number].update(fields)
    return b"".join(json.dumps({k: v for k, v in line.items() if v != "DROP"}).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ": got an empty file"),
        (b"\x7fELF\x00\x01\x02\n", ":1: got "),
        (b"\xff\xfe\n" + GOOD, ":1: got bytes that are not UTF-8"),
        (b"[1]\n", ":1: got [1], expected a JSON object"),
        (b"{}\n", ":1: t: got None"),
        (b"[" * 100_000 + b"\n", ":1: got "),
        (b'{"t":' + b"9" * 5000 + b"}\n", ":1: got a number with too many digits"),
        (b'{"t":NaN}\n', ":1: got a number that JSON does not have"),
        (b"\n" + GOOD, ":1: got "),
        (changed(1, t=-1), ":2: t: got -1"),
        (changed(1, t=True), ":2: t: got True"),
        (changed(1, t=1.5), ":2: t: got 1.5"),
        (changed(1, actor=None), ":2: actor: got None"),
        (changed(1, kind="lgo"), ":2: kind: got 'lgo', expected a kind of the schema (did you mean 'log'?)"),
        (changed(1, agent="DROP"), ":2: log.agent: got nothing, expected text"),
        (changed(1, agent=None), ":2: log.agent: got null, expected text"),
        (changed(1, agent=["a"]), ":2: log.agent: got ['a'], expected text"),
        (changed(1, life=True), ":2: log.life: got True, expected integer"),
        (changed(1, fields=[]), ":2: log.fields: got [], expected mapping"),
        (changed(0, schema=SCHEMA + 1), f":1: run.schema: got {SCHEMA + 1}, expected {SCHEMA}"),
        (changed(0, observed=[1]), ":1: run.observed: got [1], expected list of texts"),
        (LINES[1] + LINES[2], ":1: got a log record, expected the run record"),
        (LINES[0] + LINES[0], ":2: got a second run record"),
        (LINES[0] + LINES[2] + LINES[1], ":3: got t = 5 after t = 9"),
        (LINES[0] + LINES[2] + LINES[2], ":3: got a end record after the end record"),
        (LINES[0] + LINES[1], ":3: got the end of the file, expected an end record: the history was cut short"),
        (GOOD[:-1], f":3: got {len(LINES[2]) - 1} bytes without an end of line"),
        (
            GOOD[:-20],
            f":3: got {len(LINES[2]) - 20} bytes without an end of line, expected a whole line: the last line was",
        ),
    ],
)
def test_a_file_that_is_no_history_is_refused_with_its_line(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in refuse(tmp_path, data)


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    for length in range(len(GOOD)):
        refuse(tmp_path, GOOD[:length])


def test_fields_that_may_be_null_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "h"
    path.write_bytes(
        LINES[0] + b'{"t":1,"actor":"op","kind":"post.end","post":"p","agent":"a","outcome":"written"}\n' + LINES[2]
    )
    assert jsonl.read(path)[1].get("error") is None


def test_a_line_beyond_the_limit_is_refused_and_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "MAX_LINE_BYTES", 400)
    assert ":2: got a line of more than 400 bytes" in refuse(tmp_path, LINES[0] + b" " * 1000 + b"\n")
    with pytest.raises(ValueError, match="expected at most 400"):
        jsonl.dumps([log(0, "a", "x" * 500)])


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path, words in ((tmp_path, "got a directory"), (tmp_path / "none", "got no such file"), (Path("a\0b"), "null")):
        with pytest.raises(HistoryError, match=words):
            jsonl.read(path)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: object) -> Any:
        yield b"half"
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jsonl, "lines", full)
    with pytest.raises(OSError, match="No space"):
        jsonl.write(tmp_path / "history.jsonl", [])
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        jsonl.write(path, [])
    assert path.read_text() == "mine"
