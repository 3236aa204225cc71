"""The driver as a means: our own driver plays the agent, and gives each operation the fate that it was drawn.

It does whatever the simulation does to an operation, but for the loss of a whole host's power. It reports each firing;
the harness hands that to `MeansPlan.fired`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.means.model import Action, Idle, Stage, Tally
from fleetbeat.protocol.live_plan import FaultPlan
from fleetbeat.scenario.model import Stalls
from fleetbeat.scenario.resolve import AgentSpec


def why_not(rule: Rule, is_driven: bool) -> str | None:
    """Why our driver cannot carry out this fault on an agent."""
    if not is_driven:
        return "it is no program of ours that it runs, but a command of its own"
    if rule.kind is None:
        return "it strikes by itself, not at a call"
    return None


def fault_plan(rule: Rule, prompt: str) -> FaultPlan:
    """The fault as the driver is told it. `prompt`: path of the agent's prompt, relative to home."""
    pattern = prompt if rule.fault.operation == "flush" and rule.fault.path is None else rule.pattern
    return FaultPlan.like(rule.id, str(rule.kind), pattern, rule.fault)


def stalls_of(spec: AgentSpec, stalls: Stalls, choices: Choices, duration: int) -> tuple[tuple[int, int], ...]:
    """When the heartbeat's thread stands still, and how long, ns: drawn as `engines.des.lifecycle` draws them."""
    found = []
    arrivals = Arrivals(choices, "stall", spec.name, stalls.per_hour)
    after = arrivals.after(-1)
    while after is not None and after[1] < duration:
        number, at_ns = after
        length = draw(stalls.length, choices, "stall:length", Step(spec.name, 0, number, "stall"))
        found.append((at_ns, length))
        after = arrivals.after(at_ns)
    return tuple(found)


class Driven(Idle):
    """Counts alone: the driver does the work, and the harness hears of it."""

    def __init__(self, faults: Sequence[str], stalls: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        self._stalls = stalls
        self.tallies = {fault: Tally() for fault in faults}
        if stalls:
            self.tallies["stall"] = Tally(planned=sum(map(len, stalls.values())))

    def actions(self) -> Sequence[Action]:
        return [
            Action(at_ns, partial(self._stalled, name), f"the heartbeat of {name} stalls")
            for name, planned in self._stalls.items()
            for at_ns, _ in planned
        ]

    def _stalled(self, name: str, stage: Stage) -> None:
        self.tallies["stall"].fired += stage.alive(name)
        self.tallies["stall"].observed += stage.alive(name)
