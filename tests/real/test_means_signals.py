"""Kills and pauses from outside: on real processes, at the planned times, each with the effect that it claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.real.means_stage import MS, RealStage, able, planned, scenario_of

from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.choices import Hashed
from fleetbeat.engines.real.means.processes import state_of

Play = Callable[..., RealStage]


def _seed(alone_ns: int) -> int:
    """A seed whose first arrival of fault p comes in the first tenths of a second, and the next long after it."""
    for seed in range(10_000):
        arrivals = Arrivals(Hashed(seed), "fault:p", "a-0", 3600.0)
        if 100 * MS < arrivals.time(0) < 300 * MS and arrivals.time(1) > arrivals.time(0) + alone_ns:
            return seed
    raise AssertionError


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Play]:
    """Two foreign agents under a plan, started."""
    stages = []

    def start(**fields: Any) -> RealStage:
        lifecycle = fields.pop("lifecycle", {})
        scenario = scenario_of(**{"fleet": {"agents": 2, "lifecycle": lifecycle}, **fields})
        stage = RealStage(tmp_path / f"run-{len(stages)}", scenario)
        stages.append(stage)
        stage.play(planned(scenario, on=able()))
        for name in stage.specs:
            stage.start(name)
        return stage

    yield start
    for stage in stages:
        stage.close()


def _counts(stage: RealStage) -> dict[str, tuple[int | None, int, int]]:
    assert stage.plan is not None
    return {one["fault"]: (one["planned"], one["fired"], one["observed"]) for one in stage.plan.counts()}


def test_a_planned_crash_kills_the_named_agent_at_its_time_and_it_starts_again(play: Play) -> None:
    stage = play(lifecycle={"crashes": [{"agents": "a-1", "at": "300ms", "restart": "100ms"}]})
    before = stage.pid("a-1")
    stage.until(lambda: stage.lives["a-1"] == 1, "its second life")
    [end] = [fields for kind, fields in stage.told if kind == "life.end"]
    assert (end["agent"], end["fault"]) == ("a-1", "crash-0")
    assert end["t"] >= 300 * MS
    assert state_of(before) is None
    assert stage.pid("a-0") is not None
    assert stage.faults() == []  # as in the simulation: the end of its life says why
    assert _counts(stage) == {"crash-0": (1, 1, 1)}


def test_a_crash_of_one_that_is_down_is_planned_and_does_not_fire(play: Play) -> None:
    stage = play(lifecycle={"crashes": [{"agents": "a-0", "at": "100ms"}, {"agents": "a-0", "at": "200ms"}]})
    stage.until(lambda: stage.now() > 250 * MS, "both")
    assert _counts(stage) == {"crash-0": (1, 1, 1), "crash-1": (1, 0, 0)}


def test_pauses_at_a_rate_stop_the_process_and_let_it_go_on(play: Play) -> None:
    fault = {"id": "p", "agents": "a-0", "pause": "200ms", "per_hour": 3600, "to": "4s"}
    stage = play(faults=[fault], seed=_seed(1500 * MS))
    stage.until(lambda: "resumed" in stage.kinds(), "a pause and its end")
    assert stage.pid("a-0") is not None
    kinds = [kind for kind in stage.kinds() if kind in ("fault", "pause", "stopped", "resumed")]
    assert kinds[:4] == ["fault", "stopped", "pause", "resumed"]
    told = dict(reversed(stage.told))
    assert told["resumed"]["t"] - told["stopped"]["t"] >= 200 * MS
    assert (told["pause"]["what"], told["pause"]["fault"]) == ("process", "p")
    planned_times, fired, observed = _counts(stage)["p"]
    assert fired == observed >= 1
    assert planned_times is not None
    assert planned_times >= fired
    stage.applied("a-0", "after")


def test_a_process_that_stands_still_does_nothing_until_it_goes_on(play: Play) -> None:
    fault = {"id": "p", "agents": "a-0", "pause": "500ms", "per_hour": 3600, "to": "8s"}
    stage = play(faults=[fault], seed=_seed(1500 * MS))
    stage.until(lambda: "stopped" in stage.kinds(), "a pause")
    stage.until(lambda: state_of(stage.pid("a-0")) == "T", "it to stand")
    stage.post("a-0", "one")
    stage.applied("a-1", "one")
    assert stage.canonical("a-0") is None
    stage.until(lambda: stage.canonical("a-0") == "one", "it to go on")
    assert "resumed" in stage.kinds()


def test_a_crash_ends_a_pause_and_the_next_life_runs(play: Play) -> None:
    pause = {"id": "p", "agents": "a-0", "pause": "5s", "per_hour": 3600}
    stage = play(faults=[pause], seed=_seed(1500 * MS))
    stage.until(lambda: "stopped" in stage.kinds(), "a pause")
    stage.crash("a-0", "test", 0)
    stage.until(lambda: stage.lives["a-0"] == 1, "its second life")
    stage.until(lambda: state_of(stage.pid("a-0")) in ("S", "R"), "it to run")


def test_who_stands_at_the_end_is_let_go_so_that_it_can_end(play: Play) -> None:
    stage = play(faults=[{"id": "p", "agents": "a-0", "pause": "1h", "per_hour": 3600}], seed=_seed(1500 * MS))
    stage.until(lambda: "stopped" in stage.kinds(), "a pause")
    stage.until(lambda: state_of(stage.pid("a-0")) == "T", "it to stand")
    assert stage.plan is not None
    stage.plan.remove(stage)
    stage.until(lambda: state_of(stage.pid("a-0")) in ("S", "R"), "it to go on")
