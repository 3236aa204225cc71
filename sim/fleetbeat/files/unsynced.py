"""What a power failure could undo: changes that no sync has made durable yet.

Each directory keeps its changes in order together with what is durable at the names concerned; each file keeps its
durable bytes. Nothing is kept for the world as a whole, so a failure of one host costs what lies on that host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fleetbeat.files.inodes import Directory, File, Inode

Kind = Literal["created", "removed", "renamed", "length", "data"]


@dataclass(frozen=True, slots=True)
class Unsynced:
    """One change that was not synced, as offered at a power failure. `nth` counts earlier ones with this kind and path.

    `created`, `removed` and `renamed` are entries of directories (`path`: the entry; for a rename the new one);
    `length` is a cut of a file, `data` all that was written to it since its last sync.
    """

    kind: Kind
    path: str
    nth: int = 0


@dataclass(slots=True, eq=False)
class Effect:
    """One unsynced change of entries. `source` and `old` are set for a rename. `forced`: made by administration,
    durable, and here only to be replayed in its turn.
    """

    since: int
    kind: Kind
    node: Inode
    directory: Directory
    name: str
    source: Directory | None = None
    old: str = ""
    forced: bool = False


class Journal:
    """Notes changes as they happen. Where `on` is false everything is durable at once, and nothing is noted."""

    __slots__ = ("count", "on")

    def __init__(self, on: bool) -> None:
        self.on = on
        self.count = 0

    def entry(self, kind: Kind, node: Inode, directory: Directory, name: str, before: Inode | None) -> None:
        """An entry was created or removed; `before` is what stood at the name."""
        self.count += 1
        if directory.base is None:
            directory.base = {}
        directory.base.setdefault(name, before)
        directory.pending.append(Effect(self.count, kind, node, directory, name))

    def rename(
        self, node: Inode, source: Directory, old: str, directory: Directory, name: str, before: Inode | None
    ) -> None:
        """An entry moved; `before` is what stood at the new name."""
        self.count += 1
        if source.base is None:
            source.base = {}
        source.base.setdefault(old, node)
        if directory.base is None:
            directory.base = {}
        directory.base.setdefault(name, before)
        effect = Effect(self.count, "renamed", node, directory, name, source, old)
        directory.pending.append(effect)
        if source is not directory:
            source.pending.append(effect)

    def forced(self, node: Inode, directory: Directory, name: str) -> None:
        """Administration put an entry where unsynced changes may come before it."""
        if directory.base is not None and name in directory.base:
            self.count += 1
            directory.pending.append(Effect(self.count, "created", node, directory, name, forced=True))

    def data(self, file: File, before: bytes) -> None:
        """A file's bytes changed from `before` to what they are now."""
        if file.base is None:
            self.count += 1
            file.base = before
            file.low = len(before)
            file.since = self.count
        if len(file.data) < file.low:
            file.low = len(file.data)


def tied(directory: Directory) -> list[Directory]:
    """The directory and those that unsynced renames tie it to: they become durable, or not, together."""
    found = [directory]
    numbers = {directory.number}
    for one in found:
        for effect in one.pending:
            for other in (effect.source, effect.directory):
                if other is not None and other.number not in numbers:
                    numbers.add(other.number)
                    found.append(other)
    return found


def settle(node: Inode) -> None:
    """What a sync of this inode makes durable: a file's bytes, or the entries of a directory."""
    if isinstance(node, File):
        node.base = None
    elif isinstance(node, Directory) and node.base is not None:
        for one in tied(node):
            one.base = None
            one.pending = []
