"""An operator's "done" is true: that version is effective on that target at that time.

A hazard, whatever the way of verifying: disappearance proves consumption alone, canonical proves no flush. Claims for
blank bodies are set aside, as nothing is meant to become effective.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.world import World

INVARIANT = Invariant("honest-operator", 'an operator\'s "done" is true')


def check(world: World) -> Iterator[Finding]:
    for claim in world.claims:
        post, agent = world.post(claim.post), world.agents.get(claim.agent)
        if claim.claim != "done" or post is None or agent is None or post.body.blank:
            continue
        world.examined()
        if agent.prompt_at(claim.at.seq).key != post.key:
            held = agent.name_of(agent.prompt_at(claim.at.seq).key)
            text = (
                f"{claim.agent}: {claim.operator} said done for {claim.post} {words.at(claim.at.t)}, "
                f"verified by {_way(claim.verify)}, and {held} was effective then"
            )
            yield Finding(INVARIANT.id, "hazard", "writer", claim.at.t, text, claim.agent, (claim.post,))


def _way(verify: str) -> str:
    return "nothing" if verify == "none" else verify
