"""The advice in words and as JSON: objectives, costs, front, recommendation, warnings, methods."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from fleetbeat.report.plain import item, safe
from fleetbeat.report.tables import table
from fleetbeat.scenario.units import format_duration
from fleetbeat.sweep import stats
from fleetbeat.sweep.advise import Advice, CellAdvice, Judged, undecided
from fleetbeat.sweep.advise_slo import COSTS, bound, shown
from fleetbeat.sweep.cadence import Laid
from fleetbeat.sweep.closed import SOURCE, closed_of

SCHEMA = "fleetbeat.cadence/1"
_SPENT = ("ops/s", "peak/s")


@dataclass(frozen=True, slots=True)
class Told:
    """What there is to tell. `calibration`: lines on what was measured; empty without."""

    laid: Laid
    advice: Advice
    statistic: str
    warnings: tuple[str, ...]
    calibration: tuple[str, ...] = ()
    shift_ns: int = 0


def text(told: Told) -> str:
    """For people."""
    laid = told.laid
    first, last = laid.seeds[0], laid.seeds[-1]
    head = (
        f"{safe(laid.name)}: {len(laid.cadences)} cadences x {len(laid.levels)} fault levels, {laid.runs:,} runs,"
        f" seeds {first} to {last} in each"
    )
    blocks = [head, _objectives(told), _costs(told), _front(told)]
    closed = _closed(told)
    blocks += [closed] if closed else []
    if told.warnings:
        blocks.append("\n".join(["Warnings", *(item(safe(line)) for line in told.warnings)]))
    if told.calibration:
        blocks.append("\n".join(["Measured on this host", *(f"  {safe(line)}" for line in told.calibration)]))
    else:
        blocks.append("Processor time was not measured: --calibrate plays real beats on this host.")
    blocks.append("\n".join(["Methods", *(item(line) for line in _methods(told))]))
    blocks.append(recommendation(told))
    return "\n\n".join(blocks) + "\n"


def recommendation(told: Told) -> str:
    """The last words: which cadence, by what margin, or that none does and which comes nearest."""
    laid, advice = told.laid, told.advice
    lines = []
    for fallen in advice.fell:
        lines.append(f"  {laid.cadences[fallen].words} met everything at first and not with fresh seeds: left out")
    for number in undecided(laid, advice):
        lines.append(
            f"  {laid.cadences[number].words} is cheaper and undecided: an interval of it holds a bound, more --seeds"
            " would tell"
            if advice.recommended is not None
            else f"  {laid.cadences[number].words} is undecided: an interval of it holds a bound, more --seeds would tell"
        )
    if advice.recommended is not None:
        lines.insert(0, f"Recommended: {laid.cadences[advice.recommended].words}")
        for cell in advice.confirmed:
            lines += [f"  {line}" for line in _margins(laid, cell)]
        return "\n".join([*lines, _fresh(laid)])
    assert advice.nearest is not None
    lines.insert(0, f"None meets everything; the nearest is: {laid.cadences[advice.nearest].words}")
    own = [cell for cell in advice.cells if laid.cells[cell.place].cadence == advice.nearest]
    for cell in advice.confirmed or own:
        lines += [f"  {line}" for line in _margins(laid, cell)]
    return "\n".join([*lines, _fresh(laid)] if advice.confirmed else lines)


def _fresh(laid: Laid) -> str:
    seeds = laid.fresh()
    return f"  (95 % intervals, of seeds {seeds[0]} to {seeds[-1]}, which did not choose it)"


def _margins(laid: Laid, cell: CellAdvice) -> list[str]:
    mine = laid.cells[cell.place]
    level = _level(mine.level if mine.scenario.faults else 0)
    return [f"{level}: {_margin(one)}" for one in cell.judged]


def _margin(one: Judged) -> str:
    what = f"{safe(one.objective.text)}: {shown(one.objective, one.estimate.value)}"
    end = one.estimate.high if one.objective.below else one.estimate.low
    if one.margin is None or end is None:
        return f"{what}: missed ({_lacking(one)})"
    share = f" ({abs(one.worst) * 100:.3g} %)" if one.objective.bound else ""
    side = "at most" if one.objective.below else "at least"
    by = shown(one.objective, abs(one.margin))
    return f"{what}, {side} {shown(one.objective, end)}: {'met with' if one.met else 'missed by'} {by}{share}"


def _lacking(one: Judged) -> str:
    if one.never:
        return f"never reached in {one.never} of {one.estimate.count} runs"
    if one.missing:
        return f"not there in {one.missing} of {one.missing + one.estimate.count} runs"
    return one.estimate.why or "nothing to measure"


def _level(level: float) -> str:
    return "no faults" if level == 0 else "faults as given" if level == 1 else f"faults x{level:g}"


def _heads(laid: Laid) -> list[str]:
    return ["interval", "jitter", "phase", "faults"]


def _place(laid: Laid, cell: CellAdvice) -> list[str]:
    mine = laid.cells[cell.place]
    cadence = laid.cadences[mine.cadence]
    phase = f"splay {format_duration(cadence.heartbeat.splay)}" if cadence.phase == "splay" else cadence.phase
    return [cadence.interval, cadence.jitter, phase, f"x{mine.level:g}"]


def _objectives(told: Told) -> str:
    """One table an objective, one row a cell."""
    laid, blocks = told.laid, []
    for index, first in enumerate(told.advice.cells[0].judged):
        rows = []
        for cell in told.advice.cells:
            one = cell.judged[index]
            margin = "-" if one.margin is None else shown(one.objective, one.margin, "+")
            word = "yes" if one.met else f"no: never in {one.never}" if one.never else "no"
            value, ends = shown(one.objective, one.estimate.value), _ends(one)
            rows.append([*_place(laid, cell), value, ends, margin, word])
        heads = [*_heads(laid), f"{told.statistic} of runs", "95 %", "margin", "met"]
        blocks.append(f"{safe(first.objective.text)}\n{table(heads, rows, 3)}")
    return "\n\n".join(blocks)


def _ends(one: Judged) -> str:
    low, high = one.estimate.low, one.estimate.high
    if low is None and high is None:
        return "-"
    return f"{shown(one.objective, low)} to {shown(one.objective, high)}"


def _costs(told: Told) -> str:
    names = list(told.advice.cells[0].costs)
    rows = []
    for cell in told.advice.cells:
        values = [cell.costs[name].value for name in names]
        shares = [name == "cpu" for name in names]
        cells = [
            "-" if value is None else f"{value * 100:.3g} %" if share else f"{value:,.4g}"
            for value, share in zip(values, shares, strict=True)
        ]
        rows.append([*_place(told.laid, cell), *cells])
    return f"Cost of the busiest host, means of runs\n{table([*_heads(told.laid), *names], rows, 3)}"


def _front(told: Told) -> str:
    """One row a cadence on the front: every objective at its worst level, and what it costs there."""
    laid, advice = told.laid, told.advice
    slos = [(n, one.objective) for n, one in enumerate(advice.cells[0].judged) if one.objective.kind != "cost"]
    rows = []
    for number in advice.front:
        some = [cell for cell in advice.cells if laid.cells[cell.place].cadence == number]
        row = _place(laid, some[0])[:3]
        for index, slo in slos:
            worst = max((cell.judged[index] for cell in some), key=lambda one: one.worst)
            row.append(f"never in {worst.never}" if worst.never else shown(slo, worst.estimate.value))
        row += [f"{max(cell.costs[name].value or 0 for cell in some):,.4g}" for name in _SPENT]
        rows.append([*row, "recommended" if number == advice.recommended else ""])
    heads = ["interval", "jitter", "phase", *(safe(slo.text) for _, slo in slos), *_SPENT, ""]
    first = "Pareto front, at the worst level of faults: no other cadence is better in one column and worse in none"
    return f"{first}\n{table(heads, rows, 3)}"


def _closed(told: Told) -> str:
    """What the closed form says of each quantile of the lag, beside what was played."""
    lines = []
    for cell in told.advice.cells:
        law = closed_of(told.laid.cells[cell.place].scenario)
        for one in cell.judged:
            estimate = one.estimate
            if law is None or one.objective.kind != "lag" or told.statistic != "mean" or estimate.value is None:
                continue
            if estimate.low is None or estimate.high is None:
                continue
            expected = law.ordered(one.objective.share) / 1e9
            where = "within" if estimate.low <= expected <= estimate.high else "outside"
            lines.append(
                f"  {' '.join(_place(told.laid, cell))}: {expected:.3g} s, {where} {_ends(one)} ({safe(one.objective.text)})"
            )
    if not lines:
        return ""
    return "\n".join(["Closed form, where there is one; of twenty intervals one misses", *lines, item(f"({SOURCE})")])


def _methods(told: Told) -> list[str]:
    named: dict[str, None] = {}
    for cell in (*told.advice.cells, *told.advice.confirmed):
        for one in cell.judged:
            named.setdefault(f"{one.estimate.method} ({one.estimate.source})", None)
            if one.estimate.why:
                named.setdefault(f"{safe(one.objective.text)}: {one.estimate.why}", None)
    shift = f"; rollouts start up to {format_duration(told.shift_ns)} later" if told.shift_ns else ""
    return [
        *named,
        f"one value a run, {told.statistic} over runs{shift}; met: the worse end of the 95 % interval is within the bound",
        "a lag is from the first landing of a version at an agent to its taking effect; never is longer than any",
        *(f"{name}: {COSTS[name]}, on the busiest host" for name in told.advice.cells[0].costs),
        *told.laid.notes,
    ]


def document(told: Told) -> str:
    """JSON, one object a cell."""
    laid, advice = told.laid, told.advice
    return (
        json.dumps(
            {
                "schema": SCHEMA,
                "scenario": laid.name,
                "seeds": list(laid.seeds),
                "statistic": told.statistic,
                "confidence": stats.CONFIDENCE,
                "cadences": [{**_words(laid, n), "front": n in advice.front} for n in range(len(laid.cadences))],
                "cells": [_cell(laid, cell) for cell in advice.cells],
                "recommended": advice.recommended,
                "nearest": advice.nearest,
                "confirmed": [_cell(laid, cell) for cell in advice.confirmed],
                "fell": list(advice.fell),
                "undecided": undecided(laid, advice),
                "warnings": list(told.warnings),
                "calibration": list(told.calibration),
                "notes": list(laid.notes),
            },
            indent=2,
        )
        + "\n"
    )


def _words(laid: Laid, number: int) -> dict[str, str]:
    one = laid.cadences[number]
    return {"interval": one.interval, "jitter": one.jitter, "phase": one.phase, "words": one.words}


def _cell(laid: Laid, cell: CellAdvice) -> dict[str, Any]:
    mine = laid.cells[cell.place]
    judged = [
        {
            "objective": one.objective.text,
            "bound": bound(one.objective),
            **asdict(one.estimate),
            "never": one.never,
            "missing": one.missing,
            "met": one.met,
            "margin": one.margin,
        }
        for one in cell.judged
    ]
    costs = {name: asdict(one) for name, one in cell.costs.items()}
    return {"cadence": mine.cadence, "faults": mine.level, "objectives": judged, "costs": costs}
