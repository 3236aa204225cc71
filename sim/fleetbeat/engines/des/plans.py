"""Rollouts: waves, one after another, and where a scenario has gates, what the operator does between them.

A rollout without gates knows only whether its posts were held for done. Gates and what follows from them are the
keeper's (`engines.gatekeeper`); here are its hands in virtual time. Each look is operations like a poll's, by an actor of
its own for each target, so that faults on operators strike looks too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import simpy

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.engines.delivery import Delivery, delivery_of
from fleetbeat.engines.des.body import Shell
from fleetbeat.engines.des.drive import Latencies, drive
from fleetbeat.engines.des.operator import Poster, Writer
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.effects import Died, Trace
from fleetbeat.engines.gatekeeper import Halted, Keeper
from fleetbeat.engines.gates import former_of, is_planned, sight_of
from fleetbeat.engines.recorder import When
from fleetbeat.history.records import compared
from fleetbeat.protocol.writers import Look
from fleetbeat.scenario.model import Rollout
from fleetbeat.scenario.resolve import body_of


def roll_out(world: World, rollout: Rollout, identity: str, waves: tuple[tuple[str, ...], ...], digest: str) -> Wait:
    """The process of one rollout: its waves, one after another."""
    latencies = Latencies(rollout.latency)
    body = body_of(rollout)
    actor = f"{rollout.operator}:{rollout.version}"
    hands = Hands(world, rollout, identity, latencies)
    keeper = Keeper(hands, rollout, identity, compared(body), len(waves)) if is_planned(rollout) else None
    at_ns = rollout.at
    for number, targets in enumerate(waves, 1):
        step = Step(actor, 0, number, "wave")
        when = yield from world.until(at_ns, step)
        _wave(world, identity, actor, when, number, "begin", len(targets))
        if keeper is not None:
            hands.at = when
            if not (yield from keeper.before(number, targets)):
                return
        deliveries = [delivery_of(rollout, target, body, digest) for target in targets]
        world.foresee(world.now + 1, targets)
        posters: list[Poster] = []
        fine = yield from post_all(world, rollout, deliveries, latencies, world.now, posters)
        end = yield from world.until(world.now + 1, step._replace(operation="wave-end"))
        stopped = rollout.stop_on_failure and not fine
        _wave(world, identity, actor, end, number, "stopped" if stopped else "end", len(targets))
        if keeper is not None:
            hands.at = end
            keeper.note(posters)
            if not (yield from keeper.stop(number) if stopped else keeper.after(number, targets)):
                return
            at_ns = world.now
        elif stopped:
            return
        else:
            at_ns = world.now + (rollout.waves[number - 1].bake if rollout.waves else 0)


class Hands:
    """What the operator of one rollout does besides posting. `at`: the place in the order of what it tells."""

    def __init__(self, world: World, rollout: Rollout, identity: str, latencies: Latencies) -> None:
        self.world = world
        self.rollout = rollout
        self.identity = identity
        self.latencies = latencies
        self.actor = f"{rollout.operator}:{rollout.version}"
        self.at: When = (0, world.tie_of_start)
        self._eyes: dict[str, Writer] = {}
        self._polls: Counter[str] = Counter()
        self._looked: dict[str, Counter[str]] = {}
        self._read = 0

    @property
    def now(self) -> int:
        return self.world.now

    @property
    def choices(self) -> Hashed:
        return self.world.choices

    def until(self, at_ns: int, moment: str, number: int) -> Wait:
        self.at = yield from self.world.until(at_ns, Step(self.actor, 0, number, moment))

    def look(self, target: str, number: int) -> Wait:
        """Reads a target's prompt. Raises `Halted`."""
        world = self.world
        prompt = world.manifest(target).prompt
        look = Look(world.specs[target].home, None, prompt.path, prompt.begin, prompt.end)
        while True:
            eyes = self._eyes.get(target) or self._open(target, 0)
            trace = Trace("poll", number, (world.now, world.tie(Step(eyes.actor, eyes.life, number, "begin"))))
            try:
                sight = yield from drive(world, eyes, sight_of(look), trace)
            except Died:
                world.recorder.keep(trace.rows)
                if eyes.dying is None or eyes.dying.restart_ns is None:
                    raise Halted from None
                self._open(target, eyes.life + 1)
                yield from self.until(world.now + eyes.dying.restart_ns, "restart", number)
                continue
            self.at = eyes.at
            self._polls[target] += 1
            if trace.changed:
                world.recorder.keep(trace.rows)
            else:
                self._looked.setdefault(target, Counter()).update(one.kind for one in trace.looked)
            return sight

    def _open(self, target: str, life: int) -> Writer:
        world, by = self.world, self.rollout.operator
        home = world.specs[target].home
        shell = Shell(world, target, home, self.rollout.uid)
        actor = f"{self.actor}/{target}/gate"
        eyes = Writer(shell, actor, life, "operators", target, home, self.latencies, by)
        self._eyes[target] = eyes
        return eyes

    def logs(self) -> Iterable[tuple[str, int, str]]:
        """What agents logged since this was asked last."""
        rows = self.world.recorder.rows_from(self._read)
        self._read += len(rows)
        return [(row[3]["agent"], row[0], row[3]["event"]) for row in rows if row[3].kind == "log"]

    def undo(self, targets: Sequence[str]) -> Wait:
        """Posts the former version to these targets, all at once: a rollout of its own, told of as such."""
        world, rollout = self.world, self.rollout
        former = former_of(world.scenario, rollout)
        operator, identity = f"{rollout.operator}~{rollout.version}", f"{self.identity}/rollback"
        body = body_of(former)
        digest = world.body(body, self.at, "rollout", former.version)
        world.recorder.add(
            self.at,
            "harness",
            "rollout",
            rollout=identity,
            version=former.version,
            operator=operator,
            body=digest,
            targets=list(targets),
            write=rollout.write,
            verify=rollout.verify,
            waves=[list(targets)],
        )
        actor = f"{operator}:{former.version}"
        _wave(world, identity, actor, self.at, 1, "begin", len(targets))
        posts = [delivery_of(rollout, target, body, digest) for target in targets]
        posts = [replace(one, version=former.version, operator=operator) for one in posts]
        how = rollout.model_copy(update={"order": "together", "spacing": 0, "stop_on_failure": False})
        yield from post_all(world, how, posts, self.latencies, world.now, [])
        self.at = yield from world.until(world.now + 1, Step(actor, 0, 1, "wave-end"))
        _wave(world, identity, actor, self.at, 1, "end", len(targets))

    def tell(self, kind: str, **fields: Any) -> None:
        self.world.recorder.add((self.world.now, self.at[1]), self.actor, kind, **fields)

    def close(self) -> None:
        """Tells what the looks cost, and lets go of what was held open."""
        for target, eyes in self._eyes.items():
            count, ops = self._polls[target], dict(sorted(self._looked.get(target, Counter()).items()))
            self.tell("polls", agent=target, operator=self.rollout.operator, count=count, ops=ops)
            eyes.shell.exit()


def post_all(
    world: World, rollout: Rollout, deliveries: list[Delivery], latencies: Latencies, start: int, posters: list[Poster]
) -> Wait:
    """Posts to a wave's targets, at once or one by one; returns whether all were held for done. Fills `posters`."""
    results: list[bool] = []
    if rollout.order == "one-by-one":
        at_ns = start + 1
        for delivery in deliveries:
            posters.append(Poster(world, delivery, latencies, by=rollout.operator))
            results.append((yield from posters[-1].deliver(at_ns)))
            if rollout.stop_on_failure and not results[-1]:
                break
            at_ns = max(at_ns + rollout.spacing, world.now + 1)
        return all(results)
    stopping = world.clock.event()
    under_way: list[simpy.Event] = []
    for index, delivery in enumerate(deliveries):
        at_ns = start + 1 + index * rollout.spacing
        poster = Poster(world, delivery, latencies, by=rollout.operator)
        posters.append(poster)
        if world.lanes is not None:
            world.lanes.waits(poster.body, at_ns)
        under_way.append(world.clock.process(_one(world, rollout, poster, at_ns, results, stopping)))
    if world.lanes is not None:
        world.lanes.begun(rollout.at)
    yield world.clock.all_of(under_way)
    return all(results)


def _one(
    world: World, rollout: Rollout, poster: Poster, at_ns: int, results: list[bool], stopping: simpy.Event
) -> Wait:
    if rollout.spacing and rollout.stop_on_failure:
        start = yield from world.until(at_ns, Step(poster.actor, 0, 0, "start"))
        if stopping.triggered:
            return
        at_ns = start[0] + 1
    done = yield from poster.deliver(at_ns)
    if world.lanes is not None:
        world.lanes.leave(poster.body)
    results.append(done)
    if not done and not stopping.triggered:
        stopping.succeed()


def _wave(world: World, identity: str, actor: str, when: When, number: int, event: str, targets: int) -> None:
    world.recorder.add(when, actor, "wave", rollout=identity, wave=number, event=event, targets=targets)
