"""When the next beat comes. `EveryBeat` walks them one by one; `Dozing` (in `doze`) skips those that cannot matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fleetbeat.cadence import Cadence
from fleetbeat.engines.des.world import Wait

if TYPE_CHECKING:
    from fleetbeat.engines.des.agent import Agent, Played


class Pace(Protocol):
    """`leaps`: may an actor that nobody waits beside move time on by itself, or does each step go through the queue?"""

    leaps: bool

    def next(self, agent: Agent, cadence: Cadence, origin_ns: int, played: Played) -> Wait:
        """Returns (number, start in ns) of the next beat to play after `played`; may wait."""
        ...


def following(cadence: Cadence, origin_ns: int, beat: int, end_ns: int) -> tuple[int, int]:
    """The beat after `beat`, whose work ended at `end_ns`: its number and its start.

    Fixed delay: the wait is counted from the end of the work. Fixed rate: ticks that came during the work are dropped.
    """
    if cadence.mode == "fixed-delay":
        return beat + 1, end_ns + cadence.elapsed(beat + 1) - cadence.elapsed(beat)
    number = cadence.reach(end_ns + 1 - origin_ns, 0, beat + 1)
    return number, origin_ns + cadence.tick(number)
