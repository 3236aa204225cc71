"""Which means is taken for which fault, and what is refused before the start. Needs nothing of the machine."""

from __future__ import annotations

from typing import Any

import pytest
from tests.real.means_stage import FOREIGN, REFERENCE, SECOND, able, planned, scenario_of

from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.choices import Hashed
from fleetbeat.engines import ENGINES
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.engines.real.means import MEANS
from fleetbeat.engines.real.means.signals import Blow

UNLINK = {"id": "f", "operation": "unlink", "error": "EIO"}


def _means(faults: list[dict[str, Any]], folder: Any = FOREIGN, **more: Any) -> list[str]:
    kept = {name: more.pop(name) for name in ("engine", "on", "prefer") if name in more}
    return [one.means for one in planned(scenario_of(faults=faults, **more), folder, **kept).chosen]


def _refused(faults: list[dict[str, Any]], folder: Any = FOREIGN, **more: Any) -> str:
    with pytest.raises(CannotDo) as caught:
        _means(faults, folder, **more)
    return str(caught.value)


def test_our_driver_is_told_of_faults_at_calls_and_drawn_ones_too() -> None:
    scenario = scenario_of(faults=[{**UNLINK, "probability": 0.5}, {"operation": "flush", "error": "EIO"}])
    plan = planned(scenario, REFERENCE)
    assert [one.means for one in plan.chosen] == ["driver", "driver"]
    first, second = plan.faults["a-0"]
    assert (first.id, first.operation, first.pattern, first.probability) == ("f", "unlink", ".rules", 0.5)
    assert (second.operation, second.pattern) == ("write", "system/system.md")
    assert plan.alone == frozenset()


def test_an_agent_that_our_driver_crashes_is_alone_in_its_process() -> None:
    crash = {"operation": "unlink", "agents": "a-1", "crash": "after"}
    plan = planned(scenario_of(faults=[crash], fleet={"agents": 3}), REFERENCE)
    assert plan.alone == {"a-1"}


def test_faults_of_operators_are_the_harness_s() -> None:
    assert _means([{"on": "operators", "operation": "rename", "error": "EIO", "probability": 0.1}]) == ["harness"]


def test_a_foreign_agent_s_call_is_strace_s_and_a_chance_is_refused_with_the_way_out() -> None:
    assert _means([UNLINK]) == ["strace"]
    said = _refused([{**UNLINK, "probability": 0.5}])
    assert "engine process: fault f" in said
    assert "occurrence instead of probability" in said


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ([{**UNLINK, "effect": "after"}], "not after"),
        ([{**UNLINK, "path": "*"}], "without wildcards"),
        ([{**UNLINK, "occurrence": [1, 2, 5]}], "equal distances"),
        ([{**UNLINK, "error": None, "delay": {"kind": "uniform", "low": "1ms", "high": "2ms"}}], "one length"),
        ([UNLINK, {**UNLINK, "id": "g", "error": "EPERM"}], "one fault for a call"),
        ([UNLINK, {"id": "g", "operation": "write", "error": "EIO"}], "one path"),
        ([UNLINK, {"id": "g", "operation": "read", "error": "EIO", "to": "1s"}], "one window"),
        ([{**UNLINK, "error": None, "crash": "before", "power": True}], "has not synced"),
    ],
)
def test_what_strace_would_do_wrongly_is_refused(faults: list[dict[str, Any]], words: str) -> None:
    """Without these refusals strace runs, says nothing, and strikes other calls than the scenario says."""
    assert words in _refused([{k: v for k, v in fault.items() if v is not None} for fault in faults])


def test_a_machine_without_strace_or_root_says_so_for_each_fault() -> None:
    no_strace = able(strace=None, strace_why="strace is not installed")
    said = _refused([UNLINK, {"id": "g", "operation": "read", "error": "EIO"}], on=no_strace)
    assert "fault f (EIO on unlink .rules) on a-0: " in said.splitlines()[0]
    assert "fault g (EIO on read .rules) on a-0: " in said.splitlines()[1]
    assert said.count("strace is not installed") == 2
    later = {**UNLINK, "from": "1s"}
    assert "ptrace_scope is 1" in _refused([later], on=able(uid=1000, ptrace_scope=1))
    assert _means([UNLINK], on=able(uid=1000, ptrace_scope=1)) == ["strace"]  # launched, which needs no right


def test_the_kernel_s_own_refusals_come_first_where_they_are_preferred() -> None:
    read = {"operation": "read", "error": "EACCES"}
    erofs = {"operation": "write", "error": "EROFS"}
    assert _means([read, erofs], REFERENCE) == ["driver", "driver"]
    assert _means([read, erofs], REFERENCE, prefer="real") == ["permissions", "remount"]
    assert _means([read, erofs]) == ["permissions", "remount"]
    assert _means([read], fleet={"agents": 1, "uid": 0}) == ["strace"]  # no right stops root
    assert _means([read], on=able(uid=1000)) == ["strace"]


def test_rights_to_unlink_are_taken_only_where_the_writer_is_root() -> None:
    fault = {"operation": "unlink", "error": "EPERM"}
    rollout = {"version": "v", "at": "1s", "targets": "all", "body": "x"}
    assert _means([fault], rollouts=[{**rollout, "uid": 0}]) == ["permissions"]
    assert _means([fault], rollouts=[{**rollout, "uid": 1001}]) == ["strace"]
    assert _means([fault], rollouts=[rollout]) == ["strace"]


def test_a_disk_that_could_not_hold_what_is_there_from_the_start_is_refused() -> None:
    hosts = [{"name": "h", "system_disk": "40KB"}]
    assert _means([], fleet={"agents": 3, "hosts": hosts, "start": {"rules": "x"}}) == ["tmpfs"]
    said = _refused([], fleet={"agents": 6, "hosts": hosts, "start": {"rules": "x"}})
    assert "40000 bytes are 9 pages" in said
    assert "6 agents need 12" in said
    assert "mounting needs root" in _refused(
        [], fleet={"agents": 1, "hosts": hosts}, on=able(mount_why="mounting needs root")
    )


def test_losses_of_power_clocks_and_requests_that_a_foreign_agent_cannot_hear_are_refused_in_words() -> None:
    lifecycle = {
        "crashes": [{"hosts": ["h"], "at": "1s", "power": True}],
        "rebuilds": [{"at": "1s", "cause": "refresh"}],
    }
    fleet = {"agents": 1, "hosts": [{"name": "h", "clock_ppm": 5}], "lifecycle": lifecycle}
    said = _refused([], fleet=fleet)
    assert "lifecycle.crashes[0] (loss of power)" in said
    assert "host h: its clock differs" in said
    assert "rebuilds" not in said  # the manifest has a sign for rebuild, which does for refresh


def test_arrivals_strike_when_the_simulation_s_strike() -> None:
    """The simulation's own arrivals, asked for by their names, are the plan's times."""
    fault = {"id": "crashes", "crash": "before", "per_hour": 3600, "restart": "1s", "from": "2s", "to": "8s"}
    scenario = scenario_of(faults=[fault], fleet={"agents": 2}, seed=7)
    plan = planned(scenario, REFERENCE)
    expected = []
    for name in ("a-0", "a-1"):
        arrivals = Arrivals(Hashed(7), "fault:crashes", name, 3600.0)
        times = [arrivals.time(j) for j in range(100)]
        expected += [time for time in times if 2 * SECOND <= time < 8 * SECOND]
    assert [action.at_ns for action in plan.actions] == sorted(expected)
    assert len(expected) > 4
    assert plan.counts()[0]["planned"] == len(expected)
    assert plan.alone == {"a-0", "a-1"}


def test_the_simulation_itself_strikes_at_the_planned_times_and_for_as_long() -> None:
    """Steps, times and lengths, as its history tells them; a plan that drew by other names would differ in all."""
    pauses = {"id": "p", "pause": {"kind": "exponential", "mean": "50ms"}, "per_hour": 2000}
    crashes = {"id": "c", "crash": "before", "per_hour": 1000, "restart": "1ms", "agents": "50%", "from": "1s"}
    stalls = {"per_hour": 3000, "length": {"kind": "uniform", "low": "1ms", "high": "90ms"}}
    fleet = {"agents": 5, "heartbeat": {"stalls": stalls}}
    scenario = scenario_of(faults=[pauses, crashes], fleet=fleet, seed=11)
    told = ENGINES.engine("des")(scenario)
    simulated = {(record.t, record["step"]) for record in told if record.kind == "fault"}
    ends = {(record.t, record["agent"], record["end"]) for record in told if record.kind == "pause"}
    plan = planned(scenario, REFERENCE)
    blows = [action.run.args[0] for action in plan.actions if isinstance(action.run.args[0], Blow)]
    expected = {(blow.at_ns, blow.agent, blow.at_ns + blow.pause_ns) for blow in blows if blow.pause_ns is not None}
    expected |= {(at, name, at + length) for name, each in plan.stalls.items() for at, length in each}
    down = [blow for blow in blows if (blow.at_ns, blow.step) not in simulated]
    assert len(simulated) > 20
    assert simulated <= {(blow.at_ns, blow.step) for blow in blows}
    assert ends <= expected
    assert len(down) <= 2  # who is down for a millisecond is not struck
    assert len(expected - ends) <= 4


def test_stalls_are_our_driver_s_and_pauses_of_a_foreign_process() -> None:
    stalls = {"per_hour": 3600, "length": {"kind": "exponential", "mean": "50ms"}}
    scenario = scenario_of(fleet={"agents": 1, "heartbeat": {"stalls": stalls}})
    ours, theirs = planned(scenario, REFERENCE), planned(scenario)
    assert [at for at, _ in ours.stalls["a-0"]] == [action.at_ns for action in theirs.actions]
    assert theirs.stalls == {}
    assert "whole process" in theirs.chosen[0].note
    assert theirs.alone == {"a-0"}


def test_every_means_is_one_that_is_listed() -> None:
    chosen = planned(scenario_of(faults=[UNLINK, {"crash": "before", "per_hour": 1}])).chosen
    assert all(one.means in MEANS for one in chosen)


def test_an_enospc_bears_the_name_that_the_simulation_gives_it() -> None:
    hosts = [{"name": "h", "system_disk": "40KB"}]
    plan = planned(scenario_of(fleet={"agents": 1, "hosts": hosts}), REFERENCE)
    assert plan.disk_of("a-0", "system/rules.md") == "disk-full:h"
    assert plan.disk_of("a-0", "logs/events.jsonl") is None
