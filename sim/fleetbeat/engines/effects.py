"""What an operation does once its instant has come: itself, what a fault does to it, and what others can see of it.

When that instant comes is the engine's business, and so is who performs: SimPy's virtual time and the explorer's search
both end here, so that a half-done write or a handle given back by a failing close is the same everywhere.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from fleetbeat.chance.step import Step
from fleetbeat.engines.recorder import Row, Tie, When
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import LOG_PATH, Process, WouldBlock
from fleetbeat.protocol.vocabulary import (
    KIND,
    LOOKING,
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

if TYPE_CHECKING:
    from fleetbeat.engines.injector import Looked


class Died(Exception):
    """The process that ran this episode is gone."""


@dataclass(slots=True)
class Trace:
    """What one episode did so far. `rows` are kept back until it is known not to be idle; `end` is its last instant."""

    role: str
    episode: int
    start: When
    end: int = 0
    changed: bool = False
    logged_error: bool = False
    steady: bool = True
    rows: list[Row] = field(default_factory=list)
    looked: list[Looked] = field(default_factory=list)
    lasting: list[int] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    read: bytes = b""
    last: Tie | None = None


class Sight(Protocol):
    """Who records what an effect shows outside (`engines.des.watch`)."""

    def after(self, when: When, body: Any, op: Op, path: str, answer: Any) -> None: ...


class Rows(Protocol):
    """Where records are made (`engines.recorder.Recorder`)."""

    def row(self, when: When, actor: str, kind: str, fields: Mapping[str, Any]) -> Row: ...


class Stage(Protocol):
    """What an effect needs of its world."""

    @property
    def specs(self) -> Mapping[str, Any]: ...
    @property
    def watch(self) -> Sight: ...
    @property
    def recorder(self) -> Rows: ...
    def body(self, data: bytes, when: When) -> str: ...
    def host_seconds(self, agent: str, at_ns: int) -> float: ...


class Player(Protocol):
    """What an effect needs of the actor that performs it. `die` ends its process as the outcome says."""

    agent: str
    on: str
    life: int
    actor: str

    @property
    def process(self) -> Process: ...
    def perform(self, op: Op, when: When) -> Any: ...
    def keep(self, trace: Trace, row: Row) -> None: ...
    def die(self, when: When, outcome: Outcome) -> None: ...


class Handles(Protocol):
    """The part of a world of files that knows under which path a handle was opened."""

    def path_of(self, handle: int) -> str | None: ...


def path_of(op: Op, files: Handles, home: str) -> str:
    """The fleet-wide path that an operation is about; "" for those about none, the lock's name for a lock."""
    return _PATHS[type(op)](op, files, home)


def _by_path(op: Any, files: Handles, home: str) -> str:
    path: str = op.path
    return path


def _by_handle(op: Any, files: Handles, home: str) -> str:
    return files.path_of(op.handle) or ""


_PATHS: dict[type, Callable[[Any, Handles, str], str]] = {
    **dict.fromkeys((Stat, Open, Unlink, MakeDir, List), _by_path),
    **dict.fromkeys((ReadChunk, WriteChunk, Truncate, Close, Sync), _by_handle),
    **dict.fromkeys((SetSection, Compose, Sleep), lambda op, files, home: ""),
    Rename: lambda op, files, home: str(op.source),
    Lock: lambda op, files, home: str(op.name),
    Emit: lambda op, files, home: f"{home}/{LOG_PATH}",
}


def carry_out(
    world: Stage, body: Player, op: Op, path: str, when: When, outcome: Outcome | None, trace: Trace, step: Step
) -> Any:
    """The operation itself, with what a fault does to it, and everything that others can see of it."""
    if outcome is not None:
        trace.changed = True
        _report_fault(world, body, when, outcome, trace, step)
        if outcome.crash == "before":
            body.die(when, outcome)
            raise Died
    try:
        if outcome is None:
            answer = _apply(world, body, op, path, when, trace)
        else:
            answer = _perform(world, body, op, path, when, outcome, trace)
    except WouldBlock as error:
        raise RuntimeError(
            f"{step}: lock {error} is held; locks are waited for before an operation takes effect"
        ) from error
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, str(error.errno))
        if error.errno == errno.ENOSPC and (outcome is None or outcome.error is None):
            trace.changed = True
            fault = f"disk-full:{world.specs[body.agent].host}"
            _record_fault(world, body, when, trace, step, fault, "error", name)
        _record_op(world, body, when, trace, step, name, 0)
        _die_after(body, when, outcome)
        raise
    size, read = 0, None
    if step.operation == "read":
        size = len(answer)
        if step.path == ".rules":
            read = _whole_signal(world, when, trace, answer)
    elif step.operation == "write":
        size = answer
    _record_op(world, body, when, trace, step, "ok", size, read)
    if outcome is not None:
        _die_after(body, when, outcome)
    return answer


def _die_after(body: Player, when: When, outcome: Outcome | None) -> None:
    if outcome is not None and outcome.crash == "after":
        body.die(when, outcome)
        raise Died


def _perform(world: Stage, body: Player, op: Op, path: str, when: When, outcome: Outcome, trace: Trace) -> Any:
    error = outcome.error
    if isinstance(op, Close) and error is not None:
        _apply(world, body, op, path, when, trace)  # close(2) gives the handle back even where it reports an error
        raise _failure(error, path)
    if error is not None and outcome.effect != "after":
        if outcome.effect == "partial":
            _half(world, body, op, path, when, trace)
        raise _failure(error, path)
    answer = _apply(world, body, op, path, when, trace)
    if error is not None:
        if isinstance(op, Open):
            _apply(world, body, Close(answer), path, when, trace)
        raise _failure(error, path)
    return answer


def _apply(world: Stage, body: Player, op: Op, path: str, when: When, trace: Trace) -> Any:
    answer = body.perform(op, when)
    kind = type(op)
    if kind in _QUIET or (kind is Open and op.mode in ("r", "d")):  # type: ignore[union-attr]
        return answer
    if kind is not Close:
        trace.changed = True
    if kind is Emit and op.event.endswith("_error"):  # type: ignore[union-attr]
        trace.logged_error = True
    world.watch.after(when, body, op, path, answer)
    return answer


#: Operations that look, and of which nothing can be seen outside. Closing looks, and shows that a flush is over.
_QUIET = frozenset(kind for kind, name in KIND.items() if name in LOOKING and kind is not Close)


def _half(world: Stage, body: Player, op: Op, path: str, when: When, trace: Trace) -> None:
    """Half of an operation, where halves exist: half the bytes of a write or a log entry, an open that only truncates."""
    if isinstance(op, WriteChunk) and len(op.data) > 1:
        _apply(world, body, WriteChunk(op.handle, op.data[: len(op.data) // 2]), path, when, trace)
    elif isinstance(op, Open) and op.mode in ("w", "x"):
        handle = _apply(world, body, op, path, when, trace)
        _apply(world, body, Close(handle), path, when, trace)
    elif isinstance(op, Emit):
        body.process.emit(op.event, dict(op.fields), world.host_seconds(body.agent, when[0]), share=0.5)


def _failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _whole_signal(world: Stage, when: When, trace: Trace, answer: bytes) -> str | None:
    """The digest of what an episode read of the signal, once it came to the end; only to explain."""
    if answer:
        trace.read += answer
        return None
    return world.body(trace.read, when)


def _record_op(
    world: Stage, body: Player, when: When, trace: Trace, step: Step, result: str, size: int, read: str | None = None
) -> None:
    _, _, _, operation, path, nth = step
    fields: Mapping[str, Any] = {
        "agent": body.agent,
        "life": body.life,
        "episode": trace.episode,
        "role": trace.role,
        "operation": operation,
        "path": path,
        "nth": nth,
        "result": result,
        "size": size,
        "body": read,
    }
    body.keep(trace, world.recorder.row(when, body.actor, "op", fields))


def _report_fault(world: Stage, body: Player, when: When, outcome: Outcome, trace: Trace, step: Step) -> None:
    name = None if outcome.error is None else errno.errorcode[outcome.error]
    for fault, effect in outcome.fired:
        error = name if {"error", "partial", "after"} & {*effect.split()} else None
        _record_fault(world, body, when, trace, step, fault, effect, error)


def _record_fault(
    world: Stage, body: Player, when: When, trace: Trace, step: Step, fault: str, effect: str, error: str | None
) -> None:
    fields = {
        "fault": fault,
        "agent": body.agent,
        "on": body.on,
        "step": str(step),
        "operation": step.operation,
        "path": step.path,
        "effect": effect,
        "error": error,
    }
    body.keep(trace, world.recorder.row(when, body.actor, "fault", fields))
