"""Which entries a user may take, put and move, as errnos (0: allowed).

The order in which the possible errors are looked for is Linux's (`fs/namei.c`: `do_renameat2`, `vfs_rename`,
`may_delete`), since a call that can fail in two ways must fail alike on both sides of the port.
"""

from __future__ import annotations

import errno

from fleetbeat.files.inodes import Directory, Inode, allowed


def add_fails(directory: Directory, uid: int) -> int:
    """May a new entry be made here?"""
    if directory.volume.readonly:
        return errno.EROFS
    return 0 if allowed(directory, uid, 3) else errno.EACCES


def take_fails(node: Inode, directory: Directory, uid: int) -> int:
    """May this entry be removed or replaced? In a sticky directory only by the owner of either."""
    if not allowed(directory, uid, 3):
        return errno.EACCES
    if directory.mode & 0o1000 and uid not in (0, node.uid, directory.uid):
        return errno.EPERM
    return 0


def move_fails(here: Directory, node: Inode | None, there: Directory, other: Inode | None) -> int:
    """May `node` move from `here` to `there`, whoever asks? `other` is what stands at the new name."""
    if here.volume.disk is not there.volume.disk:
        return errno.EXDEV
    if node is here or other is there:  # only the root stands in itself
        return errno.EBUSY
    if here.volume.readonly or there.volume.readonly:
        return errno.EROFS
    if node is None:
        return errno.ENOENT
    if isinstance(node, Directory) and _within(there, node):
        return errno.EINVAL
    if isinstance(other, Directory) and _within(here, other):
        return errno.ENOTEMPTY
    return 0


def rename_fails(here: Directory, node: Inode, there: Directory, other: Inode | None, uid: int) -> int:
    """May this user make that move?"""
    is_directory = isinstance(node, Directory)
    code = take_fails(node, here, uid)
    if not code:
        code = take_fails(other, there, uid) if other is not None else add_fails(there, uid)
    if code:
        return code
    if other is not None and is_directory != isinstance(other, Directory):
        return errno.ENOTDIR if is_directory else errno.EISDIR
    if is_directory and here is not there and not allowed(node, uid, 2):
        return errno.EACCES
    if node.pinned or (other is not None and other.pinned):
        return errno.EBUSY
    if isinstance(other, Directory) and other.entries:
        return errno.ENOTEMPTY
    return 0


def _within(node: Directory, top: Directory) -> bool:
    """Does the directory lie in the subtree of `top`, or is it `top`?"""
    here: Directory | None = node
    while here is not None:
        if here is top:
            return True
        here = here.parent
    return False
