"""What the harness needs of whoever starts, stops and ends the processes of agents: subprocesses, or containers.

Everything is called from the harness's one thread. Nothing here says anything about what an agent does: that is seen
from its directory alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from fleetbeat.engines.real.crew import Crew
from fleetbeat.engines.real.root import FleetRoot

#: Told what is being done, for people who wait: ("starting containers", 12, 100).
Tell = Callable[[str, int, int], None]


def quiet(what: str, done: int, total: int) -> None:
    """A `Tell` for nobody."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Directories as the agent's process sees them: the fleet's root, what all crews share (the lease and the go
    files, read only), and the crew's own part of `control`."""

    fleet: str
    common: str
    own: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One life of a crew. `plan` is the driver's plan file as the agent sees it, None for an agent with a command.

    `words` are the command of such an agent, with its placeholders filled in; `prefix` goes before the command, such
    as strace and its arguments. Both are () where there is nothing to say.
    """

    crew: Crew
    life: int
    plan: str | None
    words: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that is gone: `code` is its exit code, negative for a signal (137 of a container is -9)."""

    crew: str
    life: int
    code: int


class Hosting(Protocol):
    """One way of hosting agents' processes.

    `engine` is its name in histories; `most` the most agents in one crew; `lead_ns` how long before its boot a process
    is started, so that it is ready in time; `patience_s` how long it may take to be ready before it counts as failed.
    """

    engine: str
    most: int
    lead_ns: int
    patience_s: float

    def check(self) -> None:
        """Whether it can work here at all, before anything is made. Raises `EngineError` (no daemon, an old API)."""

    def seen(self, root: FleetRoot, crew: Crew) -> Seen:
        """Where the crew's process will find its directories."""

    def words(self, crew: Crew, home: str) -> tuple[str, ...]:
        """The command of an agent with its own, `home` as it sees it; () for a crew that our driver plays."""

    def program(self, crew: Crew) -> str:
        """The path of the crew's program file as its process sees it; "" for an agent with a command of its own."""

    def prepare(self, root: FleetRoot, crews: Sequence[Crew], tell: Tell) -> None:
        """Builds images, probes interpreters, makes what all crews need. The homes are there, and empty or furnished.

        `seen`, `words` and `program` may be asked from now on. Raises `EngineError`.
        """

    def start(self, launches: Sequence[Launch], tell: Tell) -> None:
        """Starts these processes, several at a time if that is quicker; returns once all are started.

        Raises `EngineError` for one that cannot be started.
        """

    def kill(self, crew: str) -> None:
        """SIGKILL, to all of its processes. It is gone, and reaped, when this returns. Not an `Ended` of `ended`."""

    def stop(self, crews: Sequence[str]) -> None:
        """Asks politely (SIGTERM), waits a moment for all, then kills. Not `Ended`s either."""

    def pause(self, crew: str) -> None:
        """Stops the crew's processes where they are."""

    def resume(self, crew: str) -> None:
        """Lets them go on."""

    def ended(self) -> list[Ended]:
        """The processes that ended by themselves since it was last asked. Does not wait."""

    def tail(self, crew: str) -> str:
        """The last lines that the crew's process wrote to its output (at most 20; raw text, not made safe)."""

    def pid(self, crew: str) -> int | None:
        """The process id of the crew's process on this machine, None if it has none now."""

    def close(self) -> None:
        """Ends and removes everything, whatever state it is in, in under ten seconds. May be called twice."""


#: Where the agents' processes write; `hosting.tail` reads it.
OUTPUT = "out.log"


def last_lines(path: Path, lines: int = 20, most: int = 8192) -> str:
    """The end of a text file, bytes that do not decode replaced; "" if there is none. At most `most` bytes are read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return ""
            file.seek(max(0, file.seek(0, 2) - most))
            text = file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])
