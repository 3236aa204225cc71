"""What an image is built from: decided by bytes alone, complete, and small."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from fleetbeat.engines.docker.client import Facts
from fleetbeat.engines.docker.containers import code_of, user_of
from fleetbeat.engines.docker.context import MOST_BYTES, Context, context_of, digest_of
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.scenario.manifest import load_manifest

TOP = Path(__file__).resolve().parents[2]


def _context(folder: Path) -> Context:
    return context_of(folder, load_manifest(folder))


def _folder(top: Path, name: str = "mine", **files: str) -> Path:
    folder = top / name
    folder.mkdir()
    (folder / "agent.yaml").write_text(f"name: {name}\n")
    (folder / "program.py").write_text("PROGRAM = None\n")
    for file, text in files.items():
        (folder / file).write_text(text)
    return folder


def test_equal_folders_are_equal_bytes_whatever_their_times_modes_and_order(tmp_path: Path) -> None:
    first = _folder(tmp_path, b="2", a="1")
    (tmp_path / "other").mkdir()
    second = _folder(tmp_path / "other", a="1", b="2")
    os.utime(second / "a", (1, 1))
    (second / "b").chmod(0o600)
    assert _context(first).tar() == _context(second).tar()


@pytest.mark.parametrize("change", ["content", "name", "executable", "added"])
def test_any_change_of_a_folder_is_another_image(change: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path, data="1")
    before = digest_of(_context(folder).tar())
    if change == "content":
        (folder / "data").write_text("2")
    elif change == "name":
        (folder / "data").rename(folder / "datum")
    elif change == "executable":
        (folder / "data").chmod(0o755)
    else:
        (folder / "more").write_text("")
    assert digest_of(_context(folder).tar()) != before


def test_another_base_is_another_image() -> None:
    assert digest_of(b"context", b"base-1") != digest_of(b"context", b"base-2")
    assert digest_of(b"ab", b"c") != digest_of(b"a", b"bc")


def test_caches_compiled_files_and_links_stay_out(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    before = _context(folder).tar()
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "program.pyc").write_bytes(b"x")
    (folder / "link").symlink_to("/etc/passwd")
    os.mkfifo(folder / "fifo")
    assert _context(folder).tar() == before


def test_a_folder_without_a_dockerfile_gets_one_and_its_own_is_kept(tmp_path: Path) -> None:
    assert b"ARG BASE=python:3.12-slim" in _context(_folder(tmp_path)).files["Dockerfile"][0]
    own = _folder(tmp_path, "own", Dockerfile="FROM scratch\n")
    assert _context(own).files["Dockerfile"][0] == b"FROM scratch\n"


@pytest.mark.parametrize("name", ["reference", "claim", "mutants/merges", "mutants/forgets-claim"])
def test_the_driver_and_the_program_load_from_it_with_the_standard_library_alone(name: str, tmp_path: Path) -> None:
    context = _context(TOP / "agents" / name)
    context.write(tmp_path)
    program = tmp_path / ".fleetbeat" / Path(context.program).relative_to("/opt/fleetbeat")
    code = (
        "import sys\nfrom pathlib import Path\nimport fleetbeat.protocol.live as live\n"
        f"print(live.__file__)\nprint(hasattr(live.program_at({str(program)!r}), 'beat'))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(tmp_path / ".fleetbeat/python")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == [str(tmp_path / ".fleetbeat/python/fleetbeat/protocol/live.py"), "True"], (
        done.stderr
    )


def test_an_agent_with_a_command_needs_no_program(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: theirs\ncommand: [sh, run.sh]\n")
    context = _context(folder)
    assert context.program == ""
    assert not [name for name in context.files if name.startswith(".fleetbeat/agents")]


def test_a_folder_too_big_for_an_image_is_refused_before_it_is_read(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    with (folder / "huge").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(EngineError, match=r"got an agent's folder of over 256 MiB, expected"):
        _context(folder)


def test_the_archive_holds_what_the_context_does_and_nobody_s_name() -> None:
    context = _context(TOP / "agents" / "reference")
    with tarfile.open(fileobj=io.BytesIO(context.tar())) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == sorted(context.files)
    assert {(entry.mtime, entry.uid, entry.uname) for entry in entries} == {(0, 0, "")}


def _facts(server: str, *, rootless: bool) -> Facts:
    return Facts("unix:///s", server, "1", "1.41", rootless, None)


@pytest.mark.parametrize(
    ("uid", "server", "rootless", "expected"),
    [
        (0, "Docker", False, {"user": "1000:1000"}),
        (501, "Docker", False, {"user": "501:20"}),
        (501, "Docker", True, {"user": "0:0"}),  # our own user, in its namespace
        (501, "Podman", True, {"user": "501:20", "userns_mode": "keep-id"}),
    ],
)
def test_an_agent_is_a_user_who_may_write_its_directories(
    uid: int, server: str, rootless: bool, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getuid", lambda: uid)
    monkeypatch.setattr("os.getgid", lambda: 20)
    assert user_of(1000, _facts(server, rootless=rootless)) == expected


def test_an_exit_code_of_an_init_is_read_as_the_signal_that_it_stands_for() -> None:
    assert [code_of(code) for code in (0, 1, 128, 137, 143)] == [0, 1, 128, -9, -15]
