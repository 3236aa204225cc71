"""Breadth first through the moves of the small worlds, for the shortest chain of causes and the shortest schedule to it.

A state is reached by playing its schedule from the beginning, since a core cannot be copied; those that look alike
(`picture`) are searched once. A schedule ends where something breaks. Rejected: depth first, which finds long schedules
that must be shrunk afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fleetbeat.checks.model import Finding
from fleetbeat.engines.framework import head
from fleetbeat.explore.framework.picture import Unfrozen
from fleetbeat.explore.framework.plan import Plan, Scene
from fleetbeat.explore.framework.world import Move, World
from fleetbeat.explore.model import ExploreError
from fleetbeat.history.records import Record

Key = tuple[str, str, str]
#: One that is to be expanded: its schedule, its number, and its world if that is at hand.
State = tuple[tuple[Move, ...], int, World | None]
#: States of each world that are kept at hand until it is their turn; others are played again from the beginning.
AT_HAND = 300


@dataclass(frozen=True, slots=True)
class Found:
    """One way to break an invariant: with the shortest chain of causes that was met, and a shortest schedule to it."""

    plan: Plan
    scene: Scene
    schedule: tuple[Move, ...]
    finding: Finding

    @property
    def key(self) -> Key:
        return (self.finding.invariant, self.finding.kind, self.finding.cause)


@dataclass(frozen=True, slots=True)
class Searched:
    """What became of one world. `schedules`: orders that the states stand for, 0 where that was not counted to the end;
    `chains` and `dangerous`: whether a framework chain began in any, and whether a dangerous call was made."""

    scene: str
    complete: bool
    states: int
    schedules: int
    chains: bool
    dangerous: bool
    merged: bool = True
    where: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search came to: findings distinct by invariant, class and cause."""

    found: tuple[Found, ...]
    worlds: tuple[Searched, ...]
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return not self.interrupted and all(world.complete for world in self.worlds)

    @property
    def vacuous(self) -> str:
        """Why nothing could have broken, "" if something could have."""
        missing = [] if any(world.chains for world in self.worlds) else ["no framework chain began"]
        missing += [] if any(world.dangerous for world in self.worlds) else ["no dangerous call was made"]
        return " and ".join(missing)

    @property
    def states(self) -> int:
        return sum(world.states for world in self.worlds)

    @property
    def summary(self) -> str:
        """The last line that a reader sees: never alike for a complete search and one that was cut short."""
        if self.complete:
            count = sum(world.schedules for world in self.worlds)
            return f"complete within these bounds: {self.states:,} states, {count:,} schedules"
        cut = next((world for world in self.worlds if not world.complete), None)
        where = f"{self.states:,} states" if cut is None else f"{self.states:,} states, in the world {cut.where}"
        return f"interrupted at {where}" if self.interrupted else f"budget ran out at {where}"


def explore(
    plan: Plan,
    *,
    invariant: str | None = None,
    on_found: Callable[[Found], None] | None = None,
    stop: Callable[[], bool] | None = None,
    max_states: int | None = None,
    merge: bool = True,
    until: Callable[[Found], bool] | None = None,
) -> Outcome:
    """Searches all worlds of `plan`, one move further in each before the next move in any. Findings are distinct by
    invariant, class and cause; of each the one with the shortest chain of causes is kept, and of these one with a
    shortest schedule.

    `invariant`: look for this one alone. `on_found` is told the first of each kind at once. `stop` is asked now and then
    whether time is up; `max_states` bounds all worlds together. `merge` False: no states are merged (for comparison).
    `until` says of a finding whether it is enough. Raises `ExploreError` for a core that is seen to behave otherwise when
    the same moves are made again.
    """
    head, known = head_of(plan), dict[str, bytes]()
    fronts = [_Front(plan, scene, head, known, invariant, merge) for scene in plan.scenes]
    found: dict[Key, Found] = {}
    interrupted = is_over = False

    def look_up() -> None:
        if max_states is not None and sum(len(front.below) for front in fronts) >= max_states:
            raise _Enough
        if stop is not None and stop():
            raise _Enough

    try:
        while not is_over and not all(front.is_done for front in fronts):
            for front in fronts:
                front.level(look_up)
            is_over = _settle(fronts, found, on_found, until)
    except (_Enough, KeyboardInterrupt) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        _settle(fronts, found, on_found, until)
    notes = dict.fromkeys(note for front in fronts for note in (front.note, front.failed) if note)
    ended = tuple(front.searched() for front in fronts)
    return Outcome(tuple(found[key] for key in sorted(found)), ended, interrupted, (*plan.notes, *notes))


def _settle(
    fronts: Sequence[_Front],
    found: dict[Key, Found],
    on_found: Callable[[Found], None] | None,
    until: Callable[[Found], bool] | None,
) -> bool:
    """All schedules of one length were tried: the best of what broke is found. Returns whether it is enough."""
    best: dict[Key, Found] = {}
    for front in fronts:
        for key, one in front.candidates.items():
            if key not in best or _cost(one) < _cost(best[key]):
                best[key] = one
        front.candidates = {}
    for key in sorted(best):
        is_first = key not in found
        if is_first or _cost(best[key]) < _cost(found[key]):
            found[key] = best[key]
        if is_first and on_found is not None:
            on_found(best[key])
    return until is not None and any(until(best[key]) for key in sorted(best))


class _Enough(Exception):
    """Time is up, or so many states were seen."""


class _Front:
    """The search of one world, as far as it got. `below`: for each state those that follow; `todo`: those of the greatest
    length so far, which are to be expanded."""

    def __init__(
        self,
        plan: Plan,
        scene: Scene,
        head: Sequence[Record],
        known: dict[str, bytes],
        invariant: str | None,
        merge: bool,
    ) -> None:
        self.plan, self.scene = plan, scene
        self.head, self.known = head, known
        self.invariant = invariant
        self.merge = merge
        self.note = ""
        self.seen: dict[bytes, int] = {}
        self.below: list[list[int]] = [[]]
        self.candidates: dict[Key, Found] = {}
        self.chains = self.dangerous = False
        self.failed = ""
        self.depth = 0
        first = World(plan, scene, head, known)
        self._look_at(first, 0)
        self.todo: list[State] = [] if self._broke(first, ()) else [((), 0, first)]

    @property
    def is_done(self) -> bool:
        return not self.todo

    def level(self, look_up: Callable[[], None]) -> None:
        """Expands all states of one length. `look_up` raises to stop."""
        following: list[State] = []
        todo, self.depth = self.todo, self.depth + bool(self.todo)
        while todo:
            look_up()
            schedule, number, world = todo.pop()
            for more, below, ahead in self._expand(schedule, number, world):
                following.append((more, below, ahead if len(following) < AT_HAND else None))
        self.todo = following[::-1]

    def _expand(self, schedule: tuple[Move, ...], number: int, world: World | None) -> Iterator[State]:
        """The new states that follow from one."""
        here = world or self._played(schedule)
        moves = here.moves()
        while moves:
            move = moves.pop()
            made = len(here.records)
            if self._make(here, move) and not move.answer:
                first, *others = self.plan.answers
                moves += [move._replace(answer=one) for one in others]
                move = move._replace(answer=first)
            self._look_at(here, made)
            more = (*schedule, move)
            state, is_new = self._state(here)
            self.below[number].append(state)
            if not self._broke(here, more) and is_new:
                yield more, state, here
            if moves:
                here = self._played(schedule)

    def _played(self, schedule: Sequence[Move]) -> World:
        world = World(self.plan, self.scene, self.head, self.known)
        for move in schedule:
            self._make(world, move)
        return world

    def _make(self, world: World, move: Move) -> bool:
        try:
            return world.play(move)
        except KeyError as error:
            raise ExploreError(
                f"core {self.plan.core.name}: got another course at {move} when the same moves were made again, "
                "expected the same: it goes by something that its host does not tell it"
            ) from error

    def _state(self, world: World) -> tuple[int, bool]:
        """The number of the state that a world is in, and whether it was met for the first time."""
        number = len(self.below)
        if self.merge:
            try:
                look = world.picture()
            except Unfrozen as error:
                self.merge = False
                self.note = f"the core holds {error}, which cannot be looked into: no states were merged"
            else:
                known = self.seen.setdefault(look, number)
                if known != number:
                    return known, False
        self.below.append([])
        return number, True

    def _look_at(self, world: World, since: int) -> None:
        for record in world.records[since:]:
            if record.kind == "action" and record["action"] != "notify":
                self.chains = True
            elif record.kind == "event" and record["dangerous"]:
                self.dangerous = True
            elif record.kind == "core.failed" and not self.failed:
                self.failed = f"in the world {self.scene.name!r} the core raised {record['error']}"

    def _broke(self, world: World, schedule: tuple[Move, ...]) -> bool:
        findings = world.findings()
        for finding in findings:
            if self.invariant not in (None, finding.invariant):
                continue
            one = Found(self.plan, self.scene, schedule, finding)
            best = self.candidates.get(one.key)
            if best is None or _cost(one) < _cost(best):
                self.candidates[one.key] = one
        return bool(findings)

    def searched(self) -> Searched:
        done = self.is_done
        where = "" if done else f"{self.scene.name!r} after {self.depth} moves"
        count = _paths(self.below) if done else 0
        states = len(self.below)
        return Searched(self.scene.name, done, states, count, self.chains, self.dangerous, self.merge, where)


def head_of(plan: Plan) -> list[Record]:
    """What stands at the beginning of each of the plan's histories: the core and its guards, the bodies' policies."""
    texts = {
        body.norm: (body.text or "", body.policies) for body in (plan.start, *plan.bodies) if body.norm is not None
    }
    return head(plan.core, texts)


def _cost(found: Found) -> tuple[int, int, tuple[Move, ...]]:
    return (len(found.finding.chain), len(found.schedule), found.schedule)


def _paths(below: Sequence[Sequence[int]]) -> int:
    """How many ways lead from the first state to an end. No way comes back to where it was: every move uses something up."""
    counts: dict[int, int] = {}
    stack = [0]
    while stack:
        number = stack[-1]
        missing = [one for one in below[number] if one not in counts]
        if missing:
            stack += missing
            continue
        stack.pop()
        counts[number] = sum(counts[one] for one in below[number]) if below[number] else 1
    return counts[0]
