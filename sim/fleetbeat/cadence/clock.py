"""What every cadence draws first: the drift of the agent's clock, and the phase of its first beat.

A clock that runs fast by some parts per million ends every wait early. Each amount that the clock measures (interval,
jitter, splay) is divided by 1 + ppm / 1,000,000 and rounded to whole nanoseconds by itself, ties to even, so that
sums of them stay sums of integers.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.chance.choices import Choices, unit
from fleetbeat.chance.step import Step

STREAM = "cadence"
PHASE = "phase"
JITTER = "jitter"
BLOCK = "block"
SPLIT = "split"


def clock_rate(scale_ppm: float) -> float:
    """How fast the clock runs: 1.0 is true time. Raises ValueError for a clock that stands or runs backwards."""
    if not -500_000.0 <= scale_ppm <= 1_000_000.0:
        raise ValueError(f"clock drift: got {scale_ppm} ppm, expected -500000 to 1000000")
    return 1.0 + scale_ppm * 1e-6


def true_ns(measured_ns: int, rate: float) -> int:
    """The true length of what this clock measures as `measured_ns`."""
    return measured_ns if rate == 1.0 else round(measured_ns / rate)


def phase_ns(heartbeat: Any, choices: Choices, agent: str, life: int, rate: float) -> int:
    """Offset of the first beat from the end of boot: drawn anew for each life."""
    width = phase_width_ns(heartbeat, rate)
    if width <= 1:
        return 0
    u = unit(choices.bits(STREAM, Step(agent, life, 0, PHASE)))
    return min(int(u * width), width - 1)


def phase_width_ns(heartbeat: Any, rate: float) -> int:
    """Phases are uniform in [0, this)."""
    match heartbeat.phase:
        case "random":
            return true_ns(heartbeat.interval, rate)
        case "aligned":
            return 0
        case "splay":
            return true_ns(heartbeat.splay, rate)
    raise ValueError(f"phase: got {heartbeat.phase!r}, expected random, aligned or splay")
