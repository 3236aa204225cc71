"""Nothing is applied from a signal whose read or unlink failed; it is still there, unless another actor took it.

Judged where a fault is recorded that failed such an operation before it had any effect, within that beat. A signal that
the agent moved to a place which its manifest declares counts as there.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleetbeat.checks import words
from fleetbeat.checks.model import Finding, Invariant
from fleetbeat.checks.timeline import SIGNAL_PATH, Agent, Beat, Fired
from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "consume-before-apply", "nothing is applied from a signal whose read or unlink failed, and it is still there"
)
_FAILED_READ = {("open", "error"), ("open", "partial"), ("read", "error"), ("read", "partial")}
_FAILED = {*_FAILED_READ, ("unlink", "error")}


def check(world: World) -> Iterator[Finding]:
    for agent in world.agents.values():
        for fired in agent.faults:
            if (
                fired.path != SIGNAL_PATH
                or (fired.operation, fired.effect) not in _FAILED
                or not fired.actor.endswith("/beat")
            ):
                continue
            beat = agent.beat_at(fired.at.t)
            if beat is not None:
                world.examined()
                wrong = _gone(agent, fired, beat) or _applied(agent, fired, beat)
                if wrong:
                    what = f"{fired.operation} of .rules failed {words.at(fired.at.t)}"
                    text = f"{agent.name}: {what} in beat {beat.number}, and {wrong}"
                    yield Finding(
                        INVARIANT.id, "violation", "agent", fired.at.t, text, agent.name, _standing(agent, fired)
                    )


def _gone(agent: Agent, fired: Fired, beat: Beat) -> str:
    for taken in agent.consumptions:
        if beat.t <= taken.at.t <= beat.end and not (taken.claimed or taken.set_aside):
            when = "after that" if taken.at > fired.at else "before that"
            return f"the signal was taken {when}, {words.at(taken.at.t)}"
    return ""


def _applied(agent: Agent, fired: Fired, beat: Beat) -> str:
    written = [state for state in agent.within(agent.canonicals, fired.at, beat.end) if state.by == "agent"]
    if written:
        return f"canonical was written {words.at(written[0].at.t)}"
    held = {agent.canonical_at(fired.at.seq).key, agent.prompt_at(fired.at.seq).key, None}
    for prompt in agent.within(agent.prompts, fired.at, beat.end):
        if prompt.key not in held:
            return f"the prompt took on another text {words.at(prompt.at.t)}"
    return ""


def _standing(agent: Agent, fired: Fired) -> tuple[str, ...]:
    for stand in reversed(agent.stands):
        if stand.since < fired.at and stand.post is not None:
            return (stand.post.id,)
    return ()
