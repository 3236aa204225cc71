"""The foreign agent that other tests start: a script of its own, which obeys the protocol without this package."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.live_crews import MS, until

from fleetbeat.scenario.manifest import load_manifest

FOLDER = Path(__file__).parent / "foreign"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """The home of an agent that its manifest's command started, fifty beats a second."""
    words = load_manifest(FOLDER).words(str(tmp_path), "x-0", 20 * MS)
    process = subprocess.Popen([sys.executable, "-S", *words[1:]], cwd=FOLDER, stderr=subprocess.PIPE)
    try:
        until((tmp_path / ".agent.heartbeat").exists, "its first beat")
        yield tmp_path
    finally:
        process.kill()
        assert process.communicate()[1] == b""


def _post(home: Path, body: bytes) -> None:
    (home / "tmp").write_bytes(body)
    (home / "tmp").rename(home / ".rules")


def _beats_on(home: Path) -> None:
    seen: dict[int, None] = {}

    def enough() -> bool:
        seen[(home / ".agent.heartbeat").stat().st_mtime_ns] = None
        return len(seen) > 3

    until(enough, "three beats")


def _logged(home: Path) -> int:
    log = home / "logs/events.jsonl"
    return log.read_text().count("rules_loaded") if log.exists() else 0


def test_it_imports_nothing_but_the_standard_library() -> None:
    tree = ast.parse((FOLDER / "agent.py").read_text())
    imported = [name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names]
    assert imported == ["json", "os", "sys", "time"]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


def test_it_applies_what_is_posted_once(home: Path) -> None:
    for _ in range(2):
        _post(home, b"be kind\n")
        until(lambda: not (home / ".rules").exists(), "consumption")
        _beats_on(home)
    manifest = load_manifest(FOLDER)
    assert (home / manifest.canonical).read_text() == "be kind"
    assert f"{manifest.prompt.begin}be kind{manifest.prompt.end}" in (home / manifest.prompt.path).read_text()
    assert _logged(home) == 1


def test_a_poison_body_and_a_directory_at_the_name_do_not_end_it(home: Path) -> None:
    _post(home, b"\xff\xfe")
    _beats_on(home)
    assert (home / ".rules").read_bytes() == b"\xff\xfe"
    (home / ".rules").unlink()
    (home / ".rules").mkdir()
    _beats_on(home)


def test_it_does_what_it_is_asked_by_its_signs(home: Path) -> None:
    signs = load_manifest(FOLDER).signs
    (home / signs["suspend"]).touch()
    _beats_on(home)
    _post(home, b"later")
    _beats_on(home)
    assert (home / ".rules").exists()
    (home / "system/rules.md").write_text("by hand")
    (home / signs["rebuild"]).touch()
    until(lambda: not (home / signs["rebuild"]).exists(), "the rebuild")
    assert "by hand" in (home / "system/system.md").read_text()
    assert (home / ".rules").exists()
    os.unlink(home / signs["suspend"])
    until(lambda: _logged(home) == 1, "the signal's consumption")
