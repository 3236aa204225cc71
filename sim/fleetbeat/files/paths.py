"""Paths as the port takes them, and the errors that it raises.

A path is absolute and plain: no empty, `.` or `..` component and no slash at its end, so that it means the same under
any root directory. Anything else is refused with EINVAL (rejected: normalising, which would hide a program's mistake
and differ from the kernel around symlinks). Symlink targets may hold all of these; only the model in memory reads
them.
"""

from __future__ import annotations

import errno
import os
from functools import lru_cache

#: Source: Linux, NAME_MAX and PATH_MAX (the latter counts a closing zero byte).
NAME_MAX = 255
PATH_MAX = 4096


def failure(code: int, path: str | None, other: str | None = None) -> OSError:
    """The exception that a failed system call raises: `errno`, `filename` and, for a rename, `filename2`."""
    if other is not None:
        return OSError(code, os.strerror(code), path, None, other)
    return OSError(code, os.strerror(code), path)


@lru_cache(maxsize=1 << 16)
def components(path: str) -> tuple[tuple[str, ...], str]:
    """The directories on the way and the last name; `((), "")` for the root. Raises EINVAL, ENOENT or ENAMETOOLONG."""
    if not path:
        raise failure(errno.ENOENT, path)
    if path == "/":
        return (), ""
    if not path.startswith("/") or "\0" in path:
        raise failure(errno.EINVAL, path)
    if len(os.fsencode(path)) >= PATH_MAX:
        raise failure(errno.ENAMETOOLONG, path)
    parts = path[1:].split("/")
    if "" in parts or "." in parts or ".." in parts:
        raise failure(errno.EINVAL, path)
    return tuple(parts[:-1]), parts[-1]


def too_long(name: str) -> bool:
    """Is this one component longer than a directory can hold?"""
    return len(name) > NAME_MAX // 4 and len(os.fsencode(name)) > NAME_MAX
