"""Claims about the port, each proved on both sides: the model in memory and the machine's own file system.

Claims about other users run on the real side where the tests run as root, and are skipped there otherwise.
"""

from __future__ import annotations

from typing import Any

from tests.conformance.files_sides import Side, outcome, read, write

# --- opening ---------------------------------------------------------------------------------------------------------


def test_open_r_of_nothing_is_enoent(files: Any) -> None:
    assert outcome(files.open, "/f", "r") == "ENOENT"
    assert outcome(files.open, "/f", "r+") == "ENOENT"
    assert outcome(files.open, "/no/f", "w") == "ENOENT"


def test_open_w_creates_and_truncates_and_a_and_r_plus_keep(files: Any) -> None:
    write(files, "/f", b"first")
    write(files, "/f", b"xy", "a")
    assert read(files, "/f") == b"firstxy"
    write(files, "/f", b"F", "r+")
    assert read(files, "/f") == b"Firstxy"
    write(files, "/f", b"", "w")
    assert read(files, "/f") == b""
    write(files, "/new", b"n", "a")
    assert read(files, "/new") == b"n"


def test_open_x_never_opens_what_is_there(side: Side, files: Any) -> None:
    write(files, "/f", b"kept", "x")
    side.symlink("/dangling", "nowhere")
    files.mkdir("/d")
    assert [outcome(files.open, path, "x") for path in ("/f", "/dangling", "/d")] == ["EEXIST"] * 3
    assert read(files, "/f") == b"kept"
    assert outcome(files.stat, "/nowhere") == "ENOENT"


def test_permissions_of_a_new_file_are_cut_by_the_umask_and_do_not_bind_its_own_handle(files: Any) -> None:
    handle = files.open("/f", "w", 0o666)
    secret = files.open("/s", "w", 0)
    assert files.write(secret, b"x") == 1
    assert files.stat("/f").mode == 0o644
    assert files.stat("/s").mode == 0
    files.mkdir("/d", 0o777)
    assert files.stat("/d").mode == 0o755
    files.close(files.open("/f", "w", 0o600))
    assert files.stat("/f").mode == 0o644
    files.close(handle)


def test_an_unknown_mode_or_a_path_that_is_not_plain_is_einval(files: Any) -> None:
    files.mkdir("/d")
    assert outcome(files.open, "/f", "rw") == "EINVAL"
    for path in ("f", "/d/", "//f", "/d//f", "/d/../f", "/..", "/./f", "/d/."):
        assert outcome(files.open, path, "w") == "EINVAL", path
        assert outcome(files.rename, "/d", path) == "EINVAL", path
    assert outcome(files.stat, "") == "ENOENT"
    assert files.list("/") == ("d",)


def test_a_directory_opens_for_reading_and_syncing_but_its_bytes_are_eisdir(files: Any) -> None:
    files.mkdir("/d")
    write(files, "/f", b"")
    for mode in ("r", "d"):
        handle = files.open("/d", mode)
        assert outcome(files.read, handle, 1) == "EISDIR"
        assert outcome(files.write, handle, b"x") == "EBADF"
        assert files.sync(handle) is None
        files.close(handle)
    assert [outcome(files.open, "/d", mode) for mode in ("w", "a", "r+")] == ["EISDIR"] * 3
    assert outcome(files.open, "/f", "d") == "ENOTDIR"


# --- handles ---------------------------------------------------------------------------------------------------------


def test_truncation_by_open_w_is_seen_at_once_by_a_reader(files: Any) -> None:
    write(files, "/f", b"0123456789")
    reader = files.open("/f", "r")
    assert files.read(reader, 4) == b"0123"
    writer = files.open("/f", "w")
    assert files.read(reader, 4) == b""
    files.write(writer, b"abcdefgh")
    assert files.read(reader, 3) == b"efg"


def test_a_handle_outlives_unlink_and_a_new_file_at_the_name(side: Side, files: Any) -> None:
    write(files, "/f", b"old")
    reader, writer = files.open("/f", "r"), files.open("/f", "a")
    files.unlink("/f")
    write(files, "/f", b"new")
    files.write(writer, b"er")
    assert files.read(reader, 10) == b"older"
    assert read(files, "/f") == b"new"
    assert not side.same_inode(files, reader, "/f")


def test_a_handle_outlives_a_rename_over_its_name(side: Side, files: Any) -> None:
    write(files, "/f", b"old")
    write(files, "/g", b"new")
    reader = files.open("/f", "r")
    files.rename("/g", "/f")
    assert files.read(reader, 10) == b"old"
    assert read(files, "/f") == b"new"
    assert not side.same_inode(files, reader, "/f")


def test_a_handle_follows_its_inode_to_a_new_name(side: Side, files: Any) -> None:
    write(files, "/f", b"")
    writer = files.open("/f", "a")
    before = files.stat("/f").inode
    files.rename("/f", "/g")
    files.write(writer, b"late")
    assert read(files, "/g") == b"late"
    assert files.stat("/g").inode == before
    assert side.same_inode(files, writer, "/g")


def test_two_handles_have_two_positions_and_appends_go_to_the_end(files: Any) -> None:
    write(files, "/f", b"0123")
    one, two, end = files.open("/f", "r+"), files.open("/f", "r+"), files.open("/f", "a")
    assert files.read(one, 2) == b"01"
    assert files.write(two, b"AB") == 2
    assert files.write(end, b"xx") == 2
    assert files.write(one, b"CD") == 2
    assert files.write(end, b"y") == 1
    assert read(files, "/f") == b"ABCDxxy"


def test_a_write_past_the_end_leaves_a_hole_of_zeros(files: Any) -> None:
    handle = files.open("/f", "w")
    files.write(handle, b"12345")
    files.truncate(handle, 1)
    assert files.write(handle, b"6") == 1
    assert read(files, "/f") == b"1\0\0\0\x006"


def test_truncate_cuts_and_lengthens_and_leaves_the_position(files: Any) -> None:
    handle = files.open("/f", "w")
    files.write(handle, b"12345")
    files.truncate(handle, 7)
    assert read(files, "/f") == b"12345\0\0"
    files.truncate(handle, 2)
    files.truncate(handle, 3)
    assert read(files, "/f") == b"12\0"
    assert outcome(files.truncate, handle, -1) == "EINVAL"


def test_a_wrong_direction_is_ebadf_and_for_truncate_einval(files: Any) -> None:
    write(files, "/f", b"body")
    reader, writer = files.open("/f", "r"), files.open("/f", "a")
    assert outcome(files.write, reader, b"x") == "EBADF"
    assert outcome(files.write, reader, b"") == "EBADF"
    assert outcome(files.read, writer, 1) == "EBADF"
    assert outcome(files.truncate, reader, 0) == "EINVAL"
    assert outcome(files.read, reader, -1) == "EINVAL"
    assert read(files, "/f") == b"body"


def test_a_closed_handle_is_ebadf_also_after_another_open(files: Any) -> None:
    write(files, "/f", b"body")
    handle = files.open("/f", "r+")
    files.close(handle)
    other = files.open("/f", "r+")
    assert other != handle
    calls = [(files.read, 1), (files.write, b"x"), (files.truncate, 0), (files.sync,), (files.close,)]
    assert [outcome(call, handle, *given) for call, *given in calls] == ["EBADF"] * 5
    assert files.read(other, 9) == b"body"


def test_bytes_pass_untranslated_and_reads_end_with_nothing(files: Any) -> None:
    body = bytes(range(256)) + b"\r\n\r\n\n\x1a\x00"
    write(files, "/f", body)
    assert read(files, "/f") == body
    handle = files.open("/f", "r")
    assert files.read(handle, 0) == b""
    assert len(files.read(handle, 10_000)) == len(body)
    assert files.read(handle, 1) == b""
