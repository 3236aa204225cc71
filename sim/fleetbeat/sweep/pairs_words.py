"""A comparison of two plans in words: a table of all metrics, and one sentence for each in which the two differ."""

from __future__ import annotations

from collections.abc import Sequence

from fleetbeat.sweep.pairs import COMPARED, PairRow
from fleetbeat.sweep.run import HIGHEST

#: Metrics of which neither more nor less is better by itself.
NEITHER = ("beats", "beats_per_s", "ops_per_s", "wakes_per_s")


def number(value: float | None) -> str:
    """Four digits that mean something."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def cells(row: PairRow) -> list[str]:
    """metric, A, B, difference, its interval, pairs; shares in percent, everything else means."""
    scale = 100.0 if row.statistic == "share" else 1.0
    unit = " %" if row.statistic == "share" else ""

    def shown(value: float | None) -> str:
        return "-" if value is None else f"{number(value * scale)}{unit}"

    ends = (row.apart.low, row.apart.high)
    interval = "" if None in ends else f"{shown(ends[0])} to {shown(ends[1])}"
    values = [shown(row.first.value), shown(row.second.value), shown(row.apart.value), interval]
    return [row.metric, *values, str(row.apart.count)]


def differs(row: PairRow) -> bool:
    """Whether the difference's interval leaves zero out."""
    return row.apart.excludes_zero


def sentence(row: PairRow, first: str, second: str) -> str:
    """In which way the second differs from the first. For a row that differs."""
    _, one, two, _, _, count = cells(row)
    value, low, high = row.apart.value or 0.0, row.apart.low or 0.0, row.apart.high or 0.0
    scale, unit = (100.0, " points") if row.statistic == "share" else (1.0, "")
    less = value < 0
    near, far = sorted((abs(low) * scale, abs(high) * scale))
    what = COMPARED[row.metric].partition(";")[0]
    by = f"{number(abs(value) * scale)}{unit} {'less' if less else 'more'} (95 %: {number(near)} to {number(far)})"
    share = "share of runs with one: " if row.statistic == "share" else ""
    return (
        f"{row.metric} ({share}{what}): {second} {two} against {first} {one}, {by}{_judged(row, less)}, {count} pairs."
    )


def _judged(row: PairRow, less: bool) -> str:
    if row.metric in NEITHER:
        return ""
    return ", better" if less != (row.metric in HIGHEST) else ", worse"


def alike(rows: Sequence[PairRow]) -> list[str]:
    """Sentences about metrics in which no difference is shown."""
    known = [row for row in rows if row.apart.is_whole and not differs(row)]
    short: dict[str, list[str]] = {}
    for row in rows:
        if not row.apart.is_whole and row.apart.count:
            short.setdefault(row.apart.why or "no interval", []).append(row.metric)
    none = [row.metric for row in rows if not row.apart.count]
    found = []
    if known:
        found.append(f"No difference is shown in {', '.join(row.metric for row in known)}.")
    found += [f"{', '.join(metrics)}: {why}." for why, metrics in short.items()]
    if none:
        found.append(f"No pair of runs has {', '.join(none)} on both sides.")
    return found
