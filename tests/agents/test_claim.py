"""The claim agent breaks nothing inside its fault model, and does what its README says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.agents.attack import SHORT, plans, played, wild, wrong
from tests.engines.worlds import fates, of, play, post, shown

from fleetbeat.checks import judge
from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load

QUICK = ("lost-update", "poison-body", "crash-between-unlink-and-write", "late-spawn", "flaky-disk")
LONG = ("aligned-heartbeats", "canary-rollout", "everyone-at-once", "full-disk", "rebuild-storm", "two-operators")


def claim(*rollouts: dict[str, Any], **parts: Any) -> list[Record]:
    fleet = {"agent": "claim", **parts.pop("fleet", {})}
    return play(*rollouts, fleet=fleet, **parts)


# --- attacks ---


def _breaks(name: str) -> set[tuple[str, str]]:
    shorter = ["duration=100s"] if name == "rebuild-storm" else []
    judgement = judge(run(load(find(name), overrides=["fleet.agent=claim", *shorter])))
    return {(one.kind, one.cause) for v in judgement.verdicts for one in v.findings if one.kind != "hazard"}


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_it_breaks_nothing_in_a_scenario_whose_writers_rename(name: str) -> None:
    assert _breaks(name) == set()


def test_a_writer_in_place_breaks_it_and_is_to_blame() -> None:
    assert _breaks("in-place-writer") == {("violation", "writer")}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("worlds", [range(60), pytest.param(range(60, 700), marks=pytest.mark.slow)])
def test_it_breaks_nothing_in_wild_worlds(worlds: range, wide: bool) -> None:
    for number in worlds:
        assert wrong(run(load(json.dumps(wild(number, wide)), name="wild"))) == [], number


@pytest.mark.parametrize("world", SHORT)
@pytest.mark.parametrize("part", [0, pytest.param(None, marks=pytest.mark.slow)])
def test_it_breaks_nothing_whatever_befalls_any_one_operation(world: str, part: int | None) -> None:
    """The fast part takes every 23rd case; 23 and the number of modes have no common factor."""
    for number, plan in enumerate(plans(world)):
        if part is None or number % 23 == part:
            assert wrong(played(world, plan, seed=number)) == [], (world, plan, number)


def test_the_attack_finds_the_reference_agent_out() -> None:
    some = list(plans("two posts", "reference"))[::7]
    found = [line for plan in some for line in wrong(played("two posts", plan, agent="reference"))]
    broken = {line.split(":")[0] for line in found}
    assert {"no-silent-loss", "canonical-intact", "survives-rebuild"} <= broken


# --- what it promises ---


def test_an_idle_beat_looks_once_and_is_skipped() -> None:
    history = claim(post("v1", "5500ms"), duration="20s")
    spans = of(history, "beats")
    assert {tuple(span["ops"].items()) for span in spans} == {(("stat", 1),)}
    assert [beat["beat"] for beat in of(history, "beat")] == [6]


def test_a_post_into_the_beat_that_handles_another_is_the_next_beats() -> None:
    history = claim(post("v1", "5500ms"), post("v2", "6500ms"), fleet={"latency": {"rename": "200ms"}}, duration="12s")
    assert fates(history) == {"v1/a-0#1": "applied", "v2/a-0#1": "applied"}, shown(history)


def test_a_failed_write_is_logged_each_time_and_made_up_for() -> None:
    fault = {"operation": "write", "path": "system/rules.md.new", "occurrence": [1, 2], "error": "EIO"}
    history = claim(post("v1", "5500ms"), faults=[fault], duration="12s")
    assert [log["event"] for log in of(history, "log")] == ["rules_write_error"] * 2 + ["rules_loaded"]
    assert fates(history) == {"v1/a-0#1": "applied"}
    assert wrong(history) == []


def test_a_newer_signal_takes_the_place_of_one_whose_failure_is_logged() -> None:
    fault = {"operation": "write", "path": "system/rules.md.new", "occurrence": [1, 2], "error": "EIO"}
    history = claim(post("v1", "5500ms"), post("v2", "6500ms"), faults=[fault], duration="12s")
    assert fates(history) == {"v1/a-0#1": "failed", "v2/a-0#1": "applied"}
    assert wrong(history) == []


def test_a_newer_signal_waits_while_the_failure_could_not_be_logged() -> None:
    faults = [
        {"operation": "write", "path": "system/rules.md.new", "occurrence": [1, 2], "error": "EIO"},
        {"operation": "emit", "occurrence": [1, 2], "error": "EIO"},
    ]
    history = claim(post("v1", "5500ms"), post("v2", "6500ms"), faults=faults, duration="12s")
    assert fates(history) == {"v1/a-0#1": "applied", "v2/a-0#1": "applied"}
    assert [record.t // 10**9 for record in of(history, "signal", event="moved")] == [6, 8]


def test_a_claim_that_cannot_be_read_is_set_aside_once_something_newer_waits() -> None:
    fault = {"operation": "open", "path": ".rules.claimed", "from": "6s", "to": "9500ms", "error": "EIO"}
    history = claim(post("v1", "5500ms"), post("v2", "8500ms"), faults=[fault], duration="15s")
    assert fates(history) == {"v1/a-0#1": "rejected", "v2/a-0#1": "applied"}, shown(history)
    assert [r.t // 10**9 for r in of(history, "log", event="rules_rejected")] == [9]


def test_a_body_that_does_not_decode_is_set_aside_and_logged_before_it_is_moved() -> None:
    poison = {"version": "v1", "at": "5500ms", "targets": "all", "base64": "/3f/", "mark": False}
    history = claim(poison, post("v2", "7500ms"), duration="12s")
    assert fates(history) == {"v1/a-0#1": "rejected", "v2/a-0#1": "applied"}
    story = [r for r in history if r.kind == "log" or (r.kind == "op" and r["operation"] == "rename")]
    assert [r.get("event") or r["path"] for r in story if 6 * 10**9 < r.t < 7 * 10**9] == [
        ".rules",
        "rules_rejected",
        ".rules.claimed",
    ]


@pytest.mark.parametrize("step", ["rename", "unlink"])
def test_a_life_that_ends_with_a_claim_leaves_it_to_the_next_one(step: str) -> None:
    path = {"rename": "system/rules.md.new", "unlink": ".rules.claimed"}[step]
    fault = {"operation": step, "path": path, "occurrence": 1, "crash": "before", "restart": "2s"}
    history = claim(post("v1", "5500ms"), faults=[fault], duration="12s")
    assert fates(history) == {"v1/a-0#1": "applied"}
    assert len(of(history, "log", event="rules_loaded")) == 1
    boot = of(history, "rebuild.end", life=1)[0]
    removed = [r for r in of(history, "op", operation="unlink", path=".rules.claimed") if r["life"] == 1]
    assert removed[0]["role"] == "boot"
    assert removed[0].t <= boot.t


def test_a_failed_flush_is_done_again_and_logged_once() -> None:
    fault = {"operation": "rename", "path": "system/system.md.new", "occurrence": [2, 3], "error": "EIO"}
    history = claim(post("v1", "5500ms"), faults=[fault], duration="12s")
    assert [log["event"] for log in of(history, "log")] == ["rules_flush_error"] * 2 + ["rules_loaded"]
    assert wrong(history) == []


def test_the_prompt_is_never_seen_torn() -> None:
    for seed in range(10):
        crash = {"operation": "sync", "path": "system/system.md.new", "probability": 0.5, "crash": "before"}
        faults = [{**crash, "power": True, "unsynced": "random", "restart": "400ms"}]
        history = claim(post("v1", "5500ms", write="atomic-synced"), faults=faults, duration="12s", seed=seed)
        assert {record["state"] for record in of(history, "prompt")} <= {"whole", "missing"}


def test_a_missing_system_directory_is_made_again_and_outlives_the_power() -> None:
    """The agent makes `system/` where it is gone: its parent is synced before canonical counts as safe."""
    history = claim(post("v1", "5500ms"), duration="8s")
    order = [(r["operation"], r["path"]) for r in of(history, "op", role="beat") if r["path"] in ("system", "/a-0")]
    assert order.index(("mkdir", "system")) < order.index(("sync", "/a-0")) < order.index(("sync", "system"))
