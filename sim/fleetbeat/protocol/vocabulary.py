"""The vocabulary of programs: what an agent or an operator can do, one frozen operation at a time.

A program is a generator that yields operations and receives their results; a failed operation is thrown into it as the
exception that the real call would raise (`OSError` with `errno`). Every operation is a scheduling point, a fault point
and a crash point. Whole-file reads and writes are spelled with these (see `fleetbeat.protocol.spelling`), so torn reads,
kept handles and truncate-then-crash exist. Standard library only: the agent in a container imports this module.

Operation      result
Stat           FileStat of the name itself (a symlink is not followed unless `follow`)
Open           int, a handle; modes: r, w (create, truncate), x (create, must not exist), a (append),
               r+ (write, keep what is there), d (a directory, to sync it)
ReadChunk      bytes, at most `size`, b"" at the end
WriteChunk     int, bytes written; may be fewer than given
Truncate, Close, Rename, Unlink, MakeDir, Sync   None
List           tuple of names, sorted
Lock           None, once held (or released); in-process, named, one per agent process
SetSection     None; sets or (None) removes a protected section of the prompt in the agent's memory
Compose        str, the whole prompt as its sections stand at this instant
Sleep          None
Emit           None; appends one event to the agent's own log, may fail like any write
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from fleetbeat.files.port import FileStat as FileStat


@dataclass(frozen=True, slots=True)
class Stat:
    path: str
    follow: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    path: str
    mode: str = "r"
    perms: int = 0o644


@dataclass(frozen=True, slots=True)
class ReadChunk:
    handle: int
    size: int = 65536


@dataclass(frozen=True, slots=True)
class WriteChunk:
    handle: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    handle: int
    size: int = 0


@dataclass(frozen=True, slots=True)
class Close:
    handle: int


@dataclass(frozen=True, slots=True)
class Rename:
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Unlink:
    path: str


@dataclass(frozen=True, slots=True)
class MakeDir:
    path: str


@dataclass(frozen=True, slots=True)
class List:
    path: str


@dataclass(frozen=True, slots=True)
class Sync:
    handle: int


@dataclass(frozen=True, slots=True)
class Lock:
    name: str
    hold: bool = True


@dataclass(frozen=True, slots=True)
class SetSection:
    name: str
    text: str | None


@dataclass(frozen=True, slots=True)
class Compose:
    pass


@dataclass(frozen=True, slots=True)
class Sleep:
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Emit:
    event: str
    fields: tuple[tuple[str, str], ...] = ()


Op: TypeAlias = (
    Stat
    | Open
    | ReadChunk
    | WriteChunk
    | Truncate
    | Close
    | Rename
    | Unlink
    | MakeDir
    | List
    | Sync
    | Lock
    | SetSection
    | Compose
    | Sleep
    | Emit
)
Result: TypeAlias = Any
Episode: TypeAlias = Generator[Op, Result, Any]

#: The kind of an operation, as scenarios, steps and histories spell it.
KIND: dict[type, str] = {
    Stat: "stat",
    Open: "open",
    ReadChunk: "read",
    WriteChunk: "write",
    Truncate: "truncate",
    Close: "close",
    Rename: "rename",
    Unlink: "unlink",
    MakeDir: "mkdir",
    List: "list",
    Sync: "sync",
    Lock: "lock",
    SetSection: "section",
    Compose: "compose",
    Sleep: "sleep",
    Emit: "emit",
}

#: Operations that look and leave everything as it is: a beat made of these alone, with its memory kept, is idle.
LOOKING = frozenset({"stat", "list", "compose", "sleep", "read", "close", "lock"})


@dataclass(frozen=True, slots=True)
class Context:
    """What an episode knows from the start: the agent's name and its home directory (fleet-wide, no trailing slash)."""

    agent: str
    home: str
    chunk: int = 65536

    def path(self, relative: str) -> str:
        return f"{self.home}/{relative}"


class Program(Protocol):
    """An agent under test. `start` is its frozen, hashable memory at the start of a life.

    Each method is one episode: a generator of operations that returns the memory for the next episode of that life.
    Where episodes overlap, the fields that an episode changed are laid over the memory as it then stands.
    """

    start: Any

    def boot(self, context: Context, memory: Any) -> Episode: ...

    def beat(self, context: Context, memory: Any) -> Episode: ...

    def rebuild(self, context: Context, memory: Any) -> Episode: ...
