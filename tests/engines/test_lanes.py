"""Actors that act ahead of the clock write the history that they would have written in step with it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engines.mixes import scenario_of
from tests.engines.oracle import every_beat
from tests.engines.worlds import MS, of, post, scenario

from fleetbeat.engines import recorder
from fleetbeat.engines.des import clock, run
from fleetbeat.engines.des.lanes import lanes_of
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents

#: Times of posts, ns after the first: many at once, some a few operations apart, some on the same nanosecond.
APART = st.sampled_from([0, 0, 1, 10_000, 60_000, 200_000, 1_000_000, 400_000_000, 3_000_000_000])
LATENCY = st.sampled_from(
    [
        {},
        {"write": "1ns", "stat": "1ns"},
        {"unlink": {"kind": "uniform", "low": "1us", "high": "900us"}},
        {"read": "300ms"},
    ]
)
FAULTS = st.sampled_from(
    [
        {"operation": "unlink", "probability": 0.4, "error": "EIO"},
        {"operation": "stat", "probability": 0.3, "error": "EACCES"},
        {"operation": "write", "occurrence": [1, 3], "error": "ENOSPC", "effect": "partial"},
        {"operation": "read", "probability": 0.5, "delay": "700us"},
        {"on": "operators", "operation": "rename", "occurrence": [1], "error": "EIO", "effect": "after"},
        {"on": "operators", "operation": "write", "probability": 0.4, "delay": {"kind": "exponential", "mean": "1ms"}},
    ]
)


@st.composite
def crowds(draw: st.DrawFn) -> dict[str, Any]:
    """A plain world in which several operators meet at the same few agents."""
    at, rollouts = draw(st.sampled_from([2_000_000_000, 2_499_900_000, 3_000_000_000])), []
    for number in range(draw(st.integers(1, 4))):
        at += draw(APART)
        rollouts.append(
            {
                "version": f"v{number}",
                "operator": draw(st.sampled_from(["op", "bob"])),
                "at": f"{at}ns",
                "targets": draw(st.sampled_from(["all", "a-0"])),
                "body": draw(st.sampled_from(["be kind", "be kinder", "  "])),
                "write": draw(st.sampled_from(["atomic", "in-place", "cross-device", "shared-temp", "atomic-synced"])),
                "chunk": draw(st.sampled_from([3, 65536])),
                "spacing": draw(st.sampled_from(["0", "15us", "2s"])),
                "verify": draw(st.sampled_from(["none", "disappearance", "canonical", "effective"])),
                "poll": draw(st.sampled_from(["1ms", "250ms", "1s"])),
                "timeout": "2s",
                "retries": draw(st.integers(0, 2)),
                "stop_on_failure": draw(st.booleans()),
                "latency": draw(LATENCY),
            }
        )
    heartbeat = {
        "mode": draw(st.sampled_from(["fixed-delay", "fixed-rate"])),
        "interval": "1s",
        "phase": draw(st.sampled_from(["aligned", "random"])),
        "jitter": draw(st.sampled_from(["none", {"kind": "normal", "sd": "50ms"}])),
    }
    fleet = {"agents": draw(st.integers(1, 3)), "heartbeat": heartbeat, "latency": draw(LATENCY)}
    return {
        "seed": draw(st.integers(0, 99)),
        "duration": "9s",
        "fleet": fleet,
        "faults": draw(st.lists(FAULTS, max_size=2)),
        "rollouts": rollouts,
    }


def _is_plain(world: Scenario) -> bool:
    return lanes_of(world, agents(world), False) is not None


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(crowds())
def test_operators_and_heartbeats_that_meet_write_the_history_of_the_plain_loop(data: dict[str, Any]) -> None:
    world = scenario_of(data)
    assert _is_plain(world)
    assert run(world) == every_beat(world)


@pytest.mark.slow
@settings(max_examples=1_500, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(crowds())
def test_many_more_crowds_write_the_history_of_the_plain_loop(data: dict[str, Any]) -> None:
    world = scenario_of(data)
    assert run(world) == every_beat(world)


def test_a_busy_beat_in_an_empty_lane_waits_for_no_instant_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing here would say that anybody acts ahead at all."""
    asked: list[str] = []
    instant = clock.Clock.instant

    def counted(self: clock.Clock, at_ns: int, tie: recorder.Tie) -> clock.Instant:
        asked.append(tie.step.operation)
        return instant(self, at_ns, tie)

    monkeypatch.setattr(clock.Clock, "instant", counted)
    history = run(scenario(post("v1", "2500ms"), fleet={"agents": 4}))
    assert len(of(history, "op", role="beat", operation="unlink")) == 4
    assert asked.count("unlink") == asked.count("compose") == asked.count("emit") == 0
    asked.clear()
    every_beat(scenario(post("v1", "2500ms"), fleet={"agents": 4}))
    assert asked.count("unlink") == asked.count("emit") == 4


@pytest.mark.parametrize(
    "parts",
    [
        {"fleet": {"lifecycle": {"rebuilds": [{"at": "3s", "beside_beat": True}]}}},
        {"fleet": {"lifecycle": {"crashes": [{"agents": "all", "at": "3s"}]}}},
        {"fleet": {"lifecycle": {"suspend": [{"from": "1s", "to": "3s"}]}}},
        {"fleet": {"hosts": [{"name": "h", "disk": "4KiB"}]}},
        {"fleet": {"heartbeat": {"stalls": {"per_hour": 60, "length": "1s"}}}},
        {"faults": [{"operation": "unlink", "occurrence": 1, "crash": "after"}]},
        {"faults": [{"per_hour": 60, "pause": "1s"}]},
        {"rollouts": [post("v2", "3s", order="one-by-one")]},
        {"rollouts": [post("v2", "3s", waves=[{"upto": "50%"}, {"upto": "100%"}])]},
    ],
)
def test_nobody_acts_ahead_where_something_else_could_come_between(parts: dict[str, Any]) -> None:
    fleet = {"agents": 2, **parts.get("fleet", {})}
    assert not _is_plain(scenario(*parts.get("rollouts", ()), fleet=fleet, faults=parts.get("faults", [])))


def test_a_body_that_nobody_posted_is_told_of_before_it_is_mentioned() -> None:
    """Halves of failed writes are met by many agents, not in the order in which they are played."""
    half = {"operation": "write", "occurrence": [1], "error": "ENOSPC", "effect": "partial"}
    start = {"signal": "file", "signal_text": "what lay there"}
    fleet = {"agents": 30, "heartbeat": {"interval": "300ms"}, "start": start}
    world = scenario(fleet=fleet, faults=[half])
    assert _is_plain(world)
    history = run(world)
    assert history == every_beat(world)
    met: dict[str, int] = {}
    for record in history:
        if record.kind == "body" and record["origin"] == "unknown":
            met[record["body"]] = 0
        elif record.kind == "canonical" and record["body"] in met:
            met[record["body"]] += 1
    assert max(met.values()) == 30


def test_an_interrupted_run_ends_behind_what_was_done_ahead_of_the_clock() -> None:
    ticks: list[int] = []

    def interrupt(now_ns: int) -> None:
        ticks.append(now_ns)
        if len(ticks) == 20:
            raise KeyboardInterrupt

    history = run(scenario(post("v1", "2500ms"), duration="20s", fleet={"agents": 5}), progress=interrupt)
    assert history[-1]["reason"] == "interrupted"
    assert all(a.t <= b.t for a, b in pairwise(history))
    assert 4_000 * MS <= history[-1].t < 6_000 * MS
    whole = run(scenario(post("v1", "2500ms"), duration="20s", fleet={"agents": 5}))
    done = [record for record in history if record.kind not in ("beats", "end")]
    assert done == [record for record in whole if record.kind not in ("beats", "end")][: len(done)]
    assert all(record["last_start"] <= history[-1].t for record in of(history, "beats"))


def test_many_ties_drawn_at_once_are_those_drawn_one_by_one() -> None:
    import numpy  # noqa: F401  whoever has many ties has imported it

    rollouts = [post("v1", "2s"), post("v2", "2s", operator="bob")]
    world = scenario(*rollouts, fleet={"agents": recorder.MANY + 20}, duration="5s")
    at_once = run(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "MANY", 1 << 40)
        assert run(world) == at_once
