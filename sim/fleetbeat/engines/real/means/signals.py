"""Signals as a means: processes are killed, stopped and let go on from outside, at times known before the start.

Planned crashes come from the scenario. Arrivals at a rate, and the lengths of pauses, are drawn by the names by which
`engines.des.lifecycle` draws them, so that both engines strike at the same times. Pauses of one process that overlap end
with the last of them; a crash ends them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.means.model import Action, Idle, Stage, Tally, fault_fields
from fleetbeat.engines.real.means.processes import state_of


@dataclass(frozen=True, slots=True)
class Blow:
    """One strike. `pause_ns`: how long the process stands still; `kill`: it dies, and starts again after `restart_ns`.

    `step`: its name, in words, for the record; "" where the simulation records no fault either (a planned crash, a
    stall).
    """

    at_ns: int
    agent: str
    fault: str
    step: str = ""
    pause_ns: int | None = None
    kill: bool = False
    restart_ns: int | None = None


def why_not(rule: Rule) -> str | None:
    """Why signals from outside cannot carry out this fault."""
    return "it strikes at a call, and from outside nobody sees when that is" if rule.kind is not None else None


def blows_of(rule: Rule, agents: Sequence[str], choices: Choices, duration: int) -> list[Blow]:
    """When a fault at a rate strikes each of these agents within its window."""
    found, fault = [], rule.fault
    end = duration if fault.to is None else min(fault.to, duration)
    for name in agents:
        arrivals = Arrivals(choices, rule.stream, name, fault.per_hour or 0.0)
        after = arrivals.after(fault.from_ - 1)
        while after is not None and after[1] < end:
            number, at_ns = after
            step = Step(name, 0, number, f"fault:{rule.id}")
            pause = None if fault.pause is None else draw(fault.pause, choices, f"{rule.stream}:pause", step)
            found.append(Blow(at_ns, name, rule.id, str(step), pause, fault.crash is not None, fault.restart))
            after = arrivals.after(at_ns)
    return found


class Signals(Idle):
    """`faults`: ids of all faults that may strike, also those that never do. `sees_stops`: whether a process that
    stands still shows it in /proc (a frozen container does not)."""

    def __init__(self, blows: Sequence[Blow], faults: Sequence[str], sees_stops: bool) -> None:
        self._blows = blows
        self._sees_stops = sees_stops
        self._still_until: dict[str, int] = {}
        self._unseen: dict[str, tuple[int | None, list[Tally]]] = {}
        self.tallies = {fault: Tally(planned=0) for fault in faults}
        for blow in blows:
            tally = self.tallies[blow.fault]
            tally.planned = (tally.planned or 0) + 1

    def actions(self) -> Sequence[Action]:
        return [
            Action(blow.at_ns, partial(self._strike, blow), f"fault {blow.fault} on {blow.agent}")
            for blow in self._blows
        ]

    def started(self, stage: Stage, agent: str, life: int) -> None:
        self._still_until.pop(agent, None)
        self._unseen.pop(agent, None)

    def look(self, stage: Stage) -> None:
        """Whether those who were told to stand still do."""
        for agent, (pid, tallies) in list(self._unseen.items()):
            if not self._sees_stops or state_of(pid) in ("T", "t"):
                del self._unseen[agent]
                for tally in tallies:
                    tally.observed += 1

    def remove(self, stage: Stage) -> None:
        """Whoever still stands goes on, to end in order."""
        for agent in list(self._still_until):
            del self._still_until[agent]
            if stage.pid(agent) is not None:
                stage.resume(agent)

    def _strike(self, blow: Blow, stage: Stage) -> None:
        agent, tally = blow.agent, self.tallies[blow.fault]
        if not stage.alive(agent):
            return
        tally.fired += 1
        if blow.step:
            effect = "pause" if blow.pause_ns is not None else "crash"
            stage.record("fault", fault_fields(blow.fault, agent, blow.step, "process", None, effect))
        pid = stage.pid(agent)
        if blow.pause_ns is not None:
            self._pause(stage, blow, blow.pause_ns)
            self._unseen.setdefault(agent, (pid, []))[1].append(tally)
        if blow.kill:
            stage.crash(agent, blow.fault, blow.restart_ns)
            tally.observed += state_of(pid) in (None, "Z", "X")

    def _pause(self, stage: Stage, blow: Blow, length_ns: int) -> None:
        agent, end = blow.agent, stage.now() + length_ns
        is_still = agent in self._still_until
        self._still_until[agent] = max(self._still_until.get(agent, 0), end)
        if not is_still:
            stage.pause(agent)
        fault = blow.fault if blow.step else None
        stage.record("pause", {"agent": agent, "what": "process", "end": end, "fault": fault})
        stage.at(end, partial(self._go_on, agent), f"{agent} goes on")

    def _go_on(self, agent: str, stage: Stage) -> None:
        if agent not in self._still_until or stage.now() < self._still_until[agent]:
            return
        self.look(stage)
        del self._still_until[agent]
        if stage.alive(agent):
            stage.resume(agent)
