"""From a path to an inode, as the kernel walks: search permission on every directory, symlinks on the way always
followed, the last one only when asked. Source: Linux `path_resolution(7)`; at most 40 links in one walk, then ELOOP.
"""

from __future__ import annotations

import errno

from fleetbeat.files.inodes import Directory, Inode, Symlink, allowed
from fleetbeat.files.paths import components, failure, too_long

LINKS_MAX = 40


Place = tuple[Directory, str, Inode | None]


def locate(root: Directory, uid: int, path: str, follow: bool, create: bool = False) -> Place:
    """The directory that holds the last name, that name, and what stands there (None: nothing).

    With `follow`, links at the last name are followed and the place is the one that they lead to. The root is
    `(root, "", root)`. `create`: for an open that may create (it only matters to links whose target ends in a slash).
    Raises ENOENT, ENOTDIR, EISDIR, EACCES, ELOOP, ENAMETOOLONG, EINVAL.
    """
    parents, last = components(path)
    if not last:
        return root, "", root
    here = root
    for name in parents:
        if here.mode & 0o111 != 0o111 and not allowed(here, uid, 1):
            raise failure(errno.EACCES, path)
        node = here.entries.get(name)
        if type(node) is not Directory:
            return _follow(root, uid, path, [*parents, last], follow, create)
        here = node
    if here.mode & 0o111 != 0o111 and not allowed(here, uid, 1):
        raise failure(errno.EACCES, path)
    found = here.entries.get(last)
    if found is None:
        if too_long(last):
            raise failure(errno.ENAMETOOLONG, path)
    elif follow and type(found) is Symlink:
        return _follow(root, uid, path, [*parents, last], follow, create)
    return here, last, found


def _follow(root: Directory, uid: int, path: str, names: list[str], follow: bool, create: bool) -> Place:
    """The same walk with links and everything that can go wrong. Names may end in a slash: a directory is demanded."""
    todo = names[::-1]
    here = root
    links = 0
    demanded = False
    while True:
        name = todo.pop()
        if not allowed(here, uid, 1):
            raise failure(errno.EACCES, path)
        if name.endswith("/"):
            name = name[:-1]
            demanded = demanded or not todo
            if create and not todo:
                raise failure(errno.EISDIR, path)
        node = _step(here, name)
        if isinstance(node, Symlink) and (todo or follow):
            links += 1
            if links > LINKS_MAX:
                raise failure(errno.ELOOP, path)
            if node.target.startswith("/"):
                here = root
            todo.extend(reversed(_names(node.target)))
            continue
        if node is None and too_long(name):
            raise failure(errno.ENAMETOOLONG, path)
        if not todo and not demanded:
            return here, name, node
        if node is None:
            raise failure(errno.ENOENT, path)
        if not isinstance(node, Directory):
            raise failure(errno.ENOTDIR, path)
        if not todo:
            return here, name, node
        here = node


def _step(here: Directory, name: str) -> Inode | None:
    if name == ".":
        return here
    if name == "..":
        return here.parent or here
    return here.entries.get(name)


def _names(target: str) -> list[str]:
    """The components of a link's target, the last one with its slash if there is one."""
    names = [name for name in target.split("/") if name]
    if not names:
        return ["."]
    if target.endswith("/"):
        names[-1] += "/"
    return names
