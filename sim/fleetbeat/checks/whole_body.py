"""Every applied body is one that somebody posted here, a start state or a recorded edit: never parts, never a mixture.

A text that a rebuild took from a canonical that was cut short counts as well: the parties conform, and the prompt holds
what nobody wrote (a gap). Each text is reported once for each agent.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import blame, words
from fleetbeat.checks.credit import culprits, is_unknown
from fleetbeat.checks.episodes import clusters
from fleetbeat.checks.model import Cause, Class, Finding, Invariant
from fleetbeat.checks.timeline import BLANK, Agent, Prompt
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "whole-body", "every applied body equals one posted body, a start state or a recorded outside edit"
)


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        seen: set[str] = set()
        for taken in agent.consumptions:
            if taken.torn is None:
                continue
            for key in (agent.canonical_at(taken.torn.seq + 1).key, agent.prompt_at(taken.torn.seq + 1).key):
                seen.update([] if key is None or agent.knows(key, taken.torn) else [key])
            kind, cause = blame.torn(taken)
            names = tuple(post.id for post in culprits(agent, taken))
            whose = f"of {words.listed(names)}" if names else "of a signal that nobody posted"
            text = f"{agent.name}: a text that nobody posted was applied {words.at(taken.torn.t)} instead {whose}"
            yield Finding(INVARIANT.id, kind, cause, taken.torn.t, text, agent.name, names)
        yield from _flushed(world, agent, seen)


def _flushed(world: World, agent: Agent, seen: set[str]) -> Iterator[Finding]:
    before: str | None = None
    for prompt in agent.prompts:
        if prompt.key is None or prompt.key == before or prompt.key == BLANK:
            before = prompt.key
            continue
        before = prompt.key
        world.examined()
        if is_unknown(agent, prompt.key, prompt.at) and prompt.key not in seen:
            seen.add(prompt.key)
            kind, cause, where = _source(agent, prompt, world.end)
            text = f"{agent.name}: a text that nobody posted became effective {words.at(prompt.at.t)}{where}"
            yield Finding(INVARIANT.id, kind, cause, prompt.at.t, text, agent.name)


def _source(agent: Agent, prompt: Prompt, world_end: int) -> tuple[Class, Cause, str]:
    at = prompt.at
    if any(life.end is not None and life.end.t == at.t and life.cause == "power" for life in agent.lives):
        return "gap", "environment", ", left in the prompt by a power failure"
    held = next((state for state in reversed(agent.canonicals) if state.at < at and state.key == prompt.key), None)
    if held is None and any(one.overlaps and one.start <= at.t <= one.end for one in clusters(agent, world_end)):
        return "gap", "protocol", ": a rebuild and a beat wrote the prompt at the same time"
    if held is None or held.by == "edit":
        return "violation", "agent", ", and canonical had never held it"
    writer = agent.beat_at(held.at.t)
    if held.by == "agent" and writer is not None and writer.end >= at.t and writer.outcome != "cut":
        return "gap", "protocol", ": a rebuild read canonical while a beat was writing it"
    return "gap", "environment", ": canonical had been cut short"
