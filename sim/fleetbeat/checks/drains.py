"""With faults off, a regular, readable, unlinkable, valid signal is resolved within `bound` runnable beats.

Counted from the last of: completion, a fault fired on that agent, a restart, a return to runnable, the end of a pause,
as far as they fell before the signal was resolved. A signal replaced by another one is resolved for this check.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import Agent, Post, Stand
from fleetbeat.checks.world import World

INVARIANT = Invariant("drains", "with faults off, a signal is resolved within two runnable beats")


def check(world: World) -> Iterator[Finding]:
    for post in world.posts:
        agent = world.agents[post.agent]
        if post.completed is None or not post.body.valid or not post.stands or not post.stands[-1].judged:
            continue
        stand = post.stands[-1]
        if stand.damaged:  # nobody knows what a power failure left of it
            continue
        until = world.end if stand.until is None else stand.until.t
        if agent.unseen_within(post.completed.t, until) is not None:
            continue
        world.examined()
        since = _since(agent, post, until)
        count = agent.finished_beats(since, until)
        if count >= world.bound:
            yield _finding(agent, post, stand, since, count)


def _since(agent: Agent, post: Post, until: int) -> int:
    """The last instant, before the signal was resolved, at which anything still kept the agent from it; ns."""
    assert post.completed is not None
    return undisturbed_since(agent, post.completed.t, until)


def undisturbed_since(agent: Agent, start: int, until: int) -> int:
    """The last instant from `start` to `until` at which a fault, a restart, a suspension or a pause disturbed an agent."""
    times = [fired.at.t for fired in agent.faults]
    times += [life.begin.t for life in agent.lives]
    times += [mark.t for mark, runnable in agent.runnables if runnable]
    times += [end for _, end in agent.pauses]
    return max([start, *(t for t in times if t <= until)])


def _finding(agent: Agent, post: Post, stand: Stand, since: int, count: int) -> Finding:
    end = "it is still there" if stand.until is None else f"it was {stand.ending} {words.at(stand.until.t)}"
    text = (
        f"{agent.name}: {post.id} was not resolved in {words.several(count, 'runnable beat')} "
        f"after {words.length(since)}, with nothing in the way; {end}"
    )
    return Finding(INVARIANT.id, "violation", "agent", since, text, agent.name, (post.id,))
