"""No body, however malformed, and no failed operation ends the heartbeat.

Recorded ends count, and so do beats that stop for several of their usual intervals in a life that goes on. Of an agent
whose beats were not seen at all, since nobody could see them, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.heartbeat import Death, deaths
from fleetbeat.checks.model import Finding, Invariant, Unknown
from fleetbeat.checks.timeline import Agent
from fleetbeat.checks.world import World

INVARIANT = Invariant("beats-go-on", "no body and no failed operation ends the heartbeat")


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        world.examined(len(agent.lives) or bool(agent.beats or agent.spans))
        for death in deaths(agent, world.end):
            text = f"{agent.name}: {_sentence(death)}"
            yield Finding(INVARIANT.id, "violation", "agent", death.at, text, agent.name, _pending(agent, death))
    _seen_at_all(world)


def _seen_at_all(world: World) -> None:
    """Raises `Unknown` if of some agent not one beat was seen while it could not be seen whether it beats."""
    dark = [
        (agent.name, gap.missing)
        for agent in world.agents.values()
        if agent.lives and not (agent.beats or agent.spans or agent.heartbeat_ends)
        if (gap := agent.unseen_within(agent.lives[0].begin.t, world.end)) is not None
    ]
    if dark:
        name, missing = dark[0]
        more = f" (and {len(dark) - 1} more)" if len(dark) > 1 else ""
        raise Unknown(f"no beat of {name}{more} was seen: {missing}")


def _sentence(death: Death) -> str:
    if death.silent:
        return f"beats stopped {words.at(death.at)} in a life that went on"
    return f"the heartbeat ended in beat {death.beat} {words.at(death.at)}: {death.error}"


def _pending(agent: Agent, death: Death) -> tuple[str, ...]:
    for stand in agent.stands:
        if stand.post is not None and stand.since.t <= death.at and (stand.until is None or stand.until.t >= death.at):
            return (stand.post.id,)
    return ()
