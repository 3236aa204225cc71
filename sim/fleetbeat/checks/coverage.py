"""Agents spawned after a rollout hold its version.

A hazard of the protocol: there is no fan-out after a spawn. Of several rollouts that were over when an agent was
spawned, the one that was over last counts, by its last post; what was blank or cannot be read counts for none.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import Agent
from fleetbeat.checks.world import Rollout, World

INVARIANT = Invariant("coverage", "agents spawned after a rollout hold its version")


def check(world: World) -> Iterator[Finding]:
    spawned = [agent for agent in world.agents.values() if agent.fields.get("spawned")]
    if not spawned:
        return
    over = sorted(_over(world), key=lambda item: item[0])
    for agent in spawned:
        born = agent.lives[0].begin.t if agent.born.t == 0 and agent.lives else agent.born.t
        before = [rollout for t, rollout in over if t <= born]
        if not before:
            continue
        world.examined()
        if all(prompt.key != before[-1].body.key for prompt in agent.prompts):
            yield _finding(agent, before[-1], born)


def _over(world: World) -> Iterator[tuple[int, Rollout]]:
    """Rollouts that were written to all their targets, each with the instant at which its last post ended."""
    for rollout in world.rollouts:
        name = (rollout.version, rollout.operator)
        posts = [
            post for post in world.posts if (post.version, post.operator) == name and post.agent in rollout.targets
        ]
        ends = [post.ended.t for post in posts if post.ended is not None]
        written = {post.agent for post in posts if post.completed is not None}
        if ends and rollout.body.valid and not rollout.body.blank and rollout.targets <= written:
            yield max(ends), rollout


def _finding(agent: Agent, rollout: Rollout, born: int) -> Finding:
    text = f"{agent.name}: spawned {words.at(born)}, after the rollout of {rollout.version} was over, and never held it"
    return Finding(INVARIANT.id, "hazard", "protocol", born, text, agent.name)
