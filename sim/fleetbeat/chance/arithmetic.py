"""Logarithm, exponential and normal quantile with the same bits everywhere.

`math.log`, `math.exp` and NumPy's differ from each other and between platforms in the last bit. These are made from
+ - * / and sqrt, which IEEE 754 requires to be correctly rounded, from frexp and ldexp, which are exact, and from the
constants below, in a fixed order of operations. `arithmetic_array` is the twin on arrays: same tables, same order.

Error: `ln` and `exp` below 1e-15 relative, the quantile below 1e-15 times its size (tests say 1e-14 and 1e-12).
Rejected: correctly rounded functions (slow, and no better for drawing), tables with interpolation (larger, no faster).
"""

from __future__ import annotations

from math import frexp, inf, ldexp, sqrt

#: ln 2 in two parts. The upper one ends in 21 zero bits, so that an exponent times it is exact.
LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
INVERSE_LN2 = float.fromhex("0x1.71547652b82fep+0")
SQRT_HALF = float.fromhex("0x1.6a09e667f3bcdp-1")

#: 2 atanh(s) = 2 s + s (2/3 s**2 + 2/5 s**4 + ...), highest power first; |s| < 0.1716, so ten terms are enough.
ATANH = tuple(2.0 / (2 * i + 1) for i in range(10, 0, -1))

#: exp(r) = 1 + (r + r**2 (1/2! + r/3! + ...)), highest power first; |r| < 0.3466, so the last is 1/14!.
_FACTORIALS = (2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800, 39916800, 479001600, 6227020800, 87178291200)
EXP = tuple(1.0 / n for n in reversed(_FACTORIALS))

#: Beyond these `exp` is infinite, or nought.
EXP_MOST = 709.75
EXP_LEAST = -708.0

# Normal quantile: coefficients of M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution",
# Applied Statistics 37 (1988) 477-484, routine PPND16. Numerator and denominator, highest power first.
# fmt: off
CENTRE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)
MIDDLE = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)
TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)
# fmt: on
CENTRE_HALF_WIDTH = 0.425
CENTRE_SHIFT = 0.180625
MIDDLE_SHIFT = 1.6
TAIL_SHIFT = 5.0

Ratio = tuple[tuple[float, ...], tuple[float, ...]]


def ln(x: float) -> float:
    """Natural logarithm of a finite x > 0. Raises ValueError for others."""
    if not 0.0 < x < inf:
        raise ValueError(f"ln: got {x}, expected a finite number above 0")
    m, e = frexp(x)
    if m < SQRT_HALF:
        m = m + m
        e -= 1
    f = m - 1.0
    s = f / (f + 2.0)
    z = s * s
    a, b, c, d, g, h, i, j, k, n = ATANH
    p = ((((((((a * z + b) * z + c) * z + d) * z + g) * z + h) * z + i) * z + j) * z + k) * z + n
    return e * LN2_HIGH + (e * LN2_LOW + (s * (z * p) + (s + s)))


def ln1p(x: float) -> float:
    """ln(1 + x) for a finite x > -1, precise near 0: the rounding of 1 + x is divided out (W. Kahan's rule)."""
    w = 1.0 + x
    if w == 1.0:
        return x
    return ln(w) * (x / (w - 1.0))


def exp(x: float) -> float:
    """e to the power of x. Above 709.75 it is infinite, below -708 nought."""
    if x > EXP_MOST:
        return inf
    if x < EXP_LEAST:
        return 0.0
    k = round(x * INVERSE_LN2)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    a, b, c, d, e, f, g, h, i, j, m, n, o = EXP
    p = (
        ((((((((((a * r + b) * r + c) * r + d) * r + e) * r + f) * r + g) * r + h) * r + i) * r + j) * r + m) * r + n
    ) * r + o
    return ldexp(1.0 + (r + (r * r) * p), k)


def normal_quantile(u: float) -> float:
    """The standard normal's value below which a share u of it lies, 0 < u < 1. Raises ValueError for other u."""
    if not 0.0 < u < 1.0:
        raise ValueError(f"normal_quantile: got {u}, expected a number between 0 and 1, both excluded")
    q = u - 0.5
    if -CENTRE_HALF_WIDTH <= q <= CENTRE_HALF_WIDTH:
        return q * _ratio(CENTRE, CENTRE_SHIFT - q * q)
    r = sqrt(-ln(u if q < 0.0 else 1.0 - u))
    x = _ratio(MIDDLE, r - MIDDLE_SHIFT) if r <= TAIL_SHIFT else _ratio(TAIL, r - TAIL_SHIFT)
    return -x if q < 0.0 else x


def _ratio(table: Ratio, r: float) -> float:
    (a, b, c, d, e, f, g, h), (i, j, k, m, n, o, p, q) = table
    return (((((((a * r + b) * r + c) * r + d) * r + e) * r + f) * r + g) * r + h) / (
        ((((((i * r + j) * r + k) * r + m) * r + n) * r + o) * r + p) * r + q
    )
