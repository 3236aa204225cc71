"""Claims about names: see `test_files_handles`. Here: renaming, removing, listing; symlinks; whose files they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.conformance.files_sides import OTHER, OWNER, Side, outcome, read, write

# --- names -----------------------------------------------------------------------------------------------------------


def test_rename_moves_and_replaces_a_file(files: Any) -> None:
    write(files, "/f", b"f")
    write(files, "/g", b"g")
    files.mkdir("/d")
    files.rename("/f", "/g")
    files.rename("/g", "/d/h")
    assert read(files, "/d/h") == b"f"
    assert files.list("/") == ("d",)


def test_rename_of_nothing_is_enoent_and_changes_nothing(files: Any) -> None:
    write(files, "/g", b"g")
    assert outcome(files.rename, "/f", "/g") == "ENOENT"
    assert outcome(files.rename, "/g", "/no/g") == "ENOENT"
    assert outcome(files.rename, "/g", "/g/x") == "ENOTDIR"
    assert read(files, "/g") == b"g"


def test_rename_between_files_and_directories_keeps_kinds_apart(files: Any) -> None:
    write(files, "/f", b"f")
    files.mkdir("/d")
    files.mkdir("/empty")
    files.mkdir("/full")
    write(files, "/full/f", b"")
    assert outcome(files.rename, "/f", "/empty") == "EISDIR"
    assert outcome(files.rename, "/d", "/f") == "ENOTDIR"
    assert outcome(files.rename, "/d", "/full") == "ENOTEMPTY"
    assert files.rename("/full", "/empty") is None
    assert files.list("/empty") == ("f",)
    assert files.list("/") == ("d", "empty", "f")


def test_a_directory_cannot_move_into_itself_nor_replace_its_own_parent(files: Any) -> None:
    files.mkdir("/d")
    files.mkdir("/d/e")
    assert outcome(files.rename, "/d", "/d/e/f") == "EINVAL"
    assert outcome(files.rename, "/d", "/d/e") == "EINVAL"
    assert outcome(files.rename, "/d/e", "/d") == "ENOTEMPTY"
    write(files, "/d/e/g", b"")
    assert outcome(files.rename, "/d/e/g", "/d") == "ENOTEMPTY"


def test_rename_to_itself_does_nothing(files: Any) -> None:
    write(files, "/f", b"f")
    files.mkdir("/d")
    assert files.rename("/f", "/f") is None
    assert files.rename("/d", "/d") is None
    assert read(files, "/f") == b"f"


def test_the_root_cannot_be_moved_removed_or_made(files: Any) -> None:
    files.mkdir("/d")
    assert outcome(files.rename, "/", "/d/e") == "EBUSY"
    assert outcome(files.rename, "/d", "/") == "EBUSY"
    assert outcome(files.unlink, "/") == "EISDIR"
    assert outcome(files.mkdir, "/") == "EEXIST"
    assert outcome(files.open, "/", "w") == "EISDIR"
    assert files.stat("/").kind == "directory"


def test_unlink_removes_files_and_links_but_no_directory(side: Side, files: Any) -> None:
    files.mkdir("/d")
    write(files, "/f", b"f")
    side.symlink("/to-f", "f")
    side.symlink("/to-d", "d")
    assert outcome(files.unlink, "/d") == "EISDIR"
    assert outcome(files.unlink, "/no") == "ENOENT"
    assert outcome(files.unlink, "/f/x") == "ENOTDIR"
    files.unlink("/to-f")
    files.unlink("/to-d")
    assert files.list("/") == ("d", "f")


def test_mkdir_over_anything_is_eexist(side: Side, files: Any) -> None:
    files.mkdir("/d")
    write(files, "/f", b"")
    side.symlink("/dangling", "nowhere")
    assert [outcome(files.mkdir, path) for path in ("/d", "/f", "/dangling")] == ["EEXIST"] * 3
    assert outcome(files.mkdir, "/no/d") == "ENOENT"
    assert outcome(files.mkdir, "/f/d") == "ENOTDIR"


def test_list_is_sorted_and_of_directories_alone(side: Side, files: Any) -> None:
    for name in ("b", "a", ".rules", "B", "é"):
        write(files, f"/{name}", b"")
    side.symlink("/here", ".")
    assert files.list("/") == (".rules", "B", "a", "b", "here", "é")
    assert files.list("/here") == files.list("/")
    assert outcome(files.list, "/a") == "ENOTDIR"
    assert outcome(files.list, "/no") == "ENOENT"


def test_a_name_may_have_255_bytes_and_no_more(files: Any) -> None:
    write(files, "/" + "n" * 255, b"x")
    write(files, "/" + "é" * 127, b"x")
    for name in ("n" * 256, "é" * 128):
        for call in (files.stat, files.unlink, files.mkdir, files.list, files.open):
            assert outcome(call, f"/{name}") == "ENAMETOOLONG"
        assert outcome(files.open, f"/{name}", "w") == "ENAMETOOLONG"
        assert outcome(files.stat, f"/{name}/x") == "ENAMETOOLONG"
        assert outcome(files.rename, "/" + "n" * 255, f"/{name}") == "ENAMETOOLONG"
    assert outcome(files.stat, "/no/" + "n" * 256) == "ENOENT"
    assert outcome(files.stat, "/x" * 2048) == "ENAMETOOLONG"


def test_an_error_names_the_path_as_the_fleet_knows_it(files: Any) -> None:
    write(files, "/f", b"")
    with pytest.raises(FileNotFoundError) as missing:
        files.stat("/a-3/.rules")
    assert missing.value.filename == "/a-3/.rules"
    with pytest.raises(OSError) as moving:
        files.rename("/no", "/a-3/x")
    assert (moving.value.filename, moving.value.filename2) == ("/no", "/a-3/x")
    handle = files.open("/f", "r")
    with pytest.raises(OSError) as wrong:
        files.write(handle, b"x")
    assert wrong.value.filename == "/f"


# --- symlinks --------------------------------------------------------------------------------------------------------


def test_stat_follows_a_link_only_when_asked(side: Side, files: Any) -> None:
    write(files, "/f", b"12345")
    side.symlink("/link", "f")
    side.symlink("/dangling", "no")
    assert files.stat("/link").kind == "symlink"
    assert files.stat("/link").size == 1
    assert not files.stat("/link").is_regular
    assert files.stat("/link", follow=True) == files.stat("/f")
    assert files.stat("/f").is_regular
    assert outcome(files.stat, "/dangling", follow=True) == "ENOENT"
    assert files.stat("/dangling").kind == "symlink"


def test_open_follows_links_and_w_creates_what_a_dangling_one_names(side: Side, files: Any) -> None:
    files.mkdir("/d")
    side.symlink("/link", "d/f")
    side.symlink("/absolute", "/d/f")
    side.symlink("/lost", "no/f")
    assert outcome(files.open, "/link", "r") == "ENOENT"
    write(files, "/link", b"made")
    assert read(files, "/d/f") == b"made"
    assert read(files, "/absolute") == b"made"
    assert files.stat("/link").kind == "symlink"
    assert outcome(files.open, "/lost", "w") == "ENOENT"


def test_rename_moves_and_replaces_the_link_itself(side: Side, files: Any) -> None:
    write(files, "/f", b"f")
    write(files, "/g", b"g")
    files.mkdir("/d")
    side.symlink("/link", "f")
    side.symlink("/to-d", "d")
    files.rename("/g", "/link")
    assert files.stat("/link").kind == "file"
    assert read(files, "/f") == b"f"
    files.rename("/link", "/to-d")
    assert files.stat("/to-d").kind == "file"
    side.symlink("/again", "f")
    assert outcome(files.rename, "/d", "/again") == "ENOTDIR"
    files.rename("/again", "/d/moved")
    assert files.stat("/d/moved").kind == "symlink"
    assert outcome(files.open, "/d/moved") == "ENOENT"


def test_links_on_the_way_are_followed_also_upwards(side: Side, files: Any) -> None:
    files.mkdir("/d")
    files.mkdir("/d/e")
    write(files, "/f", b"top")
    side.symlink("/d/e/up", "../..")
    side.symlink("/d/e/slash", "../e/")
    assert read(files, "/d/e/up/f") == b"top"
    assert read(files, "/d/e/slash/up/f") == b"top"
    files.unlink("/d/e/up/f")
    assert outcome(files.stat, "/f") == "ENOENT"


def test_a_link_to_a_file_with_a_slash_is_enotdir_and_creates_nothing(side: Side, files: Any) -> None:
    write(files, "/f", b"")
    side.symlink("/link", "f/")
    side.symlink("/deeper", "f/x")
    assert outcome(files.open, "/link") == "ENOTDIR"
    assert outcome(files.open, "/deeper") == "ENOTDIR"
    side.symlink("/new", "g/")
    assert outcome(files.open, "/new") == "ENOENT"
    assert [outcome(files.open, path, "w") for path in ("/link", "/new")] == ["EISDIR"] * 2


def test_forty_links_are_followed_and_the_next_is_eloop(side: Side, files: Any) -> None:
    write(files, "/l0", b"end")
    for number in range(1, 42):
        side.symlink(f"/l{number}", f"l{number - 1}")
    side.symlink("/ring", "ring")
    assert read(files, "/l40") == b"end"
    assert outcome(files.open, "/l41") == "ELOOP"
    assert outcome(files.open, "/ring", "w") == "ELOOP"
    assert outcome(files.list, "/ring/x") == "ELOOP"
    assert outcome(files.open, "/ring", "x") == "EEXIST"
    assert files.unlink("/ring") is None


# --- users -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def users(side: Side) -> Iterator[tuple[Any, Any]]:
    """The owner of all that the claim makes, and somebody else."""
    owner, other = side.process(OWNER), side.process(OTHER)
    side.chmod("/", 0o777)
    yield owner, other
    owner.exit()
    other.exit()


def test_read_and_write_go_by_the_owners_bits_or_the_others(users: tuple[Any, Any]) -> None:
    owner, other = users
    write(owner, "/f", b"", perms=0o604)
    write(owner, "/g", b"", perms=0o044)
    write(owner, "/h", b"", perms=0o200)
    modes = ("r", "a", "w", "r+")
    assert [isinstance(outcome(owner.open, "/f", mode), int) for mode in modes] == [True] * 4
    assert [isinstance(outcome(other.open, "/f", mode), int) for mode in modes] == [True, False, False, False]
    assert outcome(other.open, "/f", "w") == "EACCES"
    assert outcome(owner.open, "/g", "r") == "EACCES"
    assert isinstance(outcome(other.open, "/g", "r"), int)
    assert [isinstance(outcome(owner.open, "/h", mode), int) for mode in modes] == [False, True, True, False]


def test_a_handle_keeps_the_access_that_it_was_opened_with(side: Side, users: tuple[Any, Any]) -> None:
    owner, other = users
    write(owner, "/f", b"body")
    handle = other.open("/f", "r")
    side.chmod("/f", 0)
    assert other.read(handle, 9) == b"body"
    assert outcome(other.open, "/f", "r") == "EACCES"


def test_a_directory_without_search_hides_all_below(side: Side, users: tuple[Any, Any]) -> None:
    owner, other = users
    owner.mkdir("/d")
    write(owner, "/d/f", b"")
    side.symlink("/link", "d/f")
    side.chmod("/d", 0o744)
    assert other.list("/d") == ("f",)
    for call in (other.stat, other.open, other.unlink, other.mkdir, other.list):
        assert outcome(call, "/d/f") == "EACCES"
        assert outcome(call, "/d/no") == "EACCES"
    assert outcome(other.open, "/link") == "EACCES"
    assert outcome(other.rename, "/d/f", "/g") == "EACCES"
    side.chmod("/d", 0o711)
    assert outcome(other.list, "/d") == "EACCES"
    assert other.stat("/d/f").uid == OWNER


def test_a_directory_without_write_keeps_its_entries(side: Side, users: tuple[Any, Any]) -> None:
    owner, other = users
    owner.mkdir("/d")
    owner.mkdir("/d/e")
    write(owner, "/d/f", b"", perms=0o666)
    side.chmod("/d/f", 0o666)
    write(other, "/mine", b"")
    calls: list[tuple[Any, ...]] = [
        (other.unlink, "/d/f"),
        (other.unlink, "/d/e"),
        (other.open, "/d/new", "w"),
        (other.open, "/d/new", "x"),
        (other.mkdir, "/d/new"),
        (other.rename, "/d/f", "/g"),
        (other.rename, "/mine", "/d/f"),
        (other.rename, "/mine", "/d/new"),
        (other.rename, "/mine", "/d/e"),
    ]
    assert [outcome(call, *given) for call, *given in calls] == ["EACCES"] * len(calls)
    assert outcome(other.unlink, "/d/no") == "ENOENT"
    assert outcome(other.open, "/d/f", "x") == "EEXIST"
    assert outcome(other.mkdir, "/d/f") == "EEXIST"
    write(other, "/d/f", b"in place")
    assert read(owner, "/d/f") == b"in place"


def test_in_a_sticky_directory_only_owners_remove_and_replace(side: Side, users: tuple[Any, Any]) -> None:
    owner, other = users
    side.chmod("/", 0o1777)
    write(owner, "/theirs", b"")
    write(other, "/mine", b"")
    owner.mkdir("/dir")
    assert outcome(other.unlink, "/theirs") == "EPERM"
    assert outcome(other.unlink, "/dir") == "EPERM"
    assert outcome(other.rename, "/theirs", "/x") == "EPERM"
    assert outcome(other.rename, "/mine", "/theirs") == "EPERM"
    assert outcome(other.rename, "/mine", "/dir") == "EPERM"
    assert other.rename("/mine", "/my-own") is None
    assert other.unlink("/my-own") is None
    side.chown("/", OTHER)
    assert other.unlink("/theirs") is None


def test_a_directory_changes_its_parent_only_if_it_may_be_written(side: Side, users: tuple[Any, Any]) -> None:
    owner, other = users
    owner.mkdir("/d")
    owner.mkdir("/to")
    side.chmod("/to", 0o777)
    assert other.rename("/d", "/e") is None
    assert outcome(other.rename, "/e", "/to/e") == "EACCES"
    assert owner.rename("/e", "/to/e") is None


def test_the_superuser_passes_all_bits(side: Side, users: tuple[Any, Any]) -> None:
    owner, _ = users
    root = side.process(0)
    owner.mkdir("/d")
    write(owner, "/d/f", b"body")
    side.chmod("/d/f", 0)
    side.chmod("/d", 0)
    assert read(root, "/d/f") == b"body"
    assert root.list("/d") == ("f",)
    assert root.unlink("/d/f") is None
    root.exit()


def test_new_files_belong_to_their_process(users: tuple[Any, Any]) -> None:
    owner, other = users
    write(other, "/f", b"")
    other.mkdir("/d")
    assert (owner.stat("/f").uid, owner.stat("/d").uid) == (OTHER, OTHER)
    write(owner, "/mine", b"")
    owner.rename("/mine", "/f")
    assert other.stat("/f").uid == OWNER
