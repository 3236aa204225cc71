"""The two sides of the port, dressed alike for tests: processes of any user, and the administration that tests need.

On the real side a process of another user is this process with its effective user changed for one call, which is what
the kernel checks file access by. That needs root; without it claims about other users are skipped on the real side.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pytest

from fleetbeat.files.memory import MemoryFiles
from fleetbeat.files.port import Files
from fleetbeat.files.real import RealFiles

OWNER, OTHER = 65534, 1000
IS_ROOT = os.geteuid() == 0


class Side(Protocol):
    name: str

    def process(self, uid: int | None = None) -> Any:
        """A process of this user; None: whoever runs the tests."""

    def symlink(self, path: str, target: str) -> None: ...

    def chmod(self, path: str, mode: int) -> None: ...

    def chown(self, path: str, uid: int) -> None: ...

    def contents(self) -> dict[str, tuple[str, object, int, int]]:
        """path -> (kind, bytes or target, mode, uid) of all that stands."""

    def same_inode(self, files: Any, handle: int, path: str) -> bool:
        """Is what the handle holds the thing that stands at this name?"""


class MemorySide:
    name = "memory"

    def __init__(self) -> None:
        self.world = MemoryFiles()
        self.world.chown("/", os.geteuid())
        self.world.chmod("/", 0o755)

    def process(self, uid: int | None = None) -> Files:
        return self.world.process(os.geteuid() if uid is None else uid)

    def symlink(self, path: str, target: str) -> None:
        self.world.symlink(path, target, os.geteuid())

    def chmod(self, path: str, mode: int) -> None:
        self.world.chmod(path, mode)

    def chown(self, path: str, uid: int) -> None:
        self.world.chown(path, uid)

    def contents(self) -> dict[str, tuple[str, object, int, int]]:
        root = self.world.process(0)
        found: dict[str, tuple[str, object, int, int]] = {}
        todo = ["/"]
        for path in todo:
            stat = root.stat(path)
            if stat.kind == "directory":
                todo += [f"{path.rstrip('/')}/{name}" for name in root.list(path)]
            inside: object = self.world.peek(path)
            if stat.kind == "symlink":
                inside = self.world.target(path)
            found[path] = (stat.kind, inside, stat.mode, stat.uid)
        return found

    def same_inode(self, files: Any, handle: int, path: str) -> bool:
        return self.world.handle_inode(handle) == self.world.inode(path)


class RealSide:
    name = "real"

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")

    def process(self, uid: int | None = None) -> Any:
        if uid is None or uid == os.geteuid():
            return RealFiles(self.root or "/")
        if not IS_ROOT:
            pytest.skip("needs root: another user's process on the real file system")
        return OtherUser(RealFiles(self.root or "/"), uid)

    def symlink(self, path: str, target: str) -> None:
        os.symlink(self.root + target if target.startswith("/") else target, self.root + path)

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(self.root + path, mode)

    def chown(self, path: str, uid: int) -> None:
        if uid != os.geteuid():
            if not IS_ROOT:
                pytest.skip("needs root: a file of another user on the real file system")
            os.chown(self.root + path, uid, uid, follow_symlinks=False)

    def contents(self) -> dict[str, tuple[str, object, int, int]]:
        files = RealFiles(self.root or "/")
        found: dict[str, tuple[str, object, int, int]] = {}
        todo = ["/"]
        for path in todo:
            stat = files.stat(path)
            inside: object = None
            if stat.kind == "directory":
                todo += [f"{path.rstrip('/')}/{name}" for name in files.list(path)]
            elif stat.kind == "symlink":
                inside = os.readlink(self.root + path)
            else:
                with open(self.root + path, "rb") as file:
                    inside = file.read()
            found[path] = (stat.kind, inside, stat.mode, stat.uid)
        return found

    def same_inode(self, files: Any, handle: int, path: str) -> bool:
        try:
            stands = os.lstat(self.root + path)
        except OSError:
            return False
        held = os.fstat(_opened(files)[handle].descriptor)
        return (held.st_dev, held.st_ino) == (stands.st_dev, stands.st_ino)


def _opened(files: Any) -> Any:
    """Descriptors by handle; a look inside that only this comparison needs."""
    return (files._files if isinstance(files, OtherUser) else files)._opened


class OtherUser:
    """A real process's calls, made as another user."""

    def __init__(self, files: RealFiles, uid: int) -> None:
        self._files = files
        self._uid = uid

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._files, name)

        def as_user(*given: Any, **named: Any) -> Any:
            with effective_user(self._uid):
                return call(*given, **named)

        return as_user


@contextmanager
def effective_user(uid: int) -> Iterator[None]:
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


@contextmanager
def jail(root: str) -> Iterator[str]:
    """Makes the directory this process's root for a while, so that no link leads out of it; gives the root to use.

    Needs root: others get the directory itself, and must not climb.
    """
    if not IS_ROOT:
        yield root
        return
    outside = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.chroot(root)
        os.chdir("/")
        try:
            yield "/"
        finally:
            os.fchdir(outside)
            os.chroot(".")
            os.fchdir(here)
    finally:
        os.close(outside)
        os.close(here)


def outcome(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """The name of the errno that the call fails with, or its result."""
    try:
        return call(*given, **named)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def write(files: Any, path: str, data: bytes, mode: str = "w", perms: int = 0o644) -> None:
    """All of the data through one handle."""
    handle = files.open(path, mode, perms)
    while data:
        data = data[files.write(handle, data) :]
    files.close(handle)


def read(files: Any, path: str) -> bytes:
    """All that one handle yields, in small chunks."""
    handle = files.open(path, "r")
    data = b""
    while chunk := files.read(handle, 7):
        data += chunk
    files.close(handle)
    return data
