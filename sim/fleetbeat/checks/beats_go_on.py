"""No body, however malformed, and no failed operation ends the heartbeat.

Recorded ends count, and so do beats that stop for several of their usual intervals in a life that goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.heartbeat import Death, deaths
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import Agent
from fleetbeat.checks.world import World

INVARIANT = Invariant("beats-go-on", "no body and no failed operation ends the heartbeat")


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        world.examined(len(agent.lives) or bool(agent.beats or agent.spans))
        for death in deaths(agent, world.end):
            text = f"{agent.name}: {_sentence(death)}"
            yield Finding(INVARIANT.id, "violation", "agent", death.at, text, agent.name, _pending(agent, death))


def _sentence(death: Death) -> str:
    if death.silent:
        return f"beats stopped {words.at(death.at)} in a life that went on"
    return f"the heartbeat ended in beat {death.beat} {words.at(death.at)}: {death.error}"


def _pending(agent: Agent, death: Death) -> tuple[str, ...]:
    for stand in agent.stands:
        if stand.post is not None and stand.since.t <= death.at and (stand.until is None or stand.until.t >= death.at):
            return (stand.post.id,)
    return ()
