"""The file system in memory as one process sees it: its handles and its user. Implements the port `Files`.

Who may do what to an entry stands in `rules`, how a path is walked in `walk`.
"""

from __future__ import annotations

import builtins
import errno
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from fleetbeat.files.inodes import Directory, File, Inode, Symlink, allowed, place, release
from fleetbeat.files.paths import failure
from fleetbeat.files.port import FileStat
from fleetbeat.files.rules import add_fails, move_fails, rename_fails, take_fails
from fleetbeat.files.unsynced import settle
from fleetbeat.files.walk import locate

if TYPE_CHECKING:
    from fleetbeat.files.memory import MemoryFiles

#: Longest file, in bytes: far above any rule body, far below what would hurt the machine.
SIZE_MAX = 1 << 30


class Mode(NamedTuple):
    reads: bool
    writes: bool
    creates: bool = False
    cuts: bool = False
    wanted: int = 4


MODES = {
    "r": Mode(True, False),
    "d": Mode(True, False),
    "r+": Mode(True, True, wanted=6),
    "a": Mode(False, True, creates=True, wanted=2),
    "w": Mode(False, True, creates=True, cuts=True, wanted=2),
    "x": Mode(False, True, creates=True, wanted=2),
}


class Handle:
    """An open file or directory: pinned to the inode, whatever becomes of the name."""

    __slots__ = ("appends", "mode", "node", "number", "offset", "path", "process", "reads", "writes")

    def __init__(self, number: int, process: int, node: Inode, path: str, mode: str) -> None:
        flags = MODES[mode]
        self.number = number
        self.process = process
        self.node = node
        self.path = path
        self.mode = mode
        self.offset = 0
        self.reads = flags.reads
        self.writes = flags.writes
        self.appends = mode == "a"


class MemoryProcess:
    """One process. Its handles are `number << 32` plus a count, so they are unique in the world, never used again,
    and do not depend on what other processes did in between.
    """

    __slots__ = ("_handles", "_opened", "_world", "number", "uid", "umask")

    def __init__(self, world: MemoryFiles, number: int, uid: int, umask: int) -> None:
        self._world = world
        self._handles: dict[int, Handle] = {}
        self._opened = 0
        self.number = number
        self.uid = uid
        self.umask = umask

    def under(self, world: MemoryFiles, inode: Callable[[Inode], Inode]) -> MemoryProcess:
        """The same process in a copy of its world; `inode` gives the copies of inodes."""
        new = MemoryProcess(world, self.number, self.uid, self.umask)
        new._opened = self._opened
        for number, old in self._handles.items():
            handle = Handle(number, self.number, inode(old.node), old.path, old.mode)
            handle.offset = old.offset
            new._handles[number] = world.handles[number] = handle
        return new

    # --- looking -----------------------------------------------------------------------------------------------------

    def stat(self, path: str, *, follow: bool = False) -> FileStat:
        node = locate(self._world.root, self.uid, path, follow)[2]
        if node is None:
            raise failure(errno.ENOENT, path)
        if type(node) is File:
            size = len(node.data)
        else:
            size = len(node.target.encode("utf-8", "surrogateescape")) if isinstance(node, Symlink) else 0
        return FileStat(node.kind, size, node.mode, node.uid, node.number)

    def list(self, path: str) -> tuple[str, ...]:
        node = locate(self._world.root, self.uid, path, True)[2]
        if node is None:
            raise failure(errno.ENOENT, path)
        if not isinstance(node, Directory):
            raise failure(errno.ENOTDIR, path)
        if not allowed(node, self.uid, 4):
            raise failure(errno.EACCES, path)
        return tuple(sorted(node.entries))

    # --- handles -----------------------------------------------------------------------------------------------------

    def open(self, path: str, mode: str = "r", perms: int = 0o644) -> int:
        flags = MODES.get(mode)
        if flags is None:
            raise failure(errno.EINVAL, path)
        directory, name, node = locate(self._world.root, self.uid, path, mode != "x", flags.creates)
        if node is None:
            if not flags.creates:
                raise failure(errno.ENOENT, path)
            code = add_fails(directory, self.uid)
            if code:
                raise failure(code, path)
            node = File(self._world.next_inode(), perms & 0o7777 & ~self.umask, self.uid, directory.volume)
            self._enter(node, directory, name)
        else:
            self._may_open(node, mode, flags, path)
            if flags.cuts and isinstance(node, File) and node.data:
                self._store(node, b"")
        self._opened += 1
        number = self.number << 32 | self._opened
        handle = Handle(number, self.number, node, path, mode)
        node.handles += 1
        self._handles[number] = self._world.handles[number] = handle
        return number

    def read(self, handle: int, size: int) -> bytes:
        one = self._handle(handle)
        if not one.reads:
            raise failure(errno.EBADF, one.path)
        node = one.node
        if not isinstance(node, File):
            raise failure(errno.EISDIR, one.path)
        if size < 0:
            raise failure(errno.EINVAL, one.path)
        data = node.data[one.offset : one.offset + size]
        one.offset += len(data)
        return data

    def write(self, handle: int, data: bytes) -> int:
        one = self._handle(handle)
        node = one.node
        if not one.writes or not isinstance(node, File):
            raise failure(errno.EBADF, one.path)
        if node.volume.readonly:
            raise failure(errno.EROFS, one.path)
        if not data:
            return 0
        content = node.data
        offset = len(content) if one.appends else one.offset
        if offset + len(data) > SIZE_MAX:
            raise failure(errno.EFBIG, one.path)
        disk = node.volume.disk
        if disk.limit is not None:
            needed = offset + len(data) - max(offset, len(content))
            room = max(0, disk.limit - disk.used)
            if needed > room:
                data = data[: len(data) - needed + room]
                if not data:
                    raise failure(errno.ENOSPC, one.path)
        end = offset + len(data)
        if offset > len(content):
            content += bytes(offset - len(content))
        self._store(node, content[:offset] + data + content[end:])
        one.offset = end
        return len(data)

    def truncate(self, handle: int, size: int) -> None:
        one = self._handle(handle)
        node = one.node
        if size < 0 or not one.writes or not isinstance(node, File):
            raise failure(errno.EINVAL, one.path)
        if size > SIZE_MAX:
            raise failure(errno.EFBIG, one.path)
        if node.volume.readonly:
            raise failure(errno.EROFS, one.path)
        if size != len(node.data):
            self._store(node, node.data[:size].ljust(size, b"\0"))

    def sync(self, handle: int) -> None:
        settle(self._handle(handle).node)

    def close(self, handle: int) -> None:
        node = self._handle(handle).node
        del self._handles[handle], self._world.handles[handle]
        node.handles -= 1
        if not node.linked:
            release(node)

    def open_handles(self) -> tuple[int, ...]:
        """Its open handles, in the order of opening."""
        return tuple(self._handles)

    def exit(self) -> builtins.list[str]:
        """The process ends: its handles are closed. Returns the paths of those open for writing, in the order of
        opening.
        """
        written = [one.path for one in self._handles.values() if one.writes]
        for handle in tuple(self._handles):
            self.close(handle)
        return written

    # --- names -------------------------------------------------------------------------------------------------------

    def mkdir(self, path: str, perms: int = 0o755) -> None:
        directory, name, node = locate(self._world.root, self.uid, path, False)
        if node is not None:
            raise failure(errno.EEXIST, path)
        code = add_fails(directory, self.uid)
        if code:
            raise failure(code, path)
        node = Directory(self._world.next_inode(), perms & 0o1777 & ~self.umask, self.uid, directory.volume)
        self._enter(node, directory, name)

    def unlink(self, path: str) -> None:
        directory, name, node = locate(self._world.root, self.uid, path, False)
        if not name:
            raise failure(errno.EISDIR, path)
        if directory.volume.readonly:
            raise failure(errno.EROFS, path)
        if node is None:
            raise failure(errno.ENOENT, path)
        code = take_fails(node, directory, self.uid)
        if code:
            raise failure(code, path)
        if isinstance(node, Directory):
            raise failure(errno.EISDIR, path)
        if node.pinned:
            raise failure(errno.EBUSY, path)
        del directory.entries[name]
        release(node)
        if self._world.journal.on:
            self._world.journal.entry("removed", node, directory, name, node)

    def rename(self, source: str, target: str) -> None:
        root = self._world.root
        try:
            here, old, node = locate(root, self.uid, source, False)
            there, new, other = locate(root, self.uid, target, False)
        except OSError as error:
            raise failure(error.errno or 0, source, target) from None
        code = move_fails(here, node, there, other)
        if not code and node is other:
            return
        if code or node is None:
            raise failure(code, source, target)
        code = rename_fails(here, node, there, other, self.uid)
        if code:
            raise failure(code, source, target)
        del here.entries[old]
        if other is not None:
            release(other)
        place(node, there, new)
        if here.volume is not there.volume:
            self._world.move_volume(node, here.volume, there.volume)
        if self._world.journal.on:
            self._world.journal.rename(node, here, old, there, new, other)

    # --- what several calls need -------------------------------------------------------------------------------------

    def _handle(self, handle: int) -> Handle:
        try:
            return self._handles[handle]
        except KeyError:
            raise failure(errno.EBADF, None) from None

    def _may_open(self, node: Inode, mode: str, flags: Mode, path: str) -> None:
        if mode == "x":
            raise failure(errno.EEXIST, path)
        if isinstance(node, Directory):
            if flags.writes:
                raise failure(errno.EISDIR, path)
        elif mode == "d":
            raise failure(errno.ENOTDIR, path)
        elif flags.writes and node.volume.readonly:
            raise failure(errno.EROFS, path)
        if not allowed(node, self.uid, flags.wanted):
            raise failure(errno.EACCES, path)

    def _enter(self, node: Inode, directory: Directory, name: str) -> None:
        place(node, directory, name)
        if self._world.journal.on:
            self._world.journal.entry("created", node, directory, name, None)

    def _store(self, file: File, data: bytes) -> None:
        before = file.data
        file.volume.disk.used += len(data) - len(before)
        file.data = data
        if self._world.journal.on:
            self._world.journal.data(file, before)
