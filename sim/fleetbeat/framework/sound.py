"""What a core hands to its host, looked at before it gets into the history: texts are texts, notes are plain JSON values.

A core is somebody's code and may pass anything. Nonsense is refused where it is passed, in the core's own call, so that no
record is written that could not be kept. Rejected: making text of everything, which would hide the core's mistake.
"""

from __future__ import annotations

from math import isfinite
from types import CoroutineType
from typing import Any

from fleetbeat.framework.vocabulary import ANSWERS, BEFORE, Answer, Refused

#: Lists and mappings within each other.
DEEPEST = 20
#: Values within one value; characters of a text (a scenario holds no more); a whole number that any reader of JSON takes.
MOST_VALUES = 10_000
MOST_TEXT = 262_144
MOST_NUMBER = 2**63
#: Of a task, units of money.
MOST_COST = 1_000_000_000.0


def text(value: Any, what: str) -> str:
    """The value, which is text. Raises Refused."""
    if type(value) is not str:
        raise Refused(f"{what}: got {type(value).__name__}, expected text")
    if len(value) > MOST_TEXT:
        raise Refused(f"{what}: got {len(value)} characters, expected at most {MOST_TEXT}")
    return value


def plain(value: Any, what: str) -> Any:
    """The value, which JSON can hold and which is not huge. Raises Refused."""
    if (type(value) is dict and _is_flat(value)) or _is_plain(value):
        return value
    raise Refused(
        f"{what}: got what JSON cannot hold, or too much of it, expected text, finite numbers, truth values, lists and"
        f" mappings of these, {MOST_VALUES} at most and {DEEPEST} deep"
    )


def cost(value: Any) -> float:
    """What a task costs. Raises Refused."""
    if type(value) in (int, float) and 0 <= value <= MOST_COST:  # what is not a number is neither
        return float(value)
    raise Refused(f"cost: got {ascii(value)[:40]}, expected a number from 0 to {MOST_COST:.0f}")


def verdict(answer: Any, type_: str) -> Answer | None:
    """What a core answered to an event of this type; None if it is no `tool.before`. Raises TypeError for nonsense."""
    if isinstance(answer, CoroutineType):
        answer.close()  # or Python would say on standard error that nobody waited for it
        raise TypeError("handle: got a coroutine, expected allow, ask, deny or None: a core is not asynchronous")
    if type_ != BEFORE or answer is None:
        return None
    if type(answer) is str and answer in ANSWERS:
        return answer
    got = ascii(answer[:40]) if type(answer) is str else type(answer).__name__
    raise TypeError(f"handle: got {got}, expected allow, ask, deny or None")


def told(error: BaseException) -> str:
    """An exception's class and text on one line, 500 characters at most; its text is a core's, and may fail."""
    try:
        said = str(error)
    except Exception as worse:
        said = f"(no text: {type(worse).__name__})"
    return " ".join(f"{type(error).__name__}: {said[:1000]}".split())[:500]


def _is_flat(value: dict[Any, Any]) -> bool:
    """Whether it is a small mapping of texts, whole numbers and nothings: what nearly all entries of a ledger are."""
    if len(value) > 64:
        return False
    for key, one in value.items():
        kind = type(one)
        if type(key) is not str or len(key) > MOST_TEXT:
            return False
        if kind is str:
            if len(one) > MOST_TEXT:
                return False
        elif kind is int:
            if not -MOST_NUMBER <= one < MOST_NUMBER:
                return False
        elif one is not None:
            return False
    return True


def _is_plain(value: Any) -> bool:
    left, level = MOST_VALUES, [value]
    for _ in range(DEEPEST + 1):
        if not level:
            return True
        left -= len(level)
        if left < 0:
            return False
        below: list[Any] = []
        for one in level:
            kind = type(one)
            if kind is str:
                if len(one) > MOST_TEXT:
                    return False
            elif kind is int:
                if not -MOST_NUMBER <= one < MOST_NUMBER:
                    return False
            elif kind is float:
                if not isfinite(one):
                    return False
            elif kind is dict:
                if not all(type(key) is str and len(key) <= MOST_TEXT for key in one):
                    return False
                if len(below) + len(one) > left:
                    return False
                below += one.values()
            elif kind is list or kind is tuple:
                if len(below) + len(one) > left:
                    return False
                below += one
            elif not (one is None or kind is bool):
                return False
        level = below
    return not level
