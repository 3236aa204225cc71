"""A power failure: unsynced changes are offered one by one, and what was not kept is undone.

First everything concerned goes back to what is durable; then the kept changes are carried out again in their order. A
kept rename moves its inode from wherever it stands by then. A kept removal clears the name whatever stands there. A
kept rename that would put a directory into itself, because others were lost, is lost as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from fleetbeat.files.inodes import Directory, File, Inode, Symlink, place, subtree
from fleetbeat.files.unsynced import Effect, Kind, Unsynced, tied


def fail_power(tops: list[Inode], keep: Callable[[Unsynced], bool]) -> list[str]:
    """Returns the paths, sorted, at which something else stands afterwards."""
    nodes = _concerned(tops)
    directories = [node for node in nodes if isinstance(node, Directory) and node.base is not None]
    files = [node for node in nodes if isinstance(node, File)]
    dirty = [file for file in files if file.base is not None]
    effects = {effect.since: effect for directory in directories for effect in directory.pending}
    kept = _offer(list(effects.values()), dirty, keep)

    touched = [(directory, name) for directory in directories for name in directory.base or ()]
    before = _visible(touched, dirty)
    _charge(files, -1)
    for directory in directories:
        _revert(directory)
    for since in sorted(effects):
        if effects[since].forced or (since, "entry") in kept:
            _replay(effects[since])
    for file in dirty:
        _restore(file, cut=(file.since, "length") in kept, data=(file.since, "data") in kept)
    for directory in directories:
        directory.base, directory.pending = None, []
    for node in nodes:
        if node.linked and not node.reachable():
            node.linked = False
    _inherit(touched)
    _charge(files, 1)
    after = _visible(touched, dirty)
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _concerned(tops: list[Inode]) -> list[Inode]:
    """All inodes under the tops on their own disks, and those that an undone change could bring back."""
    seen: dict[int, Inode] = {}
    for top in tops:
        todo: list[Inode] = [top]
        while todo:
            node = todo.pop()
            if node.number in seen or node.volume.disk is not top.volume.disk:
                continue
            seen[node.number] = node
            if isinstance(node, Directory):
                todo.extend(node.entries.values())
                if node.base is not None:
                    todo.extend(old for old in node.base.values() if old is not None)
                    todo.extend(effect.node for effect in node.pending)
                    todo.extend(tied(node))
    return [seen[number] for number in sorted(seen)]


def _offer(
    effects: list[Effect], dirty: list[File], keep: Callable[[Unsynced], bool]
) -> set[tuple[int, Literal["entry", "length", "data"]]]:
    """Which changes are kept: (sequence number, what)."""
    offers: list[tuple[int, Literal["entry", "length", "data"], Kind, str]] = []
    for effect in effects:
        if not effect.forced:
            path = f"{effect.directory.path().rstrip('/')}/{effect.name}"
            offers.append((effect.since, "entry", effect.kind, path))
    for file in dirty:
        path = file.path()
        if file.low < len(file.base or b""):
            offers.append((file.since, "length", "length", path))
        offers.append((file.since, "data", "data", path))
    offers.sort(key=lambda offer: offer[0])
    kept = set()
    counts: dict[tuple[Kind, str], int] = {}
    for since, what, kind, path in offers:
        nth = counts.get((kind, path), 0)
        counts[kind, path] = nth + 1
        if keep(Unsynced(kind, path, nth)):
            kept.add((since, what))
    return kept


def _revert(directory: Directory) -> None:
    """What is durable stands again at the names that changed."""
    for name, old in (directory.base or {}).items():
        now = directory.entries.pop(name, None)
        if now is not None and now.parent is directory and now.name == name:
            now.linked = False
        if old is not None:
            place(old, directory, name)


def _replay(effect: Effect) -> None:
    directory, name, node = effect.directory, effect.name, effect.node
    if effect.kind == "removed":
        _clear(directory, name)
        return
    if isinstance(node, Directory) and _inside(directory, node):
        return
    if node.linked and node.parent is not None:
        _clear(node.parent, node.name)
    _clear(directory, name)
    place(node, directory, name)


def _clear(directory: Directory, name: str) -> None:
    node = directory.entries.pop(name, None)
    if node is not None:
        node.linked = False


def _inside(directory: Directory, top: Directory) -> bool:
    node: Directory | None = directory
    while node is not None:
        if node is top:
            return True
        node = node.parent
    return False


def _restore(file: File, cut: bool, data: bool) -> None:
    base = file.base or b""
    if not data:
        file.data = base[: file.low] if cut else base
    file.base = None


def _charge(files: Iterable[File], sign: int) -> None:
    for file in files:
        if file.linked or file.handles:
            file.volume.disk.used += sign * len(file.data)


def _inherit(touched: list[tuple[Directory, str]]) -> None:
    """What moved back or forth lies on the volume of its directory again."""
    for directory, name in touched:
        top = directory.entries.get(name)
        for node in subtree(top) if top is not None else ():
            if node.parent is not None and node.volume.root != node.number:
                node.volume = node.parent.volume


def _visible(touched: list[tuple[Directory, str]], dirty: list[File]) -> dict[str, tuple[str, object, int, int]]:
    """What stands at the names that a failure can change, and below them."""
    tops: list[Inode] = [file for file in dirty if file.reachable()]
    for directory, name in touched:
        if name in directory.entries and directory.reachable():
            tops.append(directory.entries[name])
    return {node.path(): _look(node) for top in tops for node in subtree(top)}


def _look(node: Inode) -> tuple[str, object, int, int]:
    content: object = None
    if isinstance(node, File):
        content = node.data
    elif isinstance(node, Symlink):
        content = node.target
    return node.kind, content, node.mode, node.uid
