"""Power failures: what was synced stands, what was not is kept or lost change by change."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.files_sides import outcome, read, write

from fleetbeat.files.memory import MemoryFiles, MemoryProcess, Unsynced

Keep = Callable[[Unsynced], bool]


def nothing(_: Unsynced) -> bool:
    return False


def everything(_: Unsynced) -> bool:
    return True


def only(*kinds: str) -> Keep:
    return lambda change: change.kind in kinds


@pytest.fixture
def world() -> MemoryFiles:
    world = MemoryFiles()
    world.make_dirs("/a/system", 1000)
    world.make_dirs("/b", 1000)
    world.put("/a/rules", b"durable", 1000)
    return world


@pytest.fixture
def files(world: MemoryFiles) -> MemoryProcess:
    return world.process()


def sync(files: MemoryProcess, path: str, mode: str = "r") -> None:
    handle = files.open(path, mode)
    files.sync(handle)
    files.close(handle)


def offered(world: MemoryFiles, *prefixes: str) -> list[Unsynced]:
    seen: list[Unsynced] = []

    def keep(change: Unsynced) -> bool:
        seen.append(change)
        return True

    world.copy().power_loss(prefixes or ("/",), keep)
    return seen


# --- the bytes of files ----------------------------------------------------------------------------------------------


def test_unsynced_bytes_go_back_to_what_was_synced(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/rules", b"new")
    write(files, "/a/rules", b"er", "a")
    assert world.power_loss(["/a"], nothing) == ["/a/rules"]
    assert world.peek("/a/rules") == b"durable"


def test_a_kept_cut_with_lost_bytes_leaves_the_file_short(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/rules", b"longer than before")
    assert offered(world) == [Unsynced("length", "/a/rules"), Unsynced("data", "/a/rules")]
    world.power_loss(["/a"], only("length"))
    assert world.peek("/a/rules") == b""
    handle = files.open("/a/rules", "a")
    files.write(handle, b"123456")
    files.sync(handle)
    files.truncate(handle, 2)
    files.write(handle, b"xyz")
    world.power_loss(["/a"], only("length"))
    assert world.peek("/a/rules") == b"12"


def test_kept_bytes_stand_whole(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/rules", b"new")
    assert world.power_loss(["/a"], only("data")) == []
    assert world.peek("/a/rules") == b"new"


def test_a_new_file_whose_entry_is_kept_and_whose_bytes_are_lost_is_empty(
    world: MemoryFiles, files: MemoryProcess
) -> None:
    write(files, "/a/new", b"body")
    assert offered(world) == [Unsynced("created", "/a/new"), Unsynced("data", "/a/new")]
    assert world.power_loss(["/a"], only("created")) == ["/a/new"]
    assert world.peek("/a/new") == b""


def test_synced_bytes_survive_and_later_ones_do_not(world: MemoryFiles, files: MemoryProcess) -> None:
    handle = files.open("/a/rules", "w")
    files.write(handle, b"synced")
    files.sync(handle)
    files.write(handle, b" and more")
    world.power_loss(["/a"], nothing)
    assert world.peek("/a/rules") == b"synced"


def test_a_sync_through_any_handle_makes_the_file_durable(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/rules", b"new")
    sync(files, "/a/rules", "r")
    assert offered(world) == []
    assert world.power_loss(["/a"], nothing) == []
    assert world.peek("/a/rules") == b"new"


def test_a_write_without_a_cut_offers_no_length(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/rules", b"D", "r+")
    assert offered(world) == [Unsynced("data", "/a/rules")]


# --- the entries of directories --------------------------------------------------------------------------------------


def test_a_synced_file_in_an_unsynced_directory_vanishes(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/new", b"body")
    sync(files, "/a/new")
    assert world.power_loss(["/a"], nothing) == ["/a/new"]
    assert world.kind("/a/new") is None


def test_a_synced_file_in_a_synced_directory_survives(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/new", b"body")
    sync(files, "/a/new")
    sync(files, "/a", "d")
    assert offered(world) == []
    world.power_loss(["/a"], nothing)
    assert world.peek("/a/new") == b"body"


def test_a_synced_directory_does_not_save_the_bytes_of_its_files(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/new", b"body")
    sync(files, "/a", "d")
    world.power_loss(["/a"], nothing)
    assert world.peek("/a/new") == b""


def test_a_lost_removal_brings_the_file_back_with_its_durable_bytes(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/rules", b"new")
    files.unlink("/a/rules")
    assert [change.kind for change in offered(world)] == ["length", "data", "removed"]
    assert world.power_loss(["/a"], nothing) == ["/a/rules"]
    assert read(files, "/a/rules") == b"durable"


def test_a_lost_rename_leaves_both_names_as_they_were(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/tmp", b"new")
    sync(files, "/a/tmp")
    sync(files, "/a", "d")
    files.rename("/a/tmp", "/a/rules")
    assert offered(world) == [Unsynced("renamed", "/a/rules")]
    assert world.power_loss(["/a"], nothing) == ["/a/rules", "/a/tmp"]
    assert (world.peek("/a/rules"), world.peek("/a/tmp")) == (b"durable", b"new")


def test_a_kept_rename_of_an_unsynced_file_shows_an_empty_one(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/tmp", b"new")
    files.rename("/a/tmp", "/a/rules")
    assert world.power_loss(["/a"], only("created", "renamed")) == ["/a/rules"]
    assert (world.peek("/a/rules"), world.kind("/a/tmp")) == (b"", None)


def test_a_kept_rename_stands_even_if_the_creation_before_it_is_lost(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/tmp", b"new")
    files.rename("/a/tmp", "/a/rules")
    world.power_loss(["/a"], only("renamed", "data"))
    assert (world.peek("/a/rules"), world.kind("/a/tmp")) == (b"new", None)


def test_a_kept_creation_with_a_lost_rename_stays_at_the_old_name(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/tmp", b"new")
    files.rename("/a/tmp", "/a/rules")
    world.power_loss(["/a"], only("created", "data"))
    assert (world.peek("/a/rules"), world.peek("/a/tmp")) == (b"durable", b"new")


@pytest.mark.parametrize("synced", ["/a", "/b", None])
def test_a_rename_between_directories_happened_or_did_not(
    synced: str | None, world: MemoryFiles, files: MemoryProcess
) -> None:
    files.rename("/a/rules", "/b/rules")
    if synced:
        sync(files, synced, "d")
    world.power_loss(["/b"], nothing)
    assert (world.peek("/a/rules"), world.peek("/b/rules")) == ((None, b"durable") if synced else (b"durable", None))


def test_a_lost_directory_takes_along_all_below_it(world: MemoryFiles, files: MemoryProcess) -> None:
    files.mkdir("/a/d")
    write(files, "/a/d/f", b"body")
    sync(files, "/a/d/f")
    sync(files, "/a/d", "d")
    assert world.power_loss(["/a"], nothing) == ["/a/d", "/a/d/f"]
    assert files.list("/a") == ("rules", "system")


def test_a_directory_that_was_moved_goes_back_with_its_content(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/system/f", b"body")
    sync(files, "/a/system/f")
    sync(files, "/a/system", "d")
    files.rename("/a/system", "/b/s")
    assert world.power_loss(["/a"], nothing) == ["/a/system", "/a/system/f", "/b/s", "/b/s/f"]
    assert world.peek("/a/system/f") == b"body"
    write(files, "/a/system/g", b"")


def test_a_kept_move_that_would_close_a_ring_is_lost(world: MemoryFiles, files: MemoryProcess) -> None:
    world.make_dirs("/a/x/y", 1000)
    files.rename("/a/x/y", "/a/y")
    files.rename("/a/x", "/a/y/x")
    world.power_loss(["/a"], lambda change: change.path == "/a/y/x")
    assert world.kind("/a/x/y") == "directory"
    assert files.list("/a") == ("rules", "system", "x")


# --- what is offered -------------------------------------------------------------------------------------------------


def test_changes_are_offered_in_order_and_counted_by_kind_and_path(world: MemoryFiles, files: MemoryProcess) -> None:
    for _ in range(2):
        write(files, "/a/s", b"x")
        files.unlink("/a/s")
    assert offered(world) == [
        Unsynced("created", "/a/s", 0),
        Unsynced("data", "/a/s", 0),
        Unsynced("removed", "/a/s", 0),
        Unsynced("created", "/a/s", 1),
        Unsynced("data", "/a/s", 1),
        Unsynced("removed", "/a/s", 1),
    ]
    world.power_loss(["/a"], lambda change: change != Unsynced("removed", "/a/s", 1))
    assert world.peek("/a/s") == b"x"


def test_only_changes_under_the_prefixes_are_offered_and_undone(world: MemoryFiles, files: MemoryProcess) -> None:
    world.make_dirs("/a-1", 1000)
    for home in ("/a", "/b", "/a-1"):
        write(files, f"{home}/f", b"x")
    assert [change.path for change in offered(world, "/b")] == ["/b/f", "/b/f"]
    assert world.power_loss(["/b", "/gone"], nothing) == ["/b/f"]
    assert (world.peek("/a/f"), world.peek("/a-1/f")) == (b"x", b"x")
    assert [change.path for change in offered(world, "/a")] == ["/a/f", "/a/f"]


def test_a_child_on_another_hosts_disk_keeps_its_power(world: MemoryFiles, files: MemoryProcess) -> None:
    world.make_dirs("/a/child", 1000)
    world.set_budget("/a", "h1", None)
    world.set_budget("/a/child", "h2", None)
    write(files, "/a/child/f", b"x")
    write(files, "/a/f", b"x")
    assert world.copy().power_loss(["/a"], nothing) == ["/a/f"]
    assert world.power_loss(["/a", "/a/child"], nothing) == ["/a/child/f", "/a/f"]


def test_what_stands_after_a_failure_is_durable(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/new", b"body")
    files.unlink("/a/rules")
    assert world.power_loss(["/a"], everything) == []
    assert offered(world) == []
    assert world.power_loss(["/a"], nothing) == []
    assert (world.peek("/a/new"), world.kind("/a/rules")) == (b"body", None)


def test_what_administration_does_is_durable_amid_unsynced_changes(world: MemoryFiles, files: MemoryProcess) -> None:
    files.unlink("/a/rules")
    world.put("/a/rules", b"put", 1000)
    write(files, "/a/made", b"x")
    world.put("/a/made", b"kept", 1000)
    write(files, "/a/rules", b"unsynced")
    for keep in (nothing, only("removed"), only("created")):
        copy = world.copy()
        copy.power_loss(["/a"], keep)
        assert (copy.peek("/a/rules"), copy.peek("/a/made")) == (b"put", b"kept")


def test_settling_makes_all_below_durable(world: MemoryFiles, files: MemoryProcess) -> None:
    write(files, "/a/system/f", b"x")
    write(files, "/b/f", b"x")
    world.settle(["/a"])
    assert [change.path for change in offered(world)] == ["/b/f", "/b/f"]


def test_bytes_are_charged_as_they_stand_afterwards(world: MemoryFiles, files: MemoryProcess) -> None:
    world.set_budget("/a", "h1", 1000)
    write(files, "/a/rules", b"x" * 100)
    write(files, "/a/new", b"y" * 10)
    files.mkdir("/a/d")
    write(files, "/a/d/f", b"z" * 10)
    world.power_loss(["/a"], nothing)
    assert world.used("h1") == len(b"durable")
    files.unlink("/a/rules")
    world.power_loss(["/a"], nothing)
    assert world.used("h1") == len(b"durable")


def test_a_handle_of_a_file_that_was_lost_stays_with_it_until_it_closes(
    world: MemoryFiles, files: MemoryProcess
) -> None:
    world.set_budget("/a", "h1", None)
    handle = files.open("/a/new", "w")
    files.write(handle, b"body")
    world.power_loss(["/a"], only("data"))
    assert (world.kind("/a/new"), world.used("h1")) == (None, 11)
    assert files.write(handle, b"!") == 1
    assert files.exit() == ["/a/new"]
    assert world.used("h1") == 7


def test_a_handle_into_a_lost_directory_frees_its_bytes_when_it_closes(
    world: MemoryFiles, files: MemoryProcess
) -> None:
    world.set_budget("/a", "h1", None)
    files.mkdir("/a/d")
    handle = files.open("/a/d/f", "w")
    files.write(handle, b"body")
    world.power_loss(["/a"], lambda change: change.path != "/a/d")
    assert (world.kind("/a/d"), world.used("h1")) == (None, 11)
    files.close(handle)
    assert world.used("h1") == 7


def test_what_a_lost_rename_takes_back_is_read_only_where_it_lies_again(
    world: MemoryFiles, files: MemoryProcess
) -> None:
    world.readonly("/b", False)
    files.rename("/a/rules", "/b/rules")
    world.power_loss(["/a", "/b"], nothing)
    world.readonly("/b")
    write(files, "/a/rules", b"still writable")


def test_without_durability_everything_stands_and_nothing_is_offered() -> None:
    world = MemoryFiles(durability=False)
    world.make_dirs("/a", 1000)
    write(world.process(), "/a/f", b"x")
    assert world.power_loss(["/"], nothing) == []
    assert outcome(world.process().stat, "/a/f") != "ENOENT"
    assert offered(world) == []
