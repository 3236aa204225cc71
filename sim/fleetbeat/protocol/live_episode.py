"""Drives one episode of a program with real calls, as one thread of an agent. Twin of `engines.des.drive`.

Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fleetbeat.chance.step import Step
from fleetbeat.protocol.live_clock import Clock
from fleetbeat.protocol.live_hands import Hands, name_of
from fleetbeat.protocol.process import MOST_OPERATIONS, Escaped
from fleetbeat.protocol.vocabulary import KIND, LOOKING, Emit, Episode, Op, Open


class WrongProgram(Exception):
    """A program that does not keep to the vocabulary."""


@dataclass(slots=True)
class Trace:
    """What an episode did so far. `ops`: kind, when the call began and ended (ns), its result in a word."""

    changed: bool = False
    logged_error: bool = False
    ops: list[tuple[str, int, int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Actor:
    """A thread of an agent, as steps name it; `holder` is under which name it takes locks."""

    name: str
    holder: str
    stalls: Stalls | None = None


class Stalls:
    """When a thread stands still: (at, length), by time."""

    def __init__(self, planned: tuple[tuple[int, int], ...]) -> None:
        self._planned = sorted(planned)
        self._until = 0

    def sit_out(self, clock: Clock) -> None:
        """Waits while the thread stands still."""
        while (end := self._end(clock.now())) > clock.now():
            clock.sleep_until(end)

    def _end(self, now_ns: int) -> int:
        """The end of the stall that is on, or of the last one."""
        while self._planned and self._planned[0][0] <= now_ns:
            at, length = self._planned.pop(0)
            self._until = max(self._until, at + length)
        return self._until


def drive(hands: Hands, actor: Actor, number: int, episode: Episode, trace: Trace) -> Any:
    """Runs `episode`, number `number` of its kind, to its end and returns the memory that it returns.

    Raises `Escaped` for whatever escapes the program, `WrongProgram` for one that yields no operations.
    """
    if not hasattr(episode, "send"):
        raise WrongProgram(f"{actor.name}: got {type(episode).__name__}, expected a generator of operations")
    counts: dict[tuple[str, str], int] = {}
    answer: Any = None
    failure: OSError | None = None
    while True:
        try:
            op = episode.throw(failure) if failure is not None else episode.send(answer)
        except StopIteration as stop:
            return stop.value
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise Escaped(error) from error
        answer = failure = None
        kind = KIND.get(type(op), "")
        if not kind:
            raise WrongProgram(f"{actor.name} {number}: got {op!r:.80}, expected an operation")
        if len(trace.ops) >= MOST_OPERATIONS:
            episode.close()
            raise Escaped(RuntimeError(f"{MOST_OPERATIONS} operations in one episode and no end to it"))
        path = hands.relative_path(op)
        nth = counts.get((kind, path), 0)
        counts[kind, path] = nth + 1
        step = Step(actor.name, hands.life, number, kind, path, nth)
        if actor.stalls is not None:
            actor.stalls.sit_out(hands.clock)
        begun = hands.clock.now()
        try:
            answer, begun, ended = hands.perform(op, step, actor.holder)
            trace.ops.append((kind, begun, ended, "ok"))
        except OSError as error:
            failure = error.with_traceback(None)
            trace.ops.append((kind, begun, hands.clock.now(), name_of(error)))
        _note(trace, op, kind)


def _note(trace: Trace, op: Op, kind: str) -> None:
    if kind not in LOOKING and not (isinstance(op, Open) and op.mode in ("r", "d")):
        trace.changed = True
    if isinstance(op, Emit) and op.event.endswith("_error"):
        trace.logged_error = True
