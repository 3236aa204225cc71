"""What a consumption wrote that should have written nothing; shared by the checks of blank and of identical bodies."""

from __future__ import annotations

from fleetbeat.checks import words
from fleetbeat.checks.credit import began, is_unsettled, over
from fleetbeat.checks.timeline import Agent, Consumption


def is_certain(taken: Consumption) -> bool:
    """Whether it is certain what the agent read: one whole post stood there throughout the handling."""
    post = taken.post
    if post is None or taken.beat is None or not post.is_complete_at(taken.at) or taken.stands[-1].damaged:
        return False
    return not taken.others(began(taken)) and not is_unsettled(post, began(taken), taken.at)


def written(agent: Agent, taken: Consumption) -> str:
    """What was written after the unlink in that beat, in words; "" for nothing.

    A prompt that was flushed while a rebuild was at work, or while a flush was owed (prompt and canonical differed at
    the unlink), may have another reason and is let pass.
    """
    states = agent.within(agent.canonicals, taken.at, over(taken), taken.after)
    ours = [state for state in states if state.by == "agent"]
    if ours:
        return f"canonical was {ours[0].event} {words.at(ours[0].at.t)}"
    prompts = agent.within(agent.prompts, taken.at, over(taken), taken.after)
    prompts = [prompt for prompt in prompts if not agent.lost_power_at(prompt.at.t)]
    owed = taken.effective != taken.canonical
    if prompts and not owed and not agent.rebuilds_within(began(taken), over(taken)):
        return f"the prompt was flushed {words.at(prompts[0].at.t)}"
    return ""
