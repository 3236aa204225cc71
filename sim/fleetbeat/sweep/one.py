"""One run of a sweep: a scenario and a seed in, an outcome of plain numbers out.

A metric that a run does not have (a lag where nothing was applied, a time to a share that was never reached) is None,
never 0. Runs of one seed draw the same by name, whatever is varied: common random numbers come from `chance` alone.
Rejected: keeping histories (a 500-agent run is megabytes; its seed brings it back).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from fleetbeat.checks import decide, judge
from fleetbeat.checks.model import CLASSES, FATES, Judgement
from fleetbeat.engines import ENGINES
from fleetbeat.history.records import Record
from fleetbeat.metrics import Metrics, measure
from fleetbeat.metrics.exposure import PLAN_METRICS
from fleetbeat.metrics.exposure import numbers as plan_numbers
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

SECOND = 1_000_000_000
CLASS_NAMES = {"violation": "violations", "gap": "gaps", "hazard": "hazards"}

#: Every metric of an outcome, in the order of columns, and what it says.
METRICS = {
    "lag_p50": "median lag of the run's applied posts, s",
    "lag_p90": "90 % quantile of their lag, s",
    "lag_p99": "99 % quantile of their lag, s",
    "lag_max": "longest lag, s",
    "applied": "share of posts with fate applied",
    "at_end": "share of targets of the version that began last which hold it at the end",
    "time_p50": "until half of a version's targets held it, s; of the slowest version",
    "time_p90": "until 90 % held it, s",
    "time_p99": "until 99 % held it, s",
    "time_p100": "until all held it, s",
    **{f"fate_{fate}": f"posts with fate {fate}" for fate in FATES},
    **{CLASS_NAMES[name]: f"findings that are a {name}" for name in CLASSES},
    "failed": "1 if the verdict is a failure (exit code 1), else 0",
    "beats": "beats of all agents",
    "beats_per_s": "beats a second of virtual time, whole fleet",
    "ops_per_s": "agents' file operations a second of virtual time, whole fleet",
    "wakes_per_s": "beats and rebuilds a second of virtual time, whole fleet",
    "false_claims": "operators' claims of done that were wrong",
    **PLAN_METRICS,
    "prepares": "background tasks that cores began, self-triggered ones too; None without a workload, as all below",
    "prepare_cost": "what they cost, in units of money",
    "notifies": "notifications to users",
    "self_triggered": "actions of cores that the first invariant forbids",
    "suppressed": "actions that it forbids, that a policy wanted, and that no core took",
    "let_through": "dangerous calls that ran while no gate in force watched them",
    "guard_exposed": "agent-seconds under the old gates while those of a rollout were on their way",
    "guard_met": "dangerous calls in that time which the new gates would have judged more strictly",
    "guard_ran": "how many of these ran",
}
#: Those of the event framework.
_OF_FRAMEWORK = tuple(METRICS)[-9:]


@dataclass(frozen=True, slots=True)
class Outcome:
    """`verdict`: the decision's word; `metrics`: every name of `METRICS`; `lags_ns`: of the applied posts, ascending."""

    verdict: str
    metrics: dict[str, float | None]
    lags_ns: tuple[int, ...]


def play(source: Scenario | Path | str, sets: Sequence[str], seed: int) -> Outcome:
    """Plays a scenario (loaded, a file, or a YAML text) with `path=value` overrides laid over it, in the simulation.

    `sets` go with a file or a text. Raises ScenarioError, ValueError for overrides of a loaded scenario.
    """
    return played(source, sets, seed).outcome


@dataclass(frozen=True, slots=True)
class Played:
    """A run with all that it was made of."""

    outcome: Outcome
    records: Sequence[Record]
    judgement: Judgement


def played(source: Scenario | Path | str, sets: Sequence[str], seed: int) -> Played:
    """As `play`, with history and judgement."""
    if isinstance(source, Scenario):
        if sets:
            raise ValueError(f"sets: got {len(sets)} for a loaded scenario, expected them to be loaded with it")
        scenario = source
    else:
        scenario = loaded(source, tuple(sets))
    records = ENGINES.engine("des")(scenario.model_copy(update={"seed": seed}))
    judgement = judge(records)
    return Played(_outcome(records, judgement, scenario.duration), records, judgement)


@lru_cache(maxsize=16)
def loaded(source: Path | str, sets: tuple[str, ...]) -> Scenario:
    """A scenario, kept for the next run of the same."""
    return load(source, overrides=sets)


def outcome(records: Sequence[Record], duration_ns: int) -> Outcome:
    """What a history comes to. Its first record is its `run` record."""
    return _outcome(records, judge(records), duration_ns)


def _outcome(records: Sequence[Record], judgement: Judgement, duration_ns: int) -> Outcome:
    tables = measure(records, judgement)
    decision = decide(records[0]["expect"], judgement, records)
    numbers = {**_lag(tables), **_convergence(tables, judgement), **_findings(judgement), **_cost(tables, duration_ns)}
    numbers |= {**_framework(tables), **plan_numbers(tables.plans)}
    numbers["failed"] = float(decision.exit_code == 1)
    return Outcome(decision.verdict, {name: numbers[name] for name in METRICS}, _lags(judgement))


def _lags(judgement: Judgement) -> tuple[int, ...]:
    posts = [fate for fate in judgement.fates if fate.fate == "applied"]
    ends = [(fate.completed, fate.effective) for fate in posts]
    return tuple(sorted(max(0, end - start) for start, end in ends if start is not None and end is not None))


def _lag(tables: Metrics) -> dict[str, float | None]:
    row = tables.lag.rows[0]
    return {f"lag_{name}": _s(getattr(row, name)) for name in ("p50", "p90", "p99", "max")}


def _convergence(tables: Metrics, judgement: Judgement) -> dict[str, float | None]:
    fates = judgement.fates
    counts = dict.fromkeys(FATES, 0)
    for fate in fates:
        counts[fate.fate] += 1
    found: dict[str, float | None] = {f"fate_{fate}": float(count) for fate, count in counts.items()}
    found["applied"] = counts["applied"] / len(fates) if fates else None
    rows = tables.convergence
    found["at_end"] = rows[-1].at_end / rows[-1].targets if rows and rows[-1].targets else None
    for name in ("p50", "p90", "p99", "p100"):
        times = [getattr(row, name) for row in rows]
        found[f"time_{name}"] = _s(max(times)) if times and None not in times else None
    return found


def _findings(judgement: Judgement) -> dict[str, float | None]:
    kinds: list[str] = [finding.kind for verdict in judgement.verdicts for finding in verdict.findings]
    kinds += ["violation"] * sum(verdict.more for verdict in judgement.verdicts)
    return {CLASS_NAMES[name]: float(kinds.count(name)) for name in CLASSES}


def _framework(tables: Metrics) -> dict[str, float | None]:
    found = tables.framework
    if found is None:
        return dict.fromkeys(_OF_FRAMEWORK)
    rows = found.exposure
    values = (
        dict(found.actions)["prepare"],
        found.cost / 1_000_000,
        found.notified.count,
        sum(count for _, count in found.chains.self_triggered_actions),
        found.chains.suppressed,
        found.calls.let_through,
        sum(row.agent_ns for row in rows) / SECOND,
        sum(row.calls for row in rows),
        sum(row.ran for row in rows),
    )
    return dict(zip(_OF_FRAMEWORK, map(float, values), strict=True))


def _cost(tables: Metrics, duration_ns: int) -> dict[str, float | None]:
    cost, seconds = tables.cost, duration_ns / SECOND
    wrong = [row.false_done for row in tables.claims]
    return {
        "beats": float(cost.beats),
        "beats_per_s": cost.beats / seconds,
        "ops_per_s": sum(row.agents for row in cost.operations) / seconds,
        "wakes_per_s": (cost.beats + cost.rebuilds) / seconds,
        "false_claims": None if None in wrong else float(sum(count or 0 for count in wrong)),
    }


def _s(ns: int | None) -> float | None:
    return None if ns is None else ns / SECOND
