"""What an observer cannot see, it says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.observed import REFERENCE, Eyewitness, entries, eyewitness, mounted, post

from fleetbeat.engines.real import observe_eyes, observer
from fleetbeat.history.records import digest


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Eyewitness]:
    with eyewitness(tmp_path) as found:
        yield found


def test_a_file_too_long_is_not_read_and_the_time_of_it_is_unseen(
    witness: Eyewitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe_eyes, "MOST", 1000)
    (witness.home() / "system").mkdir()
    witness.observer.drain()
    for size in (1001, 1000):
        (witness.home() / "system" / "rules.md").write_bytes(b"x" * size)
        witness.observer.drain()
    bodies = [fields["body"] for fields in entries(witness.rows("canonical"), "canonical")]
    assert (bodies[0], bodies[-1]) == (None, digest(b"x" * 1000))
    history = witness.over()
    (gap,) = [r for r in history if r.kind == "unseen"]
    assert gap["agent"] == "a-0"
    assert gap["missing"].startswith("system/rules.md: longer than")
    last = [r for r in history if r.kind == "canonical"][-1]
    assert gap["from"] < gap["to"] < last.t


def test_an_overflowing_queue_is_told_as_unseen_and_what_stands_then_is_looked_up(
    witness: Eyewitness, tmp_path: Path
) -> None:
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if limit > 100_000:
        pytest.skip(f"got a queue of {limit} events, expected one that can be filled in a second")
    home = witness.home()
    (home / "system").mkdir()
    (tmp_path / "control").mkdir()
    lines: list[Any] = []
    witness.observer.watch_reports("crew.0", tmp_path / "control", lines.append)
    witness.observer.drain()
    one, other = home / "one", home / "other"
    one.write_text("x")
    for _ in range(limit // 4 + 10):
        os.rename(one, other)
        os.rename(other, one)
    post(home)
    (home / "system" / "rules.md").write_text("during")
    (home / "made").mkdir()
    (home / "logs").mkdir()
    (home / "logs" / "events.jsonl").write_text('{"type": "hidden"}\n')
    (tmp_path / "control" / "report.jsonl").write_text('{"what": "ready"}\n')
    witness.observer.drain()
    assert lines == [{"what": "ready"}]
    (home / "made" / "later").write_text("x")
    (home / "system" / "rules.md").write_text("after")
    rows = witness.rows("unseen", "signal", "canonical", "log", "write")
    gap = next(fields for kind, fields in rows if kind == "unseen")
    assert gap["agent"] is None
    assert "overflowed" in gap["missing"]
    assert [fields["event"] for fields in entries(rows, "signal")] == ["appeared"]
    bodies = [fields["body"] for fields in entries(rows, "canonical")]
    assert (bodies[0], bodies[-1]) == (digest(b"during"), digest(b"after"))
    assert [fields["event"] for fields in entries(rows, "log")] == ["hidden"]
    assert ("write", "/a-0/made/later") in [(kind, fields.get("path")) for kind, fields in rows]


def test_a_clock_that_steps_is_told_and_moves_no_record(witness: Eyewitness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness.clock, "stepped", lambda: 3_600_000_000_000)
    monkeypatch.setattr(observer, "TEND_NS", 0)
    rows = entries(witness.rows("unseen"), "unseen")
    assert [row["missing"] for row in rows] == ["agents' own times: the machine's clock stepped by +3600.000 s"]
    assert rows[0]["to"] < 60_000_000_000


def test_an_agent_without_a_file_of_beats_is_unseen_in_that_for_the_whole_run(tmp_path: Path) -> None:
    silent = REFERENCE.model_copy(update={"heartbeat": None})
    with eyewitness(tmp_path, manifest=silent) as witness:
        history = witness.over()
    (gap,) = [r for r in history if r.kind == "unseen"]
    assert (gap["from"], gap["missing"]) == (0, "beats")
    assert gap["to"] >= history[-2].t


@pytest.fixture
def undeclared(tmp_path: Path) -> Iterator[Eyewitness]:
    with eyewitness(tmp_path, manifest=REFERENCE.model_copy(update={"writes": ()})) as found:
        yield found


def test_what_is_mounted_over_a_directory_is_seen_after_a_second_look(undeclared: Eyewitness) -> None:
    system = undeclared.home() / "system"
    system.mkdir()
    (system / "rules.md").write_text("below")
    (undeclared.home() / "system" / "deep").mkdir()
    undeclared.observer.drain()
    with mounted(system):
        undeclared.observer.rewatch("a-0")
        (system / "rules.md").write_text("above")
        (system / "deep").mkdir()
        undeclared.observer.drain()
        (system / "deep" / "x").write_text("x")
        undeclared.observer.drain()
    undeclared.observer.rewatch("a-0")
    bodies = [fields["body"] for fields in entries(undeclared.rows("canonical"), "canonical")]
    shown = [body for body in bodies if body != digest(b"")]
    assert "/a-0/system/deep/x" in [fields["path"] for fields in entries(undeclared.rows("write"), "write")]
    assert shown == [digest(b"below"), None, digest(b"above"), digest(b"below")]


def test_a_prompt_that_looks_torn_is_told_only_if_it_stays_so(
    witness: Eyewitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read may be half of the next flush, which is no torn prompt."""
    monkeypatch.setattr(observer, "TEND_NS", 0)
    prompt = witness.home() / "system" / "system.md"
    prompt.parent.mkdir()
    prompt.write_text("<rules>\nhalf")
    witness.observer.drain()
    prompt.write_text("<rules>\nwhole\n</rules>")
    witness.observer.drain()
    prompt.write_text("<rules>\nhalf")
    witness.observer.drain()
    closed = witness.clock.now()
    witness.until(lambda: witness.rows("prompt")[-1][1]["state"] == "torn", "a torn prompt")
    prompts = [r for r in witness.history() if r.kind == "prompt"]
    assert [r["state"] for r in prompts] == ["whole", "torn"]
    assert prompts[-1].t <= closed


def test_a_prompt_flushed_again_before_it_was_looked_at_is_unseen_not_mistaken_for_the_later_one(
    witness: Eyewitness,
) -> None:
    system = witness.home() / "system"
    system.mkdir()
    prompt = system / "system.md"
    prompt.write_text("<rules>\nold\n</rules>\n")
    witness.observer.drain()
    for text in ("first", "second"):
        prompt.write_text(f"<rules>\n{text}\n</rules>\n")
        (witness.home() / f"after-{text}").write_text("x")
    witness.observer.drain()
    history = witness.over()
    told = [(r.kind, r.fields.get("path")) for r in history if r.kind in ("prompt", "write") and r.t > 0]
    first, second = ("write", "/a-0/after-first"), ("write", "/a-0/after-second")
    assert told == [("prompt", None), first, ("prompt", None), second], told
    (gap,) = [r for r in history if r.kind == "unseen"]
    at = {r.fields.get("path", r.kind): r.t for r in history if r.kind in ("prompt", "write")}
    assert gap["missing"] == "system/system.md: flushed again before it was looked at"
    assert gap["from"] < at["/a-0/after-first"] < gap["to"] == at["prompt"]
