"""Rollout plans in a report: how each ended, and the time that agents spent on what should not have gone out."""

from __future__ import annotations

from fleetbeat.metrics.exposure import Plan
from fleetbeat.metrics.words import seconds
from fleetbeat.report.data import Report
from fleetbeat.report.plain import counted, cut, item, safe
from fleetbeat.report.tables import table


def plans(report: Report) -> str:
    """One row a rollout, then one line for each that was stopped or slipped through."""
    found = report.metrics.plans
    if not found:
        return ""
    headers = ["rollout", "truth", "end", "waves", "looks", "took", "reached", "at end", "agents x time"]
    rows = [
        [cut(safe(row.rollout), 20), "bad" if row.bad else "good", row.end, f"{row.wave} of {row.waves}", str(row.looks),
         _took(row), str(row.reached), str(row.at_end), seconds(row.held_ns)]
        for row in found
    ]  # fmt: skip
    return "\n".join([table(headers, rows, texts=3), *(line for row in found if (line := _line(row)))])


def _took(row: Plan) -> str:
    return "-" if row.began is None or row.ended is None else seconds(row.ended - row.began)


def _line(row: Plan) -> str:
    name = safe(row.rollout)
    if row.end == "stopped":
        alarm = "" if row.bad else ": a false alarm"
        after = {"rollback": "; the rollback was not over at the end", "rolled-back": "; rolled back"}.get(row.then, "")
        return item(f"{name} was stopped after wave {row.wave}{alarm} ({safe(row.why)}){after}")
    if row.bad and row.end == "finished":
        return item(f"{name} is bad and went out: {counted(row.at_end, 'agent')} hold it at the end")
    return ""
