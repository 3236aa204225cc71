"""No post is lost: gone, never effective, nothing logged, and its body not made effective by another post either."""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import blame
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.world import World

INVARIANT = Invariant("no-silent-loss", "no post is lost")


def check(world: World) -> Iterator[Finding]:
    for post in world.posts:
        if post.begun is None:
            continue
        world.examined()
        if world.fate[post.id].fate == "lost":
            found = blame.loss(world.agents[post.agent], post)
            message = f"{post.agent}: {post.id} {found.why}"
            yield Finding(INVARIANT.id, found.kind, found.cause, found.t, message, post.agent, (post.id,))
