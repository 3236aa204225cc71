"""Checks: one invariant per file over the indexed history, and the judge that runs them all.

`CHECKS` is the registry, in the order of PROTOCOL's table; `FRAMEWORK_CHECKS` are the event framework's. A check reads
`World` and nothing else: no engine, no program, no operation records.
"""

from __future__ import annotations

from fleetbeat.checks import (
    beats_go_on,
    canonical_intact,
    consume_before_apply,
    coverage,
    drains,
    effective_follows,
    empty_is_noop,
    guard_not_silenced,
    honest_operator,
    identical_is_noop,
    last_write_wins,
    no_self_trigger,
    no_silent_loss,
    one_log_each,
    scope,
    survives_rebuild,
    whole_body,
    write_failure_aborts,
)
from fleetbeat.checks.expect import Decision, Threshold, decide
from fleetbeat.checks.judge import CheckError, judge, load_checks
from fleetbeat.checks.model import FATES, Check, Finding, Invariant, Judgement, Link, PostFate, Unknown, Verdict
from fleetbeat.checks.world import World

CHECKS: tuple[Check, ...] = (
    Check(whole_body.INVARIANT, whole_body.check),
    Check(no_silent_loss.INVARIANT, no_silent_loss.check),
    Check(last_write_wins.INVARIANT, last_write_wins.check),
    Check(consume_before_apply.INVARIANT, consume_before_apply.check),
    Check(empty_is_noop.INVARIANT, empty_is_noop.check),
    Check(identical_is_noop.INVARIANT, identical_is_noop.check),
    Check(write_failure_aborts.INVARIANT, write_failure_aborts.check),
    Check(canonical_intact.INVARIANT, canonical_intact.check),
    Check(effective_follows.INVARIANT, effective_follows.check),
    Check(survives_rebuild.INVARIANT, survives_rebuild.check),
    Check(one_log_each.INVARIANT, one_log_each.check),
    Check(beats_go_on.INVARIANT, beats_go_on.check),
    Check(drains.INVARIANT, drains.check),
    Check(scope.INVARIANT, scope.check),
    Check(honest_operator.INVARIANT, honest_operator.check),
    Check(coverage.INVARIANT, coverage.check),
)

#: Beside those, on histories with a workload. Source: PROTOCOL, "The framework's two invariants".
FRAMEWORK_CHECKS: tuple[Check, ...] = (
    Check(no_self_trigger.INVARIANT, no_self_trigger.check),
    Check(guard_not_silenced.INVARIANT, guard_not_silenced.check),
)

__all__ = [
    "CHECKS",
    "FATES",
    "FRAMEWORK_CHECKS",
    "Check",
    "CheckError",
    "Decision",
    "Finding",
    "Invariant",
    "Judgement",
    "Link",
    "PostFate",
    "Threshold",
    "Unknown",
    "Verdict",
    "World",
    "decide",
    "judge",
    "load_checks",
]
