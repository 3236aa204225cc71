"""A body that is canonical and effective already is consumed, and nothing is written and nothing flushed.

Set aside: beats in which a fault struck canonical, since an agent that cannot read it takes it for empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import noop
from fleetbeat.checks.credit import began, over
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import CANONICAL_PATH, Agent, Consumption
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "identical-is-noop", "a body that is canonical and effective already leads to no canonical write and no flush"
)


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        for taken in agent.consumptions:
            post = taken.post
            if post is None or not taken.canonical == post.key == taken.effective or post.body.blank:
                continue
            if not noop.is_certain(taken) or _struck(agent, taken):
                continue
            world.examined()
            if wrong := noop.written(agent, taken):
                text = f"{agent.name}: {post.id} was canonical and effective already, and after it was consumed {wrong}"
                yield Finding(INVARIANT.id, "violation", "agent", taken.at.t, text, agent.name, (post.id,))


def _struck(agent: Agent, taken: Consumption) -> bool:
    return any(fired.path == CANONICAL_PATH and began(taken) <= fired.at.t <= over(taken) for fired in agent.faults)
