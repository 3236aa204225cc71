"""Shapes that scenarios write short: one item for a list of one, a plain duration for a distribution, bounds on units.

Each is an annotation that changes both what validation accepts and what the JSON Schema says, so the two cannot part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, Strict
from pydantic_core import CoreSchema, core_schema

from fleetbeat.scenario.units import DURATION, duration_schema, expected, parse_duration


@dataclass(frozen=True)
class OneOrMore:
    """A list may be written as its single item. Lists become tuples."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._wrap, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        array = handler(schema)
        return {"anyOf": [array["items"], array]}

    @staticmethod
    def _wrap(value: Any) -> Any:
        return value if isinstance(value, list | tuple) or value is None else (value,)


Switch = Annotated[bool, Strict()]
#: Names, globs `web-*`, ranges `a-0..a-9`, shares (`30%`), `group:NAME`, `host:NAME`, `all`; or several of them.
Selector = Annotated[tuple[str, ...], Field(min_length=1), OneOrMore()]


@dataclass(frozen=True)
class Both:
    """A pair of least and most may be written as the one number that is both."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._double, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 0}, handler(schema)]}

    @staticmethod
    def _double(value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return (value, value)
        if not isinstance(value, list | tuple) or len(value) != 2:
            raise expected("a number, or a list of two: least and most (null: no limit)")
        return value


@dataclass(frozen=True)
class Short:
    """A union told apart by `kind`, of which one kind may be written as a plain value.

    `constant`: a duration stands for it. Otherwise the bare word `none` stands for {kind: none}.
    """

    kinds: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        plain = duration_schema() if "constant" in self.kinds else {"enum": ["none", 0]}
        return {"anyOf": [plain, handler(schema)]}

    def _expand(self, value: Any) -> Any:
        if isinstance(value, dict):
            if "kind" not in value and not ("constant" in self.kinds and "value" in value):
                raise expected(f"a kind, one of {', '.join(self.kinds)}")
            return value if "kind" in value else {"kind": "constant", **value}
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            return self._refuse(value)
        if "constant" in self.kinds:
            if value in self.kinds:
                raise expected(f"a duration, or a mapping with kind: {value}")
            return {"kind": "constant", "value": value}
        return {"kind": "none"} if value in ("none", 0) else self._refuse(value)

    def _refuse(self, value: Any) -> Any:
        if hasattr(value, "kind"):
            return value
        plain = DURATION if "constant" in self.kinds else "none"
        raise expected(f"{plain}, or a mapping with a kind ({', '.join(self.kinds)})")


@dataclass(frozen=True)
class Bound:
    """Limits on a unit, in that unit's words (a plain `ge=1000000` would print nanoseconds and spoil the schema)."""

    parse: Callable[[Any], int]
    at_least: str | None = None
    more_than: str | None = None
    at_most: str | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def _check(self, value: int) -> int:
        if self.at_least is not None and value < self.parse(self.at_least):
            raise expected(f"at least {self.at_least}")
        if self.more_than is not None and value <= self.parse(self.more_than):
            raise expected(f"more than {self.more_than}")
        if self.at_most is not None and value > self.parse(self.at_most):
            raise expected(f"at most {self.at_most}")
        return value


def lasting(at_least: str | None = None, *, more_than: str | None = None, at_most: str | None = None) -> Bound:
    """Limits on a duration."""
    return Bound(parse_duration, at_least, more_than, at_most)
