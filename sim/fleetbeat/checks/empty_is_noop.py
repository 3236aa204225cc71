"""A blank body is consumed, and nothing is written and nothing flushed."""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import noop
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.world import World

INVARIANT = Invariant("empty-is-noop", "a blank body leads to no canonical write and no flush")


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        for taken in agent.consumptions:
            post = taken.post
            if post is None or not post.body.blank or not noop.is_certain(taken):
                continue
            world.examined()
            if wrong := noop.written(agent, taken):
                text = f"{agent.name}: {post.id} is blank, and after it was consumed {wrong}"
                yield Finding(INVARIANT.id, "violation", "agent", taken.at.t, text, agent.name, (post.id,))
