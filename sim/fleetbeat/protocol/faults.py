"""Fault points: what a fault does to one operation. Engines ask for an `Outcome` before each operation takes effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What happens to an operation beyond its own doing. Times in ns; `fired`: each fault's id and its effects in words.

    `error` (an errno) strikes `before` any effect, after a `partial` one (half the bytes of a write; a file truncated
    and not opened), or `after` the whole effect. `crash` is None, "before" or "after".
    """

    fired: tuple[tuple[str, str], ...]
    error: int | None = None
    effect: str = "before"
    delay_ns: int = 0
    crash: str | None = None
    power: bool = False
    unsynced: str = "lost"
    restart_ns: int | None = None
    pause_ns: int = 0
    #: The fault that ends the process, for the record of its life's end.
    killer: str | None = None


def effects_in_words(fault: Any, *, power: bool = False) -> str:
    """What one fault (a scenario's or a plan's) does to an operation, as its `fault` record says it."""
    effects: list[str] = []
    if fault.error:
        effects.append("error" if fault.effect == "before" else fault.effect)
    if fault.delay is not None:
        effects.append("delay")
    if fault.pause is not None:
        effects.append("pause")
    if fault.crash:
        effects.append("power" if power else "crash")
    return " and ".join(effects)
