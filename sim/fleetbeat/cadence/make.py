"""The two heartbeats. Which sums of waits a fixed delay needs depends on its jitter alone.

`origin` is the end of an agent's boot. Fixed delay: the wait starts when a beat's work ends, so beat k starts at
origin + elapsed(k) + the work of beats 0 to k - 1. Fixed rate: beat k is due at origin + tick(k), whatever came before.
Rejected: one class with a mode inside, which would let an engine add work to a fixed rate.
"""

from __future__ import annotations

from typing import Any, Literal

from fleetbeat.cadence.clock import JITTER, STREAM, clock_rate, phase_ns, true_ns
from fleetbeat.cadence.waits import ChunkedWaits, EqualWaits, Waits
from fleetbeat.cadence.waits_normal import NormalWaits
from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step


class FixedDelay:
    """A beat waits for a time after its work ended."""

    __slots__ = ("_known", "_waits", "phase_ns")
    mode: Literal["fixed-delay"] = "fixed-delay"

    def __init__(self, phase_ns: int, waits: Waits) -> None:
        self.phase_ns = phase_ns
        self._waits = waits
        self._known: dict[int, int] = {}  # the sums asked for last: an agent asks for the same few again and again

    def elapsed(self, k: int) -> int:
        """Phase and all waits before beat k, in ns, without the beats' work; strictly increasing."""
        known = self._known.get(k)
        if known is None:
            if len(self._known) >= 32:
                self._known.clear()
            known = self._known[k] = self.phase_ns + self._waits.total(_counted(k))
        return known

    def reach(self, target_ns: int, per_beat_ns: int = 0, first: int = 0) -> int:
        """The smallest k >= first with elapsed(k) + (k - first) * per_beat_ns >= target_ns.

        `per_beat_ns` is the work of each beat from `first` on, if those are idle. All from the origin, in ns.
        """
        if per_beat_ns < 0:
            raise ValueError(f"work of a beat: got {per_beat_ns} ns, expected at least 0")
        return max(first, self._waits.find(self._needed(target_ns, per_beat_ns, first), per_beat_ns))

    def question(self, target_ns: int, per_beat_ns: int, first: int) -> tuple[Waits, int, int]:
        """What `reach` would ask of the sums of waits: them, and what `find` is given (for `vector.foresee`)."""
        return self._waits, self._needed(target_ns, per_beat_ns, first), per_beat_ns

    def _needed(self, target_ns: int, per_beat_ns: int, first: int) -> int:
        return target_ns - self.phase_ns + _counted(first) * per_beat_ns

    def leaves_room_for(self, work_ns: int) -> bool:
        """Whether every beat has time for this much work: always, since the wait starts when the work ends."""
        return work_ns >= 0


class FixedRate:
    """A beat is due at a multiple of the interval; its jitter does not carry over to the next.

    Jitter is cut to two fifths of an interval either way, so a fifth lies between any two ticks, and no tick lies
    before the origin.
    """

    __slots__ = ("_choices", "_interval_ns", "_jitter", "_most_ns", "_rate", "_step", "phase_ns")
    mode: Literal["fixed-rate"] = "fixed-rate"

    def __init__(self, phase_ns: int, interval_ns: int, jitter: Any, rate: float, choices: Choices, step: Step) -> None:
        self.phase_ns = phase_ns
        self._interval_ns = true_ns(interval_ns, rate)
        self._most_ns = self._interval_ns * 2 // 5
        self._jitter = jitter
        self._rate = rate
        self._choices = choices
        self._step = step

    def tick(self, k: int) -> int:
        """When beat k is due after the origin, in ns; strictly increasing."""
        even = self.phase_ns + _counted(k) * self._interval_ns
        if self._jitter.kind == "none":
            return even
        drawn = draw(self._jitter, self._choices, STREAM, self._step._replace(episode=k), at_least=None)
        return max(0, even + max(-self._most_ns, min(true_ns(drawn, self._rate), self._most_ns)))

    def reach(self, target_ns: int, per_beat_ns: int = 0, first: int = 0) -> int:
        """The smallest k >= first with tick(k) >= target_ns. Work does not move ticks: `per_beat_ns` is not used."""
        # This beat's place is the last at or before the target, so the beat before it ticks too soon, jitter or not.
        k = max(_counted(first), (target_ns - self.phase_ns) // self._interval_ns)
        while self.tick(k) < target_ns:
            k += 1
        return k

    def leaves_room_for(self, work_ns: int) -> bool:
        """Whether work of this length is over before the next tick, whichever tick it began at. False if in doubt."""
        slack = 0 if self._jitter.kind == "none" else 2 * self._most_ns
        return work_ns < self._interval_ns - slack


Cadence = FixedDelay | FixedRate


def make_cadence(heartbeat: Any, choices: Choices, agent: str, life: int, scale_ppm: float = 0.0) -> Cadence:
    """The beats of one life of an agent under a scenario's heartbeat, on a clock that runs fast by `scale_ppm`.

    Its draws are named (agent, life, k) in the stream `cadence`: another agent, or another order of questions, changes
    nothing. Raises ValueError for a heartbeat whose mean wait is below 1 ns.
    """
    rate = clock_rate(scale_ppm)
    phase = phase_ns(heartbeat, choices, agent, life, rate)
    jitter = heartbeat.jitter
    match heartbeat.mode:
        case "fixed-delay":
            return FixedDelay(phase, _waits(heartbeat.interval, jitter, rate, choices, agent, life))
        case "fixed-rate":
            return FixedRate(phase, heartbeat.interval, jitter, rate, choices, Step(agent, life, 0, JITTER))
    raise ValueError(f"heartbeat mode: got {heartbeat.mode!r}, expected fixed-delay or fixed-rate")


def _waits(interval_ns: int, jitter: Any, rate: float, choices: Choices, agent: str, life: int) -> Waits:
    if jitter.kind == "none":
        return EqualWaits(true_ns(interval_ns, rate))
    if jitter.kind == "normal":
        return NormalWaits(true_ns(interval_ns + jitter.mean, rate), jitter.sd / rate, choices, agent, life)
    return ChunkedWaits(interval_ns, jitter, rate, choices, agent, life)


def _counted(k: int) -> int:
    if k < 0:
        raise ValueError(f"beat: got {k}, expected at least 0")
    return k
