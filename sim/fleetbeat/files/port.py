"""The port to a file system: what one process can ask of it. Two sides implement it: `memory` and `real`.

Paths are absolute and fleet-wide (`/a-3/.rules`); the real side maps them under a root directory. Every method raises
`OSError` with `errno` and `filename` set, as the system call would. Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileStat:
    """What `Stat` answers. `kind` is "file", "directory", "symlink" or "other"; `size` in bytes."""

    kind: str
    size: int
    mode: int
    uid: int
    inode: int

    @property
    def is_regular(self) -> bool:
        return self.kind == "file"


class Files(Protocol):
    """The file system as one process sees it (its handles, its user)."""

    def stat(self, path: str, *, follow: bool = False) -> FileStat: ...

    def open(self, path: str, mode: str = "r", perms: int = 0o644) -> int: ...

    def read(self, handle: int, size: int) -> bytes: ...

    def write(self, handle: int, data: bytes) -> int: ...

    def truncate(self, handle: int, size: int) -> None: ...

    def close(self, handle: int) -> None: ...

    def rename(self, source: str, target: str) -> None: ...

    def unlink(self, path: str) -> None: ...

    def mkdir(self, path: str, perms: int = 0o755) -> None: ...

    def list(self, path: str) -> tuple[str, ...]: ...

    def sync(self, handle: int) -> None: ...
