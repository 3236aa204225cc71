from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calls import SCENARIO, Desk, stop

from fleetbeat.history import jsonl, store

FILES = ["history.jsonl", "junit.xml", "missing.yaml", "posts.parquet", "report.json", "report.txt", "scenario.yaml"]


def test_a_run_writes_everything_and_nothing_else(desk: Desk) -> None:
    assert desk("run", "s.yaml", "-o", "out").code == 0
    assert desk.left() == ["out", *(f"out/{name}" for name in FILES)]
    assert jsonl.read("out/history.jsonl") == desk.records
    assert json.loads(Path("out/report.json").read_text())["posts"] == 2


def test_what_is_printed_is_what_is_kept(desk: Desk) -> None:
    assert desk("run", "s.yaml", "-o", "out").out == Path("out/report.txt").read_text()
    assert desk("run", "s.yaml", "-o", "json", "--json").out == Path("json/report.json").read_text()


@pytest.mark.parametrize("where", ["out", ".", "link"])
def test_an_empty_directory_is_filled(desk: Desk, where: str) -> None:
    (desk.folder / "out").mkdir()
    (desk.folder / "link").symlink_to("out")
    scenario = desk.folder.parent / "s.yaml"
    scenario.write_text(SCENARIO)
    os.chdir("out")
    target = {"out": str(desk.folder / "out"), ".": ".", "link": str(desk.folder / "link")}[where]
    assert desk("run", str(scenario), "-o", target).code == 0
    assert sorted(path.name for path in (desk.folder / "out").iterdir()) == FILES
    assert (desk.folder / "link").is_symlink()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("full", "not empty"),
        ("s.yaml", "no directory"),
        ("s.yaml/out", "parent"),
        ("none/out", "parent"),
        ("dangling", "no directory"),
        ("", "empty name"),
        ("full/", "not empty"),
    ],
)
def test_a_place_that_cannot_be_an_output_directory_exits_2_before_the_run(desk: Desk, target: str, words: str) -> None:
    (desk.folder / "full").mkdir()
    (desk.folder / "full" / "mine").write_text("mine")
    (desk.folder / "dangling").symlink_to("nowhere")
    said = desk("run", "s.yaml", "-o", target)
    assert said.code == 2
    assert words in said.one_line
    assert said.out == ""
    assert desk.played == []
    assert desk.left() == ["dangling", "full", "full/mine"]


def test_a_directory_that_cannot_be_written_to_exits_4_before_the_run(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    said = desk("run", "s.yaml", "-o", "out")
    assert said.code == 4
    assert said.one_line == "fleetbeat: out: got Permission denied, expected to be able to write there"
    assert desk.played == []


def full_disk(*_: Any, **__: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def half_written(path: Path, *_: Any) -> None:
    path.write_text("half")
    full_disk()


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_a_disk_that_fills_up_exits_4_with_one_line_and_leaves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, existing: bool
) -> None:
    write_bytes = Path.write_bytes

    def write(self: Path, data: bytes) -> int:
        if self.name == name:
            write_bytes(self, data[: len(data) // 2])
            full_disk()
        return write_bytes(self, data)

    monkeypatch.setattr(Path, "write_bytes", write)
    if name == "history.jsonl":
        monkeypatch.setattr(jsonl, "write", half_written)
    if name == "posts.parquet":
        monkeypatch.setattr(store, "write_posts", half_written)
    if existing:
        (desk.folder / "out").mkdir()
    said = desk("run", "s.yaml", "-o", "out")
    assert said.code == 4
    assert said.one_line == f"fleetbeat: out/{name}: got No space left on device, expected to be able to write there"
    assert said.out == ""
    assert desk.left() == (["out"] if existing else [])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("bug"), SystemExit(143)])
@pytest.mark.parametrize("name", ["report.json", "posts.parquet"])
def test_whatever_stops_the_writing_no_half_file_is_left(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: BaseException, name: str
) -> None:
    write_bytes = Path.write_bytes

    def write(self: Path, data: bytes) -> int:
        if self.name == name:
            write_bytes(self, b"half")
            raise error
        return write_bytes(self, data)

    def write_posts(path: Path, _: object) -> None:
        write(path, b"")

    monkeypatch.setattr(Path, "write_bytes", write)
    monkeypatch.setattr(store, "write_posts", write_posts)
    said = desk("run", "s.yaml", "-o", "out")
    if isinstance(error, KeyboardInterrupt):
        assert said.code == 130
        assert f"out/{name}" not in desk.left()
        assert jsonl.read("out/history.jsonl") == desk.records
    else:
        assert said.code == (70 if isinstance(error, RuntimeError) else 143)
        assert desk.left() == []


def test_a_directory_that_appears_meanwhile_is_not_written_over(desk: Desk) -> None:
    play = desk.play

    def meanwhile() -> Any:
        (desk.folder / "out").mkdir()
        (desk.folder / "out" / "mine").write_text("mine")
        return play()

    desk.on_play(meanwhile)
    assert desk("run", "s.yaml", "-o", "out").code == 4
    assert desk.left() == ["out", "out/mine"]


@pytest.mark.parametrize("prepare", [lambda: None, lambda: Path("out").mkdir()])
def test_a_failed_run_leaves_no_temporary_directory(desk: Desk, prepare: Callable[[], None]) -> None:
    prepare()
    before = desk.left()
    desk.on_play(stop(RuntimeError("bug")))
    assert desk("run", "s.yaml", "-o", "out").code == 70
    assert desk.left() == before


def test_the_resolved_scenario_loads_again_and_says_the_same(desk: Desk) -> None:
    assert desk("run", "s.yaml", "-o", "one", "--seed", "9", "--set", "fleet.agents=5").code == 0
    assert desk("run", "one", "-o", "two").code == 0
    assert desk("run", "two/scenario.yaml", "-o", "three").code == 0
    texts = {Path(name, "scenario.yaml").read_text() for name in ("one", "two", "three")}
    assert len(texts) == 1
    assert [scenario.seed for scenario, *_ in desk.played] == [9, 9, 9]
