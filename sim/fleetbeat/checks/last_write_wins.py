"""What is effective at the end is the last version that completed.

Set aside: posts that are blank, do not decode, failed, were set aside, or were still on their way when the run ended
(and what these had replaced); and agents on which a fault fired, that crashed, whose disk was full, or whose canonical an
outside hand edited since that version completed.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import blame, words
from fleetbeat.checks.fates import taken_with
from fleetbeat.checks.model import Cause, Class, Finding, Invariant, PostFate
from fleetbeat.checks.timeline import CANONICAL_PATH, Agent, Post
from fleetbeat.checks.world import World

INVARIANT = Invariant("last-write-wins", "what is effective at the end is the last version that completed")
_ASIDE = frozenset({"failed", "rejected", "pending", "indeterminate"})
_DRAINING = frozenset({"pending", "indeterminate"})


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        last = _last(world, agent)
        if last is None or last.completed is None or _disturbed(agent, last):
            continue
        world.examined()
        held = agent.prompts[-1].key
        if held != last.key:
            kind, cause, why = _blame(agent, last, world.fate[last.id])
            what = f"{last.id} completed last, {words.at(last.completed.t)}"
            text = f"{agent.name}: {what}, and {agent.name_of(held)} is effective at the end: {why}"
            yield Finding(INVARIANT.id, kind, cause, world.end, text, agent.name, (last.id,))


def _last(world: World, agent: Agent) -> Post | None:
    complete = [post for post in agent.posts if post.completed is not None and post.body.valid and not post.body.blank]
    complete = [
        post
        for post in complete
        if world.fate[post.id].fate not in _ASIDE
        and not _gave_way(world, agent, post)
        and not _in_hand(world, agent, post)
    ]
    return max(complete, key=lambda post: post.completed or post.planned, default=None)


def _gave_way(world: World, agent: Agent, post: Post) -> bool:
    """Whether a post was replaced by one that was still on its way when the run ended, be it through others."""
    passed: list[Post] = []
    while (over := _replaced_by(post)) is not None and over not in passed and world.fate[post.id].fate == "superseded":
        if world.fate[over.id].fate in _DRAINING or _in_hand(world, agent, over):
            return True
        passed.append(post)
        post = over
    return False


def _in_hand(world: World, agent: Agent, post: Post) -> bool:
    """Whether the beat that consumed a post was still at work on it when the run ended."""
    taken = taken_with(agent, post)
    if taken is None or world.fate[post.id].fate != "persisted":
        return False
    beat = agent.beat_at(taken.at.t)
    return beat is not None and beat.outcome == "cut" and beat.end == world.end


def _replaced_by(post: Post) -> Post | None:
    return next((stand.by for stand in reversed(post.stands) if stand.by is not None), None)


def _disturbed(agent: Agent, last: Post) -> bool:
    """Whether a fault, a crash, an edit or a hole in the observation came since the last version completed."""
    since = last.completed
    assert since is not None
    marks = [fired.at for fired in agent.faults]
    marks += [life.end for life in agent.lives if life.end is not None and life.cause in ("crash", "power")]
    marks += [edit.at for edit in agent.edits if edit.path == CANONICAL_PATH]
    if agent.disk_limited:
        marks += [log.at for log in agent.logs if log.event in ("rules_flush_error", "rules_write_error")]
        marks += [prompt.at for prompt in agent.prompts[-1:] if prompt.state != "whole"]
    return any(mark > since for mark in marks) or any(hole.end >= since.t for hole in agent.unseen)


def _useless(post: Post) -> str:
    return "is blank" if post.body.blank else "does not decode"


def _blame(agent: Agent, last: Post, fate: PostFate) -> tuple[Class, Cause, str]:
    if fate.fate == "lost":
        found = blame.loss(agent, last)
        return found.kind, found.cause, f"it {found.why}"
    taken = taken_with(agent, last)
    if fate.fate == "torn" and taken is not None:
        return *blame.torn(taken), "parts of it were applied"
    over = _replaced_by(last)
    if over is not None and fate.fate == "superseded" and (over.body.blank or not over.body.valid):
        return "gap", "protocol", f"{over.id} replaced it before it was read, and {_useless(over)}"
    if over is not None and not over.conforming:
        return "violation", "writer", f"{over.id} was written over it and never became whole"
    if any(
        beat.t <= (one.end.t if one.end else beat.t) and one.begin.t <= beat.end
        for one in agent.rebuilds
        if last.completed and (one.end is None or one.end > last.completed)
        for beat in agent.beats
    ):
        return "gap", "protocol", "a rebuild ran beside a beat"
    later = [
        post
        for post in agent.posts
        if post.begun and last.completed and post.begun > last.completed and not post.conforming
    ]
    if later:
        return "violation", "writer", f"{later[-1].id} was written over it"
    return "violation", "agent", f"it is {fate.fate}" + (f" ({fate.note})" if fate.note else "")
