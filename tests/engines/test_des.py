"""What the SimPy engine promises: order at one instant, windows, faults, crashes, power, pauses, operators."""

from __future__ import annotations

from typing import Any

import pytest
from tests.engines.worlds import MS, S, fates, of, play, post, scenario, shown
from tests.engines.wrong_agents import REFERENCE, Reference

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.checks import judge
from fleetbeat.engines.des import run
from fleetbeat.engines.programs import ProgramError
from fleetbeat.protocol.process import merged
from fleetbeat.protocol.vocabulary import Emit, Lock, Sleep


def _beats_after_boot(history: list[Any]) -> int:
    """Where the aligned grid of beats begins: the end of the boot."""
    return int(of(history, "rebuild.end")[0].t)


# --- what one beat sees ---


def test_a_post_that_lands_between_a_beats_begin_and_its_stat_is_seen_by_that_beat() -> None:
    slow = {"latency": {"stat": "100ms"}}
    history = play(post("v1", "2250ms"), fleet=slow)
    beat = of(history, "beat")[0]
    landed = of(history, "post.complete")[0].t
    assert beat.t < landed < beat.t + 100 * MS, shown(history)
    assert fates(history) == {"v1/a-0#1": "applied"}


def test_a_post_that_lands_after_the_stat_waits_for_the_next_beat() -> None:
    history = play(post("v1", "3050ms"), fleet={"latency": {"stat": "1ms"}})
    landed, beat = of(history, "post.complete")[0].t, of(history, "beat")[0]
    assert beat.t > landed + 900 * MS, shown(history)


def test_the_tie_of_a_step_decides_who_goes_first_at_one_instant() -> None:
    """The writer's rename and the agent's stat meet at one nanosecond; both orders are played by name."""
    probe = play(post("v1", "3s"), fleet={"heartbeat": {"interval": "1s", "phase": "aligned"}})
    stat = Step("a-0/beat", 0, 3, "stat", ".rules")
    first = of(probe, "beats")[0]
    per_beat = (first["last_start"] - first.t) // (first["last"] - first["first"])
    stat_at = first.t + 3 * per_beat + 10_000
    rename = Step("op:v1/a-0", 0, 1, "rename", of(probe, "op", operation="rename")[0]["path"])
    lead = of(probe, "post.complete")[0].t - of(probe, "op", role="post")[0].t + 20_000
    seen = []
    for rename_tie, stat_tie in ((0, 1), (1, 0)):
        history = play(
            post("v1", f"{stat_at - lead - 1}ns"), overrides=Overrides(ties={rename: rename_tie, stat: stat_tie})
        )
        assert of(history, "post.complete")[0].t == stat_at, shown(history)
        seen.append(of(history, "beat")[0]["beat"])
    assert seen == [3, 4]


# --- case files ---


def test_a_hold_makes_the_lost_update_happen_without_touching_a_latency() -> None:
    rollouts = (post("v1", "2500ms"), post("v2", "2600ms"))
    assert fates(play(*rollouts)) == {"v1/a-0#1": "superseded", "v2/a-0#1": "applied"}
    read = Step("a-0/beat", 0, 3, "read", ".rules")
    unlink = Step("a-0/beat", 0, 3, "unlink", ".rules")
    name = of(play(*rollouts), "op", role="post", operation="rename")[1]["path"]
    rename = Step("op:v2/a-0", 0, 1, "rename", name)
    history = play(*rollouts, overrides=Overrides(holds={rename: read, unlink: rename}))
    assert fates(history) == {"v1/a-0#1": "applied", "v2/a-0#1": "lost"}, shown(history)


def test_a_hold_that_never_ends_is_recorded() -> None:
    never = Step("a-0/beat", 0, 5_000, "unlink", ".rules")
    history = play(post("v1", "2s"), overrides=Overrides(holds={Step("a-0/beat", 0, 2, "stat", ".rules"): never}))
    assert [r["until"] for r in of(history, "hold.unmet")] == [str(never)]
    assert of(history, "signal", event="vanished") == []


def test_a_choice_whose_step_never_comes_is_recorded() -> None:
    nowhere = Step("a-9/beat", 0, 1, "stat", ".rules")
    real = Step("a-0/beat", 0, 2, "stat", ".rules")
    history = play(overrides=Overrides(ties={nowhere: 1, real: 1}, bits={("fault:none", real): 0}))
    assert [r["choice"] for r in of(history, "choice.unmet")] == [f"bits of fault:none at {real}", f"tie of {nowhere}"]


def test_an_overridden_draw_makes_a_fault_fire() -> None:
    fault = {"id": "rare", "operation": "read", "probability": 1e-9, "error": "EIO"}
    stream, step = "fault:rare", Step("a-0/beat", 0, 3, "read", ".rules")
    history = play(post("v1", "2500ms"), faults=[fault], overrides=Overrides(bits={(stream, step): 0}))
    assert [r["error"] for r in of(history, "fault")] == ["EIO"]
    assert of(play(post("v1", "2500ms"), faults=[fault]), "fault") == []


# --- faults ---


@pytest.mark.parametrize(
    ("effect", "left"),
    [("before", "old rules"), ("partial", None), ("after", "rules v1")],
    ids=["before", "partial", "after"],
)
def test_an_error_strikes_before_in_the_middle_of_or_after_a_write(effect: str, left: str | None) -> None:
    fault = {"operation": "open", "path": "system/rules.md", "occurrence": [3], "error": "EIO", "effect": effect}
    if effect == "after":
        fault = {"operation": "write", "occurrence": [1], "error": "EIO", "effect": effect}
    history = play(post("v1", "2500ms", mark=False), faults=[fault], fleet={"start": {"rules": "old rules"}})
    texts = {r["body"]: r["text"] for r in of(history, "body")}
    changes = [texts[r["body"]] for r in of(history, "canonical")]
    assert (changes[-1:] or ["old rules"]) == [left if left is not None else ""], shown(history)
    assert fates(history) == {"v1/a-0#1": "failed"}


def test_a_window_keeps_a_fault_from_striking_outside_it() -> None:
    fault = {"operation": "stat", "probability": 1, "error": "EIO", "from": "5s", "to": "8s"}
    history = play(faults=[fault])
    times = [r.t for r in of(history, "fault")]
    assert len(times) == 3, shown(history)
    assert all(5 * S <= t < 8 * S + 20_000 for t in times)


def test_the_nth_occurrence_is_counted_on_each_agent() -> None:
    fault = {"operation": "read", "occurrence": [3], "error": "EIO"}
    history = play(post("v1", "2500ms"), post("v2", "5500ms"), faults=[fault], fleet={"agents": 3})
    assert sorted(r["agent"] for r in of(history, "fault")) == ["a-0", "a-1", "a-2"]


def test_a_delay_opens_the_window_for_a_second_post() -> None:
    fault = {"operation": "unlink", "occurrence": [1], "delay": "300ms"}
    history = play(post("v1", "2900ms"), post("v2", "3100ms"), faults=[fault])
    assert fates(history) == {"v1/a-0#1": "applied", "v2/a-0#1": "lost"}, shown(history)


# --- crashes, power, pauses ---


def test_a_crash_before_an_operation_leaves_no_effect_and_a_crash_after_it_leaves_all() -> None:
    for when, fate in (("before", "applied"), ("after", "lost")):
        fault = {"operation": "unlink", "occurrence": [1], "crash": when, "restart": "2s"}
        history = play(post("v1", "2500ms"), faults=[fault])
        assert fates(history) == {"v1/a-0#1": fate}, shown(history)
        assert [r["life"] for r in of(history, "life.begin")] == [0, 1]


def test_power_loss_takes_what_was_not_synced_and_spares_other_hosts() -> None:
    fleet = {
        "agents": 2,
        "hosts": [{"name": "dark"}, {"name": "lit"}],
        "start": {"rules": "old rules"},
        "lifecycle": {"crashes": [{"hosts": ["dark"], "at": "6s", "power": True, "restart": "1s"}]},
    }
    history = play(post("v1", "2500ms"), fleet=fleet)
    ends = of(history, "life.end")
    assert [(r["agent"], r["cause"]) for r in ends] == [("a-0", "power")]
    last = {r["agent"]: r["body"] for r in of(history, "canonical")}
    texts = {r["body"]: r["text"] for r in of(history, "body")}
    assert texts[last["a-0"]] == "old rules", shown(history)
    assert texts[last["a-1"]].splitlines()[1] == "rules v1"


def test_a_paused_process_finishes_its_operation_when_it_goes_on() -> None:
    fault = {"operation": "unlink", "occurrence": [1], "pause": "700ms"}
    history = play(post("v1", "2500ms"), faults=[fault])
    beat = of(history, "beat")[0]
    assert beat["end"] - beat.t > 700 * MS
    assert fates(history) == {"v1/a-0#1": "applied"}


def test_a_suspended_agent_beats_and_does_not_consume() -> None:
    window = {"from": "2s", "to": "9s"}
    history = play(post("v1", "3s"), fleet={"lifecycle": {"suspend": [window]}})
    assert [r["runnable"] for r in of(history, "runnable")] == [False, True]
    assert of(history, "signal", event="vanished")[0].t > 9 * S
    asleep = [r for r in of(history, "beats") if not r["runnable"]]
    assert sum(r["last"] - r["first"] + 1 for r in asleep) == 7, shown(history)


def test_a_stall_delays_a_beat_and_those_after_it() -> None:
    calm = play(duration="1h", fleet={"heartbeat": {"interval": "10s", "phase": "aligned"}})
    stalls = {"per_hour": 60, "length": "25s"}
    stalled = play(duration="1h", fleet={"heartbeat": {"interval": "10s", "phase": "aligned", "stalls": stalls}})

    def beats(history: list[Any]) -> int:
        return sum(r["last"] - r["first"] + 1 for r in of(history, "beats"))

    assert len(of(stalled, "pause")) > 30
    assert beats(stalled) < beats(calm) - 50


def test_an_interrupted_run_returns_what_it_has() -> None:
    def interrupt(now_ns: int) -> None:
        if now_ns > 5 * S:
            raise KeyboardInterrupt

    history = run(scenario(post("v1", "2s"), post("v2", "10s")), progress=interrupt)
    assert history[-1].kind == "end"
    assert history[-1]["reason"] == "interrupted"
    assert 5 * S < history[-1].t < 6 * S
    assert [r["post"] for r in of(history, "post.end")] == ["v1/a-0#1"]
    assert sum(r["last"] - r["first"] + 1 for r in of(history, "beats")) >= 4


# --- rebuilds and locks ---


class _Locking(Reference):  # type: ignore[misc]
    """Beats and rebuilds hold one lock and log when they have it and when they let go."""

    def beat(self, context: Any, memory: Any) -> Any:
        yield Lock("rules")
        yield Emit("beat in")
        yield Sleep(300 * MS)
        yield Emit("beat out")
        yield Lock("rules", hold=False)
        return memory

    def rebuild(self, context: Any, memory: Any) -> Any:
        yield Lock("rules")
        yield Emit("rebuild in")
        yield Sleep(300 * MS)
        yield Emit("rebuild out")
        yield Lock("rules", hold=False)
        return memory


def test_a_lock_keeps_a_beat_and_a_rebuild_apart() -> None:
    rebuilds = {"rebuilds": [{"every": "700ms", "beside_beat": True}]}
    history = play(fleet={"lifecycle": rebuilds}, programs={"reference": _Locking()})
    events = [r["event"] for r in of(history, "log")]
    pairs = list(zip(events[::2], events[1::2], strict=False))
    assert len(pairs) > 20
    assert {pair for pair in pairs if pair[0].split()[0] != pair[1].split()[0]} == set(), events


class _Endless(Reference):  # type: ignore[misc]
    def beat(self, context: Any, memory: Any) -> Any:
        while True:
            yield Sleep(1)


class _Exits(Reference):  # type: ignore[misc]
    def beat(self, context: Any, memory: Any) -> Any:
        yield Sleep(1)
        raise SystemExit(3)


class _Junk(Reference):  # type: ignore[misc]
    def beat(self, context: Any, memory: Any) -> Any:
        yield "stat .rules"


class _NoGenerator(Reference):  # type: ignore[misc]
    def beat(self, context: Any, memory: Any) -> Any:
        return memory


@pytest.mark.parametrize("agent", [_Endless(), _Exits()], ids=lambda agent: type(agent).__name__)
def test_a_beat_that_never_ends_or_leaves_the_program_ends_the_heartbeat(agent: Any) -> None:
    history = play(post("v1", "2s"), duration="5s", programs={"reference": agent})
    assert len(of(history, "heartbeat.end")) == 1
    broken = [v.invariant for v in judge(history).verdicts if v.outcome == "broken"]
    assert "beats-go-on" in broken


@pytest.mark.parametrize("agent", [_Junk(), _NoGenerator()], ids=lambda agent: type(agent).__name__)
def test_a_program_outside_the_vocabulary_is_refused_in_one_line(agent: Any) -> None:
    with pytest.raises(ProgramError, match=r"a-0/beat: beat.*got .*, expected"):
        play(programs={"reference": agent})


def test_a_lock_dies_with_its_process() -> None:
    rebuilds = {"rebuilds": [{"every": "700ms", "beside_beat": True}]}
    fault = {"operation": "emit", "occurrence": [3], "crash": "after", "restart": "100ms"}
    history = play(fleet={"lifecycle": rebuilds}, faults=[fault], programs={"reference": _Locking()})
    after = [r for r in of(history, "log") if r["life"] == 1]
    assert len(after) > 20, shown(history)


def test_overlapping_episodes_lay_their_changes_over_one_another() -> None:
    start = REFERENCE.start
    from dataclasses import replace

    flushed = replace(start, flush_due=True)
    reread = replace(start, reread_due=True)
    assert merged(start, flushed, reread) == replace(start, flush_due=True, reread_due=True)
    assert merged(start, start, reread) == reread
    assert merged(flushed, start, flushed) == start


# --- operators ---


def test_an_operator_that_dies_leaves_its_temporary_and_the_report_of_it() -> None:
    fault = {"on": "operators", "operation": "rename", "crash": "before", "occurrence": [1]}
    history = play(post("v1", "2s", verify="effective"), faults=[fault])
    end = of(history, "post.end")[0]
    assert end["outcome"] == "died"
    assert end["leftover"].startswith("/a-0/.rules.")
    assert fates(history) == {"v1/a-0#1": "unposted"}
    assert of(history, "claim") == []


def test_an_operator_started_again_posts_again() -> None:
    fault = {"on": "operators", "operation": "rename", "crash": "before", "occurrence": [1], "restart": "3s"}
    history = play(post("v1", "2s", verify="effective", retries=1), faults=[fault])
    assert fates(history) == {"v1/a-0#1": "unposted", "v1/a-0#2": "applied"}, shown(history)


def test_a_failed_write_is_tried_again_and_leaves_its_temporary() -> None:
    fault = {"on": "operators", "operation": "write", "error": "ENOSPC", "occurrence": [1]}
    history = play(post("v1", "2s", verify="effective", retries=2), faults=[fault])
    ends = of(history, "post.end")
    assert [(r["outcome"], r["error"]) for r in ends] == [("failed", "ENOSPC"), ("written", None)]
    assert ends[0]["leftover"] is not None
    assert [r["claim"] for r in of(history, "claim")] == ["done"]


def test_waves_wait_for_their_bake_and_stop_after_a_failure() -> None:
    waves = [{"targets": ["a-0"], "bake": "3s"}, {"targets": ["a-1"], "bake": "0s"}, {"upto": "100%"}]
    rollout = post("v1", "2s", waves=waves, verify="effective", timeout="4s", stop_on_failure=True)
    fine = play(rollout, fleet={"agents": 3})
    begins = [r.t for r in of(fine, "wave", event="begin")]
    ends = [r.t for r in of(fine, "wave", event="end")]
    assert len(begins) == len(ends) == 3
    assert begins[1] - ends[0] == 3 * S
    fault = {"operation": "flush", "agents": ["a-1"], "probability": 1, "error": "EIO", "from": "1s"}
    stopped = play(rollout, faults=[fault], fleet={"agents": 3})
    assert [r["event"] for r in of(stopped, "wave")] == ["begin", "end", "begin", "stopped"], shown(stopped)
    assert {r["agent"] for r in of(stopped, "post.plan")} == {"a-0", "a-1"}


def test_one_by_one_never_has_two_posts_under_way() -> None:
    rollout = post("v1", "2s", order="one-by-one", verify="effective")
    history = play(rollout, fleet={"agents": 4})
    kinds = [r.kind for r in history if r.kind in ("post.plan", "claim")]
    assert kinds == ["post.plan", "claim"] * 4


def test_a_shared_temporary_lets_one_operator_post_the_others_body() -> None:
    slow = {"write": "200ms"}
    history = play(
        post("v1", "2s", operator="alice", write="shared-temp", latency=slow),
        post("v2", "2100ms", operator="bob", write="shared-temp", latency=slow),
    )
    outcomes = {r["post"]: (r["outcome"], r["error"]) for r in of(history, "post.end")}
    assert outcomes["bob:v2/a-0#1"] == ("failed", "ENOENT"), shown(history)


def test_a_hand_down_is_a_post_of_its_own() -> None:
    spawns = [{"at": "8s", "name": "kid", "parent": "a-0", "hand_down": "in-place"}]
    history = play(post("v1", "2s"), fleet={"lifecycle": {"spawns": spawns}})
    assert of(history, "agent", agent="kid-0")[0]["home"].startswith("/a-0/")
    handed = of(history, "post.plan", write="hand-down")
    assert [r["agent"] for r in handed] == ["kid-0"]
    assert set(fates(history).values()) == {"applied"}


# --- clocks and disks ---


def test_a_fast_clock_beats_more_often() -> None:
    def beats(ppm: int) -> int:
        fleet = {"hosts": [{"name": "h", "clock_ppm": ppm}]}
        return sum(r["last"] - r["first"] + 1 for r in of(play(duration="4h", fleet=fleet), "beats"))

    assert beats(1000) - beats(0) in (14, 15)
    assert beats(0) - beats(-1000) in (14, 15)


def test_a_full_disk_is_recorded_as_a_fault_that_fired() -> None:
    fleet = {"hosts": [{"name": "tight", "disk": 40}], "start": {"rules": "old"}}
    history = play(post("v1", "2500ms"), fleet=fleet)
    fired = of(history, "fault", fault="disk-full:tight")
    assert {r["on"] for r in fired} >= {"operators"}, shown(history)
    assert fates(history) == {"v1/a-0#1": "unposted"}
