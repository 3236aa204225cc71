"""Mounts, by the system calls themselves: a small disk, a bind, read-only and back; and what is mounted below a directory.

Rejected: mount(8), which costs a process each time and hides errno in a sentence.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
from pathlib import Path

from fleetbeat.engines.real.errors import EngineError

#: Source: <sys/mount.h> of Linux.
READ_ONLY, NO_SUID, NO_DEV, REMOUNT, BIND = 1, 2, 4, 32, 4096
DETACH, NO_FOLLOW = 2, 8
SAFE = NO_SUID | NO_DEV
MOUNTS = Path("/proc/self/mountinfo")


def mount_disk(target: Path, size: int, uid: int, mode: int = 0o755) -> None:
    """A tmpfs of `size` bytes, a multiple of the page. Raises `OSError`."""
    _mount("fleetbeat", target, "tmpfs", SAFE, f"size={size},mode={mode:o},uid={uid},gid={uid},nr_inodes=0")


def bind(source: Path, target: Path) -> None:
    """What stands at `source` stands at `target` as well. Raises `OSError`."""
    _mount(str(source), target, "", BIND, "")


def turn_read_only(target: Path, on: bool, size: int) -> None:
    """The whole disk that is mounted at `target`, for all who see it, in containers too. Raises `OSError`: EBUSY while
    a file on it is open for writing."""
    _mount("fleetbeat", target, "tmpfs", REMOUNT | SAFE | (READ_ONLY if on else 0), f"size={size}")


def unmount(target: Path) -> None:
    """Also where it is in use: it is gone for those who look from now on. Raises `OSError`."""
    if _libc().umount2(os.fsencode(target), NO_FOLLOW) == 0:
        return
    if ctypes.get_errno() != errno.EBUSY:
        raise _failed(target)
    if _libc().umount2(os.fsencode(target), NO_FOLLOW | DETACH) != 0:
        raise _failed(target)


def mounts_below(root: Path) -> list[Path]:
    """Where something is mounted at or below a directory, the last mounted first. Links in `root` are followed."""
    top = os.path.realpath(root)
    found = []
    for line in MOUNTS.read_bytes().splitlines():
        point = os.fsdecode(re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), line.split(b" ")[4]))
        if point == top or point.startswith(top.rstrip("/") + "/"):
            found.append(Path(point))
    return found[::-1]


def unmount_below(root: Path) -> int:
    """Unmounts all that is mounted below a directory of ours, and says how many that were.

    Raises `EngineError` where that is not allowed. The directory itself is no mount of ours and is left alone.
    """
    points = [point for point in mounts_below(root) if str(point) != os.path.realpath(root)]
    for point in points:
        try:
            unmount(point)
        except OSError as error:
            raise EngineError(f"{point}: got {error.strerror}, expected to be able to unmount it") from error
    return len(points)


def _mount(source: str, target: Path, kind: str, flags: int, data: str) -> None:
    call = _libc().mount
    text = data.encode() if data else None
    if call(os.fsencode(source), os.fsencode(target), kind.encode() or None, ctypes.c_ulong(flags), text) != 0:
        raise _failed(target)


def _failed(target: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(target))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
