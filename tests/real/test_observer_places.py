"""Directories that come, go and move, and whose they are."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.worlds import scenario
from tests.real.observed import REFERENCE, Eyewitness, entries, eyewitness, post, specs

from fleetbeat.engines.real import observe_places, observe_teller
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.observer import Observer
from fleetbeat.engines.real.records import Clock, Sink
from fleetbeat.history.records import digest
from fleetbeat.scenario.resolve import agents


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Eyewitness]:
    with eyewitness(tmp_path) as found:
        yield found


def test_system_removed_and_made_again_is_watched_again(witness: Eyewitness) -> None:
    system = witness.home() / "system"
    for text in ("one", "two"):
        system.mkdir()
        (system / "rules.md").write_text(text)
        (system / "system.md").write_text(f"<rules>\n{text}\n</rules>")
        witness.observer.drain()
        shutil.rmtree(system)
        witness.observer.drain()
    rows = witness.rows()
    bodies = [fields["body"] for fields in entries(rows, "canonical") if fields["event"] != "truncated"]
    assert bodies == [digest(b"one"), None, digest(b"two"), None]
    assert [fields["state"] for fields in entries(rows, "prompt")] == ["whole", "missing", "whole", "missing"]


def test_system_moved_away_takes_canonical_with_it_and_another_brings_its_own(witness: Eyewitness) -> None:
    home = witness.home()
    (home / "system").mkdir()
    (home / "system" / "rules.md").write_text("one")
    witness.observer.drain()
    (home / "other").mkdir()
    (home / "other" / "rules.md").write_text("two")
    os.rename(home / "system", home / "old")
    os.rename(home / "other", home / "system")
    witness.observer.drain()
    (home / "old" / "rules.md").write_text("no matter")
    (home / "system" / "rules.md").write_text("three")
    bodies = [fields["body"] for fields in entries(witness.rows("canonical"), "canonical")]
    bodies = [body for body in bodies if body != digest(b"")]
    assert bodies in (
        [digest(b"one"), None, digest(b"two"), digest(b"three")],
        [digest(b"one"), digest(b"two"), digest(b"three")],
    )


def test_what_is_written_in_a_directory_that_just_moved_is_told_where_it_is_now(witness: Eyewitness) -> None:
    (witness.home() / "one" / "deep").mkdir(parents=True)
    witness.observer.drain()
    os.rename(witness.home() / "one", witness.home() / "two")
    (witness.home() / "two" / "deep" / "x").write_text("x")
    paths = [fields["path"] for fields in entries(witness.rows("write"), "write")]
    assert paths[2:] == ["/a-0/one", "/a-0/two", "/a-0/two/deep/x"]


def test_nothing_made_in_directories_that_were_just_made_is_missed(witness: Eyewitness) -> None:
    """Directories grow as fast as they can while the observer runs after them."""
    made: list[str] = []

    def grow() -> None:
        for number in range(60):
            deep = witness.home() / f"d{number}" / "x" / "y"
            deep.mkdir(parents=True)
            (deep / "file").write_text("x")
            made.extend(f"/a-0/d{number}{part}" for part in ("", "/x", "/x/y", "/x/y/file"))

    thread = threading.Thread(target=grow)
    thread.start()
    while thread.is_alive():
        witness.observer.drain()
    thread.join()
    paths = [fields["path"] for fields in entries(witness.rows("write"), "write")]
    assert sorted(paths) == sorted(made)


def test_a_home_deleted_is_told_and_one_made_again_is_watched(witness: Eyewitness) -> None:
    home = witness.home()
    (home / "system").mkdir()
    (home / "system" / "rules.md").write_text("one")
    post(home)
    witness.observer.drain()
    shutil.rmtree(home)
    witness.observer.drain()
    home.mkdir()
    post(home)
    assert witness.events("signal") == ["appeared", "vanished", "appeared"]
    assert witness.events("canonical")[-1] == "removed"


def test_a_home_moved_away_takes_its_names_with_it(witness: Eyewitness, tmp_path: Path) -> None:
    post(witness.home())
    witness.observer.drain()
    os.rename(witness.home(), tmp_path / "gone")
    assert witness.events("signal") == ["appeared", "vanished"]
    os.rename(tmp_path / "gone", witness.home())
    assert witness.events("signal") == ["appeared", "vanished", "appeared"]


def test_a_childs_home_is_its_own(tmp_path: Path) -> None:
    groups = [{"name": "a", "count": 1}, {"name": "b", "count": 1, "parent": "a-0"}]
    fleet = agents(scenario(fleet={"agents": None, "groups": groups, "uid": os.getuid()}))
    with eyewitness(tmp_path, fleet) as witness:
        post(witness.home("b-0"))
        (witness.home("b-0") / "stray").write_text("x")
        rows = witness.rows("signal", "write")
        shown = [(fields["agent"], fields.get("path")) for _, fields in rows]
        assert shown == [
            ("b-0", "/a-0/children/b-0/.rules.tmp"),
            ("b-0", "/a-0/children/b-0/.rules.tmp"),
            ("b-0", None),
            ("b-0", "/a-0/children/b-0/stray"),
        ]


def test_a_name_that_is_no_text_can_be_written_down(witness: Eyewitness) -> None:
    (Path(os.fsdecode(os.fsencode(witness.home()) + b"/\xff\x1b[31m"))).write_text("x")
    (row,) = entries(witness.rows("write"), "write")
    assert row["path"] == "/a-0/\\xff\x1b[31m"


def test_what_the_harness_furnishes_is_nobodys_doing(tmp_path: Path) -> None:
    """Also of an agent that comes later, into the home of another one that is watched already."""
    groups = [{"name": "a", "count": 1}, {"name": "b", "count": 1, "parent": "a-0"}]
    _, child = agents(scenario(fleet={"agents": None, "groups": groups, "uid": os.getuid()}))
    with eyewitness(tmp_path) as witness:
        home = witness.fleet / child.home[1:]
        (home / "system").mkdir(parents=True)
        (home / "system" / "rules.md").write_text("from the start")
        (home / ".rules").write_text("from the start")
        witness.observer.watch(child, home, REFERENCE)
        witness.observer.drain()
        assert witness.rows() == []
        (home / ".rules").unlink()
        assert [(kind, fields["agent"]) for kind, fields in witness.rows()] == [("signal", "b-0")]


def test_before_time_0_everything_is_at_0_and_no_beat_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sink, (spec,) = Clock(), Sink(), specs()
    clock.zero -= 50_000_000_000
    home = tmp_path / "a-0"
    home.mkdir()
    observer = Observer(clock, sink, tmp_path)
    try:
        observer.watch(spec, home, REFERENCE.model_copy(update={"command": ("x",)}))
        (home / ".agent.heartbeat").write_text("0")
        (home / "stray").write_text("x")
        (tmp_path / "for-the-fleet").write_text("x")
        observer.drain()
        assert observer.beat_ages()["a-0"] is not None
        clock.start_at(time.monotonic_ns())
        observer.new_life("a-0", 0)
        (home / ".agent.heartbeat").write_text("0")
        steps = [1_000_000_000]  # what is overdue is looked after, though the clock went back to 0
        monkeypatch.setattr(clock, "stepped", lambda: steps.pop() if steps else 0)
        observer.drain()
    finally:
        observer.close()
    history = sink.history(clock.now(), "duration")
    assert [(r.kind, r.t == 0) for r in history[:-1]] == [("write", True), ("beats", False), ("unseen", False)]
    assert history[1]["last"] == 0
    assert history[1].t < 10_000_000_000


@pytest.mark.parametrize(
    ("names", "why"), [(["d"] * 100, "more than 64 inside"), (["a", "b", "c"], "more than 2 in one")]
)
def test_directories_without_end_are_followed_as_far_as_is_said(
    names: list[str], why: str, witness: Eyewitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    if len(names) == 3:
        monkeypatch.setattr(observe_places, "MOST", 2)
    deep = witness.home()
    for name in names:
        deep /= name
        deep.mkdir()
    witness.observer.drain()
    post(witness.home())
    assert witness.events("signal") == ["appeared"]
    (gap,) = [r["missing"] for r in witness.over() if r.kind == "unseen"]
    assert gap.startswith(f"further directories: {why}")


def test_what_one_agent_does_without_end_takes_no_memory_without_end(
    witness: Eyewitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observe_teller, "MOST", 10)
    for number in range(30):
        (witness.home() / f"x{number}").write_text("")
    witness.observer.drain()
    history = witness.over()
    assert sum(r.kind == "write" for r in history) == 10
    assert [r["missing"] for r in history if r.kind == "unseen"] == ["what it did: more than 10 records of it"]


def test_a_home_that_cannot_be_watched_is_an_error_and_not_a_silence(tmp_path: Path) -> None:
    observer, (spec,) = Observer(Clock(), Sink(), tmp_path), specs()
    try:
        (tmp_path / "a-0").symlink_to(tmp_path)
        with pytest.raises(EngineError, match="observing a-0: its home: got no directory"):
            observer.watch(spec, tmp_path / "a-0", REFERENCE)
    finally:
        observer.close()
