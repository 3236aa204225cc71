"""What `fleetbeat sweep` tells: one table a metric with its methods, as text or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleetbeat.sweep.execute import Row
    from fleetbeat.sweep.run import CellRow, Plan
    from fleetbeat.sweep.stats import Estimate
    from fleetbeat.sweep.until import Round


def document(plan: Plan, rows: Sequence[Row], found: Sequence[CellRow], end: Round | None) -> str:
    """All estimates; `until` is there where seeds were played in rounds."""
    lines = [{**_values(plan, row.cell), **asdict(row)} for row in found]
    head = {"schema": "fleetbeat.sweep/1", "scenario": plan.name, "seeds": list(plan.seeds), "runs": len(rows)}
    until: dict[str, Any] = {}
    if end is not None:
        reaches = [reach if isfinite(reach) else None for reach in end.reaches]
        goal = {"metric": end.goal.metric, "width": end.goal.half, "relative": end.goal.is_relative}
        until = {"until": {**goal, "reached": end.is_reached, "seeds": end.seeds, "most": end.most, "cells": reaches}}
    return json.dumps({**head, **until, "verdicts": _verdicts(rows), "cells": lines}, indent=2) + "\n"


def _verdicts(rows: Sequence[Row]) -> dict[str, int]:
    """How many runs came to each verdict: a run that never reached what it set out to test is no success."""
    words = [row.verdict for row in rows]
    return {word: words.count(word) for word in sorted(dict.fromkeys(words))}


def _values(plan: Plan, cell: int) -> dict[str, dict[str, str]]:
    axes = zip(plan.axes, plan.cells[cell], strict=True)
    return {"values": {axis.path: value for axis, value in axes}}


def text(plan: Plan, rows: Sequence[Row], found: Sequence[CellRow], end: Round | None) -> str:
    """One table a metric, one row a cell, then the methods with their sources."""
    from fleetbeat.report.plain import safe
    from fleetbeat.report.tables import table
    from fleetbeat.sweep.one import METRICS
    from fleetbeat.sweep.until import ROUNDS, SOURCE

    first, last = plan.seeds[0], plan.seeds[-1]
    blocks = [f"{safe(plan.name)}: {_cells(len(plan.cells))}, {len(rows):,} runs, seeds {first} to {last} in each"]
    blocks += [f"verdicts: {', '.join(f'{count:,} {word}' for word, count in _verdicts(rows).items())}"] if rows else []
    blocks += [] if end is None else [safe(end.words())]
    heads = [safe(axis.path) for axis in plan.axes]
    for metric in dict.fromkeys(row.metric for row in found):
        mine = [row for row in found if row.metric == metric]
        drawn = [[*map(safe, plan.cells[row.cell]), *_row(row)] for row in mine]
        headers = [*heads, "runs", mine[0].statistic, "95 %", "to the best", "95 %"]
        about = METRICS.get(metric) or f"share of posts that meet the fate {metric.removeprefix('rate_')}"
        blocks.append(f"{metric}: {about}\n{table(headers, drawn, len(heads))}")
    rounds = [] if end is None else [f"  {ROUNDS} ({SOURCE})"]
    blocks.append("\n".join(["Methods:", *rounds, *_methods(found)]))
    return "\n\n".join(blocks) + "\n"


def _cells(count: int) -> str:
    return f"{count:,} cell{'' if count == 1 else 's'}"


def _row(row: CellRow) -> list[str]:
    own = [str(row.estimate.count), _number(row.estimate.value), _interval(row.estimate)]
    if row.best:
        return [*own, "best", ""]
    if row.difference is None:
        return [*own, "-", "-"]
    return [*own, _number(row.difference.value, "+"), _interval(row.difference, "+")]


def _methods(found: Sequence[CellRow]) -> list[str]:
    """Each method once with its source, then why intervals are missing, each reason once."""
    named: dict[str, None] = {}
    reasons: dict[str, None] = {}
    for row in found:
        differing = () if row.difference is None else ((f"{row.metric}, difference", row.difference),)
        for what, estimate in ((row.metric, row.estimate), *differing):
            named.setdefault(f"  {estimate.method} ({estimate.source})", None)
            if estimate.why:
                reasons.setdefault(f"  {what}: {estimate.why}", None)
    statistics = list(dict.fromkeys(row.statistic for row in found))
    best = f"  the best cell is the one with the best {' or '.join(statistics)}, as shown" if statistics else ""
    return [*named, *reasons, *filter(None, [best])]


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4g}"


def _interval(one: Estimate, sign: str = "") -> str:
    return "-" if one.low is None and one.high is None else f"{_number(one.low, sign)} to {_number(one.high, sign)}"
