"""The parts of the text report that only a run with a workload has: the framework, its storm, its exposure, its chains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fleetbeat.checks.chains import drawn
from fleetbeat.checks.model import Link
from fleetbeat.metrics.framework import Framework
from fleetbeat.metrics.framework_calls import BECAME
from fleetbeat.metrics.framework_storm import Storm
from fleetbeat.metrics.words import seconds
from fleetbeat.report.plain import counted, cut, item, safe
from fleetbeat.report.tables import table

#: Rows of a table that are shown before "and N more".
SHOWN = 20
#: Characters of the longest bar.
_BAR = 30
_NAME = 18
_EXPOSED = (
    "From a rollout's begin until its gates are in force on its targets. Met (the old guard): dangerous calls that the new "
    "gates judge more strictly than those in force did; ran: how many of these ran."
)


def framework(part: Framework | None) -> str:
    """Events, observers, gates, dangerous calls, and what they come to."""
    if part is None:
        return ""
    head = [
        item(f"Core {safe(part.core)}. Built-in guards: {', '.join(map(safe, part.guards)) or 'none'}."),
        item(f"Events {sum(count for _, count in part.events)}: {_counts(part.events)}."),
        *_actions(part),
    ]
    return _paragraphs("\n".join(head), _observers(part), _gates(part), _dangers(part), "\n".join(_lines(part)))


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _counts(pairs: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{safe(name)} {count}" for name, count in pairs) or "none"


def _actions(part: Framework) -> Iterator[str]:
    told, chains = part.notified, part.chains
    actions = dict(part.actions)
    yield item(f"Prepares {actions['prepare']}, cost {money(part.cost)}. Injects {actions['inject']}.")
    rate = "" if told.per_user_hour is None else f", {thousandths(told.per_user_hour)} per user and hour"
    most = "" if told.whose is None else f"; most {told.most}, for {safe(told.whose)}"
    yield item(f"Notifies {told.count} to {counted(told.users, 'user')}{rate}{most}.")
    begun = sum(count for _, count in chains.begun)
    if begun:
        hops = f"{chains.p50}, 90 % {chains.p90}, 99 % {chains.p99}, deepest {chains.max}"
        yield item(f"Chains begun by the framework {begun}: {_counts(chains.begun)}; hops: 50 % {hops}.")
    else:
        yield "  Chains begun by the framework: none."


def _observers(part: Framework) -> str:
    headers = ["observer", "does", "fitted", "taken", "self-trig.", "suppressed", "quiet", "dismissed"]
    rows = [
        [
            cut(safe(row.policy), _NAME), safe(row.action),
            *map(str, (row.fitted, row.taken, row.self_triggered, row.suppressed, row.quiet, row.dismissed)),
        ]
        for row in part.chains.observers
    ]  # fmt: skip
    return _cut(headers, rows, 2, "observers")


def _gates(part: Framework) -> str:
    headers = ["gate", "asked", "allow", "ask", "deny", "raised", "slow", "p50", "p99", "max"]
    rows = [
        [
            cut(safe(row.gate), _NAME - 9) + " (core's)" if row.built_in else cut(safe(row.gate), _NAME),
            *map(str, (row.asked, row.allow, row.ask, row.deny, row.raised, row.slow)),
            *map(_time, (row.p50, row.p99, row.max)),
        ]
        for row in part.calls.gates
    ]
    return _cut(headers, rows, 1, "gates")


def _dangers(part: Framework) -> str:
    rows = []
    for row in part.calls.dangerous:
        became = dict(row.became)
        name = "watched" if row.watched else "not watched"
        rows.append([name, str(row.made), *(str(became[one]) for one in BECAME)])
    return table(["dangerous", "made", *BECAME], rows)


def _lines(part: Framework) -> Iterator[str]:
    calls, chains = part.calls, part.chains
    yield item(f"Calls {calls.made}: {_counts(calls.decided)}. Answers: {_counts(calls.answers)}.")
    if calls.delay.calls:
        times = f"p50 {_time(calls.delay.p50)}, p99 {_time(calls.delay.p99)}, max {_time(calls.delay.max)}"
        yield item(f"All gates together held a call up for: {times}.")
    yield item(f"Let through: {counted(calls.let_through, 'dangerous call')} that no gate in force watched.")
    yield item(
        f"Suppressed: {counted(chains.suppressed, 'action')} that the first invariant forbids, wanted by a policy and not "
        f"taken; the core's log has {chains.logged}. Quiet (cooldown, silence, breaker, a stricter core): {chains.quiet}."
    )
    noted = [
        (part.silenced, "alert silenced (the core's log)", "alerts silenced (the core's log)"),
        (part.failed, "exception escaped the core", "exceptions escaped the core"),
        (part.malformed, "time malformed policies came into effect", "times malformed policies came into effect"),
        (part.limits, "refusal by the host", "refusals by the host"),
    ]
    if found := [counted(count, one, many) for count, one, many in noted if count]:
        yield item(f"Noted: {', '.join(found)}.")
    if part.failure is not None:
        yield item(f"The first exception: {safe(part.failure)}")


def storm(part: Framework | None) -> str:
    """By the minute, then by the wave, then which wave should have been stopped."""
    if part is None or part.storm is None:
        return ""
    found = part.storm
    counts = _counts(part.chains.self_triggered_actions)
    head = [
        item(f"Self-triggered actions {found.self_triggered}: {counts}."),
        item(f"Background tasks that should not have been: {found.runs}, cost {money(found.cost)}."),
    ]
    return _paragraphs("\n".join(head), _minutes(found), _waves(found), "\n".join(_stops(found)))


def _minutes(found: Storm) -> str:
    most = max((row.runs for row in found.minutes), default=0)
    rows = [
        [
            f"{row.minute}m", str(row.runs), money(row.cost), str(row.agents),
            "█" * (-(-row.runs * _BAR // most) if most else 0),
        ]
        for row in found.minutes
    ]  # fmt: skip
    if not rows:
        return ""
    drawing = table(["from", "runs", "cost", "agents", ""], rows[:SHOWN], texts=0, left=(4,))
    return drawing if len(rows) <= SHOWN else f"{drawing}\n  ... and {len(rows) - SHOWN} more minutes"


def _waves(found: Storm) -> str:
    headers = ["rollout", "wave", "began", "triggered", "first", "runs", "cost", "later runs", "later cost"]
    rows = [
        [
            cut(safe(row.rollout), 16), str(row.wave), _time(row.began), f"{row.triggered} of {row.agents}",
            _time(row.first), str(row.runs), money(row.cost), str(row.later_runs), money(row.later_cost),
        ]
        for row in found.waves
    ]  # fmt: skip
    return _cut(headers, rows, 1, "waves")


def _stops(found: Storm) -> Iterator[str]:
    """In a sentence for each rollout which wave should have been stopped."""
    for stop in found.stops:
        yield item(
            f"Wave {stop.wave} of {safe(stop.rollout)} should have been stopped: its agents triggered themselves from "
            f"{seconds(stop.seen)} on, {seconds(stop.next_began - stop.seen)} before wave {stop.wave + 1} began. Later "
            f"waves' agents ran {counted(stop.runs, 'task')} more, cost {money(stop.cost)}."
        )
    stopped = [stop.rollout for stop in found.stops]
    waves = Counter(row.rollout for row in found.waves)
    for rollout, count in waves.items():
        if count == 1:
            yield item(f"{safe(rollout)} went out in one wave: there was no later one to hold back.")
        elif rollout not in stopped:
            yield item(f"No wave of {safe(rollout)} gave itself away before the next one began.")


def exposure(part: Framework | None) -> str:
    """One row for each rollout of a body with gates."""
    if part is None or not part.exposure:
        return ""
    headers = ["rollout", "began", "targets", "reached", "agent-seconds", "50 %", "90 %", "max", "met", "ran"]
    rows = [
        [
            cut(safe(row.rollout), 16), seconds(row.began), str(row.targets), str(row.reached),
            thousandths(row.agent_ns // 1_000_000), *map(_time, (row.p50, row.p90, row.max)),
            str(row.calls), str(row.ran),
        ]
        for row in part.exposure
    ]  # fmt: skip
    return _paragraphs(_cut(headers, rows, 1, "rollouts"), item(_EXPOSED))


def chain(links: Sequence[Link]) -> Iterator[str]:
    """The shortest chain of causes that breaks an invariant, as a tree."""
    if links:
        yield "    shortest chain of causes:"
        yield from (f"      {safe(line)}" for line in drawn(links))


def _cut(headers: Sequence[str], rows: Sequence[Sequence[str]], texts: int, what: str) -> str:
    if not rows:
        return ""
    drawing = table(headers, rows[:SHOWN], texts)
    return drawing if len(rows) <= SHOWN else f"{drawing}\n  ... and {len(rows) - SHOWN} more {what}"


def _time(ns: int | None) -> str:
    return "-" if ns is None else seconds(ns)


def money(millionths: int) -> str:
    """Units of money from millionths, to the hundredth, rounded half up: `12.50`."""
    cents = (millionths + 5_000) // 10_000
    sign, cents = ("-", -cents) if cents < 0 else ("", cents)
    return f"{sign}{cents // 100}.{cents % 100:02d}"


def thousandths(value: int) -> str:
    """A number from thousandths, with one digit after the point, cut: `56.9`."""
    return f"{value // 1000}.{value % 1000 // 100}"
