"""What the framework makes of bodies on their way from a rollout to a core."""

from __future__ import annotations

import json

from tests.framework.bodies import policies

from fleetbeat.checks import judge
from fleetbeat.engines import ENGINES
from fleetbeat.scenario.load import load

GATE = "gate: g, on: tool.before, when: {command: 'curl *'}, answer: deny"


def test_a_body_with_the_line_ends_of_windows_brings_its_policies() -> None:
    """An agent reads it with newlines translated, and so it is that text that is in effect."""
    body = json.dumps(policies(GATE).replace("\n", "\r\n"))
    scenario = load(
        f"name: w\nduration: 60s\nfleet: {{agents: 1}}\nrollouts: [{{version: v1, at: 3s, targets: all, body: {body}}}]\n"
        "workload: {dangers: {share: 50%, kinds: fetch}, prompts: {per_hour: 900}}\n"
    )
    records = ENGINES.engine("des")(scenario)
    assert [record for record in records if record.kind == "unseen"] == []
    (found,) = [record for record in records if record.kind == "policies" and record["gates"]]
    assert ([gate["id"] for gate in found["gates"]], found["error"]) == (["g"], None)
    asked = {record["gate"] for record in records if record.kind == "judged"}
    assert asked == {"g", "rm-rf"}
    assert judge(records).verdicts[-1].outcome == "held"
