"""What a sweep varies: paths of the scenario and the values that they take, the full grid or a sample that fills it.

A value stays the text that `--set` takes, so a wrong path or value is told by the loader. `a..b:n` is n values evenly
from a to b, both included, in exact arithmetic: durations, percents, or plain numbers.
The sample is Halton's sequence (1960), one prime base an axis, turned by a draw by name (Cranley and Patterson 1976).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

from pydantic_core import PydanticCustomError

from fleetbeat.chance.choices import Hashed, unit
from fleetbeat.chance.step import Step
from fleetbeat.scenario.units import format_duration, parse_duration

_RANGE = re.compile(r"\s*(\S+)\.\.(\S+):(-?[0-9]+)\s*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_PERCENT = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?) ?%")
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
#: More values of one axis than this are a slip of the hand.
MOST_VALUES = 1_000_000

Cell = tuple[str, ...]


class VaryError(Exception):
    """A `--vary` that cannot be used; the message says what was got and what was expected."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One path of the scenario and the texts of its values, in their order."""

    path: str
    values: tuple[str, ...]


def parse_axis(text: str) -> Axis:
    """`PATH=v1,v2` or `PATH=a..b:n`. A comma within brackets or quotes is the value's own. Raises VaryError."""
    if not is_utf8(text):
        raise VaryError(f"--vary: got {text!r}, expected text in UTF-8")
    path, equals, values = text.partition("=")
    path = path.strip()
    if not path or not equals:
        raise VaryError(f"--vary: got {text!r}, expected PATH=v1,v2 or PATH=a..b:n")
    match = _RANGE.fullmatch(values)
    if match is not None:
        return Axis(path, tuple(_range(path, match[1], match[2], int(match[3]))))
    found = [value.strip() for value in _split(values)]
    if not all(found):
        raise VaryError(f"--vary {path}: got {values!r}, expected values between commas")
    twice = [value for index, value in enumerate(found) if value in found[:index]]
    if twice:
        raise VaryError(f"--vary {path}: got {twice[0]!r} twice, expected every value once")
    return Axis(path, tuple(found))


def is_utf8(text: str) -> bool:
    """Whether an argument is text: bytes that are not UTF-8 come from the command line as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """The axes of several `--vary`. Raises VaryError, also for a path that comes twice."""
    axes = tuple(parse_axis(text) for text in texts)
    paths = [axis.path for axis in axes]
    for index, path in enumerate(paths):
        if path in paths[:index]:
            raise VaryError(f"--vary {path}: got this path twice, expected all its values in one --vary")
    return axes


def count(axes: Sequence[Axis]) -> int:
    """Cells of the full grid, without making them."""
    return prod(len(axis.values) for axis in axes)


def cells(axes: Sequence[Axis]) -> list[Cell]:
    """The full grid: every combination, the last axis fastest. Without axes: one cell."""
    return list(product(*(axis.values for axis in axes)))


def sample(axes: Sequence[Axis], wanted: int, seed: int) -> list[Cell]:
    """`wanted` distinct cells spread evenly over the grid, in the grid's order; the whole grid if it has no more.

    A larger sample with the same seed holds the smaller one. Raises VaryError for too many axes, or a sample of none.
    """
    if wanted < 1:
        raise VaryError(f"--sample: got {wanted}, expected at least 1")
    if wanted >= count(axes):
        return cells(axes)
    if len(axes) > len(_PRIMES):
        raise VaryError(f"--sample: got {len(axes)} axes, expected at most {len(_PRIMES)}")
    turns = [unit(Hashed(seed).bits("sweep-sample", Step(actor=axis.path))) for axis in axes]
    found: dict[tuple[int, ...], None] = {}
    index = 0
    while len(found) < wanted:
        index += 1
        points = ((_radical(index, base) + turn) % 1.0 for base, turn in zip(_PRIMES, turns, strict=False))
        found[tuple(min(int(p * len(a.values)), len(a.values) - 1) for p, a in zip(points, axes, strict=True))] = None
    return [tuple(axis.values[i] for axis, i in zip(axes, place, strict=True)) for place in sorted(found)]


def _radical(index: int, base: int) -> float:
    """The digits of `index` in this base, mirrored at the point."""
    value, scale = 0.0, 1.0
    while index:
        index, digit = divmod(index, base)
        scale /= base
        value += digit * scale
    return value


def _split(text: str) -> Iterator[str]:
    depth, quote, start = 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    yield text[start:]


def _range(path: str, first: str, last: str, number: int) -> Iterator[str]:
    shown = f"{first}..{last}:{number}"
    if not 2 <= number <= MOST_VALUES:
        raise VaryError(f"--vary {path}: got {shown}, expected 2 to {MOST_VALUES:,} values")
    low, high, unit_of = _ends(path, first, last, shown)
    if low >= high:
        raise VaryError(f"--vary {path}: got {shown}, expected the first below the last")
    for index in range(number):
        yield unit_of(low + (high - low) * index / (number - 1))


def _ends(path: str, first: str, last: str, shown: str) -> tuple[Fraction, Fraction, _Written]:
    for written in (_Written("number"), _Written("percent"), _Written("duration")):
        low, high = written.read(first), written.read(last)
        if low is not None and high is not None:
            return low, high, written
    raise VaryError(f"--vary {path}: got {shown}, expected two numbers, two percents or two durations")


@dataclass(frozen=True, slots=True)
class _Written:
    """How the ends of a range are written, and the values between them; 0 fits every way."""

    kind: str

    def read(self, text: str) -> Fraction | None:
        if self.kind == "duration":
            try:
                return Fraction(parse_duration(text))
            except PydanticCustomError:
                return None
        match = (_NUMBER if self.kind == "number" or text == "0" else _PERCENT).fullmatch(text)
        return None if match is None else Fraction(match[0].removesuffix("%").strip())

    def __call__(self, value: Fraction) -> str:
        if self.kind == "duration":
            return format_duration(round(value))
        text = str(value.numerator) if value.denominator == 1 else repr(float(value))
        return f"{text}%" if self.kind == "percent" else text
