"""Things that happen at a rate in virtual time: a Poisson process, addressed by (actor, j).

Arrival j is the sum of j + 1 exponential gaps from the start of the run, each a draw of its own. What is cached is
recomputed from names alone, so asking in another order, or by another object, gives the same times.
"""

from __future__ import annotations

from bisect import bisect_right

from fleetbeat.chance.arithmetic import ln
from fleetbeat.chance.choices import Choices, unit
from fleetbeat.chance.spread import MOST_NS
from fleetbeat.chance.step import Step

HOUR_NS = 3_600_000_000_000


class Arrivals:
    """Arrival times of one actor, integer ns since the run's start, strictly increasing; gaps are at least 1 ns."""

    __slots__ = ("_choices", "_mean_ns", "_step", "_stream", "_times", "per_hour")

    def __init__(self, choices: Choices, stream: str, actor: str, per_hour: float) -> None:
        if not 0.0 <= per_hour < float("inf"):
            raise ValueError(f"per_hour: got {per_hour}, expected a finite number, at least 0")
        self.per_hour = per_hour
        self._choices = choices
        self._stream = stream
        self._step = Step(actor, operation="arrival")
        self._mean_ns = HOUR_NS / per_hour if per_hour > 0.0 else 0.0
        self._times: list[int] = []

    def time(self, j: int) -> int:
        """When arrival j, from 0, happens. Raises ValueError if the rate is 0."""
        if self.per_hour <= 0.0 or j < 0:
            raise ValueError(f"arrival {j} at {self.per_hour} an hour: there is none")
        times = self._times
        while len(times) <= j:
            times.append((times[-1] if times else 0) + self._gap(len(times)))
        return times[j]

    def after(self, t: int) -> tuple[int, int] | None:
        """(j, time) of the first arrival later than t; None if the rate is 0."""
        if self.per_hour <= 0.0:
            return None
        while not self._times or self._times[-1] <= t:
            self.time(len(self._times))
        j = bisect_right(self._times, t)
        return j, self._times[j]

    def _gap(self, j: int) -> int:
        u = unit(self._choices.bits(self._stream, self._step._replace(episode=j)))
        return max(1, round(min(self._mean_ns * -ln(1.0 - u), float(MOST_NS))))
