"""The report's tables, drawn with tabulate. Numbers are made into text first, so that nothing is reformatted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import fill

from fleetbeat.metrics import Convergence
from fleetbeat.metrics.lag import Row
from fleetbeat.metrics.words import seconds
from fleetbeat.report.data import Report, VerdictRow
from fleetbeat.report.plain import cut, item, safe

Paint = Callable[[str, str], str]
_BARS = " ▁▂▃▄▅▆▇█"
_CURVE = 50
_LEFT, _RIGHT = "left", "right"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1, left: Sequence[int] = ()) -> str:
    """A table indented by two; the first `texts` columns and those of `left` are left aligned, the others right."""
    from tabulate import tabulate

    align = [_LEFT if column < texts or column in left else _RIGHT for column in range(len(headers))]
    drawn = tabulate(rows, headers, tablefmt="simple", disable_numparse=True, colalign=align, headersglobalalign=None)
    return "\n".join(f"  {line.rstrip()}" for line in drawn.split("\n"))


def _time(ns: int | None) -> str:
    return "-" if ns is None else seconds(ns)


def convergence(report: Report) -> str:
    """One row a version, then one curve a version on a common time axis."""
    versions = report.metrics.convergence
    if not versions:
        return ""
    headers = ["version", "targets", "reached", "at end", "50 %", "90 %", "99 %", "100 %", "missing"]
    rows = []
    for row in versions:
        times = map(_time, (row.p50, row.p90, row.p99, row.p100))
        counts = map(str, (row.targets, row.reached, row.at_end))
        rows.append([cut(safe(row.version), 16), *counts, *times, str(len(row.missing))])
    longest = max((ns for row in versions for _, ns in row.curve if ns is not None), default=0)
    if not longest:
        return table(headers, rows)
    width = min(16, max(len(safe(row.version)) for row in versions))
    curves = [f"  {cut(safe(row.version), width):<{width}} |{curve(row, longest)}| {share(row)}" for row in versions]
    axis = f"  {'':<{width}}  0s{seconds(longest):>{_CURVE - 2}}"
    return "\n".join([table(headers, rows), "", *curves, axis])


def share(row: Convergence) -> str:
    """How many of the targets ever held the version, in whole percent, rounded down (100 % means all)."""
    return f"{row.reached * 100 // row.targets} %" if row.targets else "no targets"


def curve(row: Convergence, longest: int) -> str:
    """The share of targets that hold the version, over time from its rollout's start to `longest` ns."""
    bars = []
    for column in range(1, _CURVE + 1):
        now = longest * column // _CURVE
        percent = max((percent for percent, ns in row.curve if percent and ns is not None and ns <= now), default=0)
        bars.append(_BARS[-(-percent * (len(_BARS) - 1) // 100)])
    return "".join(bars)


def lag(report: Report) -> str:
    """The total and its four parts; then the total of each version, if there are several."""
    tables = report.metrics.lag
    if not tables.applied:
        return ""
    rows = [_lag_row(row.part, row) for row in tables.rows]
    if len(tables.versions) > 1:
        rows += [_lag_row(f"total of {cut(safe(row.part), 30)}", row) for row in tables.versions]
    return table(["part", "posts", "p50", "p90", "p99", "max"], rows)


def _lag_row(name: str, row: Row) -> list[str]:
    if not row.observed:
        return [name, "not observed", "", "", "", ""]
    return [name, str(row.observed), *map(_time, (row.p50, row.p90, row.p99, row.max))]


def fates(report: Report) -> str:
    rows = [[fate, str(count)] for fate, count in report.fates if count]
    return table(["fate", "posts"], [*rows, ["all", str(report.posts)]]) if report.posts else ""


def invariants(report: Report, paint: Paint) -> str:
    """One row an invariant: verdict, class and count of findings, what puts it in perspective, cases examined."""
    styles = {"held": "good", "broken": "bad", "unknown": "doubt"}
    rows = []
    for row in report.verdicts:
        style = "doubt" if row.outcome == "broken" and not row.fails else styles[row.outcome]
        kinds = ", ".join(f"{kind} {count}" for kind, count in row.kinds)
        rows.append([cut(safe(row.invariant), 24), paint(style, row.outcome), kinds, _remark(row), str(row.examined)])
    return table(["invariant", "verdict", "findings", "remark", "cases"], rows, texts=4)


def _remark(row: VerdictRow) -> str:
    if row.outcome == "unknown":
        return cut(safe(row.reason), 40)
    remarks = ["expected"] if row.expected else []
    if row.outcome == "broken" and row.known_gap:
        remarks.append(f"known gap of {cut(safe(', '.join(row.known_gap)), 24)}")
    if row.outcome == "held" and not row.examined:
        remarks.append("nothing to judge")
    return ", ".join(remarks)


def faults(report: Report) -> str:
    rows = []
    for row in report.faults:
        effects = ", ".join(f"{effect} {count}" for effect, count in row.effects)
        what = [cut(safe(row.fault), 20), fill(safe(row.means), 34), fill(safe(effects), 16)]
        rows.append([*what, str(row.targets), str(row.fired), str(row.agents)])
    return table(["fault", "means", "effects", "targets", "fired", "hit"], rows, texts=3) if rows else ""


def cost(report: Report) -> str:
    spent = report.metrics.cost
    rows = [[safe(row.kind), str(row.agents), str(row.operators)] for row in spent.operations]
    lines = [table(["operation", "agents", "operators"], rows)] if rows else []
    if not spent.observed:
        lines.append("  Operations other than those of idle beats and polls: not observed.")
    beats = f"  Beats {spent.beats}: idle {spent.idle}, busy {spent.busy}, not runnable {spent.not_runnable}"
    beats += "".join(f", {name} {count}" for name, count in (("cut", spent.cut), ("ended", spent.ended)) if count)
    lines.append(f"{beats}. Rebuilds {spent.rebuilds}, polls {spent.polls}.")
    if spent.logs:
        logged = ", ".join(f"{cut(safe(event), 40)} {count}" for event, count in spent.logs)
        lines.append(item(f"Logged: {logged}."))
    return "\n".join(lines)


def claims(report: Report) -> str:
    rows = []
    for row in report.metrics.claims:
        wrong = "not judged" if row.false_done is None else str(row.false_done)
        rows.append([safe(row.verify), *map(str, (row.claims, row.done, row.timeout, row.failed)), wrong])
    return table(["verified by", "claims", "done", "timeout", "failed", "false done"], rows) if rows else ""
