"""The fleet's files as the harness's own hands touch them: as the user that a scenario names, and following no link.

An agent may write what it likes into its home, a link to somewhere else among it. A writer here opens nothing through a
link, nor below one: it gets ELOOP, as the kernel says it. What it wrote is kept in mind, so that nobody has to open a
signal to know whether the whole body stands there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.files.paths import components, failure
from fleetbeat.files.real import FLAGS, Opened, RealFiles

#: For setfsuid, which Python lacks: unlike seteuid it concerns the calling thread alone, and files alone.
_LIBC = ctypes.CDLL(None)
PASSING = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Users:
    """Users of the scenario on this machine: root acts as each of them; anybody else is the one user that there is."""

    def __init__(self, uids: Sequence[int]) -> None:
        """Raises `CannotDo` for several users where only one can be played."""
        wanted = sorted(dict.fromkeys(uids))
        self.is_root = os.geteuid() == 0
        self._wanted = wanted
        self._own = os.getuid()
        if not self.is_root and len(wanted) > 1:
            raise CannotDo(
                f"users {', '.join(map(str, wanted))}: got user {self._own}, expected root: only root can act as several "
                "users (or give all agents and rollouts the same uid)"
            )

    def check_way(self, path: Path) -> None:
        """Whether all these users can pass through the directories that lead to a place. Raises `CannotDo`."""
        for uid in self._wanted if self.is_root else ():
            for directory in (path, *path.parents):
                found = directory.stat()
                shift = 6 if found.st_uid == uid else 3 if found.st_gid == uid else 0
                if uid != 0 and not found.st_mode >> shift & 1:
                    raise CannotDo(
                        f"fleet root {path}: got {directory} (mode {found.st_mode & 0o777:o}), expected that user {uid}, "
                        "who plays agents or operators, can pass through it"
                    )

    def real(self, uid: int) -> int:
        """The user on this machine that plays a user of the scenario."""
        return uid if self.is_root else self._own

    @contextmanager
    def acting(self, uid: int) -> Iterator[None]:
        """Acts on files as this user, with its group of the same number. Only this thread does."""
        if not self.is_root or uid == 0:
            yield
            return
        _LIBC.setfsgid(uid)
        _LIBC.setfsuid(uid)
        try:
            yield
        finally:
            _LIBC.setfsuid(0)
            _LIBC.setfsgid(0)

    def give(self, descriptor: int, uid: int) -> None:
        """Makes this user the owner of what is open."""
        if self.is_root:
            os.fchown(descriptor, uid, uid)


class HarnessFiles(RealFiles):
    """The real files without links, and what was written through it. For one writer or many; one thread."""

    def __init__(self, root: Path) -> None:
        super().__init__(str(root))
        self._inodes: dict[int, int] = {}
        self._places: dict[int, int] = {}
        self._contents: dict[int, bytearray] = {}
        self._ways: list[int] = []

    def __del__(self) -> None:
        self.done()

    def path_of(self, handle: int) -> str | None:
        """The fleet-wide path under which a handle was opened; None once it is closed."""
        opened = self._opened.get(handle)
        return None if opened is None else opened.path

    def written(self, handle: int) -> bytes | None:
        """What was written to the file that this handle is open on, by all handles; None if that is not known."""
        content = self._contents.get(self._inodes.get(handle, -1))
        return None if content is None else bytes(content)

    def content_at(self, path: str) -> bytes | None:
        """What was written to the file that stands at a path, None if that is not known."""
        try:
            content = self._contents.get(os.lstat(self._real(path)).st_ino)
        except OSError:
            return None
        return None if content is None else bytes(content)

    def open(self, path: str, mode: str = "r", perms: int = 0o644) -> int:
        flags = FLAGS.get(mode)
        if flags is None:
            raise failure(errno.EINVAL, path)
        real = self._real(path)
        try:
            descriptor = os.open(real, flags | os.O_NOFOLLOW, perms)
        except OSError as error:
            raise failure(error.errno or errno.EIO, path) from error
        handle = next(self._numbers)
        self._opened[handle] = Opened(descriptor, path)
        if mode in ("w", "x"):
            inode = os.fstat(self._opened[handle].descriptor).st_ino
            self._inodes[handle], self._places[handle] = inode, 0
            self._contents[inode] = bytearray()
        return handle

    def write(self, handle: int, data: bytes) -> int:
        count = super().write(handle, data)
        content = self._contents.get(self._inodes.get(handle, -1))
        if content is not None:
            at = self._places[handle]
            content.extend(bytes(max(0, at - len(content))))
            content[at : at + count] = data[:count]
            self._places[handle] = at + count
        return count

    def close(self, handle: int) -> None:
        self._inodes.pop(handle, None)
        self._places.pop(handle, None)
        super().close(handle)

    def forget(self, path: str) -> None:
        """What stands at a path will not be written to any more."""
        try:
            self._contents.pop(os.lstat(self._real(path)).st_ino, None)
        except OSError:
            return

    def _real(self, path: str) -> str:
        """The place on the machine, by way of its directory, which is kept open: what is put there instead meanwhile leads
        nowhere. Good until two more are asked for. Raises ELOOP for a link on the way to it."""
        above, last = components(path)
        if not last:
            return self._root
        at = os.open(self._root, PASSING)
        for name in above:
            try:
                below = os.open(name, PASSING, dir_fd=at)
            except OSError as error:
                is_link = error.errno == errno.ENOTDIR and _is_link(name, at)
                raise failure(errno.ELOOP if is_link else error.errno or errno.EIO, path) from error
            finally:
                os.close(at)
            at = below
        self._ways.append(at)
        if len(self._ways) > 2:
            os.close(self._ways.pop(0))
        return f"/proc/self/fd/{at}/{last}"

    def done(self) -> None:
        """Closes the directories that are kept open."""
        while self._ways:
            os.close(self._ways.pop())


def make_directories(root: Path, path: str, uid: int, users: Users) -> None:
    """Makes a directory of the fleet and those above it, for `uid`, passing through no link.

    Raises `CannotDo` for a link on the way.
    """
    at = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for name in path.strip("/").split("/"):
            made = False
            try:
                os.mkdir(name, 0o755, dir_fd=at)
                made = True
            except FileExistsError:
                pass
            try:
                below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            except OSError as error:
                raise CannotDo(f"{path}: got {error.strerror} at {name!r}, expected a directory") from error
            os.close(at)
            at = below
            if made:
                os.fchmod(at, 0o755)
                users.give(at, uid)
    finally:
        os.close(at)


def put(root: Path, path: str, data: bytes, uid: int, users: Users) -> None:
    """Makes a file of the fleet that is not there yet, for `uid`. Its directory is ours or was just made."""
    *above, last = path.strip("/").split("/")
    at = os.open(root, PASSING)
    try:
        for name in above:
            below = os.open(name, PASSING, dir_fd=at)
            os.close(at)
            at = below
        descriptor = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=at)
    finally:
        os.close(at)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        os.fchmod(file.fileno(), 0o644)
        users.give(file.fileno(), uid)


def remove(place: Path) -> None:
    """Takes away whatever stands at a name of ours in a directory that others write to; nothing is no error."""
    try:
        place.unlink()
    except FileNotFoundError:
        return
    except OSError:
        shutil.rmtree(place)


def _is_link(name: str, at: int) -> bool:
    try:
        return stat.S_ISLNK(os.lstat(name, dir_fd=at).st_mode)
    except OSError:
        return False


def is_regular(place: Path) -> bool:
    """Whether a regular file stands there, and no link to one."""
    try:
        return stat.S_ISREG(place.lstat().st_mode)
    except OSError:
        return False
