"""After a beat that persisted, or a completed rebuild, effective equals canonical.

Judged when the episode, and all that overlap it, are over. Where a flush failed (a fault, the agent's log, a disk with
a budget) the specification is silent: the agent has until `bound` undisturbed beats later to flush again, and one that
beats on and never does is a gap of the protocol. Where canonical could not be written, nothing was persisted.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.credit import fails_canonical
from fleetbeat.checks.episodes import Cluster, clusters
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import BLANK, CANONICAL_PATH, Agent
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "effective-follows", "after a beat that persisted, or a completed rebuild, effective equals canonical"
)
_FAILING = frozenset({"error", "partial", "after"})
_LOGGED = frozenset({"rules_flush_error", "rules_write_error", "rules_read_error"})


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        owed: int | None = None
        for cluster in clusters(agent, world.end + 1):
            if not _persisted(agent, cluster) or not cluster.is_whole or cluster.end > world.end:
                continue
            world.examined()
            if agrees(agent, cluster.end):
                owed = None
            elif _disturbed(agent, cluster):
                owed = cluster.end
            else:
                yield _finding(agent, cluster)
        if owed is not None and (found := _never_flushed(world, agent, owed)) is not None:
            yield found


def agrees(agent: Agent, t: int) -> bool:
    """Whether effective equals canonical when instant `t` is over; blank and missing are the same."""
    canonical = agent.canonical_after(t).key
    effective = agent.prompt_after(t).key
    return (None if canonical == BLANK else canonical) == (None if effective == BLANK else effective)


def _persisted(agent: Agent, cluster: Cluster) -> bool:
    """Whether a rebuild ended, or a beat wrote canonical."""
    return bool(cluster.rebuilds) or agent.writes_within(cluster.start, cluster.end)


def _disturbed(agent: Agent, cluster: Cluster) -> bool:
    """Whether a flush, a write or a read failed there, or something else acted on the files."""
    within = range(cluster.start, cluster.end + 1)
    if agent.lost_power_at(cluster.end):
        return True
    if any(
        fired.at.t in within and fired.effect in _FAILING and fired.path.startswith("system") for fired in agent.faults
    ):
        return True
    if any(log.at.t in within and log.event in _LOGGED for log in agent.logs):
        return True
    if any(edit.at.t in within and edit.path == CANONICAL_PATH for edit in agent.edits):
        return True
    if agent.disk_limited and agent.prompt_after(cluster.end).state != "whole":
        return True
    canonical = agent.canonical_after(cluster.end).key
    return (canonical or "").startswith("raw:") or agent.unseen_within(cluster.start, cluster.end) is not None


def _finding(agent: Agent, cluster: Cluster) -> Finding:
    if cluster.overlaps:
        rebuild, beat = cluster.rebuilds[0], cluster.beats[0]
        text = f"the {rebuild.cause} {words.at(rebuild.begin.t)} ran beside beat {beat.number}, and when both were over"
        return Finding(INVARIANT.id, "gap", "protocol", cluster.end, _sentence(agent, cluster, text), agent.name)
    if cluster.rebuilds:
        text = f"when the {cluster.rebuilds[-1].cause} was over"
    else:
        text = f"when beat {cluster.beats[-1].number} was over"
    return Finding(INVARIANT.id, "violation", "agent", cluster.end, _sentence(agent, cluster, text), agent.name)


def _sentence(agent: Agent, cluster: Cluster, when: str) -> str:
    return f"{agent.name}: {when}, {words.at(cluster.end)}, the prompt did not hold what canonical held"


def _never_flushed(world: World, agent: Agent, owed: int) -> Finding | None:
    if agrees(agent, world.end) or fails_last(agent, owed):
        return None
    tried = [log.at.t for log in agent.logs if log.event in _LOGGED] + [agent.prompts[-1].at.t]
    since = max([owed, *tried, *(fired.at.t for fired in agent.faults)])
    count = agent.finished_beats(since, world.end)
    if count < world.bound:
        return None
    text = (
        f"{agent.name}: a flush failed by {words.length(owed)} and was not done again "
        f"in {words.several(count, 'beat')}; the prompt does not hold what canonical holds"
    )
    return Finding(INVARIANT.id, "gap", "protocol", world.end, text, agent.name)


def fails_last(agent: Agent, owed: int) -> bool:
    """Whether it was the write of canonical that failed last, so that no flush is owed."""
    logs = [log.event for log in agent.logs if log.at.t <= owed and log.event in _LOGGED]
    if logs:
        return logs[-1] == "rules_write_error"
    failing = [fired for fired in agent.faults if fired.at.t <= owed and fired.path.startswith("system")]
    return bool(failing) and fails_canonical(failing[-1])
