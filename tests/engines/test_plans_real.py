"""A plan on real processes sees and decides what it does in the simulation."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real.ground import ground, scenario  # noqa: F401

from fleetbeat.checks import judge
from fleetbeat.engines.des import run as simulated
from fleetbeat.engines.process import run
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.history.records import Record
from fleetbeat.history.shape import problem
from fleetbeat.metrics.exposure import plans
from fleetbeat.metrics.facts import gather

TEXT = """\
name: gated
duration: 5500ms
fleet:
  agents: 6
  heartbeat: {interval: 150ms}
  start: {rules: Old.}
faults:
  - {id: full, operation: write, agents: all, error: ENOSPC, from: 3s}
rollouts:
  - version: v1
    at: 300ms
    targets: all
    body: Be kind.
    waves: [{upto: 50%, bake: 800ms, approval: 200ms}, {upto: 100%, bake: 800ms}]
    gate: {every: 400ms, effective: 100%, violations: 0, write_errors: 0, lag: {below: 1s}}
  - version: v2
    at: 3s
    targets: all
    body: Be brief.
    bad: true
    waves: [{upto: 50%, bake: 800ms}, {upto: 100%}]
    gate: {every: 400ms, write_errors: 0}
    on_failure: rollback
    rollback_to: v1
"""


def decided(history: list[Record]) -> list[tuple[str, str, int]]:
    """What the operator decided, without the looks in between: how many fit into a time depends on the machine."""
    kept = [r for r in history if r.kind in ("plan", "wave", "gate") and r["event"] != "look"]
    return [(r["rollout"], r["event"], r["wave"]) for r in kept]


@pytest.mark.slow
def test_a_real_operator_stops_where_the_simulated_one_does(ground: Path) -> None:  # noqa: F811
    plan = scenario(ground, TEXT)
    real, made = run(plan), simulated(plan)
    assert decided(real) == decided(made)
    assert ("v2", "failed", 1) in decided(real)
    assert [(one.end, one.then, one.at_end) for one in plans(gather(real))] == [
        (one.end, one.then, one.at_end) for one in plans(gather(made))
    ]
    failed = next(r for r in real if r.kind == "gate" and r["event"] == "failed")
    assert failed["why"] == "3 write errors, at most 0"
    assert [problem(r.kind, r.fields) for r in real if problem(r.kind, r.fields)] == []
    assert {verdict.outcome for verdict in judge(real).verdicts} == {"held"}


def test_errors_that_a_version_causes_are_refused_before_anything_starts(ground: Path) -> None:  # noqa: F811
    plan = scenario(ground, TEXT.replace("bad: true", "errors_per_hour: 20"))
    with pytest.raises(CannotDo, match=r"rollouts.1.errors_per_hour: got 20, expected 0: only in the simulation"):
        run(plan)
    assert [path.name for path in ground.iterdir()] == ["s.yaml"]
