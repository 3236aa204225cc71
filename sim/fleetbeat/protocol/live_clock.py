"""Real time for a driver: nanoseconds since time 0, sleeping until an instant, when the next beat is due.

Rejected: waiting on events that a stop would set. Whoever sleeps here needs no waking: it can begin no operation once the
process is asked to end (`live_hands`), and goes with it. Standard library only: where `fleetbeat.cadence` sums waits in
NumPy, one wait at a time is drawn here, with the same draws.
"""

from __future__ import annotations

import time

from fleetbeat.cadence import make_cadence
from fleetbeat.cadence.clock import JITTER, STREAM, clock_rate, true_ns
from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import MOST_NS, draw
from fleetbeat.chance.step import Step
from fleetbeat.protocol.live_plan import AgentPlan

#: Jitters whose sums `fleetbeat.cadence` has in closed form.
SUMMED = ("none", "normal")


class Clock:
    """`zero`: what CLOCK_MONOTONIC showed at time 0, ns. Until the go that is this process's own start."""

    def __init__(self) -> None:
        self.zero = time.monotonic_ns()

    def now(self) -> int:
        return time.monotonic_ns() - self.zero

    def sleep_until(self, at_ns: int) -> None:
        while (left := at_ns - self.now()) > 0:
            time.sleep(left * 1e-9)

    def wall_s(self, offset_ns: int, ppm: float) -> float:
        """What the clock of a host shows that is off by `offset_ns` at time 0 and runs fast by `ppm`; seconds."""
        return time.time() + (offset_ns + self.now() * ppm * 1e-6) * 1e-9


class Rhythm:
    """When the beats of one life of an agent are due, told one after another."""

    def __init__(self, agent: AgentPlan, choices: Choices, life: int) -> None:
        self._heartbeat = agent.heartbeat
        self._choices = choices
        self._rate = clock_rate(agent.clock_ppm)
        self._step = Step(agent.name, life, 0, JITTER)
        self._cadence = make_cadence(agent.heartbeat, choices, agent.name, life, agent.clock_ppm)

    def first(self, origin_ns: int) -> int:
        """When beat 0 is due, after a boot that ended at `origin_ns`."""
        cadence = self._cadence
        return origin_ns + max(1, cadence.phase_ns if cadence.mode == "fixed-delay" else cadence.tick(0))

    def following(self, origin_ns: int, beat: int, end_ns: int) -> tuple[int, int]:
        """The beat after `beat`, whose work ended at `end_ns`: its number and when it is due.

        Fixed delay: the wait is counted from the end of the work. Fixed rate: ticks that came during it are dropped.
        """
        cadence = self._cadence
        if cadence.mode == "fixed-delay":
            return beat + 1, end_ns + self._wait(beat)
        number = cadence.reach(end_ns + 1 - origin_ns, 0, beat + 1)
        return number, origin_ns + cadence.tick(number)

    def _wait(self, beat: int) -> int:
        """The wait between this beat and the next, of a fixed delay."""
        cadence, jitter = self._cadence, self._heartbeat.jitter
        assert cadence.mode == "fixed-delay"
        if jitter.kind in SUMMED:
            return cadence.elapsed(beat + 1) - cadence.elapsed(beat)
        drawn = draw(jitter, self._choices, STREAM, self._step._replace(episode=beat), at_least=None)
        wait = true_ns(self._heartbeat.interval, self._rate) + true_ns(drawn, self._rate)
        return min(max(wait, 1), MOST_NS)
