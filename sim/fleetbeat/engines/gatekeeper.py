"""The operator's plan for one rollout: after each wave it looks, waits, asks a person, and goes on, or stops for good.

A generator of waits, played by the engine whose hands it is given. Nothing of it is told to agents; a rollback is posts
like any other, which may race with the posts that came before.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Protocol

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.engines.delivery import Delivery
from fleetbeat.engines.gates import Board, Sight, gate_of, wave_of, why_not
from fleetbeat.scenario.model import Gate, Rollout

Waits = Generator[Any, Any, Any]


class Halted(Exception):
    """The operator's process died and stays dead."""


class Hands(Protocol):
    """What an engine does for an operator. `look` raises `Halted`."""

    @property
    def now(self) -> int: ...
    @property
    def choices(self) -> Choices: ...
    def until(self, at_ns: int, moment: str, number: int) -> Waits: ...
    def look(self, target: str, number: int) -> Waits: ...
    def logs(self) -> Iterable[tuple[str, int, str]]: ...
    def undo(self, targets: Sequence[str]) -> Waits: ...
    def tell(self, kind: str, **fields: Any) -> None: ...
    def close(self) -> None: ...


class Posted(Protocol):
    """An operator's work on one target, as it stands; see the engines' `Poster`. Times in ns, None: never."""

    @property
    def delivery(self) -> Delivery: ...
    @property
    def is_tried(self) -> bool: ...
    @property
    def written_at(self) -> int | None: ...
    @property
    def done_at(self) -> int | None: ...


class Keeper:
    """`identity`: the rollout's id in the history; `wanted`: its body as text."""

    def __init__(self, hands: Hands, rollout: Rollout, identity: str, wanted: str | None, waves: int) -> None:
        self.hands = hands
        self.rollout = rollout
        self.identity = identity
        self.board = Board(wanted)
        self.waves = waves
        self.looks = 0

    def note(self, posters: Iterable[Posted]) -> None:
        """What the operator knows of its own posts: those that were tried."""
        for poster in posters:
            if poster.is_tried:
                seen = poster.done_at if self.rollout.verify == "effective" else None
                at_ns = self.hands.now if poster.written_at is None else poster.written_at
                self.board.post(poster.delivery.target, at_ns, seen)

    def before(self, number: int, targets: Sequence[str]) -> Waits:
        """Looks at what the wave's targets hold, if its gate wants to know; returns whether the plan goes on."""
        later = [gate_of(self.rollout, n) for n in range(number, self.waves + 1)]
        if all(gate is None or gate.violations is None for gate in later):
            return True
        self.looks += 1
        try:
            for target in targets:
                self.board.before(target, (yield from self.hands.look(target, self.looks)))
        except Halted:
            return self._end("died", number)
        return True

    def after(self, number: int, targets: Sequence[str]) -> Waits:
        """After a wave that was not stopped; returns whether the next one may begin."""
        wave = wave_of(self.rollout, number)
        gate = gate_of(self.rollout, number)
        end = self.hands.now + (0 if wave is None else wave.bake)
        try:
            if gate is not None and not (yield from self._bake(gate, number, targets, end)):
                return (yield from self.stop(number))
            if number == self.waves:
                return self._end("finished", number)
            if gate is None:
                yield from self.hands.until(end, "bake", number)
            if wave is not None and wave.approval is not None:
                self._tell("asked", number)
                takes = draw(wave.approval, self.hands.choices, "approval", Step(self._actor, 0, number, "approval"))
                yield from self.hands.until(self.hands.now + takes, "approval", number)
                if gate is not None and not (yield from self._look(gate, number, targets, is_last=True)):
                    return (yield from self.stop(number))
                self._tell("approved", number)
            if wave is not None and wave.hold_until is not None:
                yield from self.hands.until(wave.hold_until, "hold", number)
        except Halted:
            return self._end("died", number)
        return True

    def stop(self, number: int) -> Waits:
        """Leaves the rollout as it is, or posts the former version to everybody who was posted to."""
        if self.rollout.on_failure == "abort":
            return self._end("aborted", number)
        self._tell("rollback", number)
        yield from self.hands.undo(list(self.board.posted))
        return self._end("rolled-back", number)

    def _bake(self, gate: Gate, number: int, targets: Sequence[str], end: int) -> Waits:
        base, count = self.hands.now, 0
        while True:
            is_last = self.hands.now >= end
            if not (yield from self._look(gate, number, targets, is_last)):
                return False
            if is_last:
                return True
            count = max(count + 1, (self.hands.now - base) // gate.every + 1)
            yield from self.hands.until(min(end, base + count * gate.every), f"look:{count}", number)

    def _look(self, gate: Gate, number: int, targets: Sequence[str], is_last: bool) -> Waits:
        """One look at everybody posted to; returns whether the gate lets it pass."""
        self.looks += 1
        for target in list(self.board.posted):
            sight: Sight = yield from self.hands.look(target, self.looks)
            self.board.look(target, self.hands.now, sight)
        self.board.read(self.hands.logs())
        seen = self.board.seen(self.hands.now, targets, gate)
        why = why_not(gate, seen, is_last)
        event = "failed" if why else "passed" if is_last else "look"
        said = {"rollout": self.identity, "wave": number, "event": event, "seen": seen.counts()}
        self.hands.tell("gate", **said, lag=seen.lag, why=why)
        return why is None

    @property
    def _actor(self) -> str:
        return f"{self.rollout.operator}:{self.rollout.version}"

    def _tell(self, event: str, number: int) -> None:
        self.hands.tell("plan", rollout=self.identity, wave=number, event=event)

    def _end(self, event: str, number: int) -> bool:
        self._tell(event, number)
        self.hands.close()
        return False
