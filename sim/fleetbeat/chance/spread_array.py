"""`spread.quantile` on an array of draws: the same integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fleetbeat.chance.arithmetic_array import exp, ln, normal_quantile
from fleetbeat.chance.spread import MOST_NS, unknown_kind

Integers = NDArray[np.int64]


def quantile_array(spread: Any, u: NDArray[np.float64], at_least: int | None = 0) -> Integers:
    """Lengths in ns, int64, one for each u; see `spread.quantile`."""
    values = _quantile(spread, u)
    return values if at_least is None else np.maximum(values, np.int64(at_least))


def _quantile(spread: Any, u: NDArray[np.float64]) -> Integers:
    match spread.kind:
        case "constant":
            return np.full(u.shape, spread.value, dtype=np.int64)
        case "uniform":
            return np.int64(spread.low) + _round(u * (spread.high - spread.low))
        case "normal":
            return np.int64(spread.mean) + _round(spread.sd * normal_quantile(u))
        case "exponential":
            return _round(spread.mean * -ln(1.0 - u))
        case "lognormal":
            return _round(spread.median * exp(spread.sigma * normal_quantile(u)))
        case "empirical":
            if not spread.values:
                raise ValueError("empirical spread: got no values, expected at least one")
            values = np.asarray(spread.values, dtype=np.int64)
            return values[np.minimum((u * len(values)).astype(np.int64), len(values) - 1)]
        case "none":
            return np.zeros(u.shape, dtype=np.int64)
    raise ValueError(unknown_kind(spread))


def _round(x: NDArray[np.float64]) -> Integers:
    return np.rint(np.clip(x, -float(MOST_NS), float(MOST_NS))).astype(np.int64)
