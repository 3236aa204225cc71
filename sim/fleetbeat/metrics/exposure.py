"""Rollout plans: how each rollout ended, and how long agents ran a version that should never have gone out.

Exposure is agents times time: for each agent the time in which its flushed prompt held the version, whether or not its
process ran, until another text stood there or the run ended. It comes from `prompt` records, so a version that arrived by
hand-down or came back with a rebuild counts. Which version is bad is the scenario's truth (`truth` records).

A rollout finished when its last wave was reported and its gate, if it has one, let it pass; it was stopped by a gate, or
by `stop_on_failure`. A rollback is no rollout of its own here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleetbeat.history.records import Record
from fleetbeat.metrics.facts import Facts
from fleetbeat.metrics.quantile import rank

SECOND = 1_000_000_000

#: Every number of a run's plans, in the order of columns, and what it says.
PLAN_METRICS = {
    "exposure": "agents x time on a bad version, agent-seconds",
    "exposed": "agents that ever held a bad version",
    "bad_at_end": "agents that hold a bad version at the end",
    "slipped": "bad versions that got past every gate",
    "false_alarms": "good versions that were stopped",
    "finish": "until the operator was through with its good versions, s; of the slowest",
    "good_p99": "until 99 % of a good version's targets held it, s; of the slowest",
    "stop_after": "from a bad version's first wave until it was stopped, s; of the slowest",
}


@dataclass(frozen=True, slots=True)
class Plan:
    """One rollout. Times in ns; `began` and `ended` since the run began, None: never.

    `end`: finished, stopped, died (the operator's process), under way, or not begun. `wave`: the last one that began, of
    `waves`; 0: none. `looks`: how often its gates looked. `then`: what followed a stop: rollback, rolled-back, or nothing.
    `held_ns`: agents times time on its version; `reached`, `at_end`: agents that ever held it, and in the end. `p99`:
    since it began, until 99 % of its targets held it; None: never.
    """

    rollout: str
    version: str
    bad: bool
    targets: int
    waves: int
    wave: int
    began: int | None
    ended: int | None
    end: str
    why: str
    then: str
    looks: int
    held_ns: int
    reached: int
    at_end: int
    p99: int | None


def plans(facts: Facts) -> tuple[Plan, ...]:
    """One row a rollout, in the order of the scenario. Hand-downs and rollbacks are left out."""
    bad = {record["version"] for record in facts.truths if record["bad"]}
    undone = {f"{turn['rollout']}/rollback" for turn in facts.turns if turn["event"] == "rollback"}
    rows = []
    for record in facts.rollouts:
        if record["write"] != "hand-down" and record["rollout"] not in undone:
            rows.append(_plan(facts, record, record["version"] in bad))
    return tuple(rows)


def numbers(rows: Sequence[Plan]) -> dict[str, float | None]:
    """Every name of `PLAN_METRICS`; None for what such a run does not have: no bad version, none finished or stopped."""
    bad = list({row.version: row for row in rows if row.bad}.values())
    wrong, good = [row for row in rows if row.bad], [row for row in rows if not row.bad]
    found: dict[str, float | None] = dict.fromkeys(PLAN_METRICS)
    if bad:
        found["exposure"] = sum(row.held_ns for row in bad) / SECOND
        found["exposed"] = float(sum(row.reached for row in bad))
        found["bad_at_end"] = float(sum(row.at_end for row in bad))
        found["slipped"] = float(sum(row.end == "finished" for row in wrong))
        found["stop_after"] = _slowest(wrong, "stopped")
    if good:
        found["false_alarms"] = float(sum(row.end == "stopped" for row in good))
        found["finish"] = _slowest(good, "finished")
        times = [row.p99 for row in good]
        found["good_p99"] = None if None in times else max(time for time in times if time is not None) / SECOND
    return found


def _slowest(rows: Sequence[Plan], end: str) -> float | None:
    """The longest time from begin to end, None unless all ended so."""
    times = [
        row.ended - row.began for row in rows if row.end == end and row.began is not None and row.ended is not None
    ]
    return max(times) / SECOND if len(times) == len(rows) else None


def _plan(facts: Facts, record: Record, bad: bool) -> Plan:
    name, waves = record["rollout"], len(record["waves"])
    own = [wave for wave in facts.waves if wave["rollout"] == name]
    begins = [wave for wave in own if wave["event"] == "begin"]
    turns = [turn for turn in facts.turns if turn["rollout"] == name]
    gates = [gate for gate in facts.gates if gate["rollout"] == name]
    end, ended = _end(own, turns, waves, bool(turns or gates))
    stops = [turn["event"] for turn in turns if turn["event"] in ("rollback", "rolled-back")]
    failed = [str(gate["why"]) for gate in gates if gate["event"] == "failed"]
    norm = None if facts.blank(record["body"]) else facts.norm(record["body"])
    held, first, at_end = _held(facts, norm)
    began = begins[0].t if begins else None
    wanted = rank(len(record["targets"]), 99)
    times = sorted(max(0, first[agent] - (began or 0)) for agent in record["targets"] if agent in first)
    return Plan(
        rollout=name,
        version=record["version"],
        bad=bad,
        targets=len(record["targets"]),
        waves=waves,
        wave=max((wave["wave"] for wave in begins), default=0),
        began=began,
        ended=ended,
        end=end if begins else "not begun",
        why=failed[-1] if failed else "a target failed or timed out" if end == "stopped" else "",
        then=stops[-1] if stops else "",
        looks=len(gates),
        held_ns=held,
        reached=len(first),
        at_end=at_end,
        p99=times[wanted - 1] if began is not None and wanted <= len(times) else None,
    )


def _end(own: Sequence[Record], turns: Sequence[Record], waves: int, planned: bool) -> tuple[str, int | None]:
    """How it ended, and when it was decided."""
    words = {"finished": "finished", "aborted": "stopped", "rollback": "stopped", "died": "died"}
    for turn in turns:
        if turn["event"] in words:
            return words[turn["event"]], turn.t
    for wave in own:
        if wave["event"] == "stopped":
            return "stopped", wave.t
        if wave["event"] == "end" and wave["wave"] == waves and not planned:
            return "finished", wave.t
    return "under way", None


def _held(facts: Facts, norm: str | None) -> tuple[int, dict[str, int], int]:
    """Agents times ns on a text, when each agent held it first, and how many hold it in the end. Blank: nobody does."""
    held, at_end = 0, 0
    first: dict[str, int] = {}
    for agent in facts.agents if norm is not None else ():
        since: int | None = None
        for record in facts.of(agent, "prompt"):
            has = record["state"] == "whole" and record.get("norm") == norm
            if has and since is None:
                since = record.t
                first.setdefault(agent, since)
            elif not has and since is not None:
                held, since = held + record.t - since, None
        if since is not None:
            held, at_end = held + facts.end - since, at_end + 1
    return held, first, at_end
