"""The plain per-beat loop: every beat is played, none is skipped. What the engine's skipping is held against.

Nothing here calls the code that skips (`engines.des.doze`), nor the search for a beat by time: beats are counted one by one.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.cadence import Cadence
from fleetbeat.chance.choices import Overrides
from fleetbeat.engines.des import run
from fleetbeat.engines.des.agent import Agent, Played
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Scenario


class EveryBeat:
    """The next beat is the next one, and every step goes through SimPy's queue."""

    leaps = False

    def next(self, agent: Agent, cadence: Cadence, origin_ns: int, played: Played) -> Any:
        number = played.beat + 1
        if cadence.mode == "fixed-delay":
            return number, played.end + cadence.elapsed(number) - cadence.elapsed(number - 1)
        while origin_ns + cadence.tick(number) <= played.end:
            number += 1
        return number, origin_ns + cadence.tick(number)
        yield  # pace.next is a generator that may wait; this one never does


def every_beat(scenario: Scenario, overrides: Overrides | None = None, **more: Any) -> list[Record]:
    return run(scenario, overrides, pace=EveryBeat(), **more)
