"""Drives one episode of a program in virtual time: every operation waits for its instant, may fail, crash or be held.

An operation takes effect at its start plus its latency (at least 1 ns), in the order (instant, tie, step). A start in
the past is allowed: a sleeper that was roused in the middle of an idle episode catches up without waiting, up to the
place in the order at which it was roused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import simpy

from fleetbeat.chance.spread import draw, is_constant
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.effects import Died, Trace, carry_out, path_of
from fleetbeat.engines.injector import Looked
from fleetbeat.engines.programs import ProgramError
from fleetbeat.engines.recorder import Tie
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import MOST_OPERATIONS, Escaped
from fleetbeat.protocol.vocabulary import (
    KIND,
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


_new: Callable[..., Any] = tuple.__new__


class Runaway(Exception):
    """An episode goes on and on."""


class Latencies:
    """How long each kind of operation takes, in ns, from a scenario's `Latency`."""

    def __init__(self, model: Latency) -> None:
        #: Kind of operation -> ns, at least 1, for those that always take as long.
        self.fixed = {"lock": 1, "section": 1, "compose": 1, "stat": max(1, model.stat), "list": max(1, model.list)}
        self._drawn: dict[str, Any] = {}
        for kind in ("open", "read", "write", "truncate", "close", "rename", "unlink", "mkdir", "sync", "emit"):
            spread = getattr(model, kind)
            if is_constant(spread):
                self.fixed[kind] = max(1, spread.value)
            else:
                self._drawn[kind] = spread

    def of(self, op: Op, step: Step, world: World) -> int:
        """For an operation that is not in `fixed`."""
        if isinstance(op, Sleep):
            return max(1, op.duration_ns)
        return max(1, draw(self._drawn[step.operation], world.choices, "latency", step))

    def is_drawn(self, kind: str) -> bool:
        return kind in self._drawn


def drive(world: World, body: Body, episode: Episode, trace: Trace) -> Wait:
    """Runs `episode` to its end and returns what it returns.

    Raises `Died` when the process died on the way, `ProgramError` for a program that does not keep to the vocabulary,
    `Runaway` for one that never ends, `OSError` and `Escaped` for what escapes it.
    """
    if not hasattr(episode, "send"):
        raise ProgramError(
            f"{body.actor}: {trace.role}: got {type(episode).__name__}, expected a generator of operations"
        )
    start = trace.start[0]
    trace.end = start
    lanes = world.lanes
    made = 0
    fixed, prefix = body.latencies.fixed, body.prefix
    injector = world.injector
    faulty = bool(injector.rules)
    actor, life, number = body.actor, body.life, trace.episode
    limit = alone = 0
    if lanes is not None and (body.caught_up is None or body.caught_up[0] < start):
        limit, alone = lanes.limit(body), lanes.is_alone(body)
    files, home = world.files, body.home
    counts: dict[tuple[str, str], int] = {}
    answer: Any = None
    failure: BaseException | None = None
    while True:
        try:
            op = episode.throw(failure) if failure is not None else episode.send(answer)
        except StopIteration as stop:
            if body.ahead:
                yield from _catch_up_with(world, body)
            return stop.value
        except OSError:
            if body.ahead:
                yield from _catch_up_with(world, body)
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise Escaped(error) from error
        answer = failure = None
        came = False
        kind = KIND.get(type(op), "")
        if not kind:
            raise ProgramError(f"{body.actor}: {trace.role} {trace.episode}: got {op!r:.80}, expected an operation")
        made += 1
        if made > MOST_OPERATIONS:
            close(episode)
            raise Runaway(f"{MOST_OPERATIONS} operations in one {trace.role} and no end to it")
        path = path_of(op, files, home)
        shown = path[len(prefix) :] if path.startswith(prefix) else path
        nth = counts.get((kind, shown), 0)
        counts[kind, shown] = nth + 1
        step = _new(Step, (actor, life, number, kind, shown, nth))
        outcome = injector.outcome(body.on, body.agent, body.operator, step, start) if faulty else None
        tie = Tie(world.choices, step)
        latency = fixed.get(kind) or body.latencies.of(op, step, world)
        if not trace.changed:
            _learn(trace, body, kind, shown, nth, latency, path, op)
        try:
            at = start + latency if outcome is None else start + latency + outcome.delay_ns
            names: tuple[str, ...] = ()
            if not (alone and at < limit):
                touched = TOUCHED.get(type(op))
                names = touched(world, body, op) if touched is not None else ()
            if at < limit and not (names and world.is_watched(names)):
                when = body.at = (at, tie)
                body.ahead = True
                for name in names:
                    world.touched[name] = when
            else:
                when = yield from _effect(world, body, op, start, latency, outcome, tie, names)
                body.ahead = False
                if lanes is not None:
                    limit, alone = lanes.limit(body), lanes.is_alone(body)
            came = True
            answer = carry_out(world, body, op, path, when, outcome, trace, step)
        except Died:
            if came and world.named:
                world.passed(step)  # a step at which its process dies has come: a case may hold it, or wait for it
            close(episode)
            raise
        except OSError as error:
            failure = error.with_traceback(None)  # a traceback would keep this frame in a cycle
            when = body.at
        start = trace.end = when[0]
        trace.last = tie
        if world.named:
            world.passed(step)


def _catch_up_with(world: World, body: Body) -> Wait:
    """An operator that acted ahead of the clock waits for it: its waves and claims happen at the time of the others."""
    if body.waits_for_clock and body.at[0] > world.now:
        yield world.clock.instant(*body.at)
        body.ahead = False


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
            yield from world.rouse((f"agent:{body.agent}",), (world.now, body.at[1]))
            body.stand_still(start + outcome.pause_ns)
        if outcome.power:
            names = (*names, *world.residents(body.agent))
    when = (at, tie)
    if body.caught_up is None or not when < body.caught_up:
        if not world.clock.jump(at):
            if world.lanes is not None:
                world.lanes.waits(body, at)
            yield world.clock.instant(at, tie)
        if body.blocked_until > at or world.named or type(op) is Lock:
            when = yield from _not_before(world, body, op, tie)
    if names:
        yield from world.rouse(names, when, wait=world.lanes is None)
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


def _with_parent(path: str) -> tuple[str, str]:
    return path, path[: path.rfind("/")] or "/"


#: Names whose readers an operation may concern, by its type; nothing for operations that only look.
TOUCHED: dict[type, Callable[[World, Body, Any], tuple[str, ...]]] = {
    Rename: lambda world, body, op: (*_with_parent(op.source), *_with_parent(op.target)),
    Unlink: lambda world, body, op: _with_parent(op.path),
    MakeDir: lambda world, body, op: _with_parent(op.path),
    Open: lambda world, body, op: _with_parent(op.path) if op.mode in ("w", "x", "a") else (),
    WriteChunk: lambda world, body, op: world.watch.names_of(op.handle),
    Truncate: lambda world, body, op: world.watch.names_of(op.handle),
    Lock: lambda world, body, op: (body.lock_name(op.name),),
}
