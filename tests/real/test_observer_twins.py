"""The observer of real directories records what the simulation's watch records for the same operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.observed import TOP, Twins, context, entries, twins_of

from fleetbeat.engines.programs import load_program
from fleetbeat.protocol.spelling import flush_prompt, make_directory, write_file
from fleetbeat.protocol.vocabulary import Close, Emit, Episode, MakeDir, Open, Rename, SetSection, Unlink, WriteChunk
from fleetbeat.protocol.writers import WRITERS, Post
from fleetbeat.scenario.manifest import load_manifest

HOME = "/a-0"


@pytest.fixture(params=["prompt", "late"])
def twins(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Twins]:
    with twins_of(tmp_path, is_prompt=request.param == "prompt") as found:
        yield found


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Twins]:
    with twins_of(tmp_path) as found:
        yield found


def posting(twins: Twins, how: str, body: bytes, number: int = 0, chunk: int = 65536) -> None:
    temporary = f"{HOME}/.rules.tmp{number}"
    twins.ours(temporary)
    post = Post(HOME, body, temporary, chunk, 0o644)
    twins.acts(lambda: WRITERS[how](post), "operators")


def names(rows: list[Any]) -> list[str]:
    return [fields.get("event") or fields.get("state") or fields["path"] for _, fields in rows]


@pytest.mark.parametrize("program", ["reference", "claim"])
@pytest.mark.parametrize("how", sorted(WRITERS))
def test_a_post_and_its_handling_are_recorded_as_in_simulation(how: str, program: str, tmp_path: Path) -> None:
    folder = TOP / "agents" / program
    manifest = load_manifest(folder)
    played = load_program(folder, manifest)
    with twins_of(tmp_path, manifest) as twins:
        memory = twins.acts(lambda: played.boot(context(), played.start))
        for number, body in enumerate([b"one", b"one", b"  \n", b"two\r\nlines", b"", b"\xff\xfe", b"three"]):
            posting(twins, how, body, number)
            for _ in range(2):
                before = memory
                memory = twins.acts(lambda memory=before: played.beat(context(), memory))  # type: ignore[misc]
            twins.acts(lambda: removing(f"{HOME}/.rules"), "operators")
        rows = twins.agree()
    told = [fields["event"] for fields in entries(rows, "log")]
    assert told.count("rules_loaded") == 3
    assert len(entries(rows, "canonical")) >= 3


def removing(path: str) -> Episode:
    try:
        yield Unlink(path)
    except OSError:
        pass


def test_canonical_written_in_place_shows_its_empty_instant_only_to_who_looks_then(twins: Twins) -> None:
    """Nothing is made up: looked at when all is over, it was written twice, and never seen empty."""

    def write(text: bytes) -> Callable[[], Episode]:
        return lambda: write_file(f"{HOME}/system/rules.md", text, 65536)

    twins.acts(lambda: make_directory(f"{HOME}/system"))
    twins.acts(write(b"first"))
    twins.acts(write(b"second"))
    seen, watched = twins.records()
    assert names(watched) == ["truncated", "written", "truncated", "written"]
    assert seen == (watched if twins.is_prompt else watched[1::2])


def test_replaced_rewritten_moved_and_gone_are_told_apart_at_the_signal(twins: Twins) -> None:
    def episode() -> Episode:
        for number in (1, 2):
            yield from write_file(f"{HOME}/.rules.{number}", b"x", 65536)
        yield Rename(f"{HOME}/.rules.1", f"{HOME}/.rules")
        yield Rename(f"{HOME}/.rules.2", f"{HOME}/.rules")

    def rest() -> Episode:
        yield Rename(f"{HOME}/.rules", f"{HOME}/.rules.claimed")
        yield from write_file(f"{HOME}/.rules", b"new", 65536)
        yield Unlink(f"{HOME}/.rules")

    for path in (".rules.1", ".rules.2", ".rules.claimed"):
        twins.ours(f"{HOME}/{path}")
    twins.acts(episode, "operators")
    twins.acts(rest, "operators")
    seen, watched = twins.records()
    events = [fields["event"] for fields in entries(watched, "signal")]
    assert events == ["appeared", "replaced", "moved", "appeared", "changed", "vanished"]
    assert [fields["event"] for fields in entries(seen, "signal")] == events
    if twins.is_prompt:
        assert seen == watched


def test_a_write_through_a_kept_handle_to_a_signal_that_is_gone_is_none_at_the_name(quick: Twins) -> None:
    def episode() -> Episode:
        handle = yield Open(f"{HOME}/.rules", "w")
        yield WriteChunk(handle, b"a")
        yield Unlink(f"{HOME}/.rules")
        yield WriteChunk(handle, b"b")
        yield Close(handle)

    quick.acts(episode, "operators")
    assert names(quick.agree()) == ["appeared", "changed", "vanished"]


def test_a_prompt_replaced_by_rename_and_one_removed_are_told(quick: Twins) -> None:
    def episode() -> Episode:
        yield MakeDir(f"{HOME}/system")
        yield SetSection("rules", "be kind")
        yield from flush_prompt(f"{HOME}/system/new", 65536)
        yield Rename(f"{HOME}/system/new", f"{HOME}/system/system.md")
        yield from write_file(f"{HOME}/system/system.md", b"<rules>\ncut", 65536)
        yield Unlink(f"{HOME}/system/system.md")

    quick.acts(episode)
    quick.witness.observer.close()  # a torn prompt is told once it was so for a while
    seen = [fields["state"] for fields in entries(_after(quick), "prompt")]
    assert seen == ["whole", "missing"] or seen == ["whole", "torn", "missing"]
    assert [fields["state"] for fields in entries(quick.records_of_twin(), "prompt")] == ["whole", "torn", "missing"]


def _after(twins: Twins) -> list[Any]:
    return [(r.kind, dict(r.fields)) for r in twins.witness.history()]


def test_writes_outside_what_is_declared_are_recorded_once_from_open_to_close(quick: Twins) -> None:
    def episode() -> Episode:
        yield from write_file(f"{HOME}/notes", b"a" * 10, 3)
        yield from write_file(f"{HOME}/notes", b"b", 3)
        yield MakeDir(f"{HOME}/deep")
        yield MakeDir(f"{HOME}/deep/er")
        yield from write_file(f"{HOME}/deep/er/x", b"c", 3)
        yield Rename(f"{HOME}/deep/er/x", f"{HOME}/deep/y")
        yield Unlink(f"{HOME}/deep/y")
        yield from write_file("/stray", b"d", 3)
        yield from write_file(f"{HOME}/system.md", b"d", 3)
        yield Emit("hello", (("a", "b"),))

    quick.acts(episode)
    rows = quick.agree()
    assert [fields["path"].removeprefix(HOME) for fields in entries(rows, "write")] == [
        "/notes",
        "/notes",
        "/deep",
        "/deep/er",
        "/deep/er/x",
        "/deep/er/x",
        "/deep/y",
        "/deep/y",
        "/stray",
        "/system.md",
    ]
    assert [fields["agent"] for fields in entries(rows, "write")][-2:] == [None, "a-0"]
