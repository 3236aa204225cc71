"""The harness's own hands on the fleet's files: through no link, as the user that is named, knowing what they wrote."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.real.ground import ground  # noqa: F401

from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.engines.real.play_files import HarnessFiles, Users, make_directories, put


@pytest.fixture
def files(tmp_path: Path) -> HarnessFiles:
    (tmp_path / "fleet" / "a-0").mkdir(parents=True)
    (tmp_path / "outside").write_text("theirs")
    return HarnessFiles(tmp_path / "fleet")


@pytest.mark.parametrize("mode", ["w", "a", "r", "x"])
def test_nothing_is_opened_through_a_link(files: HarnessFiles, tmp_path: Path, mode: str) -> None:
    (tmp_path / "fleet" / "a-0" / ".rules").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError) as failed:
        files.open("/a-0/.rules", mode)
    assert failed.value.errno in (errno.ELOOP, errno.EEXIST)
    assert failed.value.filename == "/a-0/.rules"
    assert (tmp_path / "outside").read_text() == "theirs"


def test_nothing_is_done_below_a_link(files: HarnessFiles, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".rules").write_text("theirs")
    (tmp_path / "fleet" / "a-1").symlink_to(elsewhere)
    for act in (
        lambda: files.open("/a-1/.rules", "w"),
        lambda: files.unlink("/a-1/.rules"),
        lambda: files.rename("/a-0/x", "/a-1/.rules"),
    ):
        with pytest.raises(OSError) as failed:
            act()
        assert failed.value.errno == errno.ELOOP
    assert (elsewhere / ".rules").read_text() == "theirs"


@pytest.mark.parametrize("path", ["/../outside", "/a-0/../../outside", "outside", "/a-0//x"])
def test_a_path_that_leads_out_of_the_fleet_is_refused(files: HarnessFiles, tmp_path: Path, path: str) -> None:
    with pytest.raises(OSError) as failed:
        files.open(path, "w")
    assert failed.value.errno == errno.EINVAL
    assert (tmp_path / "outside").read_text() == "theirs"


def test_what_stands_at_a_name_is_known_without_opening_it(files: HarnessFiles) -> None:
    handle = files.open("/a-0/tmp", "x")
    files.write(handle, b"whole ")
    files.write(handle, b"body")
    files.close(handle)
    assert files.content_at("/a-0/tmp") == b"whole body"
    files.rename("/a-0/tmp", "/a-0/.rules")
    assert files.content_at("/a-0/.rules") == b"whole body"
    assert files.content_at("/a-0/tmp") is None


def test_two_writers_of_one_file_are_told_as_the_kernel_leaves_it(files: HarnessFiles, tmp_path: Path) -> None:
    one = files.open("/a-0/tmp", "w")
    files.write(one, b"aaaa")
    other = files.open("/a-0/tmp", "w")
    files.write(one, b"bb")
    files.write(other, b"c")
    standing = (tmp_path / "fleet" / "a-0" / "tmp").read_bytes()
    assert files.written(one) == files.written(other) == standing == b"c\0\0\0bb"


def test_directories_are_made_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a-0").symlink_to(tmp_path / "elsewhere")
    users = Users([os.getuid()])
    with pytest.raises(CannotDo, match="a-0"):
        make_directories(tmp_path, "/a-0/children/b-0", os.getuid(), users)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    make_directories(tmp_path, "/a-1/children/b-0", os.getuid(), users)
    put(tmp_path, "/a-1/children/b-0/x", b"x", os.getuid(), users)
    with pytest.raises(FileExistsError):
        put(tmp_path, "/a-1/children/b-0/x", b"y", os.getuid(), users)


def test_several_users_need_root_and_one_user_is_whoever_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    monkeypatch.setattr(os, "getuid", lambda: 4321)
    with pytest.raises(CannotDo, match="users 1000, 1001: got user 4321, expected root"):
        Users([1001, 1000])
    assert Users([1000, 1000]).real(1000) == 4321


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_acts_as_the_user_that_is_named_and_gets_no_more_than_its_rights(ground: Path) -> None:  # noqa: F811
    files, users = HarnessFiles(ground), Users([1000])
    make_directories(ground, "/a-0", 1000, users)
    make_directories(ground, "/a-1", 1001, users)
    with users.acting(1000):
        files.close(files.open("/a-0/mine", "x"))
        with pytest.raises(PermissionError):
            files.open("/a-1/theirs", "x")
    assert (ground / "a-0" / "mine").stat().st_uid == 1000
    files.close(files.open("/a-1/ours", "x"))
    assert (ground / "a-1" / "ours").stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_root_that_agents_cannot_reach_is_refused_in_words(ground: Path) -> None:  # noqa: F811
    (ground / "shut").mkdir(mode=0o700)
    (ground / "shut" / "r").mkdir()
    with pytest.raises(CannotDo, match=r"shut \(mode 700\), expected that user 1000"):
        Users([1000]).check_way(ground / "shut" / "r")
    Users([0]).check_way(ground / "shut" / "r")
