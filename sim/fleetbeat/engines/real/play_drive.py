"""Drives one episode of the harness's own hands in real time: an operator's post, its polls, a hand-down.

Each operation is one step of the loop. What the scenario says that it takes passes before it takes effect, what the
machine takes comes on top; faults on operators strike as they do in the simulation, drawn by the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw, is_constant
from fleetbeat.chance.step import Step
from fleetbeat.engines.effects import Died, Trace, carry_out, path_of
from fleetbeat.engines.injector import Looked
from fleetbeat.engines.real.loop import Flag
from fleetbeat.engines.real.play_world import World
from fleetbeat.engines.recorder import Row, When
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import Process
from fleetbeat.protocol.vocabulary import KIND, Episode, Op, Open, Rename, Sleep, Truncate, Unlink, WriteChunk
from fleetbeat.scenario.model import Latency

Wait = Generator["int | Flag", None, Any]
#: Told when an effect on the final name is seen: the time in ns, and what was written to the file that stands there now.
Shows = Callable[[int, "bytes | None"], None]

#: The signal's events that an own operation on the final name can show, by the operation.
SHOWS: dict[type, tuple[str, ...]] = {
    Rename: ("appeared", "replaced"),
    Open: ("appeared", "replaced", "changed"),
    WriteChunk: ("changed",),
    Truncate: ("changed",),
    Unlink: ("vanished",),
}
#: Operations that show at once whatever happens next; a write into a file that lost its name shows nothing.
CERTAIN = (Rename, Open)


class Latencies:
    """How long each kind of operation takes, in ns, from a scenario's `Latency`; as in the simulation."""

    def __init__(self, model: Latency) -> None:
        self._model = model

    def of(self, op: Op, step: Step, choices: Choices) -> int:
        if isinstance(op, Sleep):
            return op.duration_ns
        spread = getattr(self._model, step.operation, 0)
        if isinstance(spread, int):
            return spread
        return int(spread.value) if is_constant(spread) else draw(spread, choices, "latency", step)


class Hand:
    """One actor of the harness. `agent` is whose directory is home to it; `final` is the name at which a post shows."""

    on = "operators"

    def __init__(
        self, world: World, actor: str, life: int, agent: str, home: str, uid: int, latencies: Latencies, operator: str
    ) -> None:
        self.world = world
        self.actor = actor
        self.life = life
        self.agent = agent
        self.home = home
        self.uid = uid
        self.latencies = latencies
        self.operator = operator
        self.process = Process(agent, home, world.files)
        self.dying: Outcome | None = None
        self.shows: Shows | None = None
        self._final = f"{home}/.rules"
        self._open: dict[int, None] = {}

    def relative(self, path: str) -> str:
        return path[len(self.home) + 1 :] if path.startswith(self.home + "/") else path

    def perform(self, op: Op, when: When) -> Any:
        """Carries out one operation as this hand's user; where it touches the final name, it is told of its effect."""
        watched = self.shows is not None and self._at_final(op)
        if not watched:
            return self._perform(op)
        observer, known = self.world.observer, self._known(op)
        observer.drain()
        called: list[int] = []

        def hook(t: int) -> None:
            called.append(t)
            assert self.shows is not None
            self.shows(t, known if known is not None else self.world.files.content_at(self._final))

        observer.expect(self.agent, SHOWS[type(op)], hook)
        try:
            answer = self._perform(op)
            if isinstance(op, (Open, WriteChunk, Truncate)):
                known = self.world.files.written(answer if isinstance(op, Open) else op.handle)
            observer.drain()
            if not called and isinstance(op, CERTAIN):
                hook(self.world.now)
        finally:
            observer.forget(self.agent)
        return answer

    def _perform(self, op: Op) -> Any:
        if isinstance(op, Open) and op.mode in ("w", "x"):
            self.world.observer.ours(op.path)
        with self.world.users.acting(self.uid):
            answer = self.process.perform(op, self.actor)
        if isinstance(op, Open):
            self._open[answer] = None
        return answer

    def _known(self, op: Op) -> bytes | None:
        """What will stand at the final name after a rename; it may be gone when its turn to be looked at comes."""
        return self.world.files.content_at(op.source) if isinstance(op, Rename) else None

    def _at_final(self, op: Op) -> bool:
        if isinstance(op, Rename):
            return op.target == self._final
        if isinstance(op, Open):
            return op.path == self._final and op.mode in ("w", "x", "a")
        if isinstance(op, Unlink):
            return op.path == self._final
        return isinstance(op, (WriteChunk, Truncate)) and self.world.files.path_of(op.handle) == self._final

    def keep(self, trace: Trace, row: Row) -> None:
        """Of what `carry_out` tells, the faults are kept."""
        if row[3].kind == "fault":
            self.world.means.fired(row[3]["fault"], self.agent)
            self.world.sink.add(row[3].t, self.actor, "fault", **row[3].fields)

    def die(self, when: When, outcome: Outcome) -> None:
        """The process of an operator dies: its handles close, what it had written stays."""
        self.dying = outcome
        self.exit()

    def exit(self) -> None:
        """Closes what is still open."""
        handles, self._open = self._open, {}
        for handle in handles:
            if self.world.files.path_of(handle) is not None:
                self.world.files.close(handle)


def drive(world: World, hand: Hand, episode: Episode, trace: Trace, *, at_once: bool = False) -> Wait:
    """Runs `episode` to its end and returns what it returns. `at_once`: without latencies, in one step of the loop.

    Raises `Died` when a fault ended the process on the way, `OSError` for what escapes the episode.
    """
    start = trace.start[0]
    counts: dict[tuple[str, str], int] = {}
    answer: Any = None
    failure: OSError | None = None
    while True:
        try:
            op = episode.throw(failure) if failure is not None else episode.send(answer)
        except StopIteration as stop:
            trace.end = world.now
            return stop.value
        answer = failure = None
        kind = KIND[type(op)]
        path = path_of(op, world.files, hand.home)
        shown = hand.relative(path)
        nth = counts.get((kind, shown), 0)
        counts[kind, shown] = nth + 1
        step = Step(hand.actor, hand.life, trace.episode, kind, shown, nth)
        outcome = world.injector.outcome(hand.on, hand.agent, hand.operator, step, max(0, start))
        wait = 0 if outcome is None else outcome.delay_ns + outcome.pause_ns
        if not at_once:
            wait += hand.latencies.of(op, step, world.choices)
        if wait:
            yield start + wait
        try:
            answer = carry_out(world, hand, op, path, world.when(step), outcome, trace, step)
        except Died:
            episode.close()
            raise
        except OSError as error:
            failure = error.with_traceback(None)
        start = trace.end = world.now
        trace.looked.append(Looked(kind, shown, nth))
