"""Somebody who wants a dangerous command to run: they provoke confirmations and reject them all, wait until the guard
may have had enough, flood the agent, and try again. And gates that raise or are slow while it lasts.

They know nothing of the core. The command at the end is of the kind that was provoked, and is not approved either: what
runs then, runs because nobody was asked.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import partial

from fleetbeat.framework.tools import danger
from fleetbeat.framework.turns import Turns, Work
from fleetbeat.framework.world import Sitting, World
from fleetbeat.scenario.workload import Adversary, Failing

_FLOOD_NS = 1_000_000


class Attack:
    """The adversary's session: step 0 to `rejects` - 1 provoke, then come the flood's prompts, then the command."""

    def __init__(self, world: World, turns: Turns, plan: Adversary) -> None:
        self._world, self._turns, self._plan = world, turns, plan
        self.sitting = world.sitting(f"s-{world.workload.sessions}")
        self.sitting.hostile = True
        self.sitting.due = plan.at or 0
        world.sittings[self.sitting.name] = self.sitting

    def up(self) -> None:
        """Begins, or goes on with the next step after the one that was cut."""
        self._next(self.sitting)

    def _next(self, sitting: Sitting) -> None:
        plan, number = self._plan, sitting.number
        if number <= plan.rejects + plan.flood:
            wait = max(0, sitting.due - self._world.hosting.now)
            self._world.wait(sitting, wait, ("prompt", sitting.name, number, 0), partial(self._step, sitting))

    def _step(self, sitting: Sitting) -> None:
        world, plan, number = self._world, self._plan, sitting.number
        hosting = world.hosting
        sitting.number = number + 1
        handed = hosting.hand(
            hosting.now, "prompt", "user", sitting.name, None, {"text": f"clean up the data {number}"}
        )
        if plan.rejects <= number < plan.rejects + plan.flood:
            sitting.due = hosting.now + _FLOOD_NS
            self._next(sitting)
            return
        call = danger(plan.kind, number)
        self._turns.begin(Work(sitting, sitting.name, sitting.actor, number, handed.id, 0, 1, self._over, call))

    def _over(self, work: Work) -> None:
        plan, hosting = self._plan, self._world.hosting
        hosting.hand(hosting.now, "reply", "agent", work.session, work.cause, {"text": "done"})
        is_last = work.number == plan.rejects - 1
        work.sitting.due = hosting.now + (plan.waits if is_last else plan.every)
        self._next(work.sitting)


def failing(gates: tuple[Failing, ...], gate: str, now_ns: int) -> Failing | None:
    """What is wrong with this gate now: the first that fits."""
    for one in gates:
        if one.from_ <= now_ns and (one.to is None or now_ns < one.to) and fnmatchcase(gate, one.gate):
            return one
    return None
