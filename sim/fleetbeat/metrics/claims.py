"""Operators' claims, by the way in which they verified: how many said done, how many of those were wrong.

Whether a "done" was true is the check `honest-operator`'s to say; this counts its findings. Where it did not judge,
`false_done` is None. An operator who verifies nothing claims done once the writer finished.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleetbeat.checks.model import Judgement
from fleetbeat.metrics.facts import Facts

INVARIANT = "honest-operator"


@dataclass(frozen=True, slots=True)
class Claims:
    """Counts of claims for one way of verifying."""

    verify: str
    claims: int
    done: int
    timeout: int
    failed: int
    false_done: int | None


def claims(facts: Facts, judgement: Judgement) -> tuple[Claims, ...]:
    """One row for each way of verifying that occurs, by name."""
    wrong = _wrong(judgement)
    rows = []
    for verify in sorted({record["verify"] for record in facts.claims}):
        mine = [record for record in facts.claims if record["verify"] == verify]
        said = [record["claim"] for record in mine]
        done = [record["post"] for record in mine if record["claim"] == "done"]
        false_done = None if wrong is None else sum(post in wrong for post in done)
        rows.append(Claims(verify, len(mine), len(done), said.count("timeout"), said.count("failed"), false_done))
    return tuple(rows)


def _wrong(judgement: Judgement) -> frozenset[str] | None:
    for verdict in judgement.verdicts:
        if verdict.invariant == INVARIANT and verdict.outcome != "unknown":
            return frozenset(post for finding in verdict.findings for post in finding.posts)
    return None
