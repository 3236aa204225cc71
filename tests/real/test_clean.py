"""`fleetbeat clean`: what killed runs left is removed, what lives and what is not ours is left alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.real.ground import ended, fleetbeat, ground, until  # noqa: F401

from fleetbeat.engines.process.leftovers import leftovers, owner_is_gone, processes
from fleetbeat.engines.real.root import base_directory, make_root, read_mark, start_of

LONG = """
duration: 300s
fleet: {agents: 3, heartbeat: {interval: 200ms}}
faults: [{operation: unlink, agents: a-1, crash: after}]
"""


def _killed(place: Path, *words: str) -> tuple[int, str]:
    """A run whose harness was killed while its agents lived: process id, and the run's own id."""
    (place / "s.yaml").write_text(LONG)
    started = fleetbeat("run", str(place / "s.yaml"), "--engine", "process", *words)
    mine = f"{started.pid}-"
    assert until(lambda: len([one for one in processes() if one[1].startswith(mine)]) == 2)
    started.send_signal(signal.SIGKILL)
    ended(started)
    assert until(lambda: start_of(started.pid) is None)
    return started.pid, next(run for _, run in processes() if run.startswith(mine))


def _of(run: str) -> list[int]:
    return [pid for pid, found in processes() if found == run]


def test_what_a_killed_harness_left_is_removed_and_nothing_else(ground: Path) -> None:  # noqa: F811
    alive = make_root(None, "process", "alive")
    _, run = _killed(ground)
    (base_directory() / "run-of-somebody").mkdir()
    code, out, _ = ended(fleetbeat("clean", "--dry-run"))
    assert (code, out.count("would remove process"), out.count("would remove directory")) == (0, 2, 1)
    assert len(_of(run)) == 2
    code, out, _ = ended(fleetbeat("clean"))
    assert (code, out.count("removed process"), out.count("removed directory")) == (0, 2, 1)
    assert _of(run) == []
    assert sorted(path.name for path in base_directory().iterdir()) == [alive.path.name, "run-of-somebody"]
    code, out, _ = ended(fleetbeat("clean"))
    assert (code, out) == (0, "nothing was left behind\n")


@pytest.mark.slow
def test_agents_of_a_killed_harness_end_by_themselves(ground: Path) -> None:  # noqa: F811
    _, run = _killed(ground)
    assert until(lambda: not _of(run), patience_s=120)
    assert ended(fleetbeat("clean"))[1].startswith("removed directory")


@pytest.mark.slow
def test_a_root_that_is_named_is_cleaned_alone(ground: Path) -> None:  # noqa: F811
    _, one = _killed(ground, "--root", str(ground / "here"))
    _, other = _killed(ground)
    code, out, _ = ended(fleetbeat("clean", "--root", str(ground / "here")))
    assert (code, out.count("process"), out.count(f"directory {ground / 'here'}")) == (0, 2, 1)
    assert (_of(one), len(_of(other))) == ([], 2)
    assert not (ground / "here" / "fleet").exists()
    ended(fleetbeat("clean"))


def test_a_directory_that_is_not_ours_is_refused(ground: Path) -> None:  # noqa: F811
    (ground / "theirs").mkdir()
    code, _, err = ended(fleetbeat("clean", "--root", str(ground / "theirs")))
    assert (code, "expected a directory that a run marked as its own" in err) == (2, True)
    mine = make_root(ground / "mine", "process", "mine")
    code, _, err = ended(fleetbeat("clean", "--root", str(mine.path)))
    assert (code, "a run that goes on" in err) == (2, True)
    assert read_mark(mine.path) == mine.mark
    assert leftovers(mine.path) == []


def test_an_owner_is_told_by_number_and_start() -> None:
    pid, began = os.getpid(), start_of(os.getpid())
    assert not owner_is_gone(f"{pid}-{began}-0")
    assert owner_is_gone(f"{pid}-{(began or 0) - 1}-0")
    for strange in ("", "x", "1-2", "a-b-c", "somebody else's"):
        assert not owner_is_gone(strange)
