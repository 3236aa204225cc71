"""Class and cause of what went wrong, told from observables alone.

In this order. A writer whose way of writing the specification does not describe (in place, cross-device, shared
temporary) and whose body was not settled at the name while the agent could read it: violation, writer. A crash or power
failure between the unlink and anything final, a power failure while the post was on its way, a failed operation that
took effect nevertheless, a log that could not be written or a full disk: gap, environment. A signal that landed over
another one while a beat was at work: gap, protocol. Anything else: violation, agent.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetbeat.checks import words
from fleetbeat.checks.credit import began, fails_canonical, is_unsettled, over
from fleetbeat.checks.model import Cause, Class
from fleetbeat.checks.timeline import Agent, Consumption, Post, Stand


@dataclass(frozen=True, slots=True)
class Blame:
    """`why` completes a sentence that began with the post's id."""

    kind: Class
    cause: Cause
    t: int
    why: str


def loss(agent: Agent, post: Post) -> Blame:
    """Why a post is lost."""
    taken = post.consumption
    landed = post.completed or post.begun or post.planned
    if taken is None:
        return _never_consumed(post, landed.t)
    what = f"was {_taken_words(taken)}"
    since = began(taken)
    if _unsettled(taken, since):
        return Blame(
            "violation",
            "writer",
            taken.at.t,
            f"{what} while {_unsettled(taken, since)} was being written {_how(taken, since)}",
        )
    replaced = taken.others(since) if taken.beat is not None else []
    applied = next(
        (stand.post for stand in reversed(replaced) if stand.post is not None and _came_to_something(stand.post)), None
    )
    dead = agent.deaths_within(taken.at.t, over(taken))
    if dead and applied is None and dead[0].end is not None:
        how = "lost power" if dead[0].cause == "power" else "crashed"
        return Blame(
            "gap",
            "environment",
            taken.at.t,
            f"{what}, and the agent {how} {words.at(dead[0].end.t)}, before it applied anything",
        )
    if _emptied(agent, post):
        why = f"{what}, and its host had lost power while it was being written, so that it came without all its bytes"
        return Blame("gap", "environment", taken.at.t, why)
    if replaced and taken.beat is not None:
        return Blame("gap", "protocol", taken.at.t, _lost_update(taken, landed.t, replaced, applied))
    struck = _environment(agent, taken)
    if struck:
        return Blame("gap", "environment", taken.at.t, f"{what}, and {struck}")
    return Blame("violation", "agent", taken.at.t, f"{what}, and was neither applied nor logged")


def _emptied(agent: Agent, post: Post) -> bool:
    """Whether a power failure fell between a post's start and its coming to the name, where it never was whole."""
    begun = post.begun
    if begun is None or post.completed is not None:
        return False
    return any(
        life.cause == "power" and life.end is not None and post.planned < life.end < begun for life in agent.lives
    )


def _never_consumed(post: Post, landed: int) -> Blame:
    last = post.stands[-1] if post.stands else None
    if last is not None and last.until is not None and last.ending == "power":
        return Blame(
            "gap", "environment", last.until.t, f"went with its host's power {words.at(last.until.t)}, not consumed"
        )
    if last is not None and last.until is not None and last.ending in ("edited", "replaced"):
        why = f"was taken away by an outside hand {words.at(last.until.t)}, not consumed"
        return Blame("gap", "environment", last.until.t, why)
    if post.conforming:
        return Blame("gap", "environment", landed, "is gone, and nobody was seen to take it")
    return Blame(
        "violation", "writer", landed, f"is gone: its {post.write} writer took the name away and never created it again"
    )


def _taken_words(taken: Consumption) -> str:
    what = "unlinked" if taken.moved_to is None else f"moved to {taken.moved_to}"
    beat = "outside any beat" if taken.beat is None else f"in beat {taken.beat.number}"
    return f"{what} {words.at(taken.at.t)} {beat}"


def _lost_update(taken: Consumption, landed: int, replaced: list[Stand], applied: Post | None) -> str:
    beat = taken.beat
    assert beat is not None
    read = applied or replaced[-1].post
    name = "another signal" if read is None else read.version
    outcome = f"{name} was applied" if applied is not None else f"{name} was read, and changed nothing"
    return (
        f"landed {words.length(max(0, landed - beat.t))} into beat {beat.number}, "
        f"was unlinked unread {words.at(taken.at.t)}; {outcome} (window {words.length(taken.at.t - beat.t)})"
    )


def _came_to_something(post: Post) -> bool:
    return post.effective is not None or post.persisted is not None


def unsettled_in(taken: Consumption, since: int) -> Post | None:
    """A nonconforming post that was not settled at the name while the consumed signal could be read."""
    for stand in (taken.stands[-1], *reversed(taken.others(since))):
        if stand.post is not None and is_unsettled(stand.post, since, taken.at):
            return stand.post
    return None


def _unsettled(taken: Consumption, since: int) -> str:
    post = unsettled_in(taken, since)
    return "" if post is None else ("it" if post is taken.post else post.id)


def _how(taken: Consumption, since: int) -> str:
    post = unsettled_in(taken, since)
    assert post is not None
    return {"in-place": "in place", "hand-down": "in place", "cross-device": "across devices"}.get(
        post.write, "through a shared temporary"
    )


def _environment(agent: Agent, taken: Consumption) -> str:
    """What struck the handling from outside, in words; "" if nothing is known to have."""
    if taken.stands[-1].damaged:
        return "its bytes had gone through a power failure"
    since = began(taken)
    fired = [one for one in agent.faults if since <= one.at.t <= over(taken)]
    if any(one.operation in ("unlink", "rename") and one.effect == "after" for one in fired):
        return "that operation was reported as failed, after it had taken effect"
    failed = any(fails_canonical(one) for one in fired)
    if failed and any(one.operation == "emit" for one in fired):
        return "neither canonical nor the log could be written"
    if agent.disk_limited and agent.within(agent.canonicals, taken.at, over(taken), taken.after):
        return "canonical was begun and not finished on a disk with a budget"
    if taken.beat is None and (agent.beats or agent.spans) and not agent.rebuilds_within(taken.at.t, taken.at.t):
        return "no beat was at work then: another hand took it"
    return ""


def _came_in_parts(taken: Consumption) -> bool:
    """Whether a writer renamed what was not its whole body: its temporary had gone through a power failure."""
    post = taken.post
    return post is not None and post.conforming and not post.is_complete_at(taken.at)


def torn(taken: Consumption) -> tuple[Class, Cause]:
    """Class and cause of a body that was applied as a text nobody posted."""
    if unsettled_in(taken, began(taken)) is not None:
        return "violation", "writer"
    if taken.stands[-1].damaged or _came_in_parts(taken):
        return "gap", "environment"
    return "violation", "agent"
