"""Agents and strangers that do what nobody should: nothing outside is touched, nothing hangs, nothing stays."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.real.ground import ended, fleetbeat, ground, until  # noqa: F401

from fleetbeat.engines.process.hosting import _output
from fleetbeat.engines.process.strays import children
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.engines.real.play_files import HarnessFiles, Users, put, remove
from fleetbeat.engines.real.play_reports import LARGEST, _sound
from fleetbeat.engines.real.root import MARK, Mark, base_directory, left_behind, make_root, read_mark

GONE = Mark(f"{2**22 + 1}-1-0", 2**22 + 1, 1, "process", "lost", 0.0)
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="directories of other users need root")
STRAY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve("/bin/sleep", ["sleep", "1234.5"], {})
    os._exit(0)
while True:
    open(sys.argv[1] + "/.agent.heartbeat", "w").write(str(time.time()))
    time.sleep(0.2)
"""


def _marked(place: Path, text: str) -> Path:
    place.mkdir(parents=True)
    (place / "kept").write_text("theirs")
    (place / MARK).write_text(text)
    return place


@pytest.mark.parametrize(
    "text", ["[" * 4000, json.dumps({**asdict(GONE), "run": []}), json.dumps({**asdict(GONE), "pid": "x"})]
)
def test_a_mark_that_says_nonsense_is_no_mark(ground: Path, text: str) -> None:  # noqa: F811
    assert read_mark(_marked(ground / "r", text)) is None
    assert ended(fleetbeat("clean", "--root", str(ground / "r")))[0] == 2
    assert (ground / "r" / "kept").exists()


@NEEDS_ROOT
def test_a_forged_mark_in_somebody_elses_directory_empties_nothing(ground: Path) -> None:  # noqa: F811
    place = _marked(ground / "r", json.dumps(asdict(GONE)))
    os.chown(place, 1234, 1234)
    inside = _marked(base_directory() / "run-1-0", json.dumps(asdict(GONE)))
    os.chown(base_directory(), 1234, 1234)
    code, _, told = ended(fleetbeat("clean", "--root", str(place)))
    assert (code, "another user's" in told) == (2, True)
    assert left_behind() == []
    assert ended(fleetbeat("clean"))[0] == 0
    assert (place / "kept").exists()
    assert (inside / "kept").exists()


def test_a_root_to_which_anybody_may_write_is_refused(ground: Path) -> None:  # noqa: F811
    (ground / "r").mkdir()
    (ground / "r").chmod(0o1777)
    with pytest.raises(CannotDo, match="anybody may write"):
        make_root(ground / "r", "process", "mine")


def test_a_refused_place_is_told_in_one_line(ground: Path) -> None:  # noqa: F811
    with pytest.raises(CannotDo) as refused:
        make_root(ground / "new\nline\x1b[31m" / "deeper", "process", "mine")
    assert "\n" not in str(refused.value)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("what", ["fifo", "link", "hard link", "directory"])
def test_what_an_agent_puts_where_its_output_goes_is_not_written_to(tmp_path: Path, what: str) -> None:
    outside, place = tmp_path / "outside", tmp_path / "out.log"
    outside.write_text("theirs")
    if what == "fifo":
        os.mkfifo(place)
    elif what == "link":
        place.symlink_to(outside)
    elif what == "hard link":
        os.link(outside, place)
    else:
        place.mkdir()
    descriptor = _output(place)
    os.write(descriptor, b"ours")
    os.close(descriptor)
    assert (place.read_text(), outside.read_text()) == ("ours", "theirs")


def test_taking_away_a_link_takes_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "kept").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    remove(tmp_path / "link")
    remove(tmp_path / "link")
    assert [path.name for path in tmp_path.rglob("*")] == ["theirs", "kept"]


def test_a_directory_that_becomes_a_link_between_look_and_act_leads_nowhere(tmp_path: Path) -> None:
    fleet, outside = tmp_path / "fleet", tmp_path / "outside"
    (fleet / "a-0").mkdir(parents=True)
    outside.mkdir()
    files = HarnessFiles(fleet)
    place = files._real("/a-0/.rules")
    (fleet / "a-0").rename(fleet / "aside")
    (fleet / "a-0").symlink_to(outside)
    os.close(os.open(place, os.O_WRONLY | os.O_CREAT))
    files.done()
    assert list(outside.iterdir()) == []
    with pytest.raises(OSError, match="directory"):
        put(fleet, "/a-0/x", b"", os.getuid(), Users([os.getuid()]))
    assert list(outside.iterdir()) == []


def test_directories_are_not_kept_open_without_end(tmp_path: Path) -> None:
    (tmp_path / "a-0").mkdir()
    files = HarnessFiles(tmp_path)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        files.stat("/a-0")
    files.done()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), 2 * LARGEST, [[-2 * LARGEST]]])
def test_numbers_that_no_time_is_are_refused_in_reports(value: object) -> None:
    with pytest.raises(ValueError, match="out of range"):
        _sound(value)


def test_half_of_a_pair_in_a_report_can_be_written_down() -> None:
    assert _sound(["\ud800"]) == ["\\ud800"]


def test_a_process_that_leaves_its_session_does_not_outlive_the_run(ground: Path) -> None:  # noqa: F811
    folder = ground / "stray"
    folder.mkdir()
    (folder / "agent.yaml").write_text('name: stray\ncommand: [python3, agent.py, "{home}"]\nwrites: ["**"]\n')
    (folder / "agent.py").write_text(STRAY)
    uid = os.getuid() or 1000
    text = f"duration: 500ms\nfleet: {{agent: ./stray, agents: 1, uid: {uid}, heartbeat: {{interval: 200ms}}}}\n"
    (ground / "s.yaml").write_text(text)
    began = time.monotonic()
    code, _, told = ended(fleetbeat("run", str(ground / "s.yaml"), "--engine", "process", "-q"))
    assert (code in (0, 3), told) == (True, "")
    assert time.monotonic() - began < 60
    assert until(lambda: not _sleepers(), patience_s=2)


def _sleepers() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == b"sleep\x001234.5\x00":
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_children_are_told() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    try:
        assert pid in children()
    finally:
        os.waitpid(pid, 0)
