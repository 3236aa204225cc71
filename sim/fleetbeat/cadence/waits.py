"""Waits of a fixed-delay heartbeat and their sums: wait i lies between beat i and beat i + 1 and is at least 1 ns.

`total(k)` is the sum of waits 0 to k - 1; `find(target, per_wait)` the smallest k with total(k) + k per_wait >= target.
All are integers, so sums add up exactly whichever way they are taken. Here: waits without jitter (closed form), and
waits whose sums have no known distribution (uniform, exponential, lognormal, empirical: chunks of 1024 drawn at once).
`waits_normal` holds the normal ones. Rejected for the chunks: a central-limit shortcut, which changes the law.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, Protocol

from fleetbeat.cadence.clock import JITTER, STREAM, true_ns
from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import MOST_NS
from fleetbeat.chance.step import Step

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

CHUNK = 1024


class Waits(Protocol):
    def total(self, k: int) -> int: ...

    def find(self, target_ns: int, per_wait_ns: int) -> int: ...


class EqualWaits:
    """Every wait the same."""

    __slots__ = ("wait_ns",)

    def __init__(self, wait_ns: int) -> None:
        self.wait_ns = max(1, wait_ns)

    def total(self, k: int) -> int:
        return k * self.wait_ns

    def find(self, target_ns: int, per_wait_ns: int) -> int:
        return max(0, -(-target_ns // (self.wait_ns + per_wait_ns)))


class ChunkedWaits:
    """Waits of interval + jitter, any jitter, cut to 1 ns at least and 2**53 - 1 ns at most.

    The sums of whole chunks are kept (8 bytes a thousand beats), and the running sums of the two chunks used last.
    """

    __slots__ = ("_choices", "_interval_ns", "_jitter", "_rate", "_recent", "_starts", "_step")

    def __init__(self, interval_ns: int, jitter: Any, rate: float, choices: Choices, agent: str, life: int) -> None:
        self._interval_ns = true_ns(interval_ns, rate)
        self._jitter = jitter
        self._rate = rate
        self._choices = choices
        self._step = Step(agent, life, 0, JITTER)
        self._starts = [0]  # total at the start of each chunk known
        self._recent: dict[int, NDArray[int64]] = {}

    def total(self, k: int) -> int:
        chunk, rest = divmod(k, CHUNK)
        while len(self._starts) <= chunk:
            self._sums(len(self._starts) - 1)
        return self._starts[chunk] + (int(self._sums(chunk)[rest - 1]) if rest else 0)

    def find(self, target_ns: int, per_wait_ns: int) -> int:
        def at_start(chunk: int) -> int:
            return self._starts[chunk] + chunk * CHUNK * per_wait_ns

        if target_ns <= 0:
            return 0
        while at_start(len(self._starts) - 1) < target_ns:
            self._sums(len(self._starts) - 1)
        chunk = bisect_left(range(len(self._starts)), target_ns, key=at_start) - 1
        sums = self._sums(chunk)
        need = target_ns - at_start(chunk)
        inside = bisect_left(range(CHUNK), need, key=lambda i: int(sums[i]) + (i + 1) * per_wait_ns)
        return chunk * CHUNK + inside + 1

    def _sums(self, chunk: int) -> NDArray[int64]:
        """Running sums of the chunk's waits: element i is the sum of its first i + 1."""
        sums = self._recent.get(chunk)
        if sums is None:
            sums = self._draw(chunk * CHUNK).cumsum()
            if len(self._recent) == 2:
                del self._recent[next(iter(self._recent))]
            self._recent[chunk] = sums
        if len(self._starts) == chunk + 1:
            self._starts.append(self._starts[chunk] + int(sums[-1]))
        return sums

    def _draw(self, start: int) -> NDArray[int64]:
        import numpy as np

        from fleetbeat.chance.spread_array import quantile_array
        from fleetbeat.chance.vector import actor_hashes, bits_array, unit_array

        actor, life, _, operation, path, nth = self._step
        episodes = np.arange(start, start + CHUNK)
        bits = bits_array(self._choices.seed, STREAM, actor_hashes([actor]), life, episodes, operation, path, nth)
        for episode in self._choices.forced_episodes(STREAM, self._step):
            if start <= episode < start + CHUNK:
                bits[episode - start] = self._choices.bits(STREAM, self._step._replace(episode=episode))
        jitter = quantile_array(self._jitter, unit_array(bits), at_least=None)
        if self._rate != 1.0:
            jitter = np.rint(jitter / self._rate).astype(np.int64)
        return np.clip(jitter + self._interval_ns, 1, MOST_NS)
