"""Fault points: what a fault does to one operation. Engines ask for an `Outcome` before each operation takes effect."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happens to an operation beyond its own doing. Times in ns; `faults` are the ids of those that fired.

    `error` (an errno) strikes `before` any effect, after a `partial` one (half the bytes of a write; a file truncated
    and not opened), or `after` the whole effect. `crash` is None, "before" or "after".
    """

    faults: tuple[str, ...]
    error: int | None = None
    effect: str = "before"
    delay_ns: int = 0
    crash: str | None = None
    power: bool = False
    unsynced: str = "lost"
    restart_ns: int | None = None
    pause_ns: int = 0
