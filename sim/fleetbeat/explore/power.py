"""Power loss in a search: from every point, the file systems that unsynced changes may leave.

Each unsynced change (an entry created, removed or renamed; a file cut short; what was written to it) is kept or lost. Up to
`EVERY` of them all combinations are tried; beyond that all lost, all kept, each one alone lost and each one alone kept.
Combinations that leave the same files count once.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from fleetbeat.explore.lives import cut, dead, life_end
from fleetbeat.explore.scene import Hand, Shown
from fleetbeat.explore.space import Leap, Life, Part, Space
from fleetbeat.explore.worlds import World
from fleetbeat.files.memory import Unsynced

if TYPE_CHECKING:
    from fleetbeat.explore.walk import State

#: Unsynced changes of a host of which every combination is tried.
EVERY = 5
BOUND = f"power loss: all combinations of up to {EVERY} unsynced changes; of more: none, all, each alone lost or kept"


def kept_sets(pieces: tuple[Unsynced, ...]) -> Iterator[frozenset[Unsynced]]:
    """Which changes survive, fewest first."""
    if len(pieces) <= EVERY:
        for size in range(len(pieces) + 1):
            yield from map(frozenset, combinations(pieces, size))
        return
    every = frozenset(pieces)
    yield frozenset()
    yield every
    for piece in pieces:
        yield frozenset((piece,))
        yield every - {piece}


def losses(space: Space, state: State, host: str) -> list[tuple[Leap, tuple[tuple[int, Part], ...], str]]:
    """Each way in which a host may lose power here: the leap, the parts that changed, the pieces kept in words."""
    residents = [index for index, agent in enumerate(space.agents) if agent.spec.host == host]
    homes = tuple(space.agents[index].spec.home for index in residents)
    shown: list[Shown] = []
    parts: list[tuple[int, Part]] = []
    world: World = state.world
    for index in residents:
        value = state.parts[index].value
        if not isinstance(value, Life) or not value.alive:
            continue
        agent = space.agents[index]
        more, left = cut(agent, value)
        hand: Hand = space.hand(state.parts[index], 2 * index)
        move = space.worlds.die(world, (hand,))
        world = move.world
        shown += [*more, *move.shown, life_end(agent, left, "power")]
        parts.append((index, space.with_part(state.parts, index, dead(left))[index]))
    found = []
    seen: dict[tuple[int, bytes], None] = {}
    for keep in kept_sets(space.worlds.unsynced(world, homes)):
        move = space.worlds.lose_power(world, homes, keep)
        everything = (*shown, *move.shown)
        raw = b"".join(one.raw for one in everything)
        if (move.world.id, raw) in seen:
            continue
        seen[move.world.id, raw] = None
        leap = Leap(move.world, parts[0][1], everything, raw, False, True, None)
        found.append((leap, tuple(parts), in_words(keep)))
    return found


def in_words(keep: frozenset[Unsynced]) -> str:
    """The kept pieces, as an event's outcome holds them."""
    return ";".join(sorted(f"{one.kind} {one.path}@{one.nth}" for one in keep))
