"""Programs as trees: a node is what a program does next, having been fed certain results; an edge is one more result.

A generator cannot be copied, but what it does depends on the results fed so far alone (DESIGN, seam 2). So a state of a
search holds a node, which costs nothing to copy, keep and compare, and a program runs once for each node, not for each
schedule. Rejected: feeding a fresh generator at every step back, which made restoring a state as dear as playing to it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Hashable
from typing import Any

from fleetbeat.protocol.vocabulary import KIND, Episode, Op, Open

#: An answer as it is fed: `(value,)`, or `(None, errno, path)` for a failure.
Answer = tuple[Hashable, ...]
#: The part of a handle that counts within its thread; see `worlds`.
HANDLE = 0xFFFF


class Node:
    """`op` is what comes next, None at the end; then `memory` is what the episode returned, or `error` what escaped.

    `handles` is the last handle that the episode was given, as a number within its thread. `path`, `shown`, `nth`,
    `strikes` and `private` are filled when the node is first played: only the world knows the path of a handle.
    """

    __slots__ = (
        "answer", "children", "error", "handles", "id", "kind", "live", "memory", "nth", "op", "parent", "path",
        "private", "root", "shown", "strikes",
    )  # fmt: skip

    def __init__(self, number: int, root: Root, parent: Node | None, answer: Answer | None) -> None:
        self.id = number
        self.root = root
        self.parent = parent
        self.answer = answer
        self.children: dict[Answer, Node] = {}
        self.handles = _handles(parent, answer)
        self.op: Op | None = None
        self.kind = ""
        self.memory: Any = None
        self.error: BaseException | None = None
        self.live: Episode | None = None
        self.path: str | None = None
        self.shown = ""
        self.nth = 0
        self.strikes: tuple[int, ...] = ()
        self.private = False


def _handles(parent: Node | None, answer: Answer | None) -> int:
    if parent is None or answer is None:
        return 0
    if type(parent.op) is Open and len(answer) == 1:
        return int(str(answer[0])) & HANDLE
    return parent.handles


class Root:
    """Where the episodes of one program with one memory begin."""

    __slots__ = ("make", "node")

    def __init__(self, make: Callable[[], Episode]) -> None:
        self.make = make
        self.node: Node


class Episodes:
    """All nodes of a search."""

    def __init__(self) -> None:
        self._roots: dict[Hashable, Root] = {}
        self._count = 0
        self.ops: dict[Op, int] = {}

    def root(self, name: Hashable, make: Callable[[], Episode]) -> Node:
        """The first node of the episode of this name (who, which kind, with which memory)."""
        found = self._roots.get(name)
        if found is None:
            found = self._roots[name] = Root(make)
            found.node = self._node(found, None, None)
            self._settle(found.node, found.make(), None)
        return found.node

    def child(self, node: Node, answer: Answer) -> Node:
        """What the program does next when it is fed this answer."""
        found = node.children.get(answer)
        if found is None:
            running = node.live or self._again(node)
            node.live = None
            found = node.children[answer] = self._node(node.root, node, answer)
            self._settle(found, running, answer)
        return found

    def _node(self, root: Root, parent: Node | None, answer: Answer | None) -> Node:
        self._count += 1
        return Node(self._count, root, parent, answer)

    def _again(self, node: Node) -> Episode:
        """A fresh generator that was fed all that led to `node`."""
        fed: list[Answer] = []
        here: Node | None = node
        while here is not None and here.answer is not None:
            fed.append(here.answer)
            here = here.parent
        running = node.root.make()
        running.send(None)
        for answer in reversed(fed):
            feed(running, answer)
        return running

    def _settle(self, node: Node, running: Episode, answer: Answer | None) -> None:
        try:
            node.op = running.send(None) if answer is None else feed(running, answer)
            node.kind = KIND[type(node.op)]
            node.live = running
            self.ops.setdefault(node.op, len(self.ops))
        except StopIteration as stop:
            node.memory = stop.value
        except Exception as error:  # whatever escapes a program ends its episode: that is what is being tested
            node.error = error


def feed(running: Episode, answer: Answer) -> Op:
    """Hands a program one answer; returns its next operation. Raises what the program raises."""
    if len(answer) == 1:
        return running.send(answer[0])
    number = int(str(answer[1]))
    return running.throw(OSError(number, os.strerror(number), answer[2]))


def failed(error: OSError) -> Answer:
    return (None, error.errno or errno.EIO, error.filename)
