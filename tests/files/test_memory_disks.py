"""The model in memory alone: budgets, full and read-only disks, pinned names."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.files_sides import outcome, read, write

from fleetbeat.files.memory import MemoryFiles, MemoryProcess


@pytest.fixture
def world() -> MemoryFiles:
    """Two homes on one disk, one on another, all owned by 1000."""
    world = MemoryFiles()
    for home in ("/a-0", "/a-1", "/a-2"):
        world.make_dirs(f"{home}/system", 1000)
    world.set_budget("/a-0", "h1", 10)
    world.set_budget("/a-1", "h1", 10)
    world.set_budget("/a-2", "h2", None)
    return world


@pytest.fixture
def files(world: MemoryFiles) -> MemoryProcess:
    return world.process()


def test_a_write_is_short_where_the_disk_ends_and_then_enospc(world: MemoryFiles, files: MemoryProcess) -> None:
    handle = files.open("/a-0/f", "w")
    assert files.write(handle, b"12345678") == 8
    assert files.write(handle, b"abcdef") == 2
    assert outcome(files.write, handle, b"x") == "ENOSPC"
    assert files.write(handle, b"") == 0
    assert read(files, "/a-0/f") == b"12345678ab"
    assert world.used("h1") == 10


def test_the_homes_of_one_host_share_its_disk_and_other_hosts_do_not(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/system/f", b"12345678")
    handle = files.open("/a-1/f", "w")
    assert files.write(handle, b"abc") == 2
    write(files, "/a-2/f", b"x" * 100)
    assert (world.used("h1"), world.used("h2")) == (10, 100)


def test_overwriting_needs_no_room_and_only_the_rest_is_short(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/f", b"12345678")
    world.fill("h1", 1)
    handle = files.open("/a-0/f", "r+")
    assert files.read(handle, 6) == b"123456"
    assert files.write(handle, b"abcdef") == 3
    assert read(files, "/a-0/f") == b"123456abc"
    again = files.open("/a-0/f", "r+")
    assert files.write(again, b"ABCDEFGHI") == 9
    assert outcome(files.write, again, b"J") == "ENOSPC"


def test_a_full_disk_still_truncates_and_so_loses_what_was_there(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/f", b"123456")
    world.fill("h1")
    handle = files.open("/a-1/f", "w")
    assert outcome(files.write, handle, b"x") == "ENOSPC"
    rewrite = files.open("/a-0/f", "w")
    assert files.write(rewrite, b"abcdefgh") == 6
    assert world.peek("/a-0/f") == b"abcdef"


@pytest.mark.parametrize("how", ["unlink", "rename over", "truncate", "open w"])
def test_bytes_are_free_again_after(how: str, world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/f", b"12345678")
    if how == "unlink":
        files.unlink("/a-0/f")
    elif how == "rename over":
        write(files, "/a-0/g", b"")
        files.rename("/a-0/g", "/a-0/f")
    elif how == "truncate":
        files.truncate(files.open("/a-0/f", "r+"), 0)
    else:
        files.open("/a-0/f", "w")
    assert world.used("h1") == 0
    write(files, "/a-1/f", b"0123456789")


def test_an_unlinked_file_holds_its_bytes_until_its_last_handle_closes(world: MemoryFiles) -> None:
    one, two = world.process(), world.process()
    write(one, "/a-0/f", b"12345678")
    first, _ = one.open("/a-0/f", "r"), two.open("/a-0/f", "r")
    one.unlink("/a-0/f")
    assert world.used("h1") == 8
    one.close(first)
    assert world.used("h1") == 8
    two.exit()
    assert world.used("h1") == 0


def test_a_file_moved_within_a_host_stays_charged_once(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/f", b"12345678")
    files.rename("/a-0/f", "/a-1/f")
    assert world.used("h1") == 8
    files.unlink("/a-1/f")
    assert world.used("h1") == 0


def test_a_rename_to_another_hosts_disk_is_exdev(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/f", b"1")
    assert outcome(files.rename, "/a-0/f", "/a-2/f") == "EXDEV"
    assert outcome(files.rename, "/a-0/no", "/a-2/f") == "EXDEV"
    assert world.peek("/a-0/f") == b"1"


def test_a_budget_set_late_counts_what_already_lies_there() -> None:
    world = MemoryFiles()
    world.make_dirs("/a-0", 1000)
    files = world.process()
    write(files, "/a-0/f", b"123")
    held = files.open("/a-0/f", "r")
    files.unlink("/a-0/f")
    write(files, "/a-0/g", b"12")
    world.set_budget("/a-0", "h1", 100)
    assert (world.used("h1"), world.used(""), world.budget("h1")) == (2, 3, 100)
    files.close(held)
    assert (world.used("h1"), world.used("")) == (2, 0)
    held = files.open("/a-0/g", "r")
    files.unlink("/a-0/g")
    world.set_budget("/a-0", "h2", None)
    assert (world.used("h1"), world.used("h2")) == (0, 2)
    files.close(held)
    assert (world.used("h1"), world.used("h2")) == (0, 0)
    with pytest.raises(FileNotFoundError):
        world.set_budget("/a-9", "h1", 100)


def test_what_administration_puts_is_charged_and_never_refused(world: MemoryFiles, files: MemoryProcess) -> None:
    world.put("/a-0/f", b"x" * 50, 1000)
    assert world.used("h1") == 50
    handle = files.open("/a-1/f", "w")
    assert outcome(files.write, handle, b"x") == "ENOSPC"
    world.put("/a-0/f", b"", 1000)
    assert files.write(handle, b"x") == 1


def test_a_lengthened_file_is_charged_and_not_refused(world: MemoryFiles, files: MemoryProcess) -> None:
    handle = files.open("/a-0/f", "w")
    files.truncate(handle, 30)
    assert world.used("h1") == 30
    assert files.write(handle, b"abc") == 3
    files.truncate(handle, 0)
    assert world.used("h1") == 0


# --- read-only -------------------------------------------------------------------------------------------------------


def test_every_change_below_a_read_only_directory_is_erofs(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a-0/f", b"body")
    write(files, "/a-1/g", b"")
    handle = files.open("/a-0/f", "r+")
    world.readonly("/a-0", True)
    calls: list[tuple[Any, ...]] = [
        (files.open, "/a-0/f", "w"),
        (files.open, "/a-0/f", "r+"),
        (files.open, "/a-0/new", "x"),
        (files.open, "/a-0/system/new", "a"),
        (files.mkdir, "/a-0/new"),
        (files.unlink, "/a-0/f"),
        (files.unlink, "/a-0/no"),
        (files.rename, "/a-0/f", "/a-0/g"),
        (files.rename, "/a-0/f", "/a-1/f"),
        (files.rename, "/a-1/g", "/a-0/g"),
        (files.write, handle, b"x"),
        (files.truncate, handle, 0),
    ]
    assert [outcome(call, *given) for call, *given in calls] == ["EROFS"] * len(calls)
    assert outcome(files.mkdir, "/a-0/f") == "EEXIST"
    assert outcome(files.open, "/a-0/f", "x") == "EEXIST"
    assert outcome(files.open, "/a-0/no", "r") == "ENOENT"
    assert read(files, "/a-0/f") == b"body"
    assert outcome(world.process(0).unlink, "/a-0/f") == "EROFS"
    write(files, "/a-1/h", b"")
    world.readonly("/a-0", False)
    write(files, "/a-0/f", b"again")
    files.rename("/a-0/f", "/a-1/f")


def test_what_moves_out_of_a_once_read_only_directory_is_free(world: MemoryFiles, files: MemoryProcess) -> None:
    world.readonly("/a-0", True)
    world.readonly("/a-0", False)
    files.mkdir("/a-0/d")
    write(files, "/a-0/d/f", b"")
    files.rename("/a-0/d", "/a-1/d")
    world.readonly("/a-0", True)
    write(files, "/a-1/d/f", b"body")
    world.readonly("/a-1", True)
    assert outcome(files.open, "/a-1/d/f", "w") == "EROFS"


# --- pins ------------------------------------------------------------------------------------------------------------


def test_a_pinned_name_cannot_move_vanish_or_be_replaced_but_its_content_can_change(
    world: MemoryFiles, files: MemoryProcess
) -> None:
    world.fill("h1", 100)
    write(files, "/a-0/.rules", b"mounted")
    write(files, "/a-0/tmp", b"new")
    world.pin("/a-0/.rules", True)
    assert outcome(files.unlink, "/a-0/.rules") == "EBUSY"
    assert outcome(files.rename, "/a-0/.rules", "/a-0/x") == "EBUSY"
    assert outcome(files.rename, "/a-0/tmp", "/a-0/.rules") == "EBUSY"
    write(files, "/a-0/.rules", b"in place")
    assert read(files, "/a-0/.rules") == b"in place"
    world.pin("/a-0/.rules", False)
    files.rename("/a-0/tmp", "/a-0/.rules")
    files.unlink("/a-0/.rules")


# --- handles and administration ------------------------------------------------------------------------------------


def test_exit_closes_all_and_names_what_was_open_for_writing_in_order(world: MemoryFiles) -> None:
    one, two = world.process(), world.process()
    write(one, "/a-0/f", b"body")
    handles = [one.open("/a-0/z", "w"), one.open("/a-0/f", "r"), one.open("/a-0", "d"), one.open("/a-0/f", "r+")]
    other = two.open("/a-0/f", "r")
    one.rename("/a-0/z", "/a-0/y")
    assert one.open_handles() == tuple(handles)
    assert one.exit() == ["/a-0/z", "/a-0/f"]
    assert one.open_handles() == ()
    assert [outcome(one.read, handle, 1) for handle in handles] == ["EBADF"] * 4
    assert two.read(other, 4) == b"body"
    assert one.exit() == []


def test_handles_are_unique_in_the_world_and_belong_to_one_process(world: MemoryFiles) -> None:
    one, two = world.process(), world.process()
    write(one, "/a-0/f", b"body")
    seen = []
    for process in (one, two, one, two):
        handle = process.open("/a-0/f", "r")
        seen.append(handle)
        stranger = two if process is one else one
        assert outcome(stranger.read, handle, 1) == "EBADF"
        assert outcome(stranger.close, handle) == "EBADF"
        assert world.path_of(handle) == "/a-0/f"
        assert world.handle_inode(handle) == world.inode("/a-0/f")
        process.close(handle)
        assert world.path_of(handle) is None
        assert world.handle_inode(handle) is None
    assert len(set(seen)) == 4


def test_a_handles_number_does_not_depend_on_what_others_opened() -> None:
    quiet, busy = MemoryFiles(), MemoryFiles()
    numbers = []
    for world, others in ((quiet, 0), (busy, 3)):
        world.put("/f", b"", 0)
        one, two = world.process(), world.process()
        for _ in range(others):
            two.open("/f", "r")
        numbers.append(one.open("/f", "r"))
    assert numbers[0] == numbers[1]


def test_administration_looks_at_the_exact_name(world: MemoryFiles) -> None:
    world.put("/a-0/f", b"body", 7, 0o600)
    world.symlink("/a-0/link", "f")
    assert world.peek("/a-0/f") == b"body"
    assert world.peek("/a-0/link") is None
    assert world.target("/a-0/link") == "f"
    assert [world.kind(path) for path in ("/a-0/f", "/a-0/link", "/a-0", "/a-0/no", "/a-0/f/x")] == [
        "file",
        "symlink",
        "directory",
        None,
        None,
    ]
    stat = world.process(0).stat("/a-0/f")
    assert (stat.uid, stat.mode, stat.size) == (7, 0o600, 4)
    before = world.inode("/a-0/f")
    world.put("/a-0/f", b"changed", 8, 0o644)
    assert (world.inode("/a-0/f"), world.peek("/a-0/f")) == (before, b"changed")
    assert outcome(world.put, "/a-0/link", b"", 0) == "EEXIST"
    assert outcome(world.put, "/a-0/system", b"", 0) == "EISDIR"
    assert outcome(world.put, "/a-9/f", b"", 0) == "ENOENT"
    assert outcome(world.symlink, "/a-0/f", "x") == "EEXIST"
    assert outcome(world.make_dirs, "/a-0/f/d", 0) == "ENOTDIR"
    world.make_dirs("/a-0", 99, 0o700)
    assert world.process(0).stat("/a-0").uid == 1000
