"""The gates that are built into a core, as its manifest spells them: the same as a gate in a rules body.

`framework.policies` says what each key means. A body's gates come and go with the body; these stay.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from fleetbeat.scenario.shapes import OneOrMore
from fleetbeat.scenario.spreads import Frozen
from fleetbeat.scenario.units import Number, Whole, expected

#: What is counted of a session; the same names as `framework.fold.COUNTS`, which lies above this layer.
Count = Literal[
    "prompts", "replies", "calls", "results", "changes", "readies", "dismissals", "approvals", "rejections", "ignored"
]
Bound = Literal["at_least", "at_most", "exactly"]


def _scalar(value: Any) -> Any:
    if not isinstance(value, str | bool | int | float):
        raise expected("text, a number, or true or false")
    return value


Value = Annotated[Any, BeforeValidator(_scalar)]
Values = Annotated[tuple[Value, ...], Field(min_length=1), OneOrMore()]


def _bounds(value: Any) -> Any:
    if not value:
        raise expected("one or more of at_least, at_most, exactly")
    return value


class Guard(Frozen):
    """`gate` is its id, by which the core asks its host."""

    gate: Annotated[str, Field(min_length=1)]
    on: Annotated[tuple[Literal["tool.before"], ...], Field(min_length=1), OneOrMore()] = ("tool.before",)
    answer: Literal["allow", "deny", "ask"]
    when: Annotated[
        dict[str, Values],
        Field(default_factory=dict, description="field -> glob, number or truth value, or a list of them"),
    ]
    state: Annotated[
        dict[Count, Annotated[dict[Bound, Annotated[Whole, Field(ge=0)]], AfterValidator(_bounds)]],
        Field(default_factory=dict, description="count -> at_least, at_most or exactly a number"),
    ]
    cooldown_s: Annotated[Number, Field(ge=0)] = 0.0
