"""After a failed canonical write the prompt is unchanged and `rules_write_error` is logged.

The log is not demanded where a crash or a fault of the log fell into that beat, nor on a disk with a budget, which may
have refused it as well. A prompt that a rebuild beside the beat flushed is the rebuild's, and what a power failure left
of it is nobody's.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.credit import over
from fleetbeat.checks.failures import Failure, errors_logged, failed_writes
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import Agent
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "write-failure-aborts", "after a failed canonical write the prompt is unchanged and rules_write_error is logged"
)


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        for failure in failed_writes(agent):
            world.examined()
            for wrong in _wrongs(agent, failure):
                post = failure.taken.post
                text = f"{agent.name}: {failure.how} {words.at(failure.at.t)}, and {wrong}"
                posts = () if post is None else (post.id,)
                yield Finding(INVARIANT.id, "violation", "agent", failure.at.t, text, agent.name, posts)


def _wrongs(agent: Agent, failure: Failure) -> Iterator[str]:
    taken = failure.taken
    for prompt in agent.within(agent.prompts, taken.at, over(taken), taken.after):
        if prompt.key != taken.effective and not _is_anothers(agent, prompt.at.t):
            yield f"the prompt changed {words.at(prompt.at.t)}"
            break
    if failure.must_log and errors_logged(agent, taken) == 0:
        yield "rules_write_error was not logged"


def _is_anothers(agent: Agent, t: int) -> bool:
    return bool(agent.rebuilds_within(t, t)) or agent.lost_power_at(t)
