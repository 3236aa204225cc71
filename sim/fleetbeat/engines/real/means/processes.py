"""What /proc says of processes: whether one stands, who is below it, whether all of its threads are traced."""

from __future__ import annotations

import os
from pathlib import Path


def state_of(pid: int | None) -> str | None:
    """The letter of a process's state; None if there is no such process."""
    fields = [] if pid is None else _stat(pid)
    return fields[0] if fields else None


def tree_of(pid: int) -> list[int]:
    """A process and all that it and its children have started and that are there now, it first."""
    children: dict[int, list[int]] = {}
    for name in sorted(filter(str.isdigit, os.listdir("/proc")), key=int):
        fields = _stat(int(name))
        if fields and fields[0] not in ("Z", "X"):
            children.setdefault(int(fields[1]), []).append(int(name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def is_traced(pid: int) -> bool:
    """Whether every thread of a process has a tracer; one that is gone needs none."""
    try:
        threads = sorted(os.listdir(f"/proc/{pid}/task"))
        return all("\nTracerPid:\t0\n" not in Path(f"/proc/{pid}/task/{one}/status").read_text() for one in threads)
    except OSError:
        return not os.path.exists(f"/proc/{pid}")


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
