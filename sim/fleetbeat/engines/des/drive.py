"""Drives one episode of a program in virtual time: every operation waits for its instant, may fail, crash or be held.

An operation takes effect at its start plus its latency (at least 1 ns), in the order (instant, tie, step). A start in
the past is allowed: a sleeper that was roused in the middle of an idle episode catches up without waiting, up to the
place in the order at which it was roused.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import simpy

from fleetbeat.chance.spread import draw, is_constant
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.injector import Looked
from fleetbeat.engines.recorder import Row, Tie, When
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import WouldBlock
from fleetbeat.protocol.vocabulary import (
    KIND,
    LOOKING,
    Close,
    Emit,
    Episode,
    Lock,
    MakeDir,
    Op,
    Open,
    Rename,
    Sleep,
    Truncate,
    Unlink,
    WriteChunk,
)
from fleetbeat.scenario.model import Latency

if TYPE_CHECKING:
    from fleetbeat.engines.des.body import Body


class Died(Exception):
    """The process that ran this episode is gone."""


class Latencies:
    """How long each kind of operation takes, in ns, from a scenario's `Latency`."""

    def __init__(self, model: Latency) -> None:
        self._fixed: dict[str, int] = {"lock": 0, "section": 0, "compose": 0, "stat": model.stat, "list": model.list}
        self._drawn: dict[str, Any] = {}
        for kind in ("open", "read", "write", "truncate", "close", "rename", "unlink", "mkdir", "sync", "emit"):
            spread = getattr(model, kind)
            if is_constant(spread):
                self._fixed[kind] = spread.value
            else:
                self._drawn[kind] = spread

    def of(self, op: Op, step: Step, world: World) -> int:
        fixed = self._fixed.get(step.operation)
        if fixed is not None:
            return max(1, fixed)
        if isinstance(op, Sleep):
            return max(1, op.duration_ns)
        return max(1, draw(self._drawn[step.operation], world.choices, "latency", step))

    def is_drawn(self, kind: str) -> bool:
        return kind in self._drawn


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


def drive(world: World, body: Body, episode: Episode, trace: Trace) -> Wait:
    """Runs `episode` to its end and returns what it returns.

    Raises `Died` when the process died on the way, and whatever exception escapes the program.
    """
    start = trace.start[0]
    trace.end = start
    counts: dict[tuple[str, str], int] = {}
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            op = episode.throw(failure) if failure is not None else episode.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = failure = None
        kind = KIND[type(op)]
        path = body.path_of(op)
        shown = body.relative(path)
        nth = counts.get((kind, shown), 0)
        counts[kind, shown] = nth + 1
        step = Step(body.actor, body.life, trace.episode, kind, shown, nth)
        outcome = world.injector.outcome(body.on, body.agent, body.operator, step, start)
        tie = Tie(world.choices, step)
        latency = body.latencies.of(op, step, world)
        _learn(trace, body, kind, shown, nth, latency, path, op)
        try:
            touched = TOUCHED.get(type(op))
            names = touched(world, body, op) if touched is not None else ()
            when = yield from _effect(world, body, op, start, latency, outcome, tie, names)
            answer = _carry_out(world, body, op, path, when, outcome, trace, step)
        except Died:
            close(episode)
            raise
        except OSError as error:
            failure = error
            when = body.at
        start = trace.end = when[0]
        trace.last = tie
        if world.named:
            world.passed(step)


def close(episode: Episode) -> None:
    """Ends a program whose process is gone; what it tries to do in its last breath does not happen."""
    try:
        episode.close()
    except RuntimeError:
        pass


def _learn(trace: Trace, body: Body, kind: str, shown: str, nth: int, latency: int, path: str, op: Op) -> None:
    """Keeps what a sleeper must know about an idle episode."""
    trace.looked.append(Looked(kind, shown, nth))
    trace.lasting.append(latency)
    if body.latencies.is_drawn(kind):
        trace.steady = False
    if isinstance(op, Lock):
        trace.names[body.lock_name(op.name)] = None
    elif path:
        trace.names[path] = None


def _effect(
    world: World,
    body: Body,
    op: Op,
    start: int,
    latency: int,
    outcome: Outcome | None,
    tie: Tie,
    names: tuple[str, ...],
) -> Wait:
    """Waits until the operation takes effect; returns its place in the order."""
    at = start + latency
    if outcome is not None:
        at += outcome.delay_ns + outcome.pause_ns
        if outcome.pause_ns:
            body.stand_still(start + outcome.pause_ns)
        if outcome.power:
            names = (*names, *world.residents(body.agent))
    when = (at, tie)
    if body.caught_up is None or not when < body.caught_up:
        if not world.clock.jump(at):
            yield world.clock.instant(at, tie)
        if body.blocked_until > at or world.named or type(op) is Lock:
            when = yield from _not_before(world, body, op, tie)
    if names:
        yield from world.rouse(names, when)
    body.at = when
    if not body.shell.alive:
        raise Died
    return when


def _not_before(world: World, body: Body, op: Op, tie: Tie) -> Wait:
    """Waits on while the actor stands still, a case holds the step, or another actor holds the lock."""
    while body.alive:
        if body.blocked_until > world.now:
            yield world.clock.instant(body.blocked_until, tie)
        elif (event := _awaited(world, body, op, tie)) is not None:
            yield event
            yield world.clock.instant(world.now + 1, tie)
        else:
            break
    return (world.now, tie)


def _awaited(world: World, body: Body, op: Op, tie: Tie) -> simpy.Event | None:
    """What an operation still has to wait for: another step, by a case's hold; or the release of a lock."""
    event = world.held_until(tie.step)
    if event is None and isinstance(op, Lock) and op.hold:
        event = body.lock_held(op.name)
    return event


def _with_parents(*paths: str) -> tuple[str, ...]:
    return (*paths, *(os.path.dirname(path) for path in paths))


#: Names whose readers an operation may concern, by its type; nothing for operations that only look.
TOUCHED: dict[type, Callable[[World, Body, Any], tuple[str, ...]]] = {
    Rename: lambda world, body, op: _with_parents(op.source, op.target),
    Unlink: lambda world, body, op: _with_parents(op.path),
    MakeDir: lambda world, body, op: _with_parents(op.path),
    Open: lambda world, body, op: _with_parents(op.path) if op.mode in ("w", "x", "a") else (),
    WriteChunk: lambda world, body, op: world.watch.names_of(op.handle),
    Truncate: lambda world, body, op: world.watch.names_of(op.handle),
    Lock: lambda world, body, op: (body.lock_name(op.name),),
}


def _carry_out(
    world: World, body: Body, op: Op, path: str, when: When, outcome: Outcome | None, trace: Trace, step: Step
) -> Any:
    """The operation itself, with what a fault does to it, and everything that others can see of it."""
    if outcome is not None:
        trace.changed = True
        _report_fault(world, body, when, outcome, trace, step)
        if outcome.crash == "before":
            body.die(when, outcome)
            raise Died
    try:
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
    size = len(answer) if step.operation == "read" else answer if step.operation == "write" else 0
    _record_op(world, body, when, trace, step, "ok", size, _whole_signal(world, when, trace, step, answer))
    _die_after(body, when, outcome)
    return answer


def _die_after(body: Body, when: When, outcome: Outcome | None) -> None:
    if outcome is not None and outcome.crash == "after":
        body.die(when, outcome)
        raise Died


def _perform(world: World, body: Body, op: Op, path: str, when: When, outcome: Outcome | None, trace: Trace) -> Any:
    error = outcome.error if outcome else None
    if isinstance(op, Close) and error is not None:
        _apply(world, body, op, path, when, trace)  # close(2) gives the handle back even where it reports an error
        raise _failure(error, path)
    if error is not None and outcome is not None and outcome.effect != "after":
        if outcome.effect == "partial":
            _half(world, body, op, path, when, trace)
        raise _failure(error, path)
    answer = _apply(world, body, op, path, when, trace)
    if error is not None:
        if isinstance(op, Open):
            _apply(world, body, Close(answer), path, when, trace)
        raise _failure(error, path)
    return answer


def _apply(world: World, body: Body, op: Op, path: str, when: When, trace: Trace) -> Any:
    answer = body.perform(op, when)
    if KIND[type(op)] not in LOOKING and not (type(op) is Open and op.mode in ("r", "d")):
        trace.changed = True
    if type(op) is Emit:
        trace.logged_error = trace.logged_error or op.event.endswith("_error")
    world.watch.after(when, body, op, path, answer)
    return answer


def _half(world: World, body: Body, op: Op, path: str, when: When, trace: Trace) -> None:
    """Half of an operation, where halves exist: half the bytes of a write or a log entry, an open that only truncates."""
    if isinstance(op, WriteChunk) and len(op.data) > 1:
        _apply(world, body, WriteChunk(op.handle, op.data[: len(op.data) // 2]), path, when, trace)
    elif isinstance(op, Open) and op.mode in ("w", "x"):
        handle = _apply(world, body, op, path, when, trace)
        _apply(world, body, Close(handle), path, when, trace)
    elif isinstance(op, Emit):
        body.shell.process.emit(op.event, dict(op.fields), world.host_seconds(body.agent, when[0]), share=0.5)


def _failure(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _whole_signal(world: World, when: When, trace: Trace, step: Step, answer: Any) -> str | None:
    """The digest of what an episode read of the signal, once it came to the end; only to explain."""
    if step.operation != "read" or step.path != ".rules":
        return None
    if answer:
        trace.read += answer
        return None
    return world.body(trace.read, when)


def _record_op(
    world: World, body: Body, when: When, trace: Trace, step: Step, result: str, size: int, read: str | None = None
) -> None:
    fields: Mapping[str, Any] = {
        "agent": body.agent,
        "life": body.life,
        "episode": trace.episode,
        "role": trace.role,
        "operation": step.operation,
        "path": step.path,
        "nth": step.nth,
        "result": result,
        "size": size,
        "body": read,
    }
    body.keep(trace, world.recorder.row(when, body.actor, "op", fields))


def _report_fault(world: World, body: Body, when: When, outcome: Outcome, trace: Trace, step: Step) -> None:
    name = None if outcome.error is None else errno.errorcode[outcome.error]
    for fault, effect in outcome.fired:
        error = name if {"error", "partial", "after"} & {*effect.split()} else None
        _record_fault(world, body, when, trace, step, fault, effect, error)


def _record_fault(
    world: World, body: Body, when: When, trace: Trace, step: Step, fault: str, effect: str, error: str | None
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
