"""The findings of a check that streams: the first ones, and that with the shortest chain; the others are counted.

A storm breaks an invariant some thousand times a minute; to keep them all, memory would grow with the history.
"""

from __future__ import annotations

from fleetbeat.checks.model import Finding

MOST = 1000


class Kept:
    """`total`: how many there were."""

    def __init__(self, most: int = MOST) -> None:
        self.total = 0
        self._most = most
        self._first: list[Finding] = []
        self._shortest: Finding | None = None
        self._hops = -1

    def wants(self, hops: int) -> bool:
        """Counts one finding; whether it is to be made and added. `hops`: how far its chain goes."""
        self.total += 1
        return len(self._first) < self._most or hops < self._hops

    def add(self, finding: Finding, hops: int) -> None:
        if len(self._first) < self._most:
            self._first.append(finding)
        elif self._hops < 0 or hops < self._hops:
            self._shortest = finding
        if self._hops < 0 or hops < self._hops:
            self._hops = hops

    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._first) if self._shortest is None else (*self._first, self._shortest)

    @property
    def more(self) -> int:
        """Those that were not kept."""
        return self.total - len(self.findings())
