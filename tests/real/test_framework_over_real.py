"""The framework over real directories: real processes beat, and cores have the rules that prompts were seen to hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.real.ground import ground  # noqa: F401

from fleetbeat.checks import judge
from fleetbeat.engines import ENGINES
from fleetbeat.scenario.load import load

pytestmark = pytest.mark.slow

SCENARIO = """
name: over-real
duration: 6s
fleet:
  agents: 3
  heartbeat: {interval: 500ms}
  lifecycle: {crashes: [{agents: a-1, at: 3s, restart: 500ms}]}
rollouts:
  - version: v1
    at: 1s
    targets: all
    body: |
      Be careful.
      ```yaml policies
      policies:
        - {gate: drop, on: tool.before, when: {command: "drop *"}, answer: deny}
        - {observer: homework, on: [prompt, ready], action: {prepare: {duration_s: 1}}}
      ```
workload:
  sessions: 3
  prompts: {per_hour: 36000, think: 50ms}
  turns: {calls: [1, 3], thought: 50ms, tool_time: 20ms}
  dangers: {share: 50%, kinds: [drop, rm]}
"""


@pytest.mark.parametrize("core", ["reference", "core-no-guard"])
def test_rules_rolled_out_to_real_processes_carry_policies(ground: Path, core: str) -> None:  # noqa: F811
    scenario = load(SCENARIO, overrides=[f"fleet.uid={_me()}", f"rollouts.0.uid={_me()}", f"fleet.core={core}"])
    records = ENGINES.engine("process")(scenario, root=ground / "root")
    prompts = [(r["agent"], r.t) for r in records if r.kind == "prompt" and r["norm"] is not None]
    in_force = [(r["agent"], r.t) for r in records if r.kind == "core.rules" and r["norm"] is not None]
    assert in_force == prompts
    assert {agent for agent, _ in in_force} == {"a-0", "a-1", "a-2"}
    asked = {r["agent"] for r in records if r.kind == "judged" and r["gate"] == "drop"}
    assert asked == {"a-0", "a-1", "a-2"}
    assert [r["life"] for r in records if r.kind == "core.begin" and r["agent"] == "a-1"] == [0, 1]
    outcomes = {one.invariant: (one.outcome, one.examined) for one in judge(records).verdicts}
    assert outcomes["guard-not-silenced"][0] == "held"
    assert outcomes["guard-not-silenced"][1] > 10
    assert outcomes["no-self-trigger"][0] == ("held" if core == "reference" else "broken")


def _me() -> int:
    import os

    return 1000 if os.geteuid() == 0 else os.geteuid()
