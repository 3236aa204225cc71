"""A POSIX file system in memory: one world, seen by many processes.

What is modelled, as Linux has it: inodes behind names; handles that stay with the inode when its name is removed or
replaced; truncation that other readers see at once; writes that are short when the disk fills up (ENOSPC once nothing
fits); replacing renames; symlinks, followed on the way and at the end where the call does; owner and other permission
bits, sticky directories, search permission on every directory of a path; uid 0 above all of that; read-only subtrees;
names that cannot be moved or removed, as bind mounts cannot. Each host has a disk: a byte budget that the files under
some directories share. A rename from one host's disk to another's is EXDEV.

What is durable. A change is durable once it was synced: the bytes of a file by a sync of a handle on it, an entry of
a directory (created, removed, renamed) by a sync of a handle on that directory. A sync of a file says nothing about
its entry. A rename within or between directories is one change: after a power failure it happened or it did not; two
directories that a rename ties together are synced together. What was not synced is kept or lost change by change, in
any combination, as on a disk without a journal: a file whose bytes are lost goes back to what was synced, or to
nothing if nothing ever was; if a cut of it is kept, only up to the shortest length it had since. Whatever stands
after the failure is durable. All that administration does is durable at once. Nothing is written back as time passes:
call `settle` for that.

What is not modelled: hard links, removal of directories, groups, ACLs and capabilities, times, sparse files (a hole is
charged like data; making one is never refused), space that names take, O_NOFOLLOW, torn pages (the bytes of several
writes are kept or lost as one), and the kernel's `fs.protected_regular` and `protected_symlinks`.

Rejected: paths mapped to bytes (no kept handles, no truncation seen by readers, which is where heartbeats lose
updates); a global journal (a power failure of one host would cost what the whole fleet has written).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Hashable, Sequence

from fleetbeat.files.inodes import Directory, Disk, File, Inode, Symlink, Volume, place, subtree
from fleetbeat.files.paths import components, failure
from fleetbeat.files.power import fail_power
from fleetbeat.files.process import Handle, MemoryProcess
from fleetbeat.files.unsynced import Journal, Unsynced, settle
from fleetbeat.files.walk import locate

__all__ = ["MemoryFiles", "MemoryProcess", "Unsynced"]


class MemoryFiles:
    """The world. `process` gives a process's view of it; all other methods are administration: they know no
    permissions.

    With `durability=False` everything is durable at once and nothing is noted: smaller and faster, where power cannot
    fail. Administration raises `OSError` where a path leads nowhere (ENOENT, ENOTDIR) or to the wrong kind (EEXIST,
    EISDIR).
    """

    __slots__ = ("_disks", "_inodes", "handles", "journal", "processes", "root")

    def __init__(self, *, durability: bool = True) -> None:
        self.journal = Journal(durability)
        self._inodes = 1
        self._disks = {"": Disk("")}
        self.root = Directory(1, 0o755, 0, Volume(1, self._disks[""]))
        self.root.linked = True
        self.handles: dict[int, Handle] = {}
        self.processes: dict[int, MemoryProcess] = {}

    def process(self, uid: int = 1000, *, umask: int = 0o022) -> MemoryProcess:
        """A new process. In a copy of this world it is found as `copy.processes[process.number]`."""
        number = len(self.processes) + 1
        self.processes[number] = MemoryProcess(self, number, uid, umask)
        return self.processes[number]

    # --- the tree ----------------------------------------------------------------------------------------------------

    def make_dirs(self, path: str, uid: int, mode: int = 0o755) -> None:
        """Makes the directory and those above it that are missing; leaves what stands as it is."""
        parents, last = components(path)
        here = self.root
        for name in (*parents, last) if last else ():
            node = here.entries.get(name)
            if node is None:
                node = Directory(self.next_inode(), mode, uid, here.volume)
                self._enter(node, here, name)
            elif not isinstance(node, Directory):
                raise failure(errno.ENOTDIR, path)
            here = node

    def put(self, path: str, data: bytes, uid: int, mode: int = 0o644) -> None:
        """A regular file with these bytes, made or changed in place. Counts against the disk and is never refused."""
        directory, name, node = self._locate(path)
        if node is None:
            node = File(self.next_inode(), mode, uid, directory.volume)
        if not isinstance(node, File):
            raise failure(errno.EISDIR if isinstance(node, Directory) else errno.EEXIST, path)
        self._enter(node, directory, name)
        node.volume.disk.used += len(data) - len(node.data)
        node.data, node.base = data, None
        node.uid, node.mode = uid, mode

    def symlink(self, path: str, target: str, uid: int = 0) -> None:
        """A symlink at a free name. An absolute target is fleet-wide."""
        directory, name, node = self._locate(path)
        if node is not None:
            raise failure(errno.EEXIST, path)
        if not target:
            raise failure(errno.ENOENT, path)
        self._enter(Symlink(self.next_inode(), 0o777, uid, directory.volume, target), directory, name)

    def chmod(self, path: str, mode: int) -> None:
        self._existing(path).mode = mode

    def chown(self, path: str, uid: int) -> None:
        self._existing(path).uid = uid

    def pin(self, path: str, on: bool = True) -> None:
        """A pinned name cannot be moved, removed or replaced (EBUSY); its content can change."""
        self._existing(path).pinned = on

    # --- looking -----------------------------------------------------------------------------------------------------

    def peek(self, path: str) -> bytes | None:
        """The bytes of the regular file at exactly this name (a link there is not followed); None if there is none."""
        node = self._find(path)
        return node.data if isinstance(node, File) else None

    def kind(self, path: str) -> str | None:
        """ "file", "directory", "symlink", or None where nothing stands."""
        node = self._find(path)
        return node.kind if node is not None else None

    def target(self, path: str) -> str | None:
        """Where the symlink at exactly this name leads; None if there is none."""
        node = self._find(path)
        return node.target if isinstance(node, Symlink) else None

    def inode(self, path: str) -> int | None:
        node = self._find(path)
        return node.number if node is not None else None

    def path_of(self, handle: int) -> str | None:
        """The path by which an open handle was opened; None if it is not open."""
        one = self.handles.get(handle)
        return one.path if one is not None else None

    def handle_inode(self, handle: int) -> int | None:
        one = self.handles.get(handle)
        return one.node.number if one is not None else None

    # --- disks -------------------------------------------------------------------------------------------------------

    def set_budget(self, prefix: str, host: str, size: int | None) -> None:
        """All that lies under this existing directory, now and later, is on the host's disk, which holds `size` bytes.

        The budget is the host's: the last call for a host says it for all of the host's directories. None: no bound.
        """
        disk = self._disks.setdefault(host, Disk(host))
        disk.limit = size
        top = self._existing(prefix)
        volume = self._volume(top)
        if volume.disk is not disk:
            held = {node.number: node for node in (*subtree(top), *(one.node for one in self.handles.values()))}
            size_here = sum(len(n.data) for n in held.values() if n.volume is volume and isinstance(n, File))
            volume.disk.used -= size_here
            disk.used += size_here
            volume.disk = disk

    def budget(self, host: str) -> int | None:
        return self._disks[host].limit

    def used(self, host: str) -> int:
        """Bytes of the host's files that have a name or an open handle."""
        return self._disks[host].used

    def fill(self, host: str, free_bytes: int = 0) -> None:
        """Sets the host's budget so that this much is free now."""
        self._disks[host].limit = self._disks[host].used + free_bytes

    def readonly(self, prefix: str, on: bool = True) -> None:
        """Every change under this existing directory fails with EROFS, also through handles that are open."""
        self._volume(self._existing(prefix)).readonly = on

    # --- durability --------------------------------------------------------------------------------------------------

    def power_loss(self, prefixes: Sequence[str], keep: Callable[[Unsynced], bool]) -> list[str]:
        """Offers every unsynced change under these paths to `keep`, in order, and undoes those that are not kept.

        A directory below that lies on another host's disk is left alone unless it is named itself. Open handles stay
        open: let the host's processes `exit` first. Returns the paths, sorted, at which something else stands now.
        """
        return fail_power([node for node in map(self._find, prefixes) if node is not None], keep)

    def settle(self, prefixes: Sequence[str] | None = None) -> None:
        """Makes durable all that lies under these paths on the same disk, as write-back in time does; None: all."""
        for top in [self.root] if prefixes is None else map(self._find, prefixes):
            for node in subtree(top) if top is not None else ():
                if prefixes is None or (top is not None and node.volume.disk is top.volume.disk):
                    settle(node)

    # --- worlds as values --------------------------------------------------------------------------------------------

    def copy(self) -> MemoryFiles:
        """An independent copy: same tree, handles, processes and durable state. Linear in what exists, shares all
        bytes.
        """
        from fleetbeat.files.duplicate import duplicate

        return duplicate(self)

    def state(self, *, durable: bool = True) -> Hashable:
        """A canonical value: worlds of equal state behave alike from now on (but for the numbers of inodes and of
        handles yet to be opened). `durable=False` leaves out what only a power failure would show.
        """
        from fleetbeat.files.canonical import canonical

        return canonical(self, durable)

    # --- what the other modules need ---------------------------------------------------------------------------------

    def next_inode(self) -> int:
        self._inodes += 1
        return self._inodes

    def move_volume(self, node: Inode, old: Volume, new: Volume) -> None:
        """The subtree moved on its disk: what lay on the volume `old` lies on `new`; volumes of its own inside stay."""
        for one in subtree(node):
            if one.volume is old:
                one.volume = new

    def _volume(self, top: Inode) -> Volume:
        """The volume whose top is this inode, made if need be."""
        old = top.volume
        if old.root != top.number:
            self.move_volume(top, old, Volume(top.number, old.disk, old.readonly))
        return top.volume

    def _enter(self, node: Inode, directory: Directory, name: str) -> None:
        place(node, directory, name)
        self.journal.forced(node, directory, name)

    def _locate(self, path: str) -> tuple[Directory, str, Inode | None]:
        return locate(self.root, 0, path, False)

    def _find(self, path: str) -> Inode | None:
        try:
            return self._locate(path)[2]
        except OSError:
            return None

    def _existing(self, path: str) -> Inode:
        node = self._locate(path)[2]
        if node is None:
            raise failure(errno.ENOENT, path)
        return node
