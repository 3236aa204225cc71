"""How often a post meets a fate: held against a closed form, and against runs at random where these are enough."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.engines.worlds import MS, S, post, scenario

from fleetbeat.checks import judge
from fleetbeat.cli import main
from fleetbeat.engines.des import run
from fleetbeat.explore import near
from fleetbeat.explore.lone import Delivery, alone, at_phase, deliveries
from fleetbeat.explore.model import ExploreError
from fleetbeat.explore.rate import Rate, brute_runs, rate_of, wilson
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents

DRAWN = {"read": {"kind": "exponential", "mean": "20ms"}, "unlink": {"kind": "exponential", "mean": "60ms"}}


def two(latency: dict[str, Any], seed: int = 1, **parts: Any) -> Scenario:
    """v2 lands 600 ms after v1, so that a beat at work when v2 lands is one that found v1."""
    fleet = {"latency": latency, **parts.pop("fleet", {})}
    return scenario(post("v1", "5500ms"), post("v2", "6100ms"), duration="12s", seed=seed, fleet=fleet, **parts)


def at_random(what: Scenario, fate: str, runs: int) -> tuple[float, float]:
    """The interval for the share of posts, from runs of the lone agent at places drawn evenly."""
    lone = alone(what, agents(what)[0], deliveries(what, run)["a-0"])
    hits = posts = 0
    for number in range(runs):
        phase = (2 * number + 1) * S // (2 * runs)
        history = run(lone.model_copy(update={"seed": number}), at_phase(phase, S))
        fates = [one.fate for one in judge(history, checks=()).fates]
        hits, posts = hits + fates.count(fate), posts + len(fates)
    return wilson(hits / posts, posts)


# --- what it comes to ---


def test_a_narrow_window_agrees_with_the_closed_form() -> None:
    """The window opens with the agent's handle (20us after it asks for it) and closes with the unlink: two reads, a close
    and an unlink, 20 + 20 + 10 + 30 us in 1 s. One of the two posts can be lost.
    """
    found = rate_of(two({}), "lost", runs=500)
    expected = 80e-6 / 1 / 2
    assert found.low <= expected <= found.high, found
    assert found.high - found.low < 2.5 * expected
    assert found.brute is not None
    assert found.brute > 500 * found.runs
    close, away = found.strata
    # two posts, each within 110us (the unlink's place in the beat) and the slack on either side
    assert close.weight == pytest.approx(2 * (110e-6 + 2e-6), rel=1e-3)
    assert (away.hits, away.shown_zero) == (0, True)


@pytest.mark.slow
@pytest.mark.parametrize("latency", [{"unlink": "100ms"}, DRAWN])
def test_a_wide_window_agrees_with_runs_at_random(latency: dict[str, Any]) -> None:
    what = two(latency)
    found = rate_of(what, "lost", runs=500)
    low, high = at_random(what, "lost", 250)
    assert max(low, found.low) < min(high, found.high), (found, low, high)
    assert 0.01 < found.rate < 0.1
    assert len(found.strata) == 2


def test_a_wide_window_agrees_with_the_closed_form_where_earlier_work_moves_later_beats() -> None:
    found = rate_of(two({"unlink": "100ms"}, seed=2), "lost", runs=400)
    assert found.low <= 100.05e-3 / 2 <= found.high, found
    assert found.strata[1].shown_zero


def test_a_common_fate_is_counted_at_random() -> None:
    """v1 is superseded if no beat falls between the two posts: in two fifths of all places."""
    found = rate_of(two({}), "superseded", runs=300)
    assert [stratum.name for stratum in found.strata] == ["all posts"]
    assert found.low <= 0.4 / 2 <= found.high, found
    assert found.brute == pytest.approx(260, rel=0.1)


@pytest.mark.slow
def test_what_faults_do_far_from_any_window_is_counted_and_not_ruled_out() -> None:
    fault = {"operation": "unlink", "probability": 0.05, "crash": "after", "restart": "1s"}
    found = rate_of(two({}, faults=[fault]), "lost", runs=800)
    away = found.strata[1]
    assert away.hits > 0
    assert not away.shown_zero
    # a beat that finds a signal dies of it with a chance of 1 in 20; two posts are found by 1.6 beats
    assert found.low <= 0.05 * 1.6 / 2 <= found.high, found
    assert any("faults" in line for line in found.assumptions)


def test_an_agent_without_the_window_has_no_hit_and_an_interval_that_says_how_sure_that_is() -> None:
    found = rate_of(two({"rename": "5ms"}, fleet={"agent": "claim"}), "lost", runs=300)
    assert (found.rate, found.low, found.brute) == (0, 0, None)
    assert 0 < found.high < 0.01


def test_the_same_question_has_the_same_answer_and_another_seed_another() -> None:
    ask: list[Rate] = [rate_of(two({"unlink": "50ms"}, seed=seed), "lost", runs=100) for seed in (1, 1, 2)]
    assert ask[0] == ask[1] != ask[2]


@pytest.mark.slow
def test_jitter_and_drift_leave_few_near_runs_that_miss() -> None:
    """The places are found for each seed by its own waits. One near run in four has v2 in question, and landing there."""
    heartbeat = {"interval": "1s", "jitter": {"kind": "normal", "sd": "80ms"}}
    what = two({"unlink": "5ms"}, fleet={"heartbeat": heartbeat, "hosts": [{"name": "h", "clock_ppm": 900}]})
    found = rate_of(what, "lost", runs=400)
    close = found.strata[0]
    assert found.strata[1].shown_zero
    assert found.low <= 5.05e-3 / 2 <= found.high, found
    assert close.weight == pytest.approx(2 * 5.1e-3, rel=0.02)
    assert close.hits / close.runs > 0.15


# --- one agent by itself ---


def _fleet(**more: Any) -> Scenario:
    data = {
        "name": "fleet",
        "duration": "90s",
        "fleet": {"agents": 4, "heartbeat": {"interval": "1s", "phase": "aligned"}, "lifecycle": more.pop("lifecycle", {})},
        "rollouts": [{"version": "v1", "at": "5s", "targets": "all", "body": "one", **more.pop("rollout", {})}],
        **more,
    }  # fmt: skip
    return load(json.dumps(data), name="fleet")


def test_posts_come_to_an_agent_alone_when_they_come_to_it_in_the_fleet() -> None:
    for rollout in ({"spacing": "70ms"}, {"waves": [{"upto": "50%", "bake": "10s"}, {"upto": "100%"}]}):
        what = _fleet(rollout=rollout)
        coming = deliveries(what, run)
        plans = {r["agent"]: r.t for r in run(what) if r.kind == "post.plan"}
        for spec in agents(what):
            lone = run(alone(what, spec, coming[spec.name]))
            assert [r.t for r in lone if r.kind == "post.plan"] == [plans[spec.name]]


def test_faults_and_rebuilds_of_others_are_left_out() -> None:
    faults = [
        {"id": "first", "agents": "a-0", "operation": "read", "occurrence": 1, "error": "EIO"},
        {"agents": "a-1..a-3", "operation": "unlink", "occurrence": 1, "error": "EIO"},
    ]
    what = _fleet(faults=faults, lifecycle={"rebuilds": [{"agents": "a-1", "at": "9s"}]})
    mine = [alone(what, spec, (Delivery(0, 5 * S),)) for spec in agents(what)]
    assert [[fault.operation for fault in one.faults] for one in mine] == [["read"], ["unlink"], ["unlink"], ["unlink"]]
    assert [len(one.fleet.lifecycle.rebuilds) for one in mine] == [0, 1, 0, 0]
    assert mine[0].faults[0].id == "first"


def test_the_first_beat_is_put_where_it_is_asked_for() -> None:
    what = two({})
    lone = alone(what, agents(what)[0], (Delivery(0, 5500 * MS),))
    starts = []
    for place in (0, 1, 250 * MS, S - 1):
        history = run(lone, at_phase(place, S))
        boot = next(r.t for r in history if r.kind == "rebuild.end")
        starts.append(near.beats_of(history)[0].start - max(boot + 1, boot + place))
        assert not [r for r in history if r.kind == "choice.unmet"]
    assert starts == [0, 0, 0, 0]


# --- numbers ---


def test_wilsons_interval() -> None:
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 100) == pytest.approx((0, 0.0370), abs=1e-4)
    assert wilson(1, 100) == pytest.approx((0.9630, 1), abs=1e-4)


def test_brute_force_needs_as_many_runs_as_give_its_interval_that_width() -> None:
    low, high = wilson(0.2, 5000)
    assert brute_runs(0.2, low, high) == pytest.approx(5000, rel=0.01)


def test_intervals_merge_and_leave_others() -> None:
    merged = near.merged([(5, 9), (0, 2), (8, 12), (12, 13)])
    assert merged == [(0, 2), (5, 13)]
    assert near.others(merged, 20) == [(2, 5), (13, 20)]
    assert near.others([(0, 20)], 20) == []
    assert (near.place(merged, 0), near.place(merged, 0.1999), near.place(merged, 0.2), near.place(merged, 0.999)) == (
        0, 1, 5, 12,
    )  # fmt: skip


# --- asking for it ---


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--of", "gone"], "fate: got 'gone', expected one of unposted, torn"),
        (["--runs", "3"], "runs: got 3, expected at least"),
        (["--set", "rollouts=[]"], "got no post"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rate", "lost-update", *arguments]) == 2
    assert said in capsys.readouterr().err
    with pytest.raises(ExploreError):
        rate_of(two({}), "gone")


def test_the_answer_says_rate_interval_runs_and_what_was_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rate", "lost-update", "--runs", "150"]) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("lost-update: lost: ")
    assert "per million posts (95 %: " in first
    text = "\n".join(rest)
    assert "near a beat: 40" in text
    assert "runs played; runs at random would have to be" in text
    assert "assumed: posts come at a time unrelated to the beats" in text
    assert main(["rate", "lost-update", "--runs", "150", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["fate"]) == ("fleetbeat.rate/1", "lost")
    assert document["low"] <= document["rate"] <= document["high"]


def test_an_interrupted_estimate_is_told_with_what_was_played(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from fleetbeat.explore import rate

    calls = 0
    play = rate._play

    def interrupted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 120:
            raise KeyboardInterrupt
        return play(*arguments)

    monkeypatch.setattr(rate, "_play", interrupted)
    assert main(["rate", "lost-update"]) == 130
    said = capsys.readouterr()
    assert "per million posts" in said.out
    assert "interrupted" in said.err
