"""Lengths of time that vary: from a draw in (0, 1) to whole nanoseconds, by the inverse of the distribution.

A spread is anything with the fields of the scenario's models; it is told apart by its `kind`. `spread_array` is the
twin on arrays. Rounding: the exact parts stay integers, the drawn part is a float rounded to the nearest integer, ties
to even, once. What is drawn is cut at 2**53 - 1 ns (104 days) either way: below that floats hold every integer, and
a thousand of them add up in 64 bits.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.chance.arithmetic import exp, ln, normal_quantile
from fleetbeat.chance.choices import Choices, unit
from fleetbeat.chance.step import Step

MOST_NS = 2**53 - 1
KINDS = ("constant", "uniform", "normal", "exponential", "lognormal", "empirical", "none")


def quantile(spread: Any, u: float, at_least: int | None = 0) -> int:
    """The length in ns below which a share u of this spread lies, 0 < u < 1, and not below `at_least` (None: no limit).

    An empirical spread gives the value at that place of its list as it stands: the same lengths, equally often; a
    quantile only if the list is sorted. Raises ValueError for an unknown kind or an empty list.
    """
    value = _quantile(spread, u)
    return value if at_least is None or value >= at_least else at_least


def draw(spread: Any, choices: Choices, stream: str, step: Step, at_least: int | None = 0) -> int:
    """This choice's length in ns. A constant spread draws nothing."""
    kind = spread.kind
    if kind == "constant" or kind == "none":
        return quantile(spread, 0.5, at_least)
    return quantile(spread, unit(choices.bits(stream, step)), at_least)


def is_constant(spread: Any) -> bool:
    """Whether this spread never draws."""
    return spread.kind in ("constant", "none")


def nominal(spread: Any) -> int:
    """A usual length in ns, without chance: the constant, the mean, or the median of a lognormal. Rounded down."""
    match spread.kind:
        case "constant":
            return int(spread.value)
        case "uniform":
            return int(spread.low + spread.high) // 2
        case "normal" | "exponential":
            return int(spread.mean)
        case "lognormal":
            return int(spread.median)
        case "empirical":
            return sum(_values(spread)) // len(spread.values)
        case "none":
            return 0
    raise ValueError(unknown_kind(spread))


def _quantile(spread: Any, u: float) -> int:
    match spread.kind:
        case "constant":
            return int(spread.value)
        case "uniform":
            return int(spread.low) + _round(u * (spread.high - spread.low))
        case "normal":
            return int(spread.mean) + _round(spread.sd * normal_quantile(u))
        case "exponential":
            return _round(spread.mean * -ln(1.0 - u))
        case "lognormal":
            return _round(spread.median * exp(spread.sigma * normal_quantile(u)))
        case "empirical":
            values = _values(spread)
            return int(values[min(int(u * len(values)), len(values) - 1)])
        case "none":
            return 0
    raise ValueError(unknown_kind(spread))


def _round(x: float) -> int:
    return round(min(max(x, -float(MOST_NS)), float(MOST_NS)))


def _values(spread: Any) -> tuple[int, ...]:
    values: tuple[int, ...] = spread.values
    if not values:
        raise ValueError(
            "empirical spread: got no values, expected at least one (a file is read when the scenario loads)"
        )
    return values


def unknown_kind(spread: Any) -> str:
    return f"spread: got kind {spread.kind!r}, expected one of {', '.join(KINDS)}"
