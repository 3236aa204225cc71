"""An independent copy of a world. Inodes, handles and notes are new objects; bytes are shared, since nobody changes
them.

Rejected: `copy.deepcopy` (some thirty times slower, and recursion as deep as the tree).
"""

from __future__ import annotations

from typing import TypeVar

from fleetbeat.files.inodes import Directory, Disk, File, Inode, Symlink, Volume
from fleetbeat.files.memory import MemoryFiles
from fleetbeat.files.unsynced import Effect

Node = TypeVar("Node", bound=Inode)


def duplicate(world: MemoryFiles) -> MemoryFiles:
    return _Copying(world).new


class _Copying:
    """One copy under way. Each old object has one new one; `todo` holds inodes whose insides are still to be copied."""

    def __init__(self, world: MemoryFiles) -> None:
        self.new = MemoryFiles(durability=world.journal.on)
        self.disks = {host: Disk(host, disk.limit, disk.used) for host, disk in world._disks.items()}
        self.volumes: dict[int, Volume] = {}
        self.inodes: dict[int, Inode] = {}
        self.effects: dict[int, Effect] = {}
        self.todo: list[Inode] = []
        new = self.new
        new.journal.count = world.journal.count
        new._inodes = world._inodes
        new._disks = self.disks
        new.root = self.inode(world.root)
        self.handles(world)
        while self.todo:
            self.fill(self.todo.pop())

    def inode(self, old: Node) -> Node:
        """Its copy, perhaps still empty."""
        new = self.inodes.get(old.number)
        if new is None:
            volume = self.volume(old.volume)
            if isinstance(old, File):
                new = File(old.number, old.mode, old.uid, volume, old.data)
                new.base, new.low, new.since = old.base, old.low, old.since
            elif isinstance(old, Symlink):
                new = Symlink(old.number, old.mode, old.uid, volume, old.target)
            else:
                new = Directory(old.number, old.mode, old.uid, volume)
            new.name, new.linked, new.pinned, new.handles = old.name, old.linked, old.pinned, old.handles
            self.inodes[old.number] = new
            self.todo.append(old)
        assert isinstance(new, type(old))
        return new

    def fill(self, old: Inode) -> None:
        new = self.inodes[old.number]
        if old.parent is not None:
            new.parent = self.inode(old.parent)
        if isinstance(old, Directory) and isinstance(new, Directory):
            new.entries = {name: self.inode(node) for name, node in old.entries.items()}
            if old.base is not None:
                new.base = {name: None if node is None else self.inode(node) for name, node in old.base.items()}
                new.pending = [self.effect(effect) for effect in old.pending]

    def volume(self, old: Volume) -> Volume:
        if old.root not in self.volumes:
            self.volumes[old.root] = Volume(old.root, self.disks[old.disk.host], old.readonly)
        return self.volumes[old.root]

    def effect(self, old: Effect) -> Effect:
        if old.since not in self.effects:
            source = None if old.source is None else self.inode(old.source)
            self.effects[old.since] = Effect(
                old.since,
                old.kind,
                self.inode(old.node),
                self.inode(old.directory),
                old.name,
                source,
                old.old,
                old.forced,
            )
        return self.effects[old.since]

    def handles(self, world: MemoryFiles) -> None:
        for process in world.processes.values():
            self.new.processes[process.number] = process.under(self.new, self.inode)
