"""One running process as every driver sees it: its files, the prompt's sections in its memory, its named locks.

`Process.perform` carries out one operation at once; when it happens is the driver's business. Standard library only:
SimPy, the explorer and the operating system in a real agent perform operations with this same class.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from fleetbeat.files.port import Files
from fleetbeat.protocol.vocabulary import (
    Close,
    Compose,
    Emit,
    List,
    Lock,
    MakeDir,
    Op,
    Open,
    ReadChunk,
    Rename,
    SetSection,
    Sleep,
    Stat,
    Sync,
    Truncate,
    Unlink,
    WriteChunk,
)

LOG_PATH = "logs/events.jsonl"


#: An episode that makes more operations than this is taken for one that never ends.
MOST_OPERATIONS = 100_000


class Escaped(Exception):
    """An exception that a program let out of an episode, other than a failed operation's `OSError`; `str` says which."""

    def __init__(self, error: BaseException) -> None:
        try:
            words = " ".join(f"{type(error).__name__}: {error}".split())
        except Exception:
            words = type(error).__name__
        super().__init__(words)


class WouldBlock(Exception):
    """A lock is held by somebody else; the driver waits and performs the operation again."""


def compose(agent: str, sections: Mapping[str, str]) -> str:
    """The whole prompt: a heading, then each section between its markers, in the order of their names."""
    parts = [f"# {agent}\n"]
    parts += [f"<{name}>\n{sections[name]}\n</{name}>\n" for name in sorted(sections)]
    return "\n".join(parts)


def section_of(prompt: str, begin: str, end: str) -> tuple[str, str | None]:
    """Finds a protected section in a prompt: `("whole", text)`, `("whole", None)` if there is none, `("torn", None)`.

    The section runs from the first `begin` to the last `end`, so that a text which holds the end marker stays whole.
    """
    start = prompt.find(begin)
    if start < 0:
        return "whole", None
    stop = prompt.rfind(end)
    if stop < start + len(begin) - 1:
        return "torn", None
    return "whole", prompt[start + len(begin) : max(stop, start + len(begin))]


class Process:
    """`files`: the file system as this process sees it; `home`: its directory, fleet-wide."""

    def __init__(self, agent: str, home: str, files: Files) -> None:
        self.agent = agent
        self.home = home
        self.files = files
        self.sections: dict[str, str] = {}
        self.locks: dict[str, str] = {}

    def perform(self, op: Op, actor: str, now_s: float = 0.0) -> Any:
        """Carries out `op` for `actor` and returns its result.

        `now_s` (seconds) is the time that a log entry gets. Raises `OSError` as the call would, `WouldBlock` if a lock
        is held by another actor.
        """
        return PERFORM[type(op)](self, op, actor, now_s)

    def emit(self, event: str, fields: Mapping[str, str], now_s: float, share: float = 1.0) -> None:
        """Appends one entry, or the first `share` of it, to the agent's own log; makes its directory if that is missing."""
        line = (json.dumps({"type": event, "ts": now_s, **fields}) + "\n").encode()
        line = line[: int(len(line) * share)]
        path = f"{self.home}/{LOG_PATH}"
        files = self.files
        try:
            handle = files.open(path, "a")
        except FileNotFoundError:
            files.mkdir(os.path.dirname(path))
            handle = files.open(path, "a")
        try:
            written = 0
            while written < len(line):
                written += files.write(handle, line[written:])
        finally:
            files.close(handle)

    def lock(self, name: str, hold: bool, actor: str) -> None:
        holder = self.locks.get(name)
        if hold:
            if holder not in (None, actor):
                raise WouldBlock(name)
            self.locks[name] = actor
        elif holder == actor:
            del self.locks[name]
        else:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM), name)

    def set_section(self, name: str, text: str | None) -> None:
        if text is None:
            self.sections.pop(name, None)
        else:
            self.sections[name] = text


PERFORM: dict[type, Callable[[Process, Any, str, float], Any]] = {
    Stat: lambda p, op, actor, now: p.files.stat(op.path, follow=op.follow),
    Open: lambda p, op, actor, now: p.files.open(op.path, op.mode, op.perms),
    ReadChunk: lambda p, op, actor, now: p.files.read(op.handle, op.size),
    WriteChunk: lambda p, op, actor, now: p.files.write(op.handle, op.data),
    Truncate: lambda p, op, actor, now: p.files.truncate(op.handle, op.size),
    Close: lambda p, op, actor, now: p.files.close(op.handle),
    Rename: lambda p, op, actor, now: p.files.rename(op.source, op.target),
    Unlink: lambda p, op, actor, now: p.files.unlink(op.path),
    MakeDir: lambda p, op, actor, now: p.files.mkdir(op.path),
    List: lambda p, op, actor, now: p.files.list(op.path),
    Sync: lambda p, op, actor, now: p.files.sync(op.handle),
    Lock: lambda p, op, actor, now: p.lock(op.name, op.hold, actor),
    SetSection: lambda p, op, actor, now: p.set_section(op.name, op.text),
    Compose: lambda p, op, actor, now: compose(p.agent, p.sections),
    Sleep: lambda p, op, actor, now: None,
    Emit: lambda p, op, actor, now: p.emit(op.event, dict(op.fields), now),
}


def merged(before: Any, after: Any, now: Any) -> Any:
    """The memory `now` with the fields laid over it that an episode changed from `before` to `after`."""
    if now == before or not is_dataclass(after):
        return after
    assert not isinstance(after, type)
    changes = {
        item.name: getattr(after, item.name)
        for item in fields(after)
        if getattr(after, item.name) != getattr(before, item.name)
    }
    return replace(now, **changes)
