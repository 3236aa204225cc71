"""What a row of the conformance suite may expect of a history: each expectation answers what differs, or None.

They read what every engine observes (the signal, canonical and prompt as they stood, the agent's own log, posts and
their fates), never operations, so the same row is judged alike in simulation and on real files.
"""

from __future__ import annotations

from collections.abc import Callable

from fleetbeat.conform.seen import Seen
from fleetbeat.metrics.words import seconds

#: What differs, in words; None if nothing does.
Expectation = Callable[[Seen], str | None]
#: By now every agent has booted, and the faults of rows begin.
BOOTED_NS = 1_200_000_000


def fate(version: str, *allowed: str) -> Expectation:
    """The last post of a version met one of these fates."""

    def judge(seen: Seen) -> str | None:
        post = seen.post(version)
        got = "never posted" if post is None else post.fate
        return None if got in allowed else f"{version} was {got}, expected {' or '.join(allowed)}"

    return judge


def effective(what: str | None) -> Expectation:
    """At the end the flushed prompt holds this version, the rules of the start, or (None) no rules section."""

    def judge(seen: Seen) -> str | None:
        prompts = seen.of("prompt")
        if not prompts:
            return "no prompt was ever flushed"
        last = prompts[-1]
        wanted = None if what is None else seen.norm(what)
        if last["state"] == "whole" and (last["norm"] == wanted or (what is None and last["blank"])):
            return None
        name = "no rules section" if what is None else what
        return f"at the end the prompt holds {_holds(seen, last['norm'], last['state'])}, expected {name}"

    return judge


def effective_while(what: str, start: int, end: int) -> Expectation:
    """Whatever was flushed within a stretch (ns) held this, and something was flushed."""

    def judge(seen: Seen) -> str | None:
        wanted = seen.norm(what)
        within = [record for record in seen.of("prompt") if start <= record.t < end]
        if not within:
            return f"nothing was flushed from {seconds(start)} to {seconds(end)}"
        wrong = next((record for record in within if record["norm"] != wanted), None)
        if wrong is None:
            return None
        holds = _holds(seen, wrong["norm"], wrong["state"])
        return f"at {seconds(wrong.t)} the prompt held {holds}, expected {what}"

    return judge


def never_effective(version: str) -> Expectation:
    def judge(seen: Seen) -> str | None:
        wanted = seen.norm(version)
        found = next((record for record in seen.of("prompt") if wanted is not None and record["norm"] == wanted), None)
        return None if found is None else f"{version} became effective at {seconds(found.t)}"

    return judge


def not_before(version: str, instant: int) -> Expectation:
    """A version became effective, and not before an instant (ns)."""

    def judge(seen: Seen) -> str | None:
        wanted = seen.norm(version)
        found = next((record for record in seen.of("prompt") if record["norm"] == wanted), None)
        if found is None:
            return f"{version} never became effective"
        return None if found.t >= instant else f"{version} became effective at {seconds(found.t)}, too early"

    return judge


def next_beat(version: str) -> Expectation:
    """A version became effective, and not on the beat that the first fault struck: half a second after it or later."""

    def judge(seen: Seen) -> str | None:
        struck = [record.t for record in seen.of("fault")]
        return not_before(version, struck[0] + 500_000_000 if struck else 0)(seen)

    return judge


def canonical_untouched(seen: Seen) -> str | None:
    """Canonical was not written once the first post had landed (or at all, where nothing was posted)."""
    after = seen.landed() or 0
    found = next((record for record in seen.of("canonical") if record.t >= after), None)
    return None if found is None else f"canonical was {found['event']} at {seconds(found.t)}"


def no_flush(seen: Seen) -> str | None:
    """Once the first post had landed (or, where nothing was posted, the boot was over) the prompt was not flushed."""
    after = seen.landed() or BOOTED_NS
    extra = [record for record in seen.of("prompt") if record.t >= after]
    return None if not extra else f"the prompt was flushed at {seconds(extra[0].t)}"


def whole_at_death(seen: Seen) -> str | None:
    """At each crash canonical held a whole body: that of the start or one that was posted."""
    plans = [record["body"] for record in seen.of("post.plan")]
    whole = [seen.norms.get(body) for body in plans] + [seen.norm("start")]
    for end in seen.of("life.end"):
        states = [record for record in seen.of("canonical") if record.t <= end.t]
        if end["cause"] != "end" and states and seen.norms.get(states[-1]["body"]) not in whole:
            return f"at the crash at {seconds(end.t)} canonical held no whole body"
    return None


def flushed_again(seen: Seen) -> str | None:
    """After the rebuild began the prompt was flushed."""
    begins = [record.t for record in seen.of("rebuild.begin") if record["cause"] != "boot"]
    if not begins:
        return "no rebuild was begun"
    return None if any(record.t >= begins[0] for record in seen.of("prompt")) else "the rebuild flushed nothing"


def logged(event: str, least: int, most: int | None = None) -> Expectation:
    """So many log entries of a kind."""

    def judge(seen: Seen) -> str | None:
        count = sum(record["event"] == event for record in seen.of("log"))
        if count >= least and (most is None or count <= most):
            return None
        wanted = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        return f"{event} was logged {count} times, expected {wanted}"

    return judge


def consumed(seen: Seen) -> str | None:
    """The signal is gone from its name at the end."""
    signals = seen.of("signal")
    if not signals:
        return "no signal was ever seen"
    entry = signals[-1]["entry"]
    return None if entry is None else f"at the end a {entry} stands at the name"


def unmoved(seen: Seen) -> str | None:
    """Nothing happened at the signal's name."""
    signals = seen.of("signal")
    return None if not signals else f"what stood at the name {signals[0]['event']} at {seconds(signals[0].t)}"


def beats_on(seen: Seen) -> str | None:
    """No exception ended the heartbeat. Every row expects it."""
    ends = seen.of("heartbeat.end")
    return None if not ends else f"the heartbeat ended at {seconds(ends[0].t)}: {ends[0]['error']}"


def _holds(seen: Seen, norm: str | None, state: str) -> str:
    """What a prompt holds, by name."""
    if state != "whole":
        return f"a {state} section" if state == "torn" else "nothing (it is missing)"
    if norm is None:
        return "no rules section"
    names = ["start", *(record["version"].rpartition(".")[2] for record in seen.of("post.plan"))]
    known = next((name for name in names if seen.norm(name) == norm), None)
    return known or "a text that nobody posted"
