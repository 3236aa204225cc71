"""The one fate of each post: the first of PROTOCOL's list that fits; the others that fit are kept as `also`.

Each fate is one predicate over the indexed history that answers why it fits, or None. Two cases that the list leaves
open are settled here. A post that is gone and came to nothing, and whose body another post made effective later, is
`superseded`: `lost` excludes it, and nothing else fits. A post whose handling had not ended when the history did, and
one that an unseen window hides, are `indeterminate` where only what was not seen could tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fleetbeat.checks import heartbeat, words
from fleetbeat.checks.credit import began, over
from fleetbeat.checks.drains import undisturbed_since
from fleetbeat.checks.model import PostFate
from fleetbeat.checks.timeline import Agent, Consumption, Log, Mark, Post, Stand

if TYPE_CHECKING:
    from fleetbeat.checks.world import World

_OWN_EVENTS = frozenset({"rules_loaded", "rules_write_error", "rules_flush_error", "rules_read_error"})
#: Fates that say that something did not happen, and so need to have been watched.
_NEGATIVE = frozenset({"persisted", "superseded", "poisoned", "stuck", "pending", "lost"})

_FOREVER = 1 << 63

Test = Callable[["World", Agent, Post], str | None]


def fates_of(world: World) -> tuple[PostFate, ...]:
    """One fate for each `post.plan`, in their order."""
    return tuple(_fate(world, world.agents[post.agent], post) for post in world.posts)


def _fate(world: World, agent: Agent, post: Post) -> PostFate:
    fits = [(name, why) for name, test in TESTS if (why := test(world, agent, post)) is not None]
    fate, note = fits[0] if fits else ("lost", _why_lost(agent, post))
    if fate in _NEGATIVE and (blind := _blind(world, agent, post, fate)) is not None:
        fits.insert(0, (fate, note))
        fate, note = "indeterminate", blind
    return PostFate(
        post.id,
        post.version,
        post.agent,
        post.operator,
        fate,
        note,
        begun=_t(post.begun),
        completed=_t(post.completed),
        read=_read(agent, post),
        unlinked=_unlinked(agent, post),
        persisted=_t(post.persisted),
        effective=_effective(post, fate),
        also=tuple(name for name, _ in fits if name != fate),
    )


# --- the list ---


def _unposted(world: World, agent: Agent, post: Post) -> str | None:
    if post.begun is not None:
        return None
    return (
        f"its writer {post.outcome} before it touched .rules"
        if post.outcome
        else "its writer had not touched .rules yet"
    )


def _torn(world: World, agent: Agent, post: Post) -> str | None:
    return (
        None if post.torn is None else f"parts of it were applied {words.at(post.torn.t)}, as a text that nobody posted"
    )


def _applied(world: World, agent: Agent, post: Post) -> str | None:
    if post.effective is None:
        return None
    taken = taken_with(agent, post)
    if taken is None:
        return "effective before it was consumed"
    if taken.post is not post:
        return f"read, then replaced by {name_of(taken.post)} before the unlink"
    return "" if post.effective.t <= over(taken) else "by a later flush of what it had persisted"


def _unchanged(world: World, agent: Agent, post: Post) -> str | None:
    return next((why for taken in post.consumptions if (why := _no_change(world, agent, post, taken))), None)


def _no_change(world: World, agent: Agent, post: Post, taken: Consumption) -> str | None:
    if not taken.canonical == post.key == taken.effective:
        return None
    until = over(taken) if taken.beat is not None else _next_start(agent, taken, world.end)
    if any(state.by == "agent" for state in agent.within(agent.canonicals, taken.at, until, taken.after)):
        return None
    flushed = [
        prompt
        for prompt in agent.within(agent.prompts, taken.at, until, taken.after)
        if not agent.lost_power_at(prompt.at.t)
    ]
    if flushed and not agent.rebuilds_within(taken.at.t, until):
        return None
    return "its body was canonical and effective already"


def _next_start(agent: Agent, taken: Consumption, end: int) -> int:
    """The last instant before another episode begins, where no beat tells when this one was over."""
    starts = [one.begin.t for one in agent.rebuilds if one.begin > taken.at]
    starts += [life.end.t for life in agent.lives if life.end is not None and life.end > taken.at]
    return min(starts, default=end + 1) - 1


def _empty(world: World, agent: Agent, post: Post) -> str | None:
    return "blank" if post.body.blank and post.consumptions else None


def _failed(world: World, agent: Agent, post: Post) -> str | None:
    if not any(log.event == "rules_write_error" for taken in post.consumptions for log in logs_of(agent, taken)):
        return None
    return "canonical could not be written, and the agent logged that"


def _persisted(world: World, agent: Agent, post: Post) -> str | None:
    return None if post.persisted is None else "canonical held it, the prompt never did"


def _superseded(world: World, agent: Agent, post: Post) -> str | None:
    last = post.stands[-1] if post.stands else None
    if post.begun is None or last is None:
        return None
    if last.ending in ("replaced", "removed") and last.by is not None:
        return f"replaced by {last.by.id} before it was unlinked"
    if last.ending or (not last.present and post.ended is not None):
        for other in agent.carriers.get(post.key, ()):
            if other is not post and other.effective is not None and other.effective > post.begun:
                what = "consumed" if post.consumption is not None else "gone"
                return f"{what} and not applied; {other.id} made the same body effective"
    return None


def _rejected(world: World, agent: Agent, post: Post) -> str | None:
    taken = post.consumption
    if taken is None or not (taken.set_aside or taken.claimed):
        return None
    if taken.claimed:  # moved on from there: where to is seen by nobody, and told by the log alone
        told = [log for log in logs_of(agent, taken) if log.to is not None and agent.sets_aside(log.to)]
        return f"set aside at {told[-1].to}, logged as {told[-1].event}" if told else None
    since = Mark(-1, began(taken))
    logged = [
        log for log in agent.logs if log.at.t >= since.t and log.at.t <= over(taken) and log.event not in _OWN_EVENTS
    ]
    return f"set aside at {taken.moved_to}, logged as {logged[0].event}" if logged else None


def _poisoned(world: World, agent: Agent, post: Post) -> str | None:
    stand = stands_still(agent, post)
    if stand is None or post.begun is None:
        return None
    death = heartbeat.ended_after(agent, post.begun, world.end)
    if death is None or any(_is_of(death, taken) for taken in agent.consumptions):
        return None
    how = "stopped without a word" if death.silent else f"ended with {death.error}"
    return f"still there; the heartbeat {how} {words.at(death.at)}"


def _is_of(death: heartbeat.Death, taken: Consumption) -> bool:
    """Whether the beat that died had consumed another signal: then it was that one's handling that ended it."""
    beat = taken.beat
    return beat is not None and not death.silent and (beat.life, beat.number) == (death.life, death.beat)


def _stuck(world: World, agent: Agent, post: Post) -> str | None:
    landed = post.completed or post.begun
    if landed is None or stands_still(agent, post) is None:
        return None
    count = agent.finished_beats(landed.t, world.end)
    return f"still there after {words.several(count, 'runnable beat')}" if count >= world.bound else None


def _pending(world: World, agent: Agent, post: Post) -> str | None:
    if stands_still(agent, post) is not None:
        return "still there when the run ended"
    last = post.stands[-1] if post.stands else None
    if last is not None and not last.ending and post.ended is None:
        return "its writer had taken the name away and was still at work when the run ended"
    taken = post.consumption
    if taken is not None and taken.claimed and taken.after is None:
        quiet = undisturbed_since(agent, taken.at.t, world.end)
        if agent.finished_beats(quiet, world.end) < world.bound:
            return f"claimed as {taken.moved_to}, not applied when the run ended"
    return None


TESTS: tuple[tuple[str, Test], ...] = (
    ("unposted", _unposted),
    ("torn", _torn),
    ("applied", _applied),
    ("unchanged", _unchanged),
    ("empty", _empty),
    ("failed", _failed),
    ("persisted", _persisted),
    ("superseded", _superseded),
    ("rejected", _rejected),
    ("poisoned", _poisoned),
    ("stuck", _stuck),
    ("pending", _pending),
)


def _why_lost(agent: Agent, post: Post) -> str:
    last = post.stands[-1] if post.stands else None
    if last is None:
        return "it never stood at the name for anybody to see"
    if not last.ending:
        return "its writer took the name away and died before it created it again"
    if last.ending == "power":
        return "gone with its host's power"
    if last.ending in ("edited", "replaced"):
        return "taken away by an outside hand"
    if post.consumption is not None and post.consumption.moved_to is not None:
        return f"moved to {post.consumption.moved_to}, nothing applied"
    taken = post.consumption
    read = (
        None
        if taken is None
        else next((one.post for one in taken.others(began(taken)) if one.post and one.post.effective), None)
    )
    return (
        f"unlinked unread; {read.version} was applied"
        if read is not None
        else "unlinked, nothing applied, nothing logged"
    )


# --- what could not be seen ---


def _blind(world: World, agent: Agent, post: Post, fate: str) -> str | None:
    """Why a fate that says "it never did" cannot be told, or None."""
    if post.begun is None:
        return None
    start, end = post.begun.t, world.end
    taken = taken_with(agent, post)
    if fate in ("superseded", "lost") and taken is not None:
        end = min(end, over(taken))
    if fate in ("stuck", "pending", "poisoned"):
        start = end  # it was seen there since; only a window up to the end can hide that it is gone
    window = agent.unseen_within(start, end)
    if window is not None:
        return f"not observed from {words.length(window.start)} to {words.length(window.end)}: {window.missing}"
    if fate == "lost" and taken is not None and taken.post is post and not has_ended(agent, taken):
        return "the history ends while the beat that consumed it was at work"
    return None


def has_ended(agent: Agent, taken: Consumption) -> bool:
    """Whether the handling that took a signal is known to be over: its beat, a later beat, or its life."""
    if taken.beat is not None and taken.beat.outcome != "cut":
        return True
    if any(beat.t > taken.at.t for beat in agent.beats) or any(span.t > taken.at.t for span in agent.spans):
        return True
    return any(
        life.end is not None and life.end > taken.at and life.cause in ("crash", "power") for life in agent.lives
    )


# --- look-ups that checks share ---


def stands_still(agent: Agent, post: Post) -> Stand | None:
    """The stand of a post that is at the name when the history ends."""
    last = agent.standing()
    return last if last is not None and last.post is post and last.present else None


def taken_with(agent: Agent, post: Post) -> Consumption | None:
    """The consumption that took the post, or the one that took what had replaced it."""
    if post.consumption is not None:
        return post.consumption
    for taken in agent.consumptions:
        if any(stand.post is post for stand in taken.stands):
            return taken
    return None


def logs_of(agent: Agent, taken: Consumption) -> list[Log]:
    """What the agent logged from the consumption to the end of its handling, which a claim leaves to later beats."""
    return agent.within(agent.logs, taken.at, _FOREVER if taken.claimed else over(taken), taken.after)


def name_of(post: Post | None) -> str:
    return "something that nobody posted" if post is None else post.id


def _t(mark: Mark | None) -> int | None:
    return None if mark is None else mark.t


def _effective(post: Post, fate: str) -> int | None:
    """For `unchanged`: when it was consumed, as it was effective by then."""
    if fate == "unchanged" and post.consumption is not None:
        return post.consumption.at.t
    return _t(post.effective)


def _read(agent: Agent, post: Post) -> int | None:
    taken = taken_with(agent, post)
    if taken is None or post.begun is None:
        return None
    ops = agent.ops_within(post.begun.t, over(taken))
    times = [t for t, what, key in ops if what == "read" and key == post.key]
    return times[-1] if times else None


def _unlinked(agent: Agent, post: Post) -> int | None:
    taken = post.consumption
    if taken is None:
        return None
    return next((t for t, what, _ in agent.ops_within(taken.at.t, taken.at.t) if what != "read"), None)
