"""The file system of the machine, under a root directory. Implements the port `Files` with plain system calls.

Fleet-wide paths are mapped below the root and errors name them, not the machine's. Links are followed as the kernel
does: an absolute target, or one that climbs, leads out of the root. Nothing is buffered or translated, handles are
closed on exec (as Python's are). Handles are numbered here and never used again, so a closed one is EBADF and not
somebody else's file. Threads of one process may share an instance.
"""

from __future__ import annotations

import errno
import os
import stat as modes
from itertools import count
from typing import NamedTuple, NoReturn

from fleetbeat.files.paths import components, failure
from fleetbeat.files.port import FileStat

FLAGS = {
    "r": os.O_RDONLY,
    "d": os.O_RDONLY | os.O_DIRECTORY,
    "r+": os.O_RDWR,
    "a": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "w": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
    "x": os.O_WRONLY | os.O_CREAT | os.O_EXCL,
}

KINDS = {modes.S_IFREG: "file", modes.S_IFDIR: "directory", modes.S_IFLNK: "symlink"}


class Opened(NamedTuple):
    descriptor: int
    path: str


class RealFiles:
    """`root` is a directory of the machine; `/a-3/.rules` of the fleet is `root/a-3/.rules`."""

    def __init__(self, root: str) -> None:
        self._root = os.path.abspath(root).rstrip("/")
        self._opened: dict[int, Opened] = {}
        self._numbers = count(1)

    def stat(self, path: str, *, follow: bool = False) -> FileStat:
        """`size` of a directory is 0: file systems differ in it."""
        real = self._real(path)
        try:
            found = os.stat(real, follow_symlinks=follow)
        except OSError as error:
            _renamed(error, path)
        kind = KINDS.get(modes.S_IFMT(found.st_mode), "other")
        size = 0 if kind == "directory" else found.st_size
        return FileStat(kind, size, modes.S_IMODE(found.st_mode), found.st_uid, found.st_ino)

    def list(self, path: str) -> tuple[str, ...]:
        real = self._real(path)
        try:
            return tuple(sorted(os.listdir(real)))
        except OSError as error:
            _renamed(error, path)

    def open(self, path: str, mode: str = "r", perms: int = 0o644) -> int:
        flags = FLAGS.get(mode)
        if flags is None:
            raise failure(errno.EINVAL, path)
        real = self._real(path)
        try:
            descriptor = os.open(real, flags, perms)
        except OSError as error:
            _renamed(error, path)
        handle = next(self._numbers)
        self._opened[handle] = Opened(descriptor, path)
        return handle

    def read(self, handle: int, size: int) -> bytes:
        descriptor, path = self._handle(handle)
        try:
            return os.read(descriptor, size)
        except OSError as error:
            _renamed(error, path)

    def write(self, handle: int, data: bytes) -> int:
        descriptor, path = self._handle(handle)
        try:
            return os.write(descriptor, data)
        except OSError as error:
            _renamed(error, path)

    def truncate(self, handle: int, size: int) -> None:
        descriptor, path = self._handle(handle)
        try:
            os.ftruncate(descriptor, size)
        except OSError as error:
            _renamed(error, path)

    def sync(self, handle: int) -> None:
        descriptor, path = self._handle(handle)
        try:
            os.fsync(descriptor)
        except OSError as error:
            _renamed(error, path)

    def close(self, handle: int) -> None:
        descriptor, path = self._handle(handle)
        del self._opened[handle]
        try:
            os.close(descriptor)
        except OSError as error:
            _renamed(error, path)

    def exit(self) -> None:
        """Closes all handles, as the end of a process does."""
        for handle in list(self._opened):
            self.close(handle)

    def mkdir(self, path: str, perms: int = 0o755) -> None:
        real = self._real(path)
        try:
            os.mkdir(real, perms)
        except OSError as error:
            _renamed(error, path)

    def unlink(self, path: str) -> None:
        real = self._real(path)
        if path == "/":
            raise failure(errno.EISDIR, path)
        try:
            os.unlink(real)
        except OSError as error:
            _renamed(error, path)

    def rename(self, source: str, target: str) -> None:
        """Both names appear in the error. The root itself is EBUSY, as the machine's root is."""
        for path in (source, target):
            try:
                self._real(path)
            except OSError as error:
                _renamed(error, source, target)
        if "/" in (source, target):
            raise failure(errno.EBUSY, source, target)
        try:
            os.rename(self._real(source), self._real(target))
        except OSError as error:
            _renamed(error, source, target)

    def _real(self, path: str) -> str:
        components(path)
        return self._root + path

    def _handle(self, handle: int) -> Opened:
        try:
            return self._opened[handle]
        except KeyError:
            raise failure(errno.EBADF, None) from None


def _renamed(error: OSError, path: str, other: str | None = None) -> NoReturn:
    """The same error with the fleet's names."""
    raise failure(error.errno or errno.EIO, path, other) from error
