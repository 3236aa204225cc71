"""Amounts of time that vary: the distributions that a scenario can name, and how they are written short."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field

from fleetbeat.scenario.shapes import Short
from fleetbeat.scenario.units import Duration, Number, SignedDuration


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Constant(Frozen):
    kind: Literal["constant"] = "constant"
    value: Duration


class Uniform(Frozen):
    kind: Literal["uniform"]
    low: SignedDuration
    high: SignedDuration


class Normal(Frozen):
    kind: Literal["normal"]
    mean: SignedDuration = 0
    sd: Duration


class Exponential(Frozen):
    kind: Literal["exponential"]
    mean: Duration


class Lognormal(Frozen):
    kind: Literal["lognormal"]
    median: Duration
    sigma: Annotated[Number, Field(gt=0, le=5, description="standard deviation of the logarithm")]


class Empirical(Frozen):
    kind: Literal["empirical"]
    values: Annotated[tuple[SignedDuration, ...], Field(max_length=50_000)] = ()
    file: Annotated[
        str | None,
        Field(description="instead of values: a file with one duration a line; loading puts them into `values`"),
    ] = None


#: A length of time: a plain duration, or a distribution. A plain duration is turned into `Constant`.
Spread = Annotated[
    Constant | Uniform | Normal | Exponential | Lognormal | Empirical,
    Discriminator("kind"),
    Short(("constant", "uniform", "normal", "exponential", "lognormal", "empirical")),
]


class NoJitter(Frozen):
    kind: Literal["none"] = "none"


#: A deviation that is added to each interval.
Jitter = Annotated[
    NoJitter | Uniform | Normal | Exponential | Lognormal | Empirical,
    Discriminator("kind"),
    Short(("none", "uniform", "normal", "exponential", "lognormal", "empirical")),
]
