"""What a plan of means is made of: the machine's facts, the stage it acts on, timed actions, and what was chosen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

#: Name -> what it does. In the order of their cost: of two that carry out a fault the first is taken.
MEANS: Mapping[str, str] = {
    "harness": "played by the harness, which is the operator",
    "driver": "by our driver, at the call",
    "permissions": "ownership and modes of a directory or file",
    "remount": "system/ read-only for a while",
    "tmpfs": "a small disk over a home or its system/",
    "signal": "SIGSTOP, SIGCONT and SIGKILL from outside",
    "strace": "errors, delays and signals at a call, by strace",
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine can do. `*_why`: None if it can, else the reason in words why not.

    `uid`: who we are; `kernel`: its release; `strace`: version, None if there is none; `inotify`: {max_user_watches,
    max_user_instances, max_queued_events}, a limit that cannot be read is left out; `ptrace_scope`: Yama's, 0 without.
    """

    uid: int
    kernel: str
    strace: str | None
    strace_why: str | None
    mount_why: str | None
    inotify: Mapping[str, int] = field(default_factory=dict)
    ptrace_scope: int = 0

    @property
    def attach_why(self) -> str | None:
        """Why strace cannot attach to a process that runs already."""
        if self.strace_why is not None or self.is_root or self.ptrace_scope == 0:
            return self.strace_why
        return f"tracing a process that runs already needs root (kernel.yama.ptrace_scope is {self.ptrace_scope})"

    @property
    def is_root(self) -> bool:
        return self.uid == 0


class Stage(Protocol):
    """What the harness gives the means to act on. Times are ns since time 0."""

    def now(self) -> int: ...

    def home(self, agent: str) -> Path:
        """The agent's home directory on this machine."""

    def seen(self, agent: str) -> str:
        """The path of its home directory as its process sees it; in a container it is another one than `home`."""

    def own(self, agent: str) -> Path:
        """The directory of its crew's own files (plan, report, output) on this machine: the harness's to write."""

    def root(self) -> Path:
        """The root of the run, marked as ours; a means may make `strace` and `disk.*` in it."""

    def pid(self, agent: str) -> int | None:
        """The process id of the agent's process (of its crew) on this machine, None if it has none now."""

    def alive(self, agent: str) -> bool:
        """Whether its process runs now (paused counts as running)."""

    def crash(self, agent: str, fault: str, restart_ns: int | None) -> None:
        """Kills the agent's process now (SIGKILL; it may be dying already), records `life.end` with cause crash and
        this fault, and starts it again after so long, or never."""

    def pause(self, agent: str) -> None:
        """Stops the agent's process where it is."""

    def resume(self, agent: str) -> None:
        """Lets it go on."""

    def record(self, kind: str, fields: Mapping[str, Any], at_ns: int | None = None) -> None:
        """Adds a record of actor `harness` (kinds `fault`, `pause`), now or for a time a moment ago."""

    def at(self, at_ns: int, action: Callable[[Stage], None], what: str) -> None:
        """Has something done later, in the loop: what a means finds out about only while it goes on."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do at a time. `what` says it in words, for errors: "system/ of a-3 read-only (fault disk)"."""

    at_ns: int
    run: Callable[[Stage], None]
    what: str


@dataclass(frozen=True, slots=True)
class Chosen:
    """How one fault, or one part of the scenario that is played by a means, is carried out on these agents.

    `fault`: its id, or `crash-0`, `stall`, `disk:host-0`, `system_disk:host-0`. `means`: a key of `MEANS`. `note`: what
    else it does, or how it differs from the simulation; "" if in nothing.
    """

    fault: str
    what: str
    means: str
    agents: tuple[str, ...]
    note: str = ""


@dataclass(slots=True)
class Tally:
    """Counts of one fault by one means. `planned` is None where chance or the agent's own steps decide how often it
    fires."""

    planned: int | None = None
    fired: int = 0
    observed: int = 0
    removed: bool = True


class Means(Protocol):
    """One means at work, in one run. It acts on the stage alone, and undoes what it did in `remove`.

    `tallies` are by the fault's id, one for each fault that it carries out.
    """

    @property
    def tallies(self) -> Mapping[str, Tally]: ...

    def prepare(self, stage: Stage, agents: Collection[str]) -> None:
        """The homes of these agents are furnished; nobody watches them, and no process of theirs runs."""

    def actions(self) -> Sequence[Action]:
        """What it does at planned times."""

    def started(self, stage: Stage, agent: str, life: int) -> None:
        """A process of this agent was just started."""

    def look(self, stage: Stage) -> None:
        """What happened since the last look."""

    def remove(self, stage: Stage) -> None:
        """Leaves nothing of it behind. May be called twice. Raises `OSError` for what is in the way."""


class Idle:
    """What a means does at the points at which it does nothing."""

    def prepare(self, stage: Stage, agents: Collection[str]) -> None:
        return

    def actions(self) -> Sequence[Action]:
        return ()

    def started(self, stage: Stage, agent: str, life: int) -> None:
        return

    def look(self, stage: Stage) -> None:
        return

    def remove(self, stage: Stage) -> None:
        return


def fault_fields(fault: str, agent: str, step: object, operation: str, path: str | None, effect: str) -> dict[str, Any]:
    """The fields of a `fault` record on an agent, but for its errno."""
    return {
        "fault": fault,
        "agent": agent,
        "on": "agents",
        "step": str(step),
        "operation": operation,
        "path": path,
        "effect": effect,
        "error": None,
    }
