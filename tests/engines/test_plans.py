"""Rollout plans: what a gate sees, when it stops a rollout, what comes after, and that it is told nothing it cannot see."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engines.oracle import every_beat
from tests.engines.test_every_beat import _nobody_sleeps
from tests.engines.worlds import MS, S, fates, of, play, post, scenario, shown

from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.history.shape import problem
from fleetbeat.metrics.exposure import plans
from fleetbeat.metrics.facts import gather

FLEET = {"agents": 10, "start": {"rules": "old"}}
HALVES = [{"upto": "50%", "bake": "5s"}, {"upto": "100%", "bake": "5s"}]
BACK = {"on_failure": "rollback", "rollback_to": "v1"}


def planned(version: str = "v2", at: str = "10s", **more: Any) -> dict[str, Any]:
    return post(version, at, **{"waves": HALVES, **more})


def turns(history: list[Record], rollout: str = "v2") -> list[str]:
    return [record["event"] for record in of(history, "plan", rollout=rollout)]


def looks(history: list[Record], rollout: str = "v2") -> list[Record]:
    return of(history, "gate", rollout=rollout)


def begins(history: list[Record], rollout: str = "v2") -> list[int]:
    return [record.t for record in of(history, "wave", rollout=rollout, event="begin")]


def test_a_gate_that_sees_the_version_lets_the_next_wave_go_when_its_bake_is_over() -> None:
    history = play(planned(gate={"every": "2s", "effective": "100%"}), fleet=FLEET, duration="30s")
    first, second = begins(history)
    assert (first, second // S) == (10 * S, 15)
    assert turns(history) == ["finished"]
    assert [(look["wave"], look["event"], look["seen"]["effective"]) for look in looks(history)] == [
        (1, "look", 0), (1, "look", 5), (1, "look", 5), (1, "passed", 5),
        (2, "look", 5), (2, "look", 10), (2, "look", 10), (2, "passed", 10),
    ]  # fmt: skip


def test_a_rollout_without_waves_is_one_wave_whose_gate_looks_once() -> None:
    history = play(
        post("v1", "1s"), post("v2", "10500ms", gate={"effective": "100%"}, **BACK), fleet=FLEET, duration="30s"
    )
    assert [look["event"] for look in looks(history)] == ["failed"]
    assert turns(history) == ["rollback", "rolled-back"]
    assert {fate for name, fate in fates(history).items() if name.startswith("v2/")} == {"superseded"}


def test_a_version_that_half_of_a_wave_does_not_hold_goes_no_further() -> None:
    asleep = {**FLEET, "lifecycle": {"suspend": [{"agents": "50%", "from": "1s", "to": "29s"}]}}
    history = play(planned(gate={"effective": "90%"}), fleet=asleep, duration="30s")
    assert len(begins(history)) == 1, shown(history)
    assert turns(history) == ["aborted"]
    assert "effective on" in looks(history)[-1]["why"]


def test_write_errors_stop_a_rollout_at_the_first_look_that_sees_them_and_others_errors_do_not() -> None:
    fault = {"operation": "write", "error": "ENOSPC", "agents": "all"}
    history = play(planned(gate={"every": "1s", "write_errors": 0}), fleet=FLEET, faults=[fault], duration="30s")
    failed = looks(history)[-1]
    assert (failed["event"], failed["seen"]["write_errors"]) == ("failed", 5)
    assert failed.t < 12 * S, "the bake lasts until 15 s"
    before = post("v1", "1s")
    earlier = {**fault, "from": "0s", "to": "5s"}
    history = play(before, planned(gate={"write_errors": 0}), fleet=FLEET, faults=[earlier], duration="30s")
    assert turns(history) == ["finished"], "what an agent logged before it was posted to is not of this version"


def test_a_prompt_that_stays_torn_is_a_violation_and_one_that_holds_what_it_held_before_is_none() -> None:
    torn = {"operation": "flush", "error": "ENOSPC", "effect": "partial", "from": "9s", "agents": "all"}
    gate = {"every": "1s", "violations": 0}
    history = play(planned(gate=gate), fleet=FLEET, faults=[torn], duration="30s")
    assert turns(history) == ["aborted"]
    assert looks(history)[-1]["why"].endswith("violations, at most 0")
    slow = {**FLEET, "heartbeat": {"interval": "40s", "phase": "aligned"}}
    history = play(planned(gate=gate), fleet=slow, duration="30s")
    assert [look["seen"]["effective"] for look in looks(history)][-1] == 0
    assert turns(history) == ["finished"], "nobody had a beat yet: what they hold is what they held"


def test_a_look_into_the_middle_of_a_flush_is_repeated_before_it_counts() -> None:
    slow = {"operation": "flush", "delay": "60ms", "agents": "all"}
    gate = {"every": "20ms", "violations": 0, "effective": "100%"}
    history = play(planned(gate=gate), fleet={**FLEET, "agents": 2}, faults=[slow], duration="30s")
    assert turns(history) == ["finished"]
    spans = [look.t - before.t for before, look in zip(looks(history), looks(history)[1:], strict=False)]
    assert max(spans) > 100 * MS, "some look met a torn prompt, and looked again"


def test_another_text_in_its_place_is_a_violation_for_an_operator_who_knows_nothing_of_it() -> None:
    other = post("v3", "12s", operator="other")
    history = play(planned(gate={"every": "1s", "violations": 0}), other, fleet=FLEET, duration="30s")
    assert turns(history) == ["aborted"]
    assert looks(history)[-1].t > 12 * S


def test_the_lag_of_a_gate_is_the_first_look_that_saw_the_version_and_a_poll_counts_as_one() -> None:
    gate = {"every": "4s", "lag": {"quantile": 1, "below": "3s"}}
    history = play(planned(gate=gate), fleet=FLEET, duration="30s")
    assert turns(history) == ["aborted"]
    assert looks(history)[-1]["lag"] // (100 * MS) == 40
    slow = {**FLEET, "lifecycle": {"suspend": [{"agents": "a-0", "from": "9s", "to": "14s"}]}}
    polled = {"verify": "effective", "poll": "100ms", "timeout": "8s", "waves": []}
    gate = {"lag": {"quantile": 0.5, "below": "2s"}}
    history = play(planned(gate=gate, **polled), fleet=slow, duration="40s")
    assert looks(history)[0].t > 13 * S, "the wave was not reported before the slowest target was"
    assert (turns(history), looks(history)[0]["lag"] <= 1100 * MS) == (["finished"], True)


def test_a_target_that_never_was_seen_waited_longer_than_any_gate_allows() -> None:
    slow = {**FLEET, "heartbeat": {"interval": "20s", "phase": "aligned"}}
    history = play(planned(gate={"lag": {"below": "1h"}}), fleet=slow, duration="30s")
    assert looks(history)[-1]["why"] == "lag p99 not reached, below 1h00m00s"


def test_errors_that_a_version_causes_are_counted_for_each_hour_and_target() -> None:
    waves = [{"upto": "50%", "bake": "10m"}, {"upto": "100%", "bake": "10m"}]
    parts = {"waves": waves, "gate": {"every": "1m", "errors_per_hour": 10}}
    for rate, ends in ((40, ["aborted"]), (1, ["finished"])):
        history = play(planned(errors_per_hour=rate, **parts), fleet=FLEET, duration="30m")
        assert turns(history) == ends
    logged = of(play(planned(errors_per_hour=40, **parts), fleet=FLEET, duration="30m"), "log", event="agent_error")
    assert {record["agent"] for record in logged} <= {f"a-{n}" for n in range(10)}
    assert 15 <= len([record for record in logged if record.t < 610 * S]) <= 60, "5 agents, 10 minutes, 40 an hour: 33"


def test_no_gate_is_told_which_version_is_bad() -> None:
    parts = {"gate": {"every": "1s", "effective": "100%", "errors_per_hour": 3000}, "errors_per_hour": 600}
    good, bad = (
        play(post("v1", "1s"), planned(bad=truth, **parts, **BACK), fleet=FLEET, duration="40s")
        for truth in (False, True)
    )
    assert of(good, "truth") != of(bad, "truth")
    assert [r for r in good if r.kind != "truth"] == [r for r in bad if r.kind != "truth"]


def test_errors_come_at_the_same_times_whatever_the_plan() -> None:
    def errors(**more: Any) -> set[tuple[int, str]]:
        history = play(post("v2", "10s", errors_per_hour=200, **more), fleet=FLEET, duration="10m")
        return {(record.t, record["agent"]) for record in of(history, "log", event="agent_error")}

    at_once, in_waves = errors(), errors(waves=HALVES, gate={"effective": "100%"})
    assert in_waves < at_once
    assert all(t < 20 * S for t, _ in at_once - in_waves), "they differ only while the second wave had not come"


def test_a_rollback_posts_the_former_version_to_those_who_were_posted_to_and_to_nobody_else() -> None:
    fault = {"operation": "write", "error": "ENOSPC", "agents": "20%", "from": "9s", "to": "14s"}
    gate = {"effective": "100%"}
    history = play(post("v1", "1s"), planned(gate=gate, **BACK), fleet=FLEET, faults=[fault], duration="40s")
    assert turns(history) == ["rollback", "rolled-back"]
    told = of(history, "rollout", rollout="v2/rollback")
    wave = next(record for record in of(history, "rollout", rollout="v2"))["waves"][0]
    assert [(record["version"], record["operator"], record["targets"]) for record in told] == [("v1", "op~v2", wave)]
    back = of(history, "post.plan", operator="op~v2")
    assert sorted(record["agent"] for record in back) == sorted(wave)
    assert {fates(history)[record["post"]] for record in back} <= {"applied", "unchanged"}
    assert [plan.at_end for plan in plans(gather(history))] == [10, 0]


def test_a_rollback_races_with_a_post_that_nobody_has_read_yet() -> None:
    slow = {**FLEET, "heartbeat": {"interval": "30s", "phase": "aligned"}}
    history = play(post("v1", "1s"), planned(at="40s", gate={"effective": "100%"}, **BACK), fleet=slow, duration="100s")
    found = fates(history)
    assert {fate for name, fate in found.items() if name.startswith("v2/")} == {"superseded"}
    assert {fate for name, fate in found.items() if name.startswith("op~v2:")} == {"unchanged"}


def test_what_stops_a_wave_that_was_not_held_for_done_is_rolled_back_too() -> None:
    asleep = {**FLEET, "lifecycle": {"suspend": [{"agents": "all", "from": "9s", "to": "30s"}]}}
    parts = {"stop_on_failure": True, "verify": "effective", "timeout": "3s", **BACK}
    history = play(post("v1", "1s"), planned(**parts), fleet=asleep, duration="60s")
    assert turns(history) == ["rollback", "rolled-back"]
    assert [record["event"] for record in of(history, "wave", rollout="v2")] == ["begin", "stopped"]


@pytest.mark.parametrize("order", ["together", "one-by-one"])
def test_who_was_not_posted_to_when_a_wave_was_stopped_is_not_rolled_back(order: str) -> None:
    fault = {
        "on": "operators",
        "operation": "rename",
        "error": "EIO",
        "agents": "a-2",
        "from": "9s",
        "path": ".rules.*",
    }
    parts = {"stop_on_failure": True, "spacing": "1s", "order": order, "waves": [], **BACK}
    history = play(post("v1", "1s"), planned(**parts), fleet=FLEET, faults=[fault], duration="60s")
    assert turns(history) == ["rollback", "rolled-back"]
    assert [record["agent"] for record in of(history, "post.plan", version="v2")] == ["a-0", "a-1", "a-2"]
    assert of(history, "rollout", rollout="v2/rollback")[0]["targets"] == ["a-0", "a-1", "a-2"]


def test_a_person_takes_a_time_that_is_drawn_by_name_and_a_wave_waits_until_it_may_go() -> None:
    person = {"kind": "exponential", "mean": "10s"}
    waves = [{"upto": "50%", "bake": "5s", "approval": person}, {"upto": "100%"}]
    history = play(planned(waves=waves), fleet=FLEET, duration="200s")
    asked, approved, _ = of(history, "plan", rollout="v2")
    assert (asked["event"], approved["event"], asked.t // S) == ("asked", "approved", 15)
    more = {**FLEET, "agents": 12}
    again = play(planned(waves=waves), fleet=more, faults=[{"operation": "read", "error": "EIO"}], duration="200s")
    took = [record.t for record in of(again, "plan", rollout="v2")[:2]]
    assert took[1] - took[0] == approved.t - asked.t, "another fleet and another fault move no draw"
    held = [{"upto": "50%", "bake": "5s", "hold_until": "1m"}, {"upto": "100%"}]
    assert begins(play(planned(waves=held), fleet=FLEET, duration="200s"))[1] // S == 60


def test_a_person_sees_what_happened_while_the_question_lay_there() -> None:
    waves = [{"upto": "50%", "bake": "1s", "approval": "20s"}, {"upto": "100%"}]
    torn = {"operation": "flush", "error": "EIO", "effect": "partial", "from": "15s", "agents": "all"}
    lifecycle = {"rebuilds": [{"agents": "all", "at": "20s"}]}
    parts = {"fleet": {**FLEET, "lifecycle": lifecycle}, "faults": [torn], "duration": "60s"}
    history = play(planned(waves=waves, gate={"violations": 0}), **parts)
    assert turns(history) == ["asked", "aborted"]


@pytest.mark.parametrize(("restart", "ends"), [(None, ["died"]), ("2s", ["finished"])])
def test_an_operator_whose_look_kills_it_goes_on_only_if_it_starts_again(restart: str | None, ends: list[str]) -> None:
    dies = {"on": "operators", "operation": "open", "path": "system/system.md", "crash": "before", "occurrence": 2}
    fault = {**dies, "agents": "a-0", **({} if restart is None else {"restart": restart})}
    history = play(planned(gate={"effective": "100%"}, targets="all"), fleet=FLEET, faults=[fault], duration="60s")
    assert len(of(history, "fault")) == 1
    assert turns(history) == ends
    assert (len(begins(history)) == 2) == (ends == ["finished"])


def test_a_file_that_cannot_be_read_is_no_violation_and_not_effective() -> None:
    blind = {"on": "operators", "operation": "read", "path": "system/system.md", "error": "EIO", "agents": "all"}
    history = play(planned(gate={"violations": 0, "effective": "1%"}), fleet=FLEET, faults=[blind], duration="60s")
    seen = looks(history)[-1]["seen"]
    assert (seen["unread"], seen["violations"], seen["effective"]) == (5, 0, 0)
    assert turns(history) == ["aborted"]


def test_a_plan_is_played_alike_by_the_loop_that_plays_every_beat() -> None:
    """Faults, errors, a rollback: whoever sleeps must not miss a look's read or a rollback's post."""
    gate = {"every": "3s", "effective": "80%", "violations": 1, "write_errors": 3, "errors_per_hour": 500}
    faults = [
        {"operation": "read", "probability": "10%", "error": "EIO"},
        {"operation": "write", "probability": "10%", "error": "ENOSPC", "effect": "partial"},
        {"on": "operators", "operation": "read", "path": "system/*", "probability": "5%", "delay": "700ms"},
    ]
    fleet = {"agents": 8, "start": {"rules": "old"}, "heartbeat": {"interval": "700ms"}}
    plan = planned(gate=gate, errors_per_hour=300, bad=True, verify="effective", timeout="4s", **BACK)
    for seed in range(1, 5):
        whole = scenario(post("v1", "1s"), plan, fleet=fleet, faults=faults, duration="60s", seed=seed)
        skipped = run(whole)
        with _nobody_sleeps():
            assert skipped == every_beat(whole)
        assert looks(skipped)
        assert [problem(r.kind, r.fields) for r in skipped if problem(r.kind, r.fields)] == []


def test_what_looks_cost_is_told() -> None:
    history = play(planned(gate={"every": "1s", "effective": "100%"}), fleet=FLEET, duration="60s")
    polls = of(history, "polls")
    assert sum(record["count"] for record in polls) == sum(look["seen"]["targets"] for look in looks(history))
    assert {record["ops"]["open"] == record["count"] for record in polls} == {True}
