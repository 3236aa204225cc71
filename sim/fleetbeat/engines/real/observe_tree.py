"""Which directories are watched, and where they are now: a watch sticks to a directory, its path changes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from fleetbeat.engines.real.inotify import Kernel
from fleetbeat.engines.real.observe_eyes import Eyes


class Tree:
    """Paths are fleet-wide; the fleet's root is ""."""

    def __init__(self, kernel: Kernel, eyes: Eyes) -> None:
        self._kernel = kernel
        self._eyes = eyes
        self._paths: dict[int, str] = {}
        self._watches: dict[str, int] = {}

    def path_of(self, watch: int) -> str | None:
        return self._paths.get(watch)

    def watches(self, path: str) -> bool:
        return path in self._watches

    def below(self, path: str) -> list[str]:
        """The watched directories at and below a path, from the top."""
        return sorted(one for one in self._watches if one == path or one.startswith(path + "/"))

    def add(self, path: str, mask: int) -> bool:
        """Watches a directory; False if none stands there (or a link does). Raises `OSError` if it cannot be watched."""
        try:
            with self._eyes.directory(path) as descriptor:
                watch = self._kernel.add(f"/proc/self/fd/{descriptor}", mask)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return False
            raise
        self._place(watch, path)
        return True

    def _place(self, watch: int, path: str) -> None:
        was = self._paths.get(watch)
        if was is not None and self._watches.get(was) == watch:
            del self._watches[was]
        other = self._watches.get(path)
        if other is not None and other != watch:
            self._paths.pop(other, None)
            self._kernel.remove(other)
        self._paths[watch] = path
        self._watches[path] = watch

    def drop(self, path: str) -> None:
        """A directory is out of sight, and those below it."""
        for one in self.below(path):
            watch = self._watches.pop(one)
            self._paths.pop(watch, None)
            self._kernel.remove(watch)

    def gone(self, watch: int) -> None:
        """The kernel let go of a watch."""
        path = self._paths.pop(watch, None)
        if path is not None and self._watches.get(path) == watch:
            del self._watches[path]

    def entries(self, path: str) -> Iterator[tuple[str, bool]]:
        """Paths of what is in a directory, and whether each is a directory."""
        for name, is_directory in self._eyes.list(path):
            yield f"{path}/{name}", is_directory


def parents(path: str) -> list[str]:
    """The directories above a fleet-wide path, from the root on, without the root itself: /a/b/c has /a and /a/b."""
    found = []
    above = os.path.dirname(path)
    while above not in ("/", ""):
        found.append(above)
        above = os.path.dirname(above)
    return found[::-1]
