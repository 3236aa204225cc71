"""From a history to its report: judge, measure, decide. The same for a run that just ended and for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetbeat.checks import decide, judge, load_checks
from fleetbeat.checks.model import Check, Judgement, Verdict
from fleetbeat.cli.errors import INTERRUPTED
from fleetbeat.history.records import Record
from fleetbeat.metrics import measure
from fleetbeat.report.data import Report, Ruling, Threshold, build


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged history."""

    judgement: Judgement
    report: Report

    @property
    def exit_code(self) -> int:
        """The ruling's, or that of an interrupted run, whose verdicts are of the part that was played."""
        return INTERRUPTED if self.report.ended == "interrupted" else self.report.ruling.code


def extra_checks(folder: str | None) -> Sequence[Check]:
    """The checks of a user's folder. Raises CheckError for one that cannot be loaded."""
    return () if folder is None else load_checks(folder)


def judged(records: Sequence[Record], extra: Sequence[Check], replay: str) -> Judged:
    """Everything that is said about a history whose first record is its `run` record."""
    judgement = judge(records, extra)
    metrics = measure(records, judgement)
    return Judged(judgement, build(records, judgement, metrics, ruling(records, judgement), replay))


def ruling(records: Sequence[Record], judgement: Judgement) -> Ruling:
    """The decision as the report shows it."""
    expect = records[0]["expect"]
    decision = decide(expect, judgement, records)
    thresholds = tuple(Threshold(row.id, row.held, row.message) for row in decision.thresholds)
    failing = tuple(verdict.invariant for verdict in judgement.verdicts if _fails(verdict, expect))
    return Ruling(decision.exit_code, decision.verdict, decision.reasons, failing, thresholds)


def _fails(verdict: Verdict, expect: Mapping[str, Any]) -> bool:
    """Whether this invariant makes the run fail; the rule is `checks.expect`'s, told invariant by invariant."""
    if verdict.outcome == "unknown":
        return False
    if verdict.invariant in (expect.get("broken") or ()):
        return not verdict.findings
    hazards = expect.get("hazards") or ()
    counted = hazards is True or (not isinstance(hazards, bool) and verdict.invariant in hazards)
    return verdict.outcome == "broken" or (counted and bool(verdict.findings))
