"""When an agent's heartbeat ended: recorded, or seen by beats that stop while the process lives and the run goes on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from fleetbeat.checks.timeline import Agent, Life, Mark

#: How many of the longest, and of the usual, intervals without a beat are taken for a dead heartbeat.
LONGEST_INTERVALS = 5
USUAL_INTERVALS = 10


@dataclass(frozen=True, slots=True)
class Death:
    """`at`: when it was recorded, or the end of the last beat seen (`silent`). `beat` is the last one's number."""

    at: int
    life: int
    beat: int | None
    error: str
    silent: bool
    #: The latest instant at which the beat that died may have begun, in ns.
    latest: int


def deaths(agent: Agent, end: int) -> list[Death]:
    """Every end of a heartbeat in a life that went on, in order. `end`: the last instant of the history in ns."""
    found = [Death(mark.t, life, beat, error, False, mark.t) for mark, life, beat, error in agent.heartbeat_ends]
    recorded = {death.life for death in found}
    for life in agent.lives:
        if life.number not in recorded and (silent := _silent(agent, life, end)) is not None:
            found.append(silent)
    return sorted(found, key=lambda death: death.at)


def _silent(agent: Agent, life: Life, end: int) -> Death | None:
    """Not told for a life without a beat, or with one where no interval was planned: how often it beats is not known."""
    beats = [(beat.t, beat.t, beat.end, 1, beat.number) for beat in agent.beats if beat.life == life.number]
    spans = [(span.t, span.last_start, span.end, span.count, -1) for span in agent.spans if span.life == life.number]
    seen = sorted(beats + spans)
    total = sum(item[3] for item in seen)
    usual: int | None = agent.fields.get("interval") if total == 1 else None
    if total > 1:
        usual = (seen[-1][1] - seen[0][0]) // (total - 1)
    if usual is None:
        return None
    last = max(item[2] for item in seen)
    longest = max([usual, *(after[0] - before[1] for before, after in pairwise(seen))])
    over = end if life.end is None else life.end.t
    quiet = over - last - _busy(agent, last, over)
    if agent.unseen_within(last, over) is not None:
        return None
    if quiet <= max(LONGEST_INTERVALS * longest, USUAL_INTERVALS * usual, 1):
        return None
    number = seen[-1][4]
    return Death(last, life.number, None if number < 0 else number, "", True, last + longest)


def _busy(agent: Agent, start: int, end: int) -> int:
    """How long of a stretch the beats were held up: by pauses, or by rebuilds on the same thread; in ns."""
    stretches = [*agent.pauses, *((one.begin.t, end if one.end is None else one.end.t) for one in agent.rebuilds)]
    total, reached = 0, start
    for begin, over in sorted(stretches):
        total += max(0, min(over, end) - max(begin, reached))
        reached = max(reached, min(over, end))
    return total


def ended_after(agent: Agent, landing: Mark, end: int) -> Death | None:
    """The first death of the heartbeat that followed a landing."""
    return next((death for death in deaths(agent, end) if death.latest >= landing.t), None)
