"""Units of the scenario: durations, sizes and shares, as text that people write and as exact numbers.

A duration is an integer of nanoseconds, so text is read with exact decimal arithmetic (rejected: float seconds, in
which `0.1s` ten times is not `1s`). A text has a unit; a bare number is seconds. What the loader accepts, `format_*`
writes back so that it loads to the same value.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

#: Longer times than this are refused: a hundred years, which still fits in 64 bits.
LONGEST = 36_500 * DAY

DURATION = "a duration such as 1h30m, 250ms or a number of seconds"
SIZE = "a size such as 64KiB, 1MB or a number of bytes"
SHARE = "a share such as 5% or 0.05"

_TIME_UNITS = {"d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND, "ms": MILLISECOND, "us": 1_000, "µs": 1_000, "ns": 1}
_ONE_TIME = "[0-9]+(?:\\.[0-9]+)?(?:d|h|ms|m|s|us|µs|ns)"
_TIME_TEXT = f"0|{_ONE_TIME}(?: ?{_ONE_TIME})*"
_TIME_PART = re.compile("([0-9]+(?:\\.[0-9]+)?)([a-zµ]+)")
_TIME = re.compile(f"(-?)({_TIME_TEXT})")
_SIZE_UNITS = {
    "B": 1, "KB": 10**3, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKMGT]?B|[KMGT]iB)")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_LONGEST_TEXT = 64


def expected(text: str) -> PydanticCustomError:
    """The one error that our own validators raise; its message is what the loader prints after "expected"."""
    return PydanticCustomError("expected", "{text}", {"text": text})


def parse_duration(value: Any, *, signed: bool = False) -> int:
    """Nanoseconds of a text with units or of a number of seconds.

    Raises `PydanticCustomError`: not a duration, parts of a nanosecond, longer than a hundred years, or below zero and
    not `signed`. A float is rounded to the nearest nanosecond (it was never exact), a text never is.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise expected(DURATION)
    if isinstance(value, str):
        amount = _duration_of_text(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise expected(f"{DURATION}, finite")
    else:
        amount = Fraction(round(Fraction(Decimal(repr(value))) * SECOND))
    if amount < 0 and not signed:
        raise expected(f"{DURATION}, not below zero")
    if abs(amount) > LONGEST:
        raise expected(f"{DURATION}, at most {format_duration(LONGEST)}")
    if amount.denominator != 1:
        raise expected("a duration in whole nanoseconds")
    return int(amount)


def _duration_of_text(text: str) -> Fraction:
    match = _TIME.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise expected(DURATION)
    total, before = Fraction(0), LONGEST
    for number, unit in _TIME_PART.findall(match[2]):
        scale = _TIME_UNITS[unit]
        if scale >= before:
            raise expected("a duration whose units get smaller, such as 1h30m")
        total, before = total + Fraction(number) * scale, scale
    return -total if match[1] else total


def format_duration(ns: int) -> str:
    """The shortest exact text: `1h30m`, `1.5s`, `250ms`, `-10us`, `0s`. Loads back to the same number."""
    if ns < 0:
        return "-" + format_duration(-ns)
    if ns == 0:
        return "0s"
    if ns < SECOND:
        unit = next(unit for unit in ("ms", "us", "ns") if ns >= _TIME_UNITS[unit])
        return _decimal(Fraction(ns, _TIME_UNITS[unit])) + unit
    text = ""
    for unit in ("d", "h", "m"):
        count, ns = divmod(ns, _TIME_UNITS[unit])
        text += f"{count}{unit}" if count else ""
    return text + (_decimal(Fraction(ns, SECOND)) + "s" if ns else "")


def parse_size(value: Any) -> int:
    """Bytes of a text with a unit or of a whole number. Raises `PydanticCustomError`: anything else, or below zero."""
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT and (match := _SIZE.fullmatch(value)):
        amount = Fraction(match[1]) * _SIZE_UNITS[match[2]]
        if amount.denominator == 1:
            return _within_size(int(amount))
    elif not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        return _within_size(int(value))
    raise expected(SIZE)


def _within_size(size: int) -> int:
    if not 0 <= size < 2**63:
        raise expected(f"{SIZE}, from 0 to 8 EiB")
    return size


def format_size(size: int) -> str:
    """The shortest exact text: `64KiB`, `1MB`, `100B`."""
    for unit in ("TiB", "TB", "GiB", "GB", "MiB", "MB", "KiB", "KB"):
        if size and size % _SIZE_UNITS[unit] == 0:
            return f"{size // _SIZE_UNITS[unit]}{unit}"
    return f"{size}B"


def parse_share(value: Any) -> float:
    """A fraction from 0 to 1, of `5%` or 0.05. Raises `PydanticCustomError`: anything else."""
    if isinstance(value, str) and (fraction := share_of_text(value)) is not None:
        return float(fraction)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise expected(f"{SHARE}, from 0 to 1")
    return float(value)


def share_of_text(text: str) -> Fraction | None:
    """The exact fraction that `30%` means; None if the text is no share from 0 to 1."""
    match = _SHARE.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    fraction = Fraction(match[1]) / 100 if match else None
    return fraction if fraction is not None and fraction <= 1 else None


def format_share(share: float) -> str:
    """`5%` for 0.05: the decimal digits of the float, so that it loads back to the same one."""
    return _decimal(exact(share) * 100) + "%"


def exact(number: float) -> Fraction:
    """The fraction that a float's shortest decimal text means: 1/10 for 0.1, not the binary neighbour."""
    return Fraction(Decimal(repr(number)))


def _decimal(value: Fraction) -> str:
    """Exact decimal text of a fraction whose denominator divides a power of ten."""
    digits, scaled = 0, value
    while scaled.denominator != 1:
        digits, scaled = digits + 1, scaled * 10
    text = str(scaled.numerator).rjust(digits + 1, "0")
    return f"{text[:-digits]}.{text[-digits:]}" if digits else text


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        raise expected("a whole number")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise expected("a number")
    return float(value)


def _parse_signed(value: Any) -> int:
    return parse_duration(value, signed=True)


def duration_schema(*, signed: bool = False) -> dict[str, Any]:
    """The JSON Schema of a duration as people write it."""
    number = {"type": "number"} if signed else {"type": "number", "minimum": 0}
    return {"anyOf": [{"type": "string", "pattern": f"^{'-?' if signed else ''}(?:{_TIME_TEXT})$"}, number]}


#: Nanoseconds, not below zero. `SignedDuration` may be below zero: deviations and offsets.
Duration = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(duration_schema()),
]
SignedDuration = Annotated[
    int,
    BeforeValidator(_parse_signed),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema(duration_schema(signed=True)),
]
#: Bytes.
ByteSize = Annotated[
    int,
    BeforeValidator(parse_size),
    PlainSerializer(format_size, return_type=str, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": f"^{_SIZE.pattern}$"}, {"type": "integer", "minimum": 0}]}),
]
#: A fraction from 0 to 1.
Percent = Annotated[
    float,
    BeforeValidator(parse_share),
    PlainSerializer(format_share, return_type=str, when_used="json"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": f"^{_SHARE.pattern}$"},
                {"type": "number", "minimum": 0, "maximum": 1},
            ]
        }
    ),
]
#: A whole number (`1e3` is one, `true` and `"5"` are none) and any finite number.
Whole = Annotated[int, BeforeValidator(_whole)]
Number = Annotated[float, BeforeValidator(_number)]
