"""Sleeping through episodes that cannot matter.

An idle episode (a beat or a poll that changed nothing) will go the same way again until something touches a name that it
looks at, a fault could strike it, or the harness does something to its process. Until then its actor sleeps. What is
about to touch such a name rouses the sleepers first (`World.rouse`); each finds out how far it had come by then: it
counts the episodes that were over as idle, and plays the one that was in progress, or the next, from its start. Waking
too often costs time and changes nothing: an episode that turns out idle leaves the same trace as a skipped one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import simpy

from fleetbeat.cadence import Cadence
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.agent import Agent, Played, begin_step
from fleetbeat.engines.des.body import Body
from fleetbeat.engines.des.lanes import NEVER
from fleetbeat.engines.des.pace import following
from fleetbeat.engines.des.spans import Idle
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.effects import Trace
from fleetbeat.engines.recorder import When


@dataclass(frozen=True, slots=True)
class Series:
    """Episodes of one actor, each to go like the idle one `like`. Numbers above `done` are still to come.

    `start_of(m)` is the start of episode m in ns; `reach(t)` the smallest m above `done` that starts at t or later.
    """

    done: int
    like: Trace
    start_of: Callable[[int], int]
    reach: Callable[[int], int]
    begin: Callable[[int], Step]
    #: What `reach(t)` asks of sums of waits, if it does (see `cadence.vector.foresee`).
    question: Callable[[int], tuple[Any, int, int]] | None = None

    @property
    def work_ns(self) -> int:
        return sum(self.like.lasting)

    def begun(self, when: When, world: World) -> int:
        """The last episode that began before `when` in the one order; `done` if none did."""
        number = self.reach(when[0] + 1) - 1
        while number > self.done and self.start_of(number) == when[0] and not world.tie(self.begin(number)) < when[1]:
            number -= 1
        return number

    def is_over(self, number: int, when: When, world: World) -> bool:
        """Whether an episode that has begun had ended before `when`."""
        end = self.start_of(number) + self.work_ns
        if end != when[0] or not self.like.looked:
            return end < when[0] or not self.like.looked
        return world.tie(self._last(number)) < when[1]

    def _last(self, number: int) -> Step:
        look = self.like.looked[-1]
        return self.begin(number)._replace(operation=look.kind, path=look.path, nth=look.nth)


class Doze:
    """One sleep. `when` is the place in the order at which it was roused, None while it lasts; `following` the first
    episode to play then, and `midway` whether that one had begun."""

    def __init__(self, world: World, series: Series) -> None:
        self.world = world
        self.series = series
        self.event: simpy.Event = world.clock.event()
        self.when: When | None = None
        self.following = 0
        self.midway = False

    def rouse(self, when: When) -> None:
        if self.when is None:
            series, world = self.series, self.world
            self.when = when
            number = series.begun(when, world)
            self.midway = number > series.done and not series.is_over(number, when, world)
            self.following = number if self.midway else number + 1
            self.event.succeed()


def sleep(world: World, body: Body, series: Series, names: tuple[str, ...], hit: int | None) -> Wait:
    """Sleeps until roused, or until episode `hit` begins; returns (first episode to play, place to catch up to or None).

    Episodes after `series.done` and before the one returned were idle.
    """
    doze = Doze(world, series)
    world.doze(doze, names)
    alarm = world.clock.event() if hit is None else world.clock.timeout(max(0, series.start_of(hit) - 1 - world.now))
    if world.lanes is not None:
        world.lanes.waits(body, NEVER if hit is None else series.start_of(hit) - 1)
    yield world.clock.any_of([doze.event, alarm]) if hit is not None else doze.event
    if world.lanes is not None:
        world.lanes.waits(body, world.now)
    world.wakes(doze, names)
    if doze.when is None:
        assert hit is not None
        return hit, None
    return doze.following, doze.when


class Dozing:
    """The pace of an agent that skips idle beats."""

    leaps = True

    def next(self, agent: Agent, cadence: Cadence, origin_ns: int, played: Played) -> Wait:
        trace = played.idle
        if trace is None or not trace.steady or not cadence.leaves_room_for(sum(trace.lasting)):
            return following(cadence, origin_ns, played.beat, played.end)
        world = agent.world
        names = tuple(dict.fromkeys((f"agent:{agent.spec.name}", f"{agent.spec.home}/.rules", *trace.names)))
        if world.is_fresh(names, played.start):
            return following(cadence, origin_ns, played.beat, played.end)
        series = _series(agent, cadence, origin_ns, played, trace)
        shell, thread, spans = agent.shell, agent.heartbeat, agent.spans
        assert shell is not None
        assert thread is not None
        assert spans is not None
        generation = agent.generation
        hit = self._next_hit(agent, series, played)
        number, caught_up = yield from sleep(world, thread, series, names, hit)
        thread.caught_up = caught_up
        if number - 1 > series.done:
            first, last = series.done + 1, number - 1
            ops = tuple(sorted(Counter(look.kind for look in trace.looked).items()))
            last_start = series.start_of(last)
            end = last_start + series.work_ns
            if not spans.extend(first, last, last_start, end, played.runnable, generation, ops):
                start = (series.start_of(first), world.tie(series.begin(first)))
                spans.add(Idle(first, last, start, last_start, end, played.runnable, generation, ops))
        return number, series.start_of(number)

    def _next_hit(self, agent: Agent, series: Series, played: Played) -> int | None:
        """The next beat that a fault or a case's choice could concern, if it begins before the run ends."""
        world, thread = agent.world, agent.heartbeat
        assert thread is not None
        steps = world.choices.overrides.steps()
        if not steps and not world.injector.concerns("agents", series.like.looked):
            return None
        limit = series.reach(world.scenario.duration)
        step = begin_step(thread, series.done)
        hit = (
            world.injector.next_hit("agents", agent.spec.name, series.like.looked, step, series.reach, limit)
            if played.runnable
            else None
        )
        named = [
            s.episode
            for s in steps
            if s.actor == thread.actor and s.life == thread.life and series.done < s.episode <= limit
        ]
        return min([*named, *([] if hit is None else [hit])], default=None)


def _series(agent: Agent, cadence: Cadence, origin: int, played: Played, trace: Trace) -> Series:
    beat, end, work = played.beat, played.end, sum(trace.lasting)
    thread = agent.heartbeat
    assert thread is not None
    done = beat
    question = None
    if cadence.mode == "fixed-delay":
        before = cadence.elapsed(beat)

        def start_of(number: int) -> int:
            return end + cadence.elapsed(number) - before + (number - beat - 1) * work

        def reach(at_ns: int) -> int:
            return cadence.reach(at_ns - end + before, work, beat + 1)

        def question(at_ns: int) -> tuple[Any, int, int]:
            return cadence.question(at_ns - end + before, work, beat + 1)
    else:
        done = following(cadence, origin, beat, end)[0] - 1

        def start_of(number: int) -> int:
            return origin + cadence.tick(number)

        def reach(at_ns: int) -> int:
            return cadence.reach(at_ns - origin, 0, done + 1)

    return Series(done, trace, start_of, reach, lambda number: begin_step(thread, number), question)
