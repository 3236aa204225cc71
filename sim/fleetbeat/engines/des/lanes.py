"""Acting ahead of the clock where nobody could tell.

An agent's directory is touched by few actors: its heartbeat and the operators that post to it or look at it. While all
others of them wait for later instants, what one of them does next depends on nothing that is still to come, so it need
not wait for its turn in the queue: it takes effect at its own instant, before the clock gets there. Records are put in
order at the end. It waits for the clock as soon as another actor of its lane, a new rollout or the end of the run could
come first, when it would wake a sleeper, and, an operator, when its work is over.

Only in plain worlds: no lifecycle events, no process faults, no bounded disks, no families, no case that names steps, and
rollouts whose posts all begin at times known beforehand. Elsewhere `lanes_of` returns None and nobody acts ahead.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fleetbeat.scenario.model import Rollout, Scenario
from fleetbeat.scenario.resolve import AgentSpec

if TYPE_CHECKING:
    from fleetbeat.engines.des.body import Body

#: No instant is planned: the actor sleeps until somebody touches what it looks at.
NEVER = 1 << 62


class Lanes:
    """For each agent the actors that may touch its directory, each with a time before which it will not act, in ns."""

    def __init__(self, duration: int, rollouts: Iterable[int]) -> None:
        self._lanes: dict[str, dict[Body, int]] = {}
        self._duration = duration
        self._rollouts = sorted(rollouts)
        self._barrier = min([duration, *self._rollouts])

    def waits(self, body: Body, until_ns: int) -> None:
        """The actor will do nothing before `until_ns`."""
        self._lanes.setdefault(body.agent, {})[body] = until_ns

    def leave(self, body: Body) -> None:
        """The actor will do nothing any more."""
        self._lanes.get(body.agent, {}).pop(body, None)

    def begun(self, rollout_at: int) -> None:
        """A rollout began: its posts are in their lanes from now on."""
        self._rollouts.remove(rollout_at)
        self._barrier = min([self._duration, *self._rollouts])

    def end(self, at_ns: int) -> None:
        """Nobody acts ahead of the clock at `at_ns` or later."""
        self._barrier = min(self._barrier, at_ns)
        self._duration = at_ns

    def limit(self, body: Body) -> int:
        """Before this time, in ns, nothing can happen that concerns this actor. Holds until it waits for anything."""
        limit = self._barrier
        for other, next_at in self._lanes[body.agent].items():
            if next_at < limit and other is not body:
                limit = next_at
        return limit

    def is_alone(self, body: Body) -> bool:
        """Whether nobody else is in its lane: then nobody sleeps on a name there, or asks what was touched."""
        return len(self._lanes[body.agent]) == 1


def lanes_of(scenario: Scenario, specs: Iterable[AgentSpec], names_steps: bool) -> Lanes | None:
    """The lanes of a plain world, or None."""
    lifecycle = scenario.fleet.lifecycle
    eventful = lifecycle.suspend or lifecycle.rebuilds or lifecycle.crashes or lifecycle.spawns
    bounded = any(host.disk is not None or host.system_disk is not None for host in scenario.fleet.hosts)
    deadly = any(fault.crash or fault.pause is not None or fault.operation is None for fault in scenario.faults)
    if eventful or bounded or deadly or names_steps or not all(_foreseen(rollout) for rollout in scenario.rollouts):
        return None
    if any(spec.parent is not None or spec.heartbeat.stalls is not None for spec in specs):
        return None
    return Lanes(scenario.duration, [rollout.at for rollout in scenario.rollouts])


def _foreseen(rollout: Rollout) -> bool:
    """Whether all posts of a rollout begin at times that are known when it begins, and only agents write logs."""
    gated = rollout.gate is not None or any(wave.gate is not None for wave in rollout.waves)
    stops = gated or rollout.on_failure == "rollback" or rollout.errors_per_hour > 0
    return len(rollout.waves) < 2 and rollout.order == "together" and not stops
