"""Durations in words, from whole nanoseconds and without floating point."""

from __future__ import annotations


def seconds(ns: int) -> str:
    """A duration in short words without floating point: `812us`, `3.204s`, `1h02m03s`."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    if ns < 1_000:
        return f"{sign}{ns}ns"
    if ns < 1_000_000:
        return f"{sign}{_decimal(ns, 1_000)}us"
    if ns < 1_000_000_000:
        return f"{sign}{_decimal(ns, 1_000_000)}ms"
    if ns < 60_000_000_000:
        return f"{sign}{_decimal(ns, 1_000_000_000)}s"
    whole = ns // 1_000_000_000
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{sign}{minutes}m{rest:02d}.{ns // 100_000_000 % 10}s"
    return f"{sign}{minutes // 60}h{minutes % 60:02d}m{rest:02d}s"


def _decimal(ns: int, unit: int) -> str:
    """`ns` in units with three significant digits at least, truncated."""
    whole, rest = divmod(ns, unit)
    digits = max(0, 3 - len(str(whole)))
    if not digits:
        return str(whole)
    return f"{whole}.{rest * 10**digits // unit:0{digits}d}"
