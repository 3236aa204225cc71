"""Which stretch of a long history a finding may depend on: a few stretches, narrow ones first.

An episode that consumed a post of the finding, or was at work when it broke, is where a story ends. It begins with that
episode, or one, two, four, ... episodes earlier, until nothing came before. Posts that landed before the stretch and were
still there belong to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleetbeat.checks.episodes import Cluster, clusters
from fleetbeat.checks.model import Finding
from fleetbeat.checks.timeline import Agent, Mark
from fleetbeat.checks.world import World
from fleetbeat.explore.sketch import Episode, Window
from fleetbeat.history.records import Record


def windows(records: Sequence[Record], finding: Finding) -> Iterator[Window]:
    """Stretches of the history around a finding on an agent, from narrow to all of it."""
    world = World(records)
    agent = world.agents[str(finding.agent)]
    writers = _writers(records, agent.name)
    found = clusters(agent, world.end + 1)
    last = _last(agent, found, finding)
    for until in dict.fromkeys((found[last].end if found else world.end, world.end)):
        back = 0
        while True:
            first = max(0, last - back)
            since = found[first].start if found else 0
            landed = found[first - 1].end if first > 0 else -1
            yield Window(since, until, _posts(agent, writers, landed, since, until))
            if first == 0:
                break
            back = max(1, back * 2)


def _last(agent: Agent, found: Sequence[Cluster], finding: Finding) -> int:
    """The cluster of episodes in which the finding happened."""
    at = finding.t
    for post in agent.posts:
        if post.id in finding.posts and finding.invariant != "survives-rebuild":
            taken = post.consumption
            mark = taken.at if taken is not None else post.completed or post.begun or post.planned
            at = min(at, mark.t)
    before = [index for index, one in enumerate(found) if one.start <= at]
    return before[-1] if before else 0


def _posts(agent: Agent, writers: dict[str, Episode], landed: int, since: int, until: int) -> frozenset[Episode]:
    """Posts that began in the stretch, or were consumed in it though they had landed before."""
    kept = []
    for post in agent.posts:
        begun: Mark = post.begun or post.planned
        taken = post.consumption
        gone = [stand.until.t for stand in post.stands if stand.until is not None]
        there = landed < begun.t or (taken is not None and taken.at.t >= since) or (gone and max(gone) >= since)
        if there and begun.t <= until and post.id in writers:
            kept.append(writers[post.id])
    return frozenset(kept)


def _writers(records: Sequence[Record], agent: str) -> dict[str, Episode]:
    """By post: its actor, that actor's life and its attempt."""
    found: dict[str, Episode] = {}
    life: dict[str, int] = {}
    for record in records:
        if record.kind == "op" and record["agent"] == agent and record["role"] == "post":
            life[f"{record.actor}#{record['episode']}"] = record["life"]
    for record in records:
        if record.kind == "post.plan" and record["agent"] == agent:
            key = f"{record.actor}#{record['attempt']}"
            found[record["post"]] = (record.actor, life.get(key, 0), record["attempt"])
    return found
