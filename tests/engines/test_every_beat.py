"""An engine that sleeps through beats that cannot matter writes the same history as the loop that plays every beat."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.engines.mixes import MIXES, cases, scenario_of, scenarios
from tests.engines.oracle import every_beat

from fleetbeat.engines.des import run
from fleetbeat.history.diff import part
from fleetbeat.history.records import Record

CASES = dict(cases())


def _agree(data: dict[str, Any]) -> list[Record]:
    """Plays a scenario in both ways. Fails with the first record at which they part, and those before it."""
    scenario = scenario_of(data)
    skipped, walked = run(scenario), every_beat(scenario)
    if skipped != walked:
        parting = part(skipped, walked)
        assert parting is not None, "records differ that are written alike"
        before = "\n".join(map(str, walked[max(0, parting.index - 4) : parting.index]))
        pytest.fail(f"{data}\n{before}\nskipping beats: {parting.left}\nplaying every beat: {parting.right}")
    return walked


def test_the_cases_cover_each_mix_with_each_jitter() -> None:
    assert len(CASES) == 56
    covered = {(name.split(": ")[1], name.split(": ")[0].split(", ")[2]) for name in CASES}
    assert len(covered) == 4 * len(MIXES)


@pytest.mark.parametrize("data", CASES.values(), ids=CASES)
def test_the_history_is_that_of_the_loop_that_plays_every_beat(data: dict[str, Any]) -> None:
    kinds = Counter(record.kind for record in _agree(data))
    assert kinds["post.complete"] + kinds["post.end"] > 3
    assert kinds["beats"] > 3


@pytest.mark.slow
@settings(
    max_examples=600, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)  # the same examples every time: a search for new ones is made by hand, with more of them
@given(scenarios())
def test_the_history_is_that_of_the_loop_that_plays_every_beat_in_any_scenario(data: dict[str, Any]) -> None:
    _agree(data)
