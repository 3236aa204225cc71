"""What a core hands to its host, looked at before it gets into the history: texts are texts, notes are plain JSON values.

A core is somebody's code and may pass anything. Nonsense is refused where it is passed, in the core's own call, so that no
record is written that could not be kept. Rejected: making text of everything, which would hide the core's mistake.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from fleetbeat.framework.vocabulary import Refused

#: Lists and mappings within each other.
DEEPEST = 20
#: Of a task, units of money.
MOST_COST = 1_000_000_000.0


def text(value: Any, what: str) -> str:
    """The value, which is text. Raises Refused."""
    if type(value) is str:
        return value
    raise Refused(f"{what}: got {type(value).__name__}, expected text")


def plain(value: Any, what: str) -> Any:
    """The value, which JSON can hold. Raises Refused."""
    if _is_plain(value, DEEPEST):
        return value
    raise Refused(
        f"{what}: got what JSON cannot hold, expected text, numbers, truth values, lists and mappings of these"
    )


def cost(value: Any) -> float:
    """What a task costs. Raises Refused."""
    if type(value) in (int, float) and 0 <= value <= MOST_COST:  # what is not a number is neither
        return float(value)
    raise Refused(f"cost: got {ascii(value)[:40]}, expected a number from 0 to {MOST_COST:.0f}")


def _is_plain(value: Any, deepest: int) -> bool:
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool:
        return True
    if kind is float:
        return isfinite(value)
    if not deepest:
        return False
    if kind is dict:
        return all(type(key) is str and _is_plain(inner, deepest - 1) for key, inner in value.items())
    return (kind is list or kind is tuple) and all(_is_plain(inner, deepest - 1) for inner in value)
