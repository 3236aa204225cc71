"""Metrics: a history and its judgement in, frozen tables out. Whole numbers only; no verdicts here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleetbeat.checks.model import Judgement
from fleetbeat.history.records import Record
from fleetbeat.metrics.claims import Claims, claims
from fleetbeat.metrics.convergence import Convergence, MissingTarget, convergence
from fleetbeat.metrics.cost import Cost, cost
from fleetbeat.metrics.exposure import Plan, plans
from fleetbeat.metrics.facts import gather
from fleetbeat.metrics.framework import Framework, framework
from fleetbeat.metrics.lag import Lag, lag
from fleetbeat.metrics.next_action import NextAction

__all__ = [
    "Claims",
    "Convergence",
    "Cost",
    "Framework",
    "Lag",
    "Metrics",
    "MissingTarget",
    "NextAction",
    "Plan",
    "measure",
]


@dataclass(frozen=True, slots=True)
class Metrics:
    """All tables of one run. `plans`: only where a rollout has gates, or the scenario says which version is bad;
    `framework`: None without a workload.
    """

    convergence: tuple[Convergence, ...]
    lag: Lag
    cost: Cost
    claims: tuple[Claims, ...]
    plans: tuple[Plan, ...] = ()
    framework: Framework | None = None

    @property
    def missing(self) -> tuple[MissingTarget, ...]:
        """Every target that did not converge, version by version."""
        return tuple(target for version in self.convergence for target in version.missing)


def measure(records: Sequence[Record], judgement: Judgement) -> Metrics:
    """The tables of a run. `records` in order, as an engine or `history.jsonl.read` gives them."""
    facts = gather(records)
    found = plans(facts) if facts.turns or facts.gates or facts.truths else ()
    tables = (convergence(facts, judgement), lag(facts, judgement), cost(records), claims(facts, judgement))
    return Metrics(*tables, found, framework(records))
