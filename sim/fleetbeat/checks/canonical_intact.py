"""Canonical is a whole body at every instant at which the agent could die.

Every operation is such an instant, so a broken canonical counts however briefly it stands. Broken and not read: a
hazard, one finding for each agent with counts. Read by a rebuild after which the prompt has lost or torn the rules: a
gap. Whole are posted bodies, the start state and recorded edits; empty or missing is whole until canonical first held
rules, and after an edit that made it so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fleetbeat.checks import words
from fleetbeat.checks.model import Cause, Finding, Invariant
from fleetbeat.checks.timeline import BLANK, Agent, Canonical, Prompt, Rebuild
from fleetbeat.checks.world import World

INVARIANT = Invariant("canonical-intact", "canonical is a whole body at every instant at which the agent could die")


@dataclass(slots=True)
class Broken:
    """A stretch in which canonical was not whole; `last` is its latest content, `read` by which rebuild."""

    first: Canonical
    last: Canonical
    end: int | None = None
    read: Rebuild | None = None


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        world.examined(len(agent.canonicals) - 1)
        stretches = broken(agent)
        for stretch in stretches:
            yield from _read(world, agent, stretch)
        quiet = [stretch for stretch in stretches if stretch.read is None]
        if quiet:
            yield _hazard(world, agent, quiet)


def broken(agent: Agent) -> list[Broken]:
    """Stretches in which canonical was not a whole body, in order."""
    found: list[Broken] = []
    had_rules = False
    for state in agent.canonicals:
        whole = _is_whole(agent, state, had_rules)
        if whole:
            if found and found[-1].end is None:
                found[-1].end = state.at.t
            if state.by == "edit" or not (state.blank or state.key is None):
                had_rules = not (state.blank or state.key is None)
        elif found and found[-1].end is None:
            found[-1].last = state
        else:
            found.append(Broken(state, state))
    return found


def _is_whole(agent: Agent, state: Canonical, had_rules: bool) -> bool:
    if state.by in ("start", "edit"):
        return True
    if state.key is None or state.blank:
        return not had_rules
    return agent.knows(state.key, state.at)


def _read(world: World, agent: Agent, stretch: Broken) -> Iterator[Finding]:
    end = world.end if stretch.end is None else stretch.end
    for rebuild in agent.rebuilds_within(stretch.first.at.t, end):
        prompt = None if rebuild.end is None else _harmed(agent, rebuild)
        if prompt is None:
            continue
        stretch.read = rebuild
        cause, during = _cause(agent, stretch, rebuild)
        what = "lost" if prompt.key in (None, BLANK) else "torn"
        text = (
            f"{agent.name}: canonical was not whole from {words.length(stretch.first.at.t)}, {during}; "
            f"the {rebuild.cause} {words.at(rebuild.begin.t)} read it, "
            f"and the rules were {what} {words.at(prompt.at.t)}"
        )
        yield Finding(INVARIANT.id, "gap", cause, prompt.at.t, text, agent.name)
        return


def _harmed(agent: Agent, rebuild: Rebuild) -> Prompt | None:
    """The prompt of a rebuild that no longer holds the rules that were effective, or holds a text that nobody
    posted.
    """
    assert rebuild.end is not None
    before = effective_before(agent, rebuild)
    for prompt in agent.prompts:
        if (
            rebuild.begin < prompt.at
            and prompt.at.t <= rebuild.end.t
            and prompt.state == "whole"
            and prompt.key != before
        ):
            gone = prompt.key in (None, BLANK) and before not in (None, BLANK)
            if gone or not (prompt.key in (None, BLANK) or agent.knows(prompt.key, prompt.at)):
                return prompt
    return None


def effective_before(agent: Agent, rebuild: Rebuild) -> str | None:
    """What was effective when a rebuild began; for a boot, when the life before it ended."""
    seq = rebuild.begin.seq
    if rebuild.cause == "boot":
        ends = [life.end.seq for life in agent.lives if life.end is not None and life.end < rebuild.begin]
        seq = max(ends, default=seq)
    for prompt in reversed(agent.prompts):
        if prompt.at.seq < seq and prompt.state == "whole":
            return prompt.key
    return None


def _cause(agent: Agent, stretch: Broken, rebuild: Rebuild) -> tuple[Cause, str]:
    if stretch.last.by == "power":
        return "environment", "after a power failure"
    writer = agent.beat_at(stretch.first.at.t)
    if writer is None:
        return "environment", "for a reason outside any beat"
    if writer.outcome == "cut":
        return "environment", f"as beat {writer.number} died while it wrote it"
    if writer.end >= rebuild.begin.t:
        return "protocol", f"while beat {writer.number} was writing it"
    return "environment", f"as beat {writer.number} could not finish it"


def _hazard(world: World, agent: Agent, quiet: list[Broken]) -> Finding:
    total = sum((world.end if stretch.end is None else stretch.end) - stretch.first.at.t for stretch in quiet)
    still = " and it still is not" if quiet[-1].end is None else ""
    text = (
        f"{agent.name}: canonical was not whole {words.several(len(quiet), 'time')}, "
        f"{words.length(total)} in all{still}; a crash or a rebuild then would lose or tear the rules"
    )
    return Finding(INVARIANT.id, "hazard", "agent", quiet[0].first.at.t, text, agent.name)
