"""A host loses power: all its agents die at once, and what was not synced is lost, kept, or drawn piece by piece.

A case may say of any piece whether it is kept, whatever the scenario says of the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from fleetbeat.chance.step import Step
from fleetbeat.engines.des.world import World
from fleetbeat.engines.recorder import When
from fleetbeat.files.memory import Unsynced


def power_loss(world: World, host: str, when: When, fault: str | None, unsynced: str, restart_ns: int | None) -> None:
    """Ends the lives on `host` at `when`; those that were running start again after `restart_ns`, or never."""
    residents = [agent for agent in world.agents.values() if agent.spec.host == host]
    running = [agent for agent in residents if agent.alive]
    for agent in running:
        agent.end_life(when, "power", fault)
    changed = world.files.power_loss([agent.spec.home for agent in residents], _policy(world, host, when, unsynced))
    world.watch.resettle(when, changed)
    for agent in running:
        agent.restart(restart_ns)


def _policy(world: World, host: str, when: When, unsynced: str) -> Callable[[Unsynced], bool]:
    life = world.power_losses[host] = world.power_losses.get(host, -1) + 1

    def keeps(piece: Unsynced) -> bool:
        step = Step(host, life, 0, piece.kind, piece.path, piece.nth)
        bits = world.choices.forced("unsynced", step)
        if bits is None and unsynced != "random":
            return unsynced == "kept"
        return bool((world.choices.bits("unsynced", step) if bits is None else bits) >> 63)

    return keeps
