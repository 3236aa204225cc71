"""Operators: each target of a rollout has an actor of its own that writes, verifies, and tries again.

An operator's "done" is a claim, recorded as such; whether it is true is for the checks. Polls that would see what the last
one saw are skipped like idle beats. A writer that dies leaves what it had written; it starts again only where the fault
says so, with the next attempt.
"""

from __future__ import annotations

import errno
from collections import Counter

from fleetbeat.chance.step import Step
from fleetbeat.engines.delivery import POLLS, Delivery, temporary_of
from fleetbeat.engines.des.body import Body, Shell
from fleetbeat.engines.des.doze import Series, sleep
from fleetbeat.engines.des.drive import Latencies, drive
from fleetbeat.engines.des.watch import Writing
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.effects import Died, Trace
from fleetbeat.engines.recorder import When
from fleetbeat.history.records import compared
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.writers import LOOKS, WRITERS, Look, Post


class Writer(Body):
    """The process that writes and looks for one delivery. `writing` is the post under way."""

    writing: Writing | None = None
    dying: Outcome | None = None

    def die(self, when: When, outcome: Outcome) -> None:
        self.dying = outcome
        for handle in self.shell.exit():
            self.shell.world.watch.closed(when, handle)


class Poster:
    """Carries out one delivery. `by`: the operator whose faults strike it, else the delivery's own.

    `written_at`, `done_at`: when its first post was written, and when it was held for done, in ns; None: never.
    """

    def __init__(self, world: World, delivery: Delivery, latencies: Latencies, actor: str = "", by: str = "") -> None:
        self.world = world
        self.delivery = delivery
        self.latencies = latencies
        self.actor = actor or f"{delivery.operator}:{delivery.version}/{delivery.target}"
        self.by = by or delivery.operator
        self.written_at: int | None = None
        self.done_at: int | None = None
        self.is_tried = False
        self.home = world.specs[delivery.target].home
        self.counts: Counter[str] = Counter()
        self.polls = 0
        self.life = 0
        self.body = self._embody()

    def _embody(self) -> Writer:
        one = self.delivery
        shell = Shell(self.world, one.target, self.home, one.uid)
        return Writer(shell, self.actor, self.life, "operators", one.target, self.home, self.latencies, self.by)

    def deliver(self, at_ns: int) -> Wait:
        """Posts, verifies and tries again; returns whether the operator holds it for done."""
        one = self.delivery
        self.is_tried = True
        claim = "failed"
        for attempt in range(1, one.retries + 2):
            outcome = yield from self.write(attempt, at_ns)
            if outcome == "died":
                dying = self.body.dying
                if dying is None or dying.restart_ns is None:
                    return False
                at_ns = self.world.now + max(1, dying.restart_ns)
                self.life += 1
                self.body = self._embody()
                continue
            claim = "failed"
            if outcome == "written":
                self.written_at = self.world.now if self.written_at is None else self.written_at
                claim = yield from self._verify(attempt)
            if claim == "died":
                return False
            if claim == "done":
                self.done_at = self.world.now
                break
            at_ns = self.world.now + 1
        self._claim(claim, attempt)
        return claim == "done"

    # --- writing ---

    def write(self, attempt: int, at_ns: int) -> Wait:
        """One post; returns written, failed or died."""
        world, one = self.world, self.delivery
        post = f"{one.name}#{attempt}"
        step = Step(self.actor, self.life, attempt, "post")
        lanes, at_ns = world.lanes, max(at_ns, world.now + 1)
        if lanes is not None and at_ns < lanes.limit(self.body):
            when: When = (at_ns, world.tie(step))
        else:
            when = yield from world.until(at_ns, step)
        add = world.recorder.add
        add(
            when,
            self.actor,
            "post.plan",
            post=post,
            version=one.version,
            agent=one.target,
            operator=one.operator,
            attempt=attempt,
            body=one.digest,
            write=one.method,
        )
        temporary = temporary_of(world.choices, self.home, one.write, self.actor, self.life, attempt)
        plan = Post(self.home, one.body, temporary, one.chunk, one.perms)
        self.body.writing = Writing(post, one.target, one.body)
        trace = Trace("post", attempt, when)
        outcome, error = "written", None
        try:
            yield from drive(world, self.body, WRITERS[one.write](plan), trace)
        except Died:
            outcome = "died"
        except OSError as failure:
            outcome, error = "failed", errno.errorcode.get(failure.errno or 0, str(failure.errno))
        self.body.writing = None
        at = (trace.end, trace.last or when[1]) if outcome == "written" else self.body.at
        left = temporary if one.write != "in-place" and world.files.kind(temporary) is not None else None
        add(at, self.actor, "post.end", post=post, agent=one.target, outcome=outcome, error=error, leftover=left)
        return outcome

    # --- verifying ---

    def _verify(self, attempt: int) -> Wait:
        """Polls until the delivery looks done or time is up; returns done, timeout or died."""
        world, one = self.world, self.delivery
        if one.verify == "none":
            return "done"
        base = world.now
        last = one.timeout_ns // one.poll_ns
        number = 1
        self.body.caught_up = None
        while number <= last:
            begin = self._begin(attempt, number)
            start = base + number * one.poll_ns
            when = (start, world.tie(begin))
            if self.body.caught_up is None or not when < self.body.caught_up:
                at_ns = max(start, world.soonest(self.body.caught_up))
                if world.lanes is not None:
                    world.lanes.waits(self.body, at_ns)
                yield world.clock.instant(at_ns, when[1])
                when = (world.now, when[1])
            trace = Trace("poll", self._number(attempt, number), when)
            try:
                done = yield from drive(world, self.body, LOOKS[one.verify](self._look()), trace)
            except Died:
                world.recorder.keep(trace.rows)
                return "died"
            self.polls += 1
            if done or trace.changed:
                world.recorder.keep(trace.rows)
            else:
                self.counts.update(look.kind for look in trace.looked)
            if done:
                return "done"
            work = sum(trace.lasting)
            restless = trace.changed or not trace.steady or work >= one.poll_ns
            if number >= last or restless or world.is_fresh(trace.names, when):
                number = max(number + 1, -(-(world.now + 1 - base) // one.poll_ns))
                continue
            number = yield from self._doze(attempt, number, base, trace, last)
        if world.now < base + one.timeout_ns:
            yield from world.until(base + one.timeout_ns, self._begin(attempt, last + 1)._replace(operation="timeout"))
        return "timeout"

    def _doze(self, attempt: int, number: int, base: int, trace: Trace, last: int) -> Wait:
        """Skips polls that would see the same; returns the number of the next poll to play."""
        world, poll = self.world, self.delivery.poll_ns
        series = Series(
            done=number,
            like=trace,
            start_of=lambda m: base + m * poll,
            reach=lambda at_ns: max(number + 1, -(-(at_ns - base) // poll)),
            begin=lambda m: self._begin(attempt, m),
        )
        step = Step(self.actor, self.life, self._number(attempt, number), "begin")
        ahead = world.injector.next_hit(
            "operators",
            self.delivery.target,
            trace.looked,
            step,
            lambda at_ns: self._number(attempt, series.reach(at_ns)),
            self._number(attempt, last + 1),
        )
        named = [
            s.episode for s in world.choices.overrides.steps() if s.actor == self.actor and s.episode > step.episode
        ]
        ahead = min([*named, *([] if ahead is None else [ahead])], default=self._number(attempt, last))
        hit = min(ahead - self._number(attempt, 0), last)
        following, self.body.caught_up = yield from sleep(world, self.body, series, tuple(trace.names), hit)
        skipped = min(following, last + 1) - number - 1
        self.polls += skipped
        for look in trace.looked:
            self.counts[look.kind] += skipped
        return following

    def _begin(self, attempt: int, number: int) -> Step:
        return Step(self.actor, self.life, self._number(attempt, number), "begin")

    @staticmethod
    def _number(attempt: int, number: int) -> int:
        """Polls of one attempt are numbered on from those of the attempt before, by a thousand thousand each."""
        return attempt * POLLS + number

    def _look(self) -> Look:
        prompt = self.world.manifest(self.delivery.target).prompt
        return Look(self.home, compared(self.delivery.body), prompt.path, prompt.begin, prompt.end)

    def _claim(self, claim: str, attempt: int) -> None:
        world, one = self.world, self.delivery
        at: When = (world.now, self.body.at[1])
        add = world.recorder.add
        if self.polls:
            add(
                at,
                self.actor,
                "polls",
                agent=one.target,
                operator=one.operator,
                count=self.polls,
                ops=dict(sorted(self.counts.items())),
            )
        add(
            at,
            self.actor,
            "claim",
            post=f"{one.name}#{attempt}",
            version=one.version,
            agent=one.target,
            operator=one.operator,
            verify=one.verify,
            claim=claim,
        )
