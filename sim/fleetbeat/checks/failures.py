"""Canonical writes that failed, as far as an observer can tell; shared by two checks.

Known from a fault that failed an operation on canonical, from the agent's own `rules_write_error`, and, on a disk with
a budget, from a canonical that the beat left unfinished. A fault on `open` or `close` also strikes the read of
canonical before the write: it counts as the write's if canonical had been touched by then, or is never touched after
it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fleetbeat.checks.credit import fails_canonical, is_unknown, over
from fleetbeat.checks.timeline import Agent, Consumption, Mark


@dataclass(frozen=True, slots=True)
class Failure:
    """`must_log`: the log itself was in order, so that `rules_write_error` has to be there."""

    taken: Consumption
    at: Mark
    how: str
    must_log: bool


def failed_writes(agent: Agent) -> Iterator[Failure]:
    for taken in agent.consumptions:
        if taken.beat is not None and (found := _failed(agent, taken)) is not None:
            mark, how = found
            yield Failure(taken, mark, how, _log_was_in_order(agent, taken))


def errors_logged(agent: Agent, taken: Consumption) -> int:
    return sum(log.event == "rules_write_error" for log in agent.within(agent.logs, taken.at, over(taken), taken.after))


def _failed(agent: Agent, taken: Consumption) -> tuple[Mark, str] | None:
    states = [
        state for state in agent.within(agent.canonicals, taken.at, over(taken), taken.after) if state.by == "agent"
    ]
    for fired in agent.within(agent.faults, taken.at, over(taken), taken.after):
        if fails_canonical(fired) and fired.actor.endswith("/beat"):
            touched = any(state.at < fired.at for state in states)
            touched_later = any(state.at > fired.at for state in states)
            if touched or not touched_later or fired.operation not in ("open", "close"):
                return fired.at, f"{fired.operation} of canonical failed"
    for log in agent.within(agent.logs, taken.at, over(taken), taken.after):
        if log.event == "rules_write_error":
            return log.at, "the agent logged that canonical could not be written"
    if agent.disk_limited and states and taken.beat is not None and taken.beat.outcome == "done":
        last = states[-1]
        if last.blank or last.key is None or (is_unknown(agent, last.key, last.at) and taken.torn is None):
            return last.at, "canonical was left unfinished on a disk with a budget"
    return None


def _log_was_in_order(agent: Agent, taken: Consumption) -> bool:
    beat = taken.beat
    if beat is None or beat.outcome == "cut" or agent.disk_limited:
        return False
    if agent.unseen_within(beat.t, beat.end) is not None:
        return False
    # a log that failed before the signal was taken was another one
    return not any(fired.operation == "emit" for fired in agent.within(agent.faults, taken.at, beat.end))
