"""The kernel's events about directories. The one module that knows the library.

`inotify_simple` was kept for its size: one class over the system calls. Rejected: watchdog and asyncinotify, which bring
threads, or an event loop, and an order of their own.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NamedTuple

from fleetbeat.engines.real.errors import EngineError

MODIFY, CLOSE_WRITE = 0x2, 0x8
MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x40, 0x80, 0x100, 0x200
UNMOUNT, OVERFLOW, IGNORED = 0x2000, 0x4000, 0x8000
IS_DIRECTORY = 0x40000000
_ONLY_DIRECTORIES, _NOT_UNLINKED = 0x01000000, 0x04000000

#: What happens to names. A file that is unlinked but still written to is no longer at its name.
NAMES = MODIFY | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE | _ONLY_DIRECTORIES | _NOT_UNLINKED


class Event(NamedTuple):
    """`watch` is the number of the directory's watch, -1 for an overflow; `cookie` joins the halves of a rename."""

    watch: int
    mask: int
    cookie: int
    name: str


class Kernel:
    def __init__(self) -> None:
        """Raises `EngineError` where inotify is missing or used up."""
        try:
            from inotify_simple import INotify
        except ImportError as error:
            raise EngineError(f"observing directories: got no inotify ({error}), expected Linux") from error
        if not os.path.isdir("/proc/self/fd"):
            raise EngineError("observing directories: got no /proc, expected one: watches are set through it")
        try:
            self._notify = INotify(nonblocking=True)
        except OSError as error:
            raise EngineError(
                f"observing directories: got {error.strerror}, expected an inotify instance; "
                f"see {_limit('max_user_instances')}"
            ) from error

    @property
    def fd(self) -> int:
        return int(self._notify.fileno())

    def add(self, path: str, mask: int) -> int:
        """Watches a directory; returns the number that its events carry, the same for the same directory.

        Raises `OSError`; ENOSPC says that the number of watches of this user is used up.
        """
        try:
            return int(self._notify.add_watch(path, mask))
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise OSError(errno.ENOSPC, f"no inotify watch is left; see {_limit('max_user_watches')}") from error
            raise

    def remove(self, watch: int) -> None:
        try:
            self._notify.rm_watch(watch)
        except OSError:  # it went with its directory
            pass

    def read(self, wait_ms: int = 0) -> list[Event]:
        """The events that are queued, in order; waits at most `wait_ms` for the first."""
        return [Event(*found) for found in self._notify.read(timeout=wait_ms)]

    @property
    def is_closed(self) -> bool:
        return bool(self._notify.closed)

    def close(self) -> None:
        self._notify.close()


def _limit(name: str) -> str:
    path = Path("/proc/sys/fs/inotify") / name
    try:
        return f"{path} (now {path.read_text().strip()})"
    except OSError:
        return str(path)
