"""Runs both sides of a comparison: the real runs, what they measured, and simulations by these measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fleetbeat.conform.calibrate import Calibration, calibrated, measure, overhead
from fleetbeat.conform.compare import Comparison, compare
from fleetbeat.conform.sides import Side, run_of
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Scenario

Play = Callable[[Scenario], Sequence[Record]]
SIMULATED = "des"


@dataclass(frozen=True, slots=True)
class Laid:
    """One real engine beside the simulation. `histories`: of the real runs, one for each seed."""

    engine: str
    histories: tuple[Sequence[Record], ...]
    calibration: Calibration
    scenario: Scenario
    comparison: Comparison


def seeded(scenario: Scenario, count: int) -> list[Scenario]:
    """The scenario under its own seed and those that follow it."""
    return [scenario.model_copy(update={"seed": (scenario.seed + more) % 2**64}) for more in range(count)]


def lay(
    scenario: Scenario,
    engine: str,
    real: Play,
    simulate: Play,
    *,
    seeds: int = 1,
    simulations: int = 20,
    alpha: float = 0.01,
    room: int | None = None,
    calibrate: bool = True,
) -> Laid:
    """Plays `seeds` real runs and `simulations` simulated ones, calibrated unless told otherwise, and compares them.

    The simulations begin with the real runs' seeds. Raises what the engines raise.
    """
    histories = tuple(real(one) for one in seeded(scenario, seeds))
    found, played = Calibration(()), scenario
    if calibrate:
        found = measure(histories)
        base = simulate(calibrated(scenario, found))
        found = replace(found, overhead_ns=overhead(histories[:1], base))
        played = calibrated(scenario, found)
    base_side = Side(SIMULATED, tuple(run_of(simulate(one)) for one in seeded(played, max(seeds, simulations))))
    other = Side(engine, tuple(run_of(records) for records in histories))
    return Laid(engine, histories, found, played, compare(base_side, other, alpha, room))
