"""Nothing is written outside the targets of rollouts and the paths that the manifest declares.

A signal moved to a place that the manifest does not declare is a write as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.model import Cause, Finding, Invariant
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "scope", "nothing is written outside the targets of rollouts and the paths that the manifest declares"
)


def check(world: World) -> Iterator[Finding]:
    world.examined(len(world.agents) + len(world.posts))
    for write in world.writes:
        agent = write.actor.split("/")[0]
        cause: Cause = "agent" if agent in world.agents else "writer"
        text = f"{write.actor} wrote {write.path} {words.at(write.at.t)}, which is neither declared nor a target"
        yield Finding(INVARIANT.id, "violation", cause, write.at.t, text, write.agent)
    yield from _posts(world)
    yield from _moves(world)


def _posts(world: World) -> Iterator[Finding]:
    targets: dict[tuple[str, str], set[str]] = {}
    for rollout in world.rollouts:
        targets.setdefault((rollout.version, rollout.operator), set()).update(rollout.targets)
    for post in world.posts:
        if post.begun is not None and post.agent not in targets.get((post.version, post.operator), ()):
            who = f"no rollout of {post.version} by {post.operator} names it"
            text = f"{post.agent}: {post.id} was written {words.at(post.begun.t)}, and {who}"
            yield Finding(INVARIANT.id, "violation", "writer", post.begun.t, text, post.agent, (post.id,))


def _moves(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        for taken in agent.consumptions:
            if taken.moved_to is not None and not (taken.claimed or taken.set_aside):
                posts = () if taken.post is None else (taken.post.id,)
                where = f"{taken.moved_to} {words.at(taken.at.t)}"
                text = f"{agent.name}: .rules was moved to {where}, a place that is not declared"
                yield Finding(INVARIANT.id, "violation", "agent", taken.at.t, text, agent.name, posts)
