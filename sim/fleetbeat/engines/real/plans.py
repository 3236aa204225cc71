"""Rollouts in real time: twin of `engines.des.plans`. Waves one after another, and the hands of an operator with gates.

A look reads the target's prompt as a poll does, in one step of the loop; what agents logged is what the observer saw them
log until then. That a version makes agents log errors is for the simulation: real agents log their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.engines.delivery import delivery_of
from fleetbeat.engines.effects import Died, Trace
from fleetbeat.engines.gatekeeper import Halted, Keeper
from fleetbeat.engines.gates import AGAIN_NS, former_of, is_planned, read_sight
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.engines.real.loop import Flag
from fleetbeat.engines.real.operators import Poster
from fleetbeat.engines.real.play_drive import Hand, Latencies, Wait, drive
from fleetbeat.engines.real.play_world import World
from fleetbeat.history.records import compared
from fleetbeat.protocol.writers import Look
from fleetbeat.scenario.model import Rollout, Scenario
from fleetbeat.scenario.resolve import body_of


def refuse_troubles(scenario: Scenario) -> None:
    """Raises `CannotDo` for versions that make agents log errors."""
    lines = [
        f"rollouts.{index}.errors_per_hour: got {one.errors_per_hour:g}, expected 0: only in the simulation does a version"
        " make agents log errors"
        for index, one in enumerate(scenario.rollouts)
        if one.errors_per_hour
    ]
    if lines:
        raise CannotDo(*lines)


def roll_out(world: World, rollout: Rollout, identity: str, waves: Sequence[Sequence[str]], digest: str) -> Wait:
    """The task of one rollout: its waves, one after another."""
    latencies = Latencies(rollout.latency)
    body = body_of(rollout)
    actor = f"{rollout.operator}:{rollout.version}"
    hands = Hands(world, rollout, identity, latencies)
    keeper = Keeper(hands, rollout, identity, compared(body), len(waves)) if is_planned(rollout) else None
    at_ns = rollout.at
    for number, targets in enumerate(waves, 1):
        yield at_ns
        _wave(world, identity, actor, number, "begin", len(targets))
        if keeper is not None and not (yield from keeper.before(number, targets)):
            return
        posters = [Poster(world, delivery_of(rollout, target, body, digest), latencies) for target in targets]
        yield from post_all(world, rollout, posters, world.now)
        stopped = rollout.stop_on_failure and not all(poster.is_done for poster in posters)
        _wave(world, identity, actor, number, "stopped" if stopped else "end", len(targets))
        if keeper is not None:
            keeper.note(posters)
            if not (yield from keeper.stop(number) if stopped else keeper.after(number, targets)):
                return
            at_ns = world.now
        elif stopped:
            return
        else:
            at_ns = world.now + (rollout.waves[number - 1].bake if rollout.waves else 0)


class Hands:
    """What the operator of one rollout does besides posting."""

    def __init__(self, world: World, rollout: Rollout, identity: str, latencies: Latencies) -> None:
        self.world = world
        self.rollout = rollout
        self.identity = identity
        self.latencies = latencies
        self.actor = f"{rollout.operator}:{rollout.version}"
        self._eyes: dict[str, Hand] = {}
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
        yield at_ns

    def look(self, target: str, number: int) -> Wait:
        """Reads a target's prompt, and a torn one again. Raises `Halted`."""
        world = self.world
        prompt = world.manifest(target).prompt
        look = Look(world.specs[target].home, None, prompt.path, prompt.begin, prompt.end)
        yield world.now
        again = False
        while True:
            eyes = self._eyes.get(target) or self._open(target, 0)
            episode = 2 * number + again
            trace = Trace("poll", episode, world.when(Step(eyes.actor, eyes.life, episode, "begin")))
            try:
                sight = yield from drive(world, eyes, read_sight(look), trace, at_once=True)
            except Died:
                if eyes.dying is None or eyes.dying.restart_ns is None:
                    raise Halted from None
                self._open(target, eyes.life + 1)
                yield world.now + eyes.dying.restart_ns
                continue
            finally:
                self._polls[target] += 1
                self._looked.setdefault(target, Counter()).update(one.kind for one in trace.looked)
            if sight.state != "torn" or again:
                return sight
            again = True
            yield world.now + AGAIN_NS

    def _open(self, target: str, life: int) -> Hand:
        home, actor = self.world.specs[target].home, f"{self.actor}/{target}/gate"
        eyes = Hand(self.world, actor, life, target, home, self.rollout.uid, self.latencies, self.rollout.operator)
        self._eyes[target] = eyes
        return eyes

    def logs(self) -> Iterable[tuple[str, int, str]]:
        """What agents were seen to log since this was asked last."""
        self.world.observer.drain()
        records = self.world.sink.records_from(self._read)
        self._read += len(records)
        return [(record["agent"], record.t, record["event"]) for record in records if record.kind == "log"]

    def undo(self, targets: Sequence[str]) -> Wait:
        """Posts the former version to these targets, all at once: a rollout of its own, told of as such."""
        world, rollout = self.world, self.rollout
        former = former_of(world.scenario, rollout)
        operator, identity = f"{rollout.operator}~{rollout.version}", f"{self.identity}/rollback"
        body = body_of(former)
        digest = world.sink.body(body, world.now, "rollout", former.version)
        world.sink.add(
            world.now,
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
        _wave(world, identity, actor, 1, "begin", len(targets))
        posts = [delivery_of(rollout, target, body, digest) for target in targets]
        posts = [replace(one, version=former.version, operator=operator) for one in posts]
        posters = [Poster(world, one, self.latencies, by=rollout.operator) for one in posts]
        how = rollout.model_copy(update={"order": "together", "spacing": 0, "stop_on_failure": False})
        yield from post_all(world, how, posters, world.now)
        _wave(world, identity, actor, 1, "end", len(targets))

    def tell(self, kind: str, **fields: Any) -> None:
        self.world.sink.add(self.world.now, self.actor, kind, **fields)

    def close(self) -> None:
        """Tells what the looks cost, and lets go of what was held open."""
        for target, eyes in self._eyes.items():
            count, ops = self._polls[target], dict(sorted(self._looked.get(target, Counter()).items()))
            self.tell("polls", agent=target, operator=self.rollout.operator, count=count, ops=ops)
            eyes.exit()


def post_all(world: World, rollout: Rollout, posters: Sequence[Poster], start: int) -> Wait:
    """Posts to a wave's targets, at once or one by one."""
    at_ns = start
    if rollout.order == "one-by-one":
        for poster in posters:
            yield from poster.deliver(at_ns)
            if rollout.stop_on_failure and not poster.is_done:
                return
            at_ns = max(at_ns + rollout.spacing, world.now)
        return
    stopping = Flag()
    under_way = [
        world.loop.start(_one(world, rollout, poster, start + index * rollout.spacing, stopping))
        for index, poster in enumerate(posters)
    ]
    yield from under_way


def _one(world: World, rollout: Rollout, poster: Poster, at_ns: int, stopping: Flag) -> Wait:
    yield at_ns
    if rollout.spacing and rollout.stop_on_failure and stopping.is_up:
        return
    yield from poster.deliver(at_ns)
    if not poster.is_done:
        world.loop.raise_flag(stopping)


def _wave(world: World, identity: str, actor: str, number: int, event: str, targets: int) -> None:
    world.sink.add(world.now, actor, "wave", rollout=identity, wave=number, event=event, targets=targets)
