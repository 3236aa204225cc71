"""Small and read-only disks: the kernel's own ENOSPC and EROFS, on those agents alone, and nothing stays mounted."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.means_stage import MS, RealStage, need, need_root, of_this_machine, planned, scenario_of

from fleetbeat.engines.real.means import unmount_below
from fleetbeat.engines.real.means.disks import PAGE, disk_over
from fleetbeat.engines.real.means.mounts import bind, mount_disk, mounts_below, unmount
from fleetbeat.engines.real.means.remount import is_read_only

MACHINE = of_this_machine()
Play = Callable[..., RealStage]


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """A stage under a plan, before any agent is started."""
    need_root()
    need(MACHINE.mount_why)
    stages = []

    def start(**fields: Any) -> RealStage:
        scenario = scenario_of(**fields)
        stage = RealStage(tmp_path / f"run-{len(stages)}", scenario)
        stages.append(stage)
        stage.play(planned(scenario, on=MACHINE))
        return stage

    yield start
    for stage in stages:
        stage.close()


def _count(stage: RealStage) -> dict[str, Any]:
    assert stage.plan is not None
    [count] = stage.plan.counts()
    return count


# --- read-only ---

EROFS = {"id": "f", "agents": "a-1", "operation": "write", "error": "EROFS", "from": "300ms", "to": "900ms"}


def test_system_is_read_only_within_the_window_for_the_named_agent_alone(play: Play) -> None:
    stage = play(faults=[EROFS], fleet={"agents": 2})
    for name in ("a-0", "a-1"):
        stage.start(name)
        stage.applied(name, "before")
    stage.until(stage.faults, "the window")
    assert stage.now() >= 300 * MS
    [fault] = stage.faults()
    assert (fault["agent"], fault["error"]) == ("a-1", "EROFS")
    stage.applied("a-0", "within")
    stage.post("a-1", "within")
    stage.until(lambda: stage.logged("a-1", "rules_write_error"), "its error")
    assert stage.canonical("a-1") == "before"
    stage.until(lambda: stage.now() > 950 * MS, "the end of the window")
    stage.applied("a-1", "after")
    stage.close()
    assert _count(stage) == {
        "fault": "f", "means": ["remount"], "planned": 1, "fired": 1, "observed": 1, "removed": True
    }  # fmt: skip


def test_a_write_under_way_is_let_end_before_the_disk_turns(play: Play) -> None:
    stage = play(faults=[{**EROFS, "from": "0s", "agents": "a-0"}])
    path = stage.home("a-0") / "system" / "rules.md"
    with path.open("w") as file:
        stage.until(lambda: stage.now() > 50 * MS, "the window")
        file.write("whole")
        assert stage.faults() == []
    stage.until(stage.faults, "the disk to turn")
    with pytest.raises(OSError) as caught:
        path.write_text("x")
    assert caught.value.errno == errno.EROFS
    assert path.read_text() == "whole"


def test_looking_whether_a_disk_is_read_only_leaves_no_name_and_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "system").mkdir()
    (tmp_path / "system/.fleetbeat-probe").symlink_to(tmp_path / "victim")
    before = (tmp_path / "system").stat().st_mtime_ns
    assert not is_read_only(tmp_path, tmp_path / "system")
    assert sorted(os.listdir(tmp_path)) == ["system"]
    assert (tmp_path / "system").stat().st_mtime_ns == before
    (tmp_path / "link").symlink_to("system")
    with pytest.raises(NotADirectoryError):
        is_read_only(tmp_path, tmp_path / "link")


def test_windows_that_overlap_end_with_the_last(play: Play) -> None:
    first = {**EROFS, "agents": "a-0", "from": "0s", "to": "200ms"}
    second = {**first, "id": "g", "operation": "flush", "from": "100ms", "to": "500ms"}
    stage = play(faults=[first, second])
    path = stage.home("a-0") / "system" / "rules.md"
    stage.until(lambda: stage.now() > 250 * MS, "the end of the first")
    with pytest.raises(OSError):
        path.touch()
    stage.until(lambda: stage.now() > 550 * MS, "the end of the second")
    path.touch()


def test_what_was_furnished_lies_on_the_disk_with_its_owners_and_modes(play: Play) -> None:
    stage = play(faults=[])
    system = stage.home("a-0") / "system"
    (system / "rules.md").write_text("old")
    (system / "deep").mkdir(mode=0o750)
    (system / "deep" / "link").symlink_to("nowhere")
    os.chown(system / "rules.md", 1234, 1234)
    (system / "rules.md").chmod(0o640)
    os.chown(system, 1234, 1234)
    disk_over(system, PAGE * 8, stage.root() / "aside")
    try:
        found = (system / "rules.md").stat()
        assert (found.st_uid, found.st_mode & 0o777, (system / "rules.md").read_text()) == (1234, 0o640, "old")
        assert os.readlink(system / "deep" / "link") == "nowhere"
        assert system.stat().st_uid == 1234
        assert not (stage.root() / "aside").exists()
    finally:
        unmount(system)


# --- small ---


def test_a_disk_that_is_full_cuts_canonical_and_is_counted(play: Play) -> None:
    """Three pages: prompt and canonical take one each, and half of what is posted next fits."""
    hosts = [{"name": "tight", "system_disk": f"{3 * PAGE}B"}, {"name": "roomy"}]
    stage = play(fleet={"agents": 2, "hosts": hosts})
    for name in ("a-0", "a-1"):
        stage.start(name)
        stage.applied(name, "small")
    large = "x" * (4 * PAGE)
    stage.post("a-0", large)
    stage.until(lambda: stage.logged("a-0", "rules_write_error"), "the error")
    assert stage.canonical("a-0") != large
    assert len(stage.canonical("a-0") or "") % PAGE == 0
    stage.applied("a-1", large)
    stage.close()
    count = _count(stage)
    assert (count["fault"], count["means"], count["removed"]) == ("system_disk:tight", ["tmpfs"], True)
    assert count["fired"] >= 1


def test_agents_of_a_host_fill_its_disk_together(play: Play) -> None:
    hosts = [{"name": "tight", "disk": f"{10 * PAGE}B"}]
    stage = play(fleet={"agents": 2, "hosts": hosts})
    one, two = (stage.home(name) / "file" for name in ("a-0", "a-1"))
    one.write_bytes(b"x" * (7 * PAGE))
    with pytest.raises(OSError) as caught:
        two.write_bytes(b"x" * (4 * PAGE))
    assert caught.value.errno == errno.ENOSPC
    assert two.stat().st_size == 3 * PAGE
    one.unlink()
    two.write_bytes(b"x" * (4 * PAGE))


def test_the_home_of_a_child_lies_on_the_disk_of_its_parent(play: Play) -> None:
    hosts = [{"name": "tight", "disk": f"{30 * PAGE}B"}]
    groups = [{"name": "p", "count": 1}, {"name": "c", "count": 1, "parent": "p-0"}]
    stage = play(fleet={"groups": groups, "hosts": hosts})
    (stage.home("c-0") / "file").write_bytes(b"x" * (20 * PAGE))
    with pytest.raises(OSError):
        (stage.home("p-0") / "file").write_bytes(b"x" * (20 * PAGE))


# --- mounts ---


def test_unmount_below_takes_what_a_killed_harness_left_and_nothing_else(tmp_path: Path) -> None:
    """Stacked, nested, with spaces in their names, and in use; a mount beside the root stays."""
    need_root()
    need(MACHINE.mount_why)
    root, beside = tmp_path / "a root", tmp_path / "a root-2"
    inner = root / "disk one"
    for path in (root, beside, inner):
        path.mkdir()
    for path in (beside, inner, inner):
        mount_disk(path, PAGE * 16, 0)
    (inner / "x").mkdir()
    mount_disk(inner / "x", PAGE, 0)
    bind(inner, root / "disk one")
    with (inner / "held").open("w"):
        assert unmount_below(root) == 4
    assert mounts_below(root) == []
    assert mounts_below(beside) == [beside]
    assert unmount_below(root) == 0
    unmount(beside)


def test_a_user_without_rights_is_told_what_cannot_be_unmounted(tmp_path: Path) -> None:
    need_root()
    need(MACHINE.mount_why)
    (tmp_path / "x").mkdir()
    mount_disk(tmp_path / "x", PAGE, 0)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from fleetbeat.engines.real.errors import EngineError\n"
        "from fleetbeat.engines.real.means.mounts import unmount_below\n"
        "os.seteuid(4242)\n"
        "try: unmount_below(Path(sys.argv[1]))\n"
        "except EngineError as error: print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    unmount(tmp_path / "x")
    assert said.startswith(f"{tmp_path}/x: got ")
    assert "expected to be able to unmount it" in said
