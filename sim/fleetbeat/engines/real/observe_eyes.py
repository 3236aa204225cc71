"""Looking into the fleet's directories without following a link, however they are changed meanwhile.

Each directory on the way is opened by itself, relative to the one above it, so that no link that an agent puts there
leads out. Rejected: checking the path before opening it, which leaves a gap between the two.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Files longer than this are not read, bytes.
MOST = 8 << 20
_LISTING = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PASSING = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "symlink"}


class TooLong(Exception):
    """A file is longer than an observer reads; the message says how long."""


class Eyes:
    """`fleet` is a directory of the machine; paths are fleet-wide, beginning with a slash."""

    def __init__(self, fleet: Path) -> None:
        self._fleet = os.fsencode(fleet)

    @contextmanager
    def directory(self, path: str, flags: int = _PASSING) -> Iterator[int]:
        """A descriptor of a directory. Raises `OSError`, ELOOP or ENOTDIR for a link on the way."""
        at = os.open(self._fleet, _PASSING)
        try:
            for name in path.encode("utf-8", "surrogateescape").split(b"/"):
                if name:
                    below = os.open(name, _PASSING, dir_fd=at)
                    os.close(at)
                    at = below
            if flags != _PASSING:
                opened = os.open(b".", flags, dir_fd=at)
                os.close(at)
                at = opened
            yield at
        finally:
            os.close(at)

    def look(self, path: str) -> os.stat_result | None:
        """What stands at a name itself; None if nothing does, or if it cannot be reached."""
        above, _, name = path.rpartition("/")
        try:
            with self.directory(above) as at:
                return os.stat(os.fsencode(name), dir_fd=at, follow_symlinks=False)
        except OSError:
            return None

    @contextmanager
    def file(self, path: str) -> Iterator[int]:
        """A descriptor of a regular file. Raises `OSError`: ENOENT, or ELOOP or EINVAL where none stands there."""
        above, _, name = path.rpartition("/")
        with self.directory(above) as at:
            descriptor = os.open(os.fsencode(name), _FILE, dir_fd=at)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "not a regular file", path)
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file, None if none stands there. Raises `TooLong`, and other `OSError`s (EACCES)."""
        try:
            with self.file(path) as descriptor:
                data = read_at(descriptor, 0, MOST + 1)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.ENXIO):
                return None
            raise
        if len(data) > MOST:
            raise TooLong(f"longer than {MOST >> 20} MiB")
        return data

    def list(self, path: str) -> list[tuple[str, bool]]:
        """Names in a directory, sorted, and whether each is a directory itself; [] if it cannot be listed."""
        try:
            with self.directory(path, _LISTING) as at, os.scandir(at) as entries:
                return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:
            return []


def read_at(descriptor: int, offset: int, size: int) -> bytes:
    """Up to `size` bytes from `offset` on, fewer only at the end of the file."""
    parts = []
    while size > 0 and (part := os.pread(descriptor, min(size, 1 << 20), offset)):
        parts.append(part)
        offset += len(part)
        size -= len(part)
    return b"".join(parts)


def shown(path: str) -> str:
    """A path that can be written down: bytes that are no UTF-8 as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
