"""Files and directories of agents, opened below the root of the run without following a link anywhere on the way.

An agent may put a link where its directory or file was; root must not take rights from what that points to.
"""

from __future__ import annotations

import os
import stat as modes
from dataclasses import dataclass
from pathlib import Path


def open_directory(root: Path, path: Path) -> int:
    """A descriptor of a directory below `root`. Raises `OSError`: ENOTDIR where a link or a file is on the way."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    found = os.open(root, flags)
    for part in path.relative_to(root).parts:
        try:
            below = os.open(part, flags, dir_fd=found)
        finally:
            os.close(found)
        found = below
    return found


def open_file(directory: int, name: str) -> int | None:
    """A descriptor of the regular file of this name; None if there is none, or something else."""
    try:
        found = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    except OSError:
        return None
    if modes.S_ISREG(os.fstat(found).st_mode):
        return found
    os.close(found)
    return None


@dataclass(frozen=True, slots=True)
class Held:
    """What is open, with its owner and mode when it was opened. It goes by no name: swapping names changes nothing."""

    descriptor: int
    uid: int
    gid: int
    mode: int

    @classmethod
    def of(cls, descriptor: int) -> Held:
        found = os.fstat(descriptor)
        return cls(descriptor, found.st_uid, found.st_gid, modes.S_IMODE(found.st_mode))

    def take(self, mode: int) -> None:
        """It is root's, with this mode. Raises `OSError`."""
        os.fchown(self.descriptor, 0, 0)
        os.fchmod(self.descriptor, mode)

    def give_back(self) -> None:
        """As it was; and closes it. Raises `OSError`."""
        try:
            os.fchown(self.descriptor, self.uid, self.gid)
            os.fchmod(self.descriptor, self.mode)
        finally:
            os.close(self.descriptor)
