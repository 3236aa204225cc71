"""A world as a hashable value, to compare worlds by what they will do.

Inodes are numbered by a walk over sorted names, so their real numbers do not count; nor does the order in which entries
were made, unless it could still show after a power failure.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from fleetbeat.files.inodes import Directory, File, Inode, Symlink, Volume
from fleetbeat.files.unsynced import Effect

if TYPE_CHECKING:
    from fleetbeat.files.memory import MemoryFiles


def canonical(world: MemoryFiles, durable: bool) -> Hashable:
    numbering = _Numbering(durable)
    numbering.number(world.root)
    handles = tuple(
        (number, numbering.number(handle.node), handle.offset, handle.path, handle.mode)
        for number, handle in sorted(world.handles.items())
    )
    nodes = []
    for node in numbering.found:  # grows while it is described
        nodes.append(numbering.describe(node))
    disks = tuple((host, disk.limit, disk.used) for host, disk in sorted(world._disks.items()))
    users = tuple((process.number, process.uid, process.umask) for process in world.processes.values())
    return tuple(nodes), handles, disks, users, numbering.order()


class _Numbering:
    def __init__(self, durable: bool) -> None:
        self.durable = durable
        self.found: list[Inode] = []
        self.ranks: dict[int, int] = {}

    def number(self, node: Inode | None) -> int:
        if node is None:
            return -1
        rank = self.ranks.get(node.number)
        if rank is None:
            rank = self.ranks[node.number] = len(self.found)
            self.found.append(node)
        return rank

    def describe(self, node: Inode) -> Hashable:
        inside: Hashable = ()
        if isinstance(node, File):
            inside = (node.data, self._unsynced_data(node))
        elif isinstance(node, Directory):
            entries = tuple((name, self.number(node.entries[name])) for name in sorted(node.entries))
            inside = (entries, self._unsynced_entries(node))
        elif isinstance(node, Symlink):
            inside = node.target
        return (
            node.kind,
            node.mode,
            node.uid,
            node.pinned,
            node.linked,
            self._volume(node.volume, node),
            inside,
        )

    def order(self) -> Hashable:
        """In which order files became unsynced; it only shows where one of them lost its name (see `Unsynced.nth`)."""
        dirty = [node for node in self.found if isinstance(node, File) and node.base is not None]
        if not self.durable or all(node.linked for node in dirty):
            return None
        return tuple(self.number(node) for node in sorted(dirty, key=lambda node: node.since))

    def _volume(self, volume: Volume, node: Inode) -> Hashable:
        return (volume.disk.host, volume.readonly, volume.root == node.number)

    def _unsynced_data(self, file: File) -> Hashable:
        if not self.durable or file.base is None:
            return None
        low = min(file.low, len(file.base))
        return None if file.base == file.data and low == len(file.base) else (file.base, low)

    def _unsynced_entries(self, directory: Directory) -> Hashable:
        if not self.durable or directory.base is None:
            return None
        base = tuple((name, self.number(directory.base[name])) for name in sorted(directory.base))
        return base, tuple(self._effect(effect) for effect in directory.pending)

    def _effect(self, effect: Effect) -> Hashable:
        places = (self.number(effect.directory), effect.name, self.number(effect.source), effect.old)
        return (effect.kind, self.number(effect.node), places, effect.forced)
