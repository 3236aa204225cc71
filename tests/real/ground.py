"""A place on this machine for real runs in tests, which leaves nothing behind: no process, no mount, no directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fleetbeat.engines.process.leftovers import processes
from fleetbeat.engines.real.means.mounts import mounts_below, unmount_below
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

#: Every user passes through it, which is not so of pytest's own temporary directories.
BASE = "/tmp"
PATIENCE_S = 20.0


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that is the system's temporary one for this test and for what it starts."""
    place = Path(tempfile.mkdtemp(prefix="fleetbeat-test-", dir=BASE))
    place.chmod(0o755)
    before = processes()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    until(lambda: not _new(before))
    left = (_new(before), mounts_below(place))
    for pid, _ in left[0]:
        os.kill(pid, 9)
    unmount_below(place)
    shutil.rmtree(place)
    assert left == ([], [])


def _new(before: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Processes of runs that this process, or one that it started, is the harness of."""
    return [one for one in processes() if one not in before and one[1].startswith(_OURS)]


#: Beginnings of the ids of runs whose processes are this test's: its own, and those of commands that it started.
_OURS: tuple[str, ...] = (f"{os.getpid()}-",)


def until(holds: Callable[[], Any], patience_s: float = PATIENCE_S) -> bool:
    """Whether something comes to hold in time."""
    end = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def scenario(place: Path, text: str, *sets: str) -> Scenario:
    """A scenario from its text, as loading a file gives it."""
    path = place / "s.yaml"
    path.write_text(text)
    return load(path, None, list(sets))


def fleetbeat(*words: str) -> subprocess.Popen[str]:
    """The command line in a process of its own. What its runs leave is looked for at the end of the test."""
    global _OURS
    code = (
        "import sys, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from fleetbeat.cli import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, *words]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _OURS = (*_OURS, f"{started.pid}-")
    return started


def ended(started: subprocess.Popen[str], patience_s: float = PATIENCE_S) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = started.communicate(timeout=patience_s)
    return started.returncode, out, err
