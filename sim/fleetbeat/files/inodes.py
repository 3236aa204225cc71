"""What stands in the model's tree: files, directories and symlinks, and the volumes and disks that they lie on.

There are no hard links, so every inode keeps its one place (`parent`, `name`); `linked` says whether it still stands
there. The contents of a file are immutable bytes: copies of a world share them and durable versions cost nothing
(rejected: a bytearray, cheaper to append to, but every copy and every comparison of worlds would pay for it).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from fleetbeat.files.unsynced import Effect


@dataclass(slots=True, eq=False)
class Disk:
    """What one host's files may take up: `limit` in bytes (None: no bound), `used` by files with a name or a handle."""

    host: str
    limit: int | None = None
    used: int = 0


@dataclass(slots=True, eq=False)
class Volume:
    """A subtree that shares a disk and may be read-only. `root` is the number of the inode at its top."""

    root: int
    disk: Disk
    readonly: bool = False


class Inode:
    """What files, directories and symlinks share. `handles` counts open handles in the whole world."""

    __slots__ = ("handles", "linked", "mode", "name", "number", "parent", "pinned", "uid", "volume")
    kind: ClassVar[str]

    def __init__(self, number: int, mode: int, uid: int, volume: Volume) -> None:
        self.number = number
        self.mode = mode
        self.uid = uid
        self.volume = volume
        self.parent: Directory | None = None
        self.name = ""
        self.linked = False
        self.pinned = False
        self.handles = 0

    def path(self) -> str:
        """Its place, or the last one that it had."""
        names: list[str] = []
        node: Inode = self
        while node.parent is not None:
            names.append(node.name)
            node = node.parent
        return "/" + "/".join(reversed(names))

    def reachable(self) -> bool:
        node: Inode = self
        while node.parent is not None:
            if not node.linked:
                return False
            node = node.parent
        return True


class File(Inode):
    """`data` is what readers see. While something is unsynced, `base` is what is durable and `low` the shortest length
    since then; `since` is the sequence number of the first unsynced change."""

    __slots__ = ("base", "data", "low", "since")
    kind = "file"

    def __init__(self, number: int, mode: int, uid: int, volume: Volume, data: bytes = b"") -> None:
        super().__init__(number, mode, uid, volume)
        self.data = data
        self.base: bytes | None = None
        self.low = 0
        self.since = 0


class Directory(Inode):
    """`entries` is what stands. While something is unsynced, `base` holds what is durable at the names that changed
    (None: no such entry) and `pending` the changes in order."""

    __slots__ = ("base", "entries", "pending")
    kind = "directory"

    def __init__(self, number: int, mode: int, uid: int, volume: Volume) -> None:
        super().__init__(number, mode, uid, volume)
        self.entries: dict[str, Inode] = {}
        self.base: dict[str, Inode | None] | None = None
        self.pending: list[Effect] = []


class Symlink(Inode):
    __slots__ = ("target",)
    kind = "symlink"

    def __init__(self, number: int, mode: int, uid: int, volume: Volume, target: str) -> None:
        super().__init__(number, mode, uid, volume)
        self.target = target


def allowed(node: Inode, uid: int, wanted: int) -> bool:
    """May this user do all of `wanted` (4 read, 2 write, 1 search)? Groups are not modelled; uid 0 may do all."""
    if uid == 0:
        return True
    bits = node.mode >> 6 if node.uid == uid else node.mode
    return bits & wanted == wanted


def place(node: Inode, directory: Directory, name: str) -> None:
    """Let the inode stand at this name, in place of what stood there."""
    directory.entries[name] = node
    node.parent = directory
    node.name = name
    node.linked = True


def release(node: Inode) -> None:
    """The inode lost its name. Without a handle its bytes are free again."""
    node.linked = False
    if node.handles == 0 and isinstance(node, File):
        node.volume.disk.used -= len(node.data)


def subtree(node: Inode) -> list[Inode]:
    """The inode and all below it, parents before children."""
    found = [node]
    for one in found:
        if isinstance(one, Directory):
            found.extend(one.entries.values())
    return found
