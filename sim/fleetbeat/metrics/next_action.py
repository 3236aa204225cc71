"""The safe next action for a target that did not converge, as data: an id for tools, a sentence for people.

Decided from the fate of its last post, the last errno that its agent (or the writer) met, a temporary left behind, and
whether the agent could act when the run ended. Safe means: nothing here replays a batch blindly (the rules reference:
a failed command means to stop and inspect that exact temporary file), nothing posts again while a post is pending, and
nothing posts a version again where a later one was rolled out, which that would undo.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fleetbeat.checks.model import PostFate
from fleetbeat.metrics.facts import Facts, windows

_ERRNO = re.compile(r"\bE[A-Z0-9]{2,}\b")
_NO_SPACE = ("ENOSPC", "EDQUOT")
_NO_ACCESS = ("EACCES", "EPERM", "EROFS")


@dataclass(frozen=True, slots=True)
class NextAction:
    """`id`: one word for tools, as in the table of `next_action`; `text`: what to do, one sentence."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Situation:
    """What the decision rests on. `blocked`: why the agent could not act when the run ended, in words, and its kind."""

    agent: str
    home: str
    host: str
    errno: str | None
    leftover: str | None
    died: bool
    blocked: str | None
    blocked_kind: str | None
    undecodable: bool


def next_action(facts: Facts, agent: str, fate: PostFate | None, *, later: str | None = None) -> NextAction:
    """What may safely be done next. `later`: a version that was rolled out to this agent after this one.

    ids: nothing, post, post-again, look-at-temporary, free-disk, fix-access, restart-agent, resume-agent,
    remove-and-restart, fix-body, find-cause, rebuild, wait, look.
    """
    if later is not None:
        return _undone(facts, fate, later)
    if fate is None:
        return NextAction("post", "find out why its rollout stopped, then post it: nothing was attempted")
    here = situation(facts, agent, fate)
    if here.leftover:
        then = "wait: its post is in place" if fate.fate in ("pending", "stuck") else "post again"
        return NextAction("look-at-temporary", f"look at the temporary {here.leftover}, remove it, then {then}")
    return _BY_FATE.get(fate.fate, _look)(here)


def _undone(facts: Facts, fate: PostFate | None, later: str) -> NextAction:
    """Where a later version was rolled out: at most there is something to clean up."""
    end = facts.ends.get(fate.post) if fate else None
    leftover = end.get("leftover") if end else None
    if leftover:
        words = f"look at the temporary {leftover} and remove it; do not post again: {later} came later"
        return NextAction("look-at-temporary", words)
    return NextAction("nothing", f"nothing for this version: {later} came later, and posting again would undo it")


def situation(facts: Facts, agent: str, fate: PostFate) -> Situation:
    """Gather what is known about a target and its last post."""
    end, plan, home = facts.ends.get(fate.post), facts.plans.get(fate.post), facts.homes.get(agent)
    open_windows = [window for window in windows(facts, agent) if window.end is None]
    blocked = open_windows[-1] if open_windows else None
    body = facts.bodies.get(plan["body"]) if plan else None
    return Situation(
        agent=agent,
        home=home["home"] if home else f"/{agent}",
        host=home["host"] if home else "its host",
        errno=(end.get("error") if end else None) or _last_errno(facts, agent, fate),
        leftover=end.get("leftover") if end else None,
        died=bool(end and end["outcome"] == "died"),
        blocked=blocked.words if blocked else None,
        blocked_kind=blocked.kind if blocked else None,
        undecodable=body is not None and body.get("norm") is None and not body.get("blank"),
    )


def _last_errno(facts: Facts, agent: str, fate: PostFate) -> str | None:
    """The errno of the last fault on the agent, or of its last failed write, since the post landed."""
    since = fate.completed if fate.completed is not None else fate.begun or 0
    named = [
        (record.t, record["error"])
        for record in facts.of(agent, "fault")
        if record.t >= since and record.get("error") and record["on"] == "agents"
    ]
    for record in facts.of(agent, "log"):
        if record.t >= since and record["event"].endswith("_error"):
            found = _ERRNO.search(" ".join(str(value) for value in record["fields"].values()))
            if found:
                named.append((record.t, found.group()))
    return max(named)[1] if named else None


def _cured(here: Situation, then: str) -> NextAction | None:
    if here.errno in _NO_SPACE:
        return NextAction("free-disk", f"free the disk of {here.host} ({here.errno}), then {then}")
    if here.errno in _NO_ACCESS:
        return NextAction("fix-access", f"give back access to {here.home} ({here.errno}), then {then}")
    return None


def _restart(here: Situation, then: str) -> NextAction | None:
    if here.blocked_kind in ("down", "beatless"):
        return NextAction("restart-agent", f"restart the agent ({here.blocked}); {then}")
    return None


def _unposted(here: Situation) -> NextAction:
    why = "its operator died first" if here.died else here.errno or "no effect on the name"
    return _cured(here, "post again") or NextAction("post-again", f"post again: {why}")


def _again(words: str) -> Callable[[Situation], NextAction]:
    def decide(here: Situation) -> NextAction:
        return _cured(here, "post again") or NextAction("post-again", words)

    return decide


def _poisoned(here: Situation) -> NextAction:
    if here.undecodable:
        return NextAction("fix-body", f"remove {here.home}/.rules, restart the agent, post the body again in UTF-8")
    return NextAction("remove-and-restart", f"remove {here.home}/.rules, restart the agent, then look at the body")


def _rejected(here: Situation) -> NextAction:
    what = "is not UTF-8: fix its encoding" if here.undecodable else "was set aside: look at it there"
    return NextAction("fix-body", f"the body {what}, then post again")


def _stuck(here: Situation) -> NextAction:
    cured = _restart(here, "its signal is still there") or _cured(here, "wait: its signal is still there")
    if cured:
        return cured
    if here.undecodable:
        return _rejected(here)
    errno = f" ({here.errno})" if here.errno else ""
    return NextAction("find-cause", f"find out why {here.home}/.rules cannot be consumed{errno}; do not post again")


def _pending(here: Situation) -> NextAction:
    restart = _restart(here, "its signal is still there")
    if restart:
        return restart
    if here.blocked_kind in ("suspended", "paused"):
        return NextAction("resume-agent", f"resume the agent ({here.blocked}), then wait; do not post again")
    cured = _cured(here, "wait: its signal is still there")
    return cured or NextAction("wait", "wait for its next runnable beat; do not post again")


def _persisted(here: Situation) -> NextAction:
    then = "its boot reads canonical, which holds this version"
    cured = _restart(here, then) or _cured(here, "ask for a rebuild: canonical holds it")
    return cured or NextAction("rebuild", "wait a beat, then ask for a rebuild: canonical holds it; do not post again")


def _nothing(words: str) -> Callable[[Situation], NextAction]:
    return lambda _: NextAction("nothing", words)


def _look(here: Situation) -> NextAction:
    return NextAction("look", f"read {here.home}/system/rules.md and the flushed prompt before anything else")


def _no_longer(here: Situation) -> NextAction:
    restart = _restart(here, "its boot reads canonical; then look whether it holds this version")
    return restart or NextAction(
        "look", f"read {here.home}/system/rules.md; if it holds this version ask for a rebuild"
    )


_BY_FATE: dict[str, Callable[[Situation], NextAction]] = {
    "unposted": _unposted,
    "torn": _again("post the whole body again, as a temporary and a rename: what was applied is nobody's text"),
    "applied": _no_longer,
    "unchanged": _no_longer,
    "empty": _nothing("nothing: a blank body applies nothing; post a body with text if rules were meant"),
    "failed": _again("post again: the signal is gone and canonical was not written"),
    "persisted": _persisted,
    "superseded": _again("post again only if this version is still wanted: a later post replaced it"),
    "rejected": _rejected,
    "poisoned": _poisoned,
    "stuck": _stuck,
    "pending": _pending,
    "lost": _again("post again: the signal is gone and its body was never applied"),
    "indeterminate": _look,
}
