"""No rebuild, crash or restart loses or rolls back an applied version, also when a rebuild overlaps a beat.

Judged when the rebuild, and every episode that overlaps it, is over: then the newest version that was effective by then
still is. Set aside: rebuilds that failed or were struck by a fault, and what an outside edit of canonical changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.canonical_intact import effective_before
from fleetbeat.checks.credit import fails_canonical
from fleetbeat.checks.episodes import Cluster, clusters
from fleetbeat.checks.model import Cause, Class, Finding, Invariant
from fleetbeat.checks.timeline import BLANK, CANONICAL_PATH, SIGNAL_PATH, Agent, Canonical, Post
from fleetbeat.checks.world import World

INVARIANT = Invariant("survives-rebuild", "no rebuild, crash or restart loses or rolls back an applied version")


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        for cluster in clusters(agent, world.end + 1):
            if cluster.rebuilds and cluster.end <= world.end and not _set_aside(agent, cluster):
                world.examined()
                held = agent.prompt_after(cluster.end).key
                expected = held if _is_newest(agent, held, cluster) else _expected(agent, cluster)
                if _is_read_back(agent, cluster, held) or _is_edit(agent, cluster, held):
                    continue
                if expected != BLANK and agent.knows(expected, cluster.rebuilds[-1].begin) and held != expected:
                    yield _finding(agent, cluster, expected, held)


def _set_aside(agent: Agent, cluster: Cluster) -> bool:
    if any(one.outcome != "done" for one in cluster.rebuilds):
        return True
    if any(
        one.begin.t <= fired.at.t <= cluster.end and fired.actor.endswith("/rebuild")
        for one in cluster.rebuilds
        for fired in agent.faults
    ):
        return True
    if any(taken.torn is not None and cluster.start <= taken.torn.t <= cluster.end for taken in agent.consumptions):
        return True
    if agent.unseen_within(cluster.start, cluster.end) is not None or agent.lost_power_at(cluster.end):
        return True
    first = cluster.rebuilds[0]
    applied = [prompt.at for prompt in agent.prompts if prompt.at < first.begin and prompt.state == "whole"]
    return any(
        edit.path == CANONICAL_PATH and edit.at.t <= cluster.end and not (applied and edit.at < applied[-1])
        for edit in agent.edits
    )


def _newly(agent: Agent, cluster: Cluster) -> list[Post]:
    """Posts that became effective within the cluster, in order."""
    fresh = [
        post for post in agent.posts if post.effective is not None and cluster.start <= post.effective.t <= cluster.end
    ]
    return sorted(fresh, key=lambda post: post.effective or post.planned)


def _expected(agent: Agent, cluster: Cluster) -> str | None:
    fresh = _newly(agent, cluster)
    return fresh[-1].key if fresh else effective_before(agent, cluster.rebuilds[0])


def _is_newest(agent: Agent, key: str | None, cluster: Cluster) -> bool:
    """Whether a text is the newest that was applied by then: a rebuild may bring back what an earlier one had lost."""
    applied = [(post.effective, post.key) for post in agent.posts if post.effective and post.effective.t <= cluster.end]
    return bool(applied) and max(applied)[1] == key


def _is_edit(agent: Agent, cluster: Cluster, held: str | None) -> bool:
    """Whether a signal that no post put there has just become effective, which is newer than any text before it."""
    edited = any(edit.path == SIGNAL_PATH and edit.body is not None and edit.body.key == held for edit in agent.edits)
    return edited and not any(prompt.key == held and prompt.at < cluster.rebuilds[0].begin for prompt in agent.prompts)


def _is_read_back(agent: Agent, cluster: Cluster, held: str | None) -> bool:
    """Whether the rebuild brought what a beat had persisted whole, though its own flush had failed: newer, not older."""
    read = agent.canonical_at(cluster.rebuilds[-1].begin.seq)
    if read.key != held or read.by != "agent" or agent.beat_at(read.at.t) is None or _was_cut(agent, read):
        return False
    shown = [prompt.at for prompt in agent.prompts if prompt.at < cluster.rebuilds[0].begin and prompt.state == "whole"]
    return not shown or shown[-1] < read.at


def _finding(agent: Agent, cluster: Cluster, expected: str | None, held: str | None) -> Finding:
    posts = [post for post in agent.posts if post.key == expected]
    lost = agent.name_of(expected)
    what = f"lost {lost}" if held in (None, BLANK) else f"put {agent.name_of(held)} in the place of {lost}"
    rebuild = cluster.rebuilds[-1]
    kind, cause, why = _blame(agent, cluster, expected)
    text = f"{agent.name}: the {rebuild.cause} {words.at(rebuild.begin.t)} {what}: {why}"
    return Finding(INVARIANT.id, kind, cause, cluster.end, text, agent.name, tuple(post.id for post in posts[-1:]))


def _blame(agent: Agent, cluster: Cluster, expected: str | None) -> tuple[Class, Cause, str]:
    if cluster.overlaps:
        return "gap", "protocol", f"it ran beside beat {cluster.beats[0].number}"
    read = agent.canonical_at(cluster.rebuilds[-1].begin.seq)
    if read.key == expected:
        return "violation", "agent", "canonical held it"
    if read.by == "power":
        return "gap", "environment", "a power failure had undone canonical"
    if read.by == "agent" and _was_cut(agent, read):
        return "gap", "environment", "the last write of canonical had not been finished"
    return "violation", "agent", "canonical did not hold it, though nothing had failed"


def _was_cut(agent: Agent, state: Canonical) -> bool:
    """Whether the write that left canonical like this had been cut short: by a crash, a fault or a full disk."""
    beat = agent.beat_at(state.at.t)
    if beat is None or beat.outcome == "cut":
        return True
    if any(beat.t <= fired.at.t <= beat.end and fails_canonical(fired) for fired in agent.faults):
        return True
    logged = any(beat.t <= log.at.t <= beat.end and log.event == "rules_write_error" for log in agent.logs)
    return logged or (agent.disk_limited and (state.blank or not agent.knows(state.key, state.at)))
