"""The real side's own promises: nothing leaks to child processes, to other handles, or outside the root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.conformance.files_sides import outcome, write

from fleetbeat.files.real import RealFiles


def test_handles_are_not_inherited_and_are_closed_by_exit(tmp_path: Path) -> None:
    files = RealFiles(str(tmp_path))
    before = set(os.listdir("/proc/self/fd"))
    handle = files.open("/f", "w")
    assert not os.get_inheritable(files._opened[handle].descriptor)
    files.exit()
    assert outcome(files.write, handle, b"x") == "EBADF"
    assert set(os.listdir("/proc/self/fd")) == before


def test_what_is_written_is_on_the_machine_before_the_handle_closes(tmp_path: Path) -> None:
    files = RealFiles(str(tmp_path))
    handle = files.open("/f", "w")
    files.write(handle, b"a\r\n")
    assert (tmp_path / "f").read_bytes() == b"a\r\n"
    files.exit()


def test_no_path_leads_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside").write_bytes(b"kept")
    files = RealFiles(str(tmp_path / "root"))
    write(files, "/inside", b"x")
    for path in ("/../outside", "/..", "/./../outside", "outside", "//../outside"):
        calls: list[tuple[Any, ...]] = [
            (files.stat,),
            (files.open, "w"),
            (files.unlink,),
            (files.mkdir,),
            (files.list,),
        ]
        assert [outcome(call, path, *rest) for call, *rest in calls] == ["EINVAL"] * 5
        assert outcome(files.rename, path, "/x") == "EINVAL"
        assert outcome(files.rename, "/inside", path) == "EINVAL"
    assert (tmp_path / "outside").read_bytes() == b"kept"
    assert files.list("/") == ("inside",)


def test_a_special_file_is_of_another_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".rules")
    stat = RealFiles(str(tmp_path)).stat("/.rules")
    assert (stat.kind, stat.is_regular) == ("other", False)


def test_a_relative_root_stays_where_it_was(tmp_path: Path) -> None:
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        files = RealFiles(".")
        os.chdir("/")
        write(files, "/f", b"x")
    finally:
        os.chdir(here)
    assert (tmp_path / "f").read_bytes() == b"x"
