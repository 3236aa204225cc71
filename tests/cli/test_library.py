"""Every scenario of the library through the whole of it: what an engine writes can be read, and tables agree with fates."""

from __future__ import annotations

import io

import pytest

from fleetbeat.checks import judge
from fleetbeat.checks.lag import reached
from fleetbeat.engines import ENGINES
from fleetbeat.history import jsonl
from fleetbeat.history.records import Record
from fleetbeat.history.strip import without_bodies
from fleetbeat.metrics import measure
from fleetbeat.scenario.library import find, scenarios
from fleetbeat.scenario.load import load

#: Takes some ten seconds each time.
SLOW = ("rebuild-storm",)
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in sorted(scenarios())]


def played(name: str) -> list[Record]:
    return ENGINES.engine("des")(load(find(name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_history_from_its_file_is_judged_and_measured_like_the_one_in_memory(name: str) -> None:
    records = played(name)
    again = jsonl.parse(io.BytesIO(jsonl.dumps(records)), name)
    judgement = judge(records)
    metrics = measure(records, judgement)
    assert judge(again) == judgement
    assert measure(again, judgement) == metrics
    assert judge(without_bodies(again)) == judgement
    of_operators = [record for record in records if record.kind == "rollout" and record["write"] != "hand-down"]
    assert len(metrics.convergence) == len({rollout["version"] for rollout in of_operators})
    for row in metrics.convergence:
        targets = {
            agent for rollout in of_operators if rollout["version"] == row.version for agent in rollout["targets"]
        }
        times = reached(judgement.fates, row.version, row.began or 0)
        by_fates = {agent: ns for agent, ns in times.items() if agent in targets}
        assert row.reached == len(by_fates), row.version
        assert row.p100 == (max(by_fates.values()) if len(by_fates) == row.targets else None)
