"""`arithmetic` on arrays of float64: the same tables, the same order of operations, the same bits.

Each NumPy operation is rounded by itself, so no compiler fuses a product with a sum. Only operations that IEEE 754
rounds correctly are used, and frexp, ldexp and rint, which are exact here.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fleetbeat.chance import arithmetic as table

Floats = NDArray[np.float64]


def ln(x: Floats) -> Floats:
    """Natural logarithm, elementwise. Raises ValueError unless every x is finite and above 0."""
    if not bool(np.all((x > 0.0) & (x < np.inf))):
        raise ValueError("ln: expected finite numbers above 0")
    m, e = np.frexp(x)
    low = m < table.SQRT_HALF
    m = np.where(low, m + m, m)
    k = (e - low).astype(np.float64)
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    p = _polynomial(table.ATANH, z)
    result: Floats = k * table.LN2_HIGH + (k * table.LN2_LOW + (s * (z * p) + (s + s)))
    return result


def exp(x: Floats) -> Floats:
    """e to the power of x, elementwise. Above 709.75 it is infinite, below -708 nought."""
    inside = np.minimum(np.maximum(x, table.EXP_LEAST), table.EXP_MOST)
    k = np.rint(inside * table.INVERSE_LN2)
    r = (inside - k * table.LN2_HIGH) - k * table.LN2_LOW
    p = _polynomial(table.EXP, r)
    value = np.ldexp(1.0 + (r + (r * r) * p), k.astype(np.int32))
    result: Floats = np.where(x > table.EXP_MOST, np.inf, np.where(x < table.EXP_LEAST, 0.0, value))
    return result


def normal_quantile(u: Floats) -> Floats:
    """The standard normal's quantile, elementwise. Raises ValueError unless every 0 < u < 1."""
    if not bool(np.all((u > 0.0) & (u < 1.0))):
        raise ValueError("normal_quantile: expected numbers between 0 and 1, both excluded")
    flat = np.ascontiguousarray(u).reshape(-1)
    q = flat - 0.5
    result = q * _ratio(table.CENTRE, table.CENTRE_SHIFT - q * q)
    (outer,) = np.nonzero(np.abs(q) > table.CENTRE_HALF_WIDTH)
    if outer.size:
        side, share = q[outer], flat[outer]
        r = np.sqrt(-ln(np.where(side < 0.0, share, 1.0 - share)))
        x = _ratio(table.MIDDLE, r - table.MIDDLE_SHIFT)
        (far,) = np.nonzero(r > table.TAIL_SHIFT)
        if far.size:
            x[far] = _ratio(table.TAIL, r[far] - table.TAIL_SHIFT)
        result[outer] = np.where(side < 0.0, -x, x)
    return result.reshape(u.shape)


def _polynomial(coefficients: Iterable[float], x: Floats) -> Floats:
    first, second, *rest = coefficients
    p = first * x
    p += second
    for c in rest:
        p *= x
        p += c
    return p


def _ratio(pair: table.Ratio, r: Floats) -> Floats:
    quotient: Floats = _polynomial(pair[0], r) / _polynomial(pair[1], r)
    return quotient
