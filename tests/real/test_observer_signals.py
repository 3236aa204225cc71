"""What may stand at `.rules`, and how it comes and goes: told, never opened, and no link is followed anywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.observed import REFERENCE, Eyewitness, entries, eyewitness, post, specs

from fleetbeat.engines.real import observe_eyes
from fleetbeat.history.records import digest


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Eyewitness]:
    with eyewitness(tmp_path) as found:
        yield found


def test_a_post_taken_before_anybody_looked_was_a_file_that_came_and_went(witness: Eyewitness) -> None:
    post(witness.home())
    (witness.home() / ".rules").unlink()
    rows = entries(witness.rows("signal"), "signal")
    assert [(row["event"], row["entry"]) for row in rows] == [("appeared", "file"), ("vanished", None)]


def test_what_stands_at_the_signal_is_told_and_never_opened(
    witness: Eyewitness, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, int]] = []
    real = os.open

    def spy(path: Any, flags: int, *args: Any, **named: Any) -> int:
        opened.append((os.fsdecode(path), flags))
        return real(path, flags, *args, **named)

    monkeypatch.setattr(observe_eyes.os, "open", spy)
    signal = witness.home() / ".rules"
    seen = []
    post(witness.home())
    seen += witness.rows("signal")
    signal.unlink()
    signal.mkdir()
    seen += witness.rows("signal")[1:]
    signal.rmdir()
    os.mkfifo(witness.home() / "pipe")
    signal.symlink_to("pipe")
    witness.rows("signal")
    signal.unlink()
    os.mkfifo(signal)
    rows = witness.rows("signal")
    entry = [fields["entry"] for _, fields in rows if fields["entry"]]
    assert entry == ["file", "directory", "symlink", "other"]
    assert opened
    assert not [path for path, flags in opened if path.endswith(".rules") and not flags & os.O_DIRECTORY]


def test_a_signal_moved_aside_is_told_with_its_place_and_one_moved_out_of_sight_without(
    witness: Eyewitness, tmp_path: Path
) -> None:
    for target in (witness.home() / "deep" / "bad", tmp_path / "away"):
        (witness.home() / "deep").mkdir(exist_ok=True)
        witness.observer.drain()
        post(witness.home())
        os.rename(witness.home() / ".rules", target)
    rows = entries(witness.rows("signal"), "signal")
    assert [(row["event"], row["to"]) for row in rows] == [
        ("appeared", None),
        ("moved", "deep/bad"),
        ("appeared", None),
        ("moved", None),
    ]
    (witness.home() / ".rules").mkdir()
    os.rename(witness.home() / ".rules", witness.home() / "set-aside")
    assert entries(witness.rows("signal"), "signal")[-1]["to"] == "set-aside"


def test_a_signal_that_the_agent_may_not_read_is_told_so(tmp_path: Path) -> None:
    with eyewitness(tmp_path, specs(uid=4242)) as witness:
        for mode in (0o600, 0o644):
            (witness.home() / ".rules.tmp").write_bytes(b"x")
            (witness.home() / ".rules.tmp").chmod(mode)
            os.rename(witness.home() / ".rules.tmp", witness.home() / ".rules")
            witness.observer.drain()
        assert [row["readable"] for row in entries(witness.rows("signal"), "signal")] == [False, True]


def test_the_harness_is_told_right_after_the_record_of_its_own_act_and_only_of_that(witness: Eyewitness) -> None:
    told: list[Any] = []

    def hook(t: int) -> None:
        last = witness.history()[-2]
        told.append((t, last.t, last.kind, last["event"]))

    post(witness.home())
    witness.observer.drain()
    (witness.home() / ".rules").unlink()
    witness.observer.expect("a-0", ("appeared", "replaced"), hook)
    post(witness.home())
    post(witness.home())
    witness.observer.drain()
    assert [(row[0] == row[1], *row[2:]) for row in told] == [(True, "signal", "appeared")]
    witness.observer.expect("a-0", ("vanished",), hook)
    witness.observer.forget("a-0")
    (witness.home() / ".rules").unlink()
    witness.observer.drain()
    assert len(told) == 1


def test_what_the_harness_does_to_a_signal_is_no_write_of_the_agents_nor_are_its_log_and_its_beats(
    tmp_path: Path,
) -> None:
    with eyewitness(tmp_path, manifest=REFERENCE.model_copy(update={"writes": ()})) as witness:
        witness.observer.ours("/a-0/.rules.tmp")
        witness.observer.expect("a-0", ("appeared",), lambda t: None)
        post(witness.home())
        assert witness.rows("write") == []
        (witness.home() / ".rules").unlink()
        (witness.home() / "logs").mkdir()
        (witness.home() / "logs" / "events.jsonl").write_text('{"type": "x"}\n')
        (witness.home() / ".agent.heartbeat").write_text("0")
        assert [fields["path"] for _, fields in witness.rows("write")] == ["/a-0/.rules"]


def test_no_link_is_followed_to_canonical_prompt_log_or_directory(witness: Eyewitness, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    for name in ("rules.md", "system.md"):
        (secret / name).write_text("<rules>\nsecret\n</rules>")
    (secret / "events.jsonl").write_text('{"type": "secret"}\n')
    home = witness.home()
    (home / "logs").symlink_to(secret)
    (home / "system").symlink_to(secret)
    witness.rows()
    (home / "system").unlink()
    (home / "system").mkdir()
    (home / "system" / "rules.md").symlink_to(secret / "rules.md")
    (home / "system" / "system.md").symlink_to(secret / "system.md")
    witness.rows()
    (secret / "new").write_text("x")
    history = witness.over()
    assert digest(b"<rules>\nsecret\n</rules>") not in json.dumps([dict(r.fields) for r in history])
    assert not [r for r in history if r.kind == "log" or (r.kind == "prompt" and r["norm"])]
    assert not [r for r in history if r.kind == "write" and "secret" in r["path"]]
