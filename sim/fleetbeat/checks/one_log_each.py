"""At most one `rules_loaded` for each applied post and one `rules_write_error` for each failed write; exactly one of
them where no crash, no log fault and no full disk fell there.

`rules_loaded` may be owed: where a flush failed, it comes with a later one, at most once for each post.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fleetbeat.checks import words
from fleetbeat.checks.credit import began, over
from fleetbeat.checks.failures import errors_logged, failed_writes
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import Agent, Consumption, Log, Mark
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "one-log-each", "one rules_loaded for each applied post, one rules_write_error for each failed write"
)
_FOREVER = 1 << 63


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        yield from _before_any(world, agent)
        failed = {failure.taken.at for failure in failed_writes(agent)}
        owed = 0
        for before, taken in zip([None, *agent.consumptions], agent.consumptions, strict=False):
            world.examined()
            if before is not None and not before.claimed and agent.deaths_within(before.at.t, taken.at.t):
                owed = 0  # what a process owed is forgotten with it
            loaded = _count(agent, taken, "rules_loaded")
            due = owed + (0 if taken.at in failed and not taken.claimed else _applies(agent, taken))
            if len(loaded) > due:
                yield _finding(
                    agent,
                    taken,
                    loaded[due].at,
                    f"rules_loaded was logged {words.several(len(loaded), 'time')}, {due} due",
                )
            owed = min(1, max(0, due - len(loaded)))
            if not loaded and _must_log(agent, taken):
                yield _finding(agent, taken, taken.at, "its body was applied and rules_loaded was not logged")
            errors = _count(agent, taken, "rules_write_error")
            again = _again(agent, taken, errors)
            if again is not None:
                text = f"rules_write_error was logged {words.several(len(errors), 'time')}, 1 due for each write that failed"
                yield _finding(agent, taken, again.at, text)
        for failure in failed_writes(agent):
            if failure.must_log and errors_logged(agent, failure.taken) == 0:
                yield _finding(agent, failure.taken, failure.at, f"{failure.how} and rules_write_error was not logged")


def _before_any(world: World, agent: Agent) -> Iterator[Finding]:
    first = agent.consumptions[0].at if agent.consumptions else Mark(_FOREVER, _FOREVER)
    for log in agent.logs:
        if log.event == "rules_loaded" and log.at < first and not agent.rebuilds_within(log.at.t, log.at.t):
            world.examined()
            text = f"{agent.name}: rules_loaded was logged {words.at(log.at.t)}, before any signal was consumed"
            yield Finding(INVARIANT.id, "violation", "agent", log.at.t, text, agent.name)
            return


def _count(agent: Agent, taken: Consumption, event: str) -> list[Log]:
    """Logs of a kind from this consumption to the next, whenever they come."""
    return [log for log in agent.within(agent.logs, taken.at, _FOREVER, taken.after) if log.event == event]


def _again(agent: Agent, taken: Consumption, errors: list[Log]) -> Log | None:
    """The first error logged a second time for one write: a claimed body is tried again, once in each episode."""
    for before, log in pairwise(errors):
        if not taken.claimed or _episode(agent, before.at.t) == _episode(agent, log.at.t):
            return log
    return None


def _episode(agent: Agent, t: int) -> tuple[str, int, int] | None:
    """The beat that was at work at `t`, or the rebuild: its kind, life and number."""
    beat = agent.beat_at(t)
    if beat is not None:
        return "beat", beat.life, beat.number
    return next((("rebuild", one.life, one.number) for one in agent.rebuilds_within(t, t)), None)


def _applies(agent: Agent, taken: Consumption) -> int:
    """1 if this consumption wrote anything: canonical, or (an agent that skips it) the prompt. A claim may be late."""
    until = _FOREVER if taken.claimed else over(taken)
    if any(state.by == "agent" for state in agent.within(agent.canonicals, taken.at, until, taken.after)):
        return 1
    return int(bool(agent.within(agent.prompts, taken.at, until, taken.after)))


def _must_log(agent: Agent, taken: Consumption) -> bool:
    """Whether the beat applied its body in full, undisturbed."""
    beat = taken.beat
    if (
        beat is None
        or beat.outcome != "done"
        or agent.disk_limited
        or agent.unseen_within(beat.t, beat.end) is not None
    ):
        return False
    if any(began(taken) <= fired.at.t <= beat.end for fired in agent.faults) or agent.rebuilds_within(beat.t, beat.end):
        return False
    logged = {log.event for log in agent.within(agent.logs, taken.at, beat.end, taken.after)}
    if logged & {"rules_write_error", "rules_flush_error"}:
        return False
    written = [
        state for state in agent.within(agent.canonicals, taken.at, beat.end, taken.after) if state.by == "agent"
    ]
    prompts = agent.within(agent.prompts, taken.at, beat.end, taken.after)
    return bool(written and prompts) and written[-1].key == prompts[-1].key


def _finding(agent: Agent, taken: Consumption, mark: Mark, wrong: str) -> Finding:
    posts = () if taken.post is None else (taken.post.id,)
    whose = f"after {posts[0]}" if posts else "after a signal"
    text = f"{agent.name}: {whose} was consumed {words.at(taken.at.t)}, {wrong}"
    return Finding(INVARIANT.id, "violation", "agent", mark.t, text, agent.name, posts)
