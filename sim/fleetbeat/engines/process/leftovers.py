"""What killed runs left on this machine: processes that carry a run's id, and roots whose owner is gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fleetbeat.engines.real.root import empty, is_ours, left_behind, read_mark, start_of

GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Left:
    """One thing that was left: a process id, or a root. `what` says it in words."""

    what: str
    remove: Callable[[], None]


def owner_is_gone(run: str) -> bool:
    """Whether the harness of a run, whose id holds its process id and start, is gone. False for what is no such id."""
    parts = run.split("-")
    if len(parts) < 3 or not (parts[0].isdigit() and parts[1].isdigit()):
        return False
    return start_of(int(parts[0])) != int(parts[1])


def processes() -> list[tuple[int, str]]:
    """Processes of this user that say in their environment which run they belong to: (process id, run)."""
    found = []
    for entry in sorted(Path("/proc").iterdir()):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        for part in environment.split(b"\0"):
            if part.startswith(b"FLEETBEAT_RUN="):
                found.append((int(entry.name), part.partition(b"=")[2].decode("utf-8", "replace")))
    return found


def leftovers(root: Path | None = None) -> list[Left]:
    """What `clean` removes, in the order in which it must be. `root`: a run's root that lies elsewhere.

    Processes come first. What belongs to a run that still goes on is never among them.
    """
    roots = [(place, mark) for place, mark in left_behind(root) if not mark.is_alive]
    if root is not None:
        mark = read_mark(root)
        roots = [] if mark is None or mark.is_alive or not is_ours(root) else [(root, mark)]
    runs = {mark.run: None for _, mark in roots}
    found = []
    for pid, run in processes():
        if (run in runs) if root is not None else owner_is_gone(run):
            found.append(Left(f"process {pid} of run {run}", _ending(pid, run)))
    for place, mark in roots:
        found.append(Left(f"directory {place} of run {mark.run} ({mark.scenario})", _emptying(place)))
    return found


def _ending(pid: int, run: str) -> Callable[[], None]:
    def end() -> None:
        if (pid, run) not in processes():
            return  # it is gone, and its number may be another's
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + GRACE_S
        while start_of(pid) is not None and time.monotonic() < deadline:
            time.sleep(0.01)

    return end


def _emptying(place: Path) -> Callable[[], None]:
    def remove() -> None:
        empty(place)
        if place.parent.name.startswith("fleetbeat-") and place.name.startswith("run-"):
            place.rmdir()

    return remove
