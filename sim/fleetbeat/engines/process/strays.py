"""Processes that left their agent's session: this process becomes the parent of all that lose theirs, and ends them.

Rejected: looking for the run's id in environments, which an agent may clear.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

#: Source: <sys/prctl.h> of Linux.
SET_CHILD_SUBREAPER = 36
#: An agent that forks without end is given up after so long.
PATIENCE_S = 3.0


class Strays:
    """Made before the first agent starts. Children that there are by then, and those in our own session, are not ours
    to end."""

    def __init__(self) -> None:
        self._before = frozenset(children())
        _adopt(True)

    def end(self) -> None:
        """Kills and reaps all that came to us, and what comes to us by that. May be called twice."""
        end = time.monotonic() + PATIENCE_S
        while strays := self._found():
            for pid in strays:
                _signal(pid, signal.SIGSTOP)
            for pid in strays:
                _signal(pid, signal.SIGKILL)
                try:
                    os.waitpid(pid, 0)
                except ChildProcessError:
                    pass
            if time.monotonic() > end:
                break
        _adopt(False)

    def _found(self) -> list[int]:
        own = os.getsid(0)
        return [pid for pid in children() if pid not in self._before and _session(pid) not in (own, None)]


def children() -> list[int]:
    """The children of this process, zombies too."""
    found: list[int] = []
    for task in sorted(Path("/proc/self/task").iterdir()):
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _adopt(on: bool) -> None:
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, ctypes.c_ulong(on), 0, 0, 0)
