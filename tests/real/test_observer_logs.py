"""An agent's log is data: each entry is told once, in its place, whatever is in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.observed import Eyewitness, entries, eyewitness, post


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Eyewitness]:
    with eyewitness(tmp_path) as found:
        yield found


def test_lines_of_a_log_are_data_whatever_is_in_them(witness: Eyewitness) -> None:
    lines = [
        b'{"type": "ok", "ts": 1.5, "to": 7, "more": {"a": [1]}}',
        b'{"type": "\\u001b[31mred", "say": "[bold]\\u0007"}',
        b'{"type": "half", "x": "\\ud800"}',
        b'\xff\xfe{"type": "no"}',
        b'{"type": NaN}',
        b'{"x": 1}',
        b'{"type": "nan", "x": NaN}',
        b"[" * 20000,
        b'{"n": ' + b"9" * 5000 + b"}",
        b"",
        b'{"type": "big", "x": "' + b"y" * (1 << 20) + b'"}',
        b'{"type": "last"}',
    ]
    (witness.home() / "logs").mkdir()
    log = witness.home() / "logs" / "events.jsonl"
    log.write_bytes(b"\n".join(lines) + b"\nhalf a line")
    rows = entries(witness.rows("log"), "log")
    ok, red, half, *bad, big, last = rows
    assert (ok["event"], dict(ok["fields"])) == ("ok", {"to": "7", "more": '{"a": [1]}'})
    assert (red["event"], red["fields"]["say"]) == ("\x1b[31mred", "[bold]\x07")
    assert half["fields"]["x"] == "\\ud800"
    assert [row["event"] for row in bad] == ["unreadable"] * 7
    assert (big["event"], big["fields"]["size"]) == ("unreadable", str(len(lines[-2])))
    assert big["fields"]["why"] == "longer than 64 KiB"
    assert last["event"] == "last"
    assert len(json.dumps([dict(row) for row in rows]).encode("utf-8")) < 100_000


def test_half_a_line_waits_for_its_other_half(witness: Eyewitness) -> None:
    (witness.home() / "logs").mkdir()
    with (witness.home() / "logs" / "events.jsonl").open("ab", buffering=0) as log:
        log.write(b'{"type": "a"}\n{"ty')
        assert witness.events("log") == ["a"]
        log.write(b'pe": "b"}\n')
        assert witness.events("log") == ["a", "b"]


def test_a_log_that_starts_over_is_read_from_its_start(witness: Eyewitness) -> None:
    (witness.home() / "logs").mkdir()
    log = witness.home() / "logs" / "events.jsonl"
    log.write_text('{"type": "one"}\n{"type": "two"}\n')
    witness.observer.drain()
    log.write_text('{"type": "3"}\n')
    witness.observer.drain()
    os.rename(log, log.with_name("old"))
    log.write_text('{"type": "4"}\n{"type": "5"}\n{"type": "6"}\n')
    assert witness.events("log") == ["one", "two", "3", "4", "5", "6"]


def test_entries_keep_their_place_among_other_things_that_happened(witness: Eyewitness) -> None:
    home = witness.home()
    (home / "logs").mkdir()
    with (home / "logs" / "events.jsonl").open("ab", buffering=0) as log:
        witness.observer.drain()
        log.write(b'{"type": "before"}\n')
        post(home)
        log.write(b'{"type": "between"}\n')
        (home / ".rules").unlink()
        log.write(b'{"type": "after"}\n')
        log.write(b'{"type": "too"}\n')
        post(home)
        log.write(b'{"type": "last"}\n')
    assert [fields["event"] for _, fields in witness.rows("log", "signal")] == [
        "before",
        "appeared",
        "between",
        "vanished",
        "after",
        "too",
        "appeared",
        "last",
    ]
