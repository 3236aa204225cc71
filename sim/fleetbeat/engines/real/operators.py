"""Operators in real time: twin of `engines.des.operator`. Each target of a rollout has a writer of its own that posts,
verifies, and tries again.

The writers' operations are real and their users' own; the time that the scenario gives them passes in between. Faults on
operators are carried out here, by name, as the simulation would. Every poll is made; none has records of its own.
"""

from __future__ import annotations

import errno
import os
from collections import Counter

from fleetbeat.chance.step import Step
from fleetbeat.engines.delivery import POLLS, Delivery, temporary_of
from fleetbeat.engines.effects import Died, Trace
from fleetbeat.engines.real.play_drive import Hand, Latencies, Shows, Wait, drive
from fleetbeat.engines.real.play_world import World
from fleetbeat.history.records import compared
from fleetbeat.protocol.spelling import read_file
from fleetbeat.protocol.writers import LOOKS, WRITERS, Look, Post
from fleetbeat.scenario.resolve import AgentSpec


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
        self.home = world.specs[delivery.target].home
        self.counts: Counter[str] = Counter()
        self.polls = 0
        self.life = 0
        self.hand = self._embody()
        self.is_done = False
        self.is_tried = False

    def _embody(self) -> Hand:
        one = self.delivery
        return Hand(self.world, self.actor, self.life, one.target, self.home, one.uid, self.latencies, self.by)

    def deliver(self, at_ns: int) -> Wait:
        """Posts, verifies and tries again; `is_done` says whether the operator holds it for done."""
        one = self.delivery
        self.is_tried = True
        claim, attempt = "failed", 0
        for attempt in range(1, one.retries + 2):
            outcome = yield from self.write(attempt, at_ns)
            if outcome == "died":
                dying = self.hand.dying
                if dying is None or dying.restart_ns is None:
                    return
                at_ns = self.world.now + max(1, dying.restart_ns)
                self.life += 1
                self.hand = self._embody()
                continue
            claim = "failed"
            if outcome == "written":
                self.written_at = self.world.now if self.written_at is None else self.written_at
                claim = yield from self._verify(attempt)
            if claim == "died":
                return
            if claim == "done":
                break
            at_ns = self.world.now
        self.is_done = claim == "done"
        self.done_at = self.world.now if self.is_done else None
        self._claim(claim, attempt)

    # --- writing ---

    def write(self, attempt: int, at_ns: int) -> Wait:
        """One post; returns written, failed or died."""
        yield at_ns
        world, one, hand = self.world, self.delivery, self.hand
        post = f"{one.name}#{attempt}"
        world.sink.add(
            world.now,
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
        hand.shows = self._shown(post)
        trace = Trace("post", attempt, world.when(Step(self.actor, self.life, attempt, "post")))
        outcome, error = "written", None
        try:
            yield from drive(world, hand, WRITERS[one.write](plan), trace)
        except Died:
            outcome = "died"
        except OSError as failure:
            outcome, error = "failed", errno.errorcode.get(failure.errno or 0, str(failure.errno))
        hand.shows = None
        hand.exit()
        left = temporary if one.write != "in-place" and os.path.lexists(world.root.home(temporary)) else None
        fields = {"post": post, "agent": one.target, "outcome": outcome, "error": error, "leftover": left}
        world.sink.add(world.now, self.actor, "post.end", **fields)
        return outcome

    def _shown(self, post: str) -> Shows:
        """Records that a post begins with its first effect on the final name, and that the whole body stands there."""
        begun = complete = False

        def shown(t: int, standing: bytes | None) -> None:
            nonlocal begun, complete
            one, sink = self.delivery, self.world.sink
            if not begun:
                begun = True
                sink.add(t, self.actor, "post.begin", post=post, agent=one.target)
            if not complete and standing == one.body:
                complete = True
                sink.add(t, self.actor, "post.complete", post=post, agent=one.target)

        return shown

    # --- verifying ---

    def _verify(self, attempt: int) -> Wait:
        """Polls until the delivery looks done or time is up; returns done, timeout or died."""
        world, one = self.world, self.delivery
        if one.verify == "none":
            return "done"
        base = world.now
        last = one.timeout_ns // one.poll_ns
        number = 1
        while number <= last:
            yield base + number * one.poll_ns
            episode = attempt * POLLS + number
            trace = Trace("poll", episode, world.when(Step(self.actor, self.life, episode, "begin")))
            try:
                done = yield from drive(world, self.hand, LOOKS[one.verify](self._look()), trace, at_once=True)
            except Died:
                return "died"
            finally:
                self.polls += 1
                self.counts.update(look.kind for look in trace.looked)
            if done:
                return "done"
            number = max(number + 1, -(-(world.now + 1 - base) // one.poll_ns))
        yield base + one.timeout_ns
        return "timeout"

    def _look(self) -> Look:
        prompt = self.world.manifest(self.delivery.target).prompt
        return Look(self.home, compared(self.delivery.body), prompt.path, prompt.begin, prompt.end)

    def _claim(self, claim: str, attempt: int) -> None:
        one, sink, now = self.delivery, self.world.sink, self.world.now
        if self.polls:
            ops = dict(sorted(self.counts.items()))
            sink.add(now, self.actor, "polls", agent=one.target, operator=one.operator, count=self.polls, ops=ops)
        sink.add(
            now,
            self.actor,
            "claim",
            post=f"{one.name}#{attempt}",
            version=one.version,
            agent=one.target,
            operator=one.operator,
            verify=one.verify,
            claim=claim,
        )


def hand_down(world: World, spec: AgentSpec) -> Wait:
    """A parent writes its canonical into a child at spawn; twin of `engines.des.hand_down`."""
    parent = world.specs[str(spec.parent)]
    actor = f"{spec.parent}/hand-down/{spec.name}"
    latencies = Latencies(parent.latency)
    yield world.now
    reader = Hand(world, actor, 0, parent.name, parent.home, parent.uid, latencies, "")
    trace = Trace("hand-down", 0, world.when(Step(actor, 0, 0, "begin")))
    try:
        text = yield from drive(world, reader, read_file(f"{parent.home}/system/rules.md", 65536), trace)
    except (OSError, Died):
        return
    finally:
        reader.exit()
    digest = world.sink.body(text, world.now, "hand-down", f"handed-down-{spec.parent}")
    version = world.sink.bodies.version_of(digest) or f"handed-down-{spec.parent}"
    world.sink.add(
        world.now,
        "harness",
        "rollout",
        rollout=f"hand-down:{spec.name}",
        version=version,
        operator=parent.name,
        body=digest,
        targets=[spec.name],
        write="hand-down",
        verify="none",
        waves=[[spec.name]],
    )
    delivery = Delivery(
        version=version,
        operator=parent.name,
        target=spec.name,
        body=text,
        digest=digest,
        write="in-place" if spec.hand_down == "in-place" else "atomic",
        method="hand-down",
        verify="none",
        uid=parent.uid,
        perms=0o644,
    )
    yield from Poster(world, delivery, latencies, actor).write(1, world.now)
