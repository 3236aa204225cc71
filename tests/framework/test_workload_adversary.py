"""Who wants a dangerous command to run, and gates that fail meanwhile."""

from __future__ import annotations

from typing import Any

from tests.framework.worlds import S, World, allow, saying, workload

from fleetbeat.framework.policies import Gate
from fleetbeat.framework.vocabulary import Event, GateFailed, GateSlow, Host

ATTACK = {"at": "10s", "kind": "drop", "rejects": 3, "every": "2s", "waits": "30s", "flood": 5}


def test_the_adversary_provokes_rejects_waits_floods_and_tries_again_whatever_the_users_approve() -> None:
    world = World(workload(adversary=ATTACK, prompts={"per_hour": 1}), saying("ask"), 120)
    mine = [r for r in world.of("event") if r["session"] == "s-1"]
    calls = [r for r in mine if r["type"] == "tool.before"]
    assert [r["fields"]["command"] for r in calls] == [f"drop table t_{i}" for i in (0, 1, 2, 8)]
    assert all(r["dangerous"] and r["fields"]["tool"] == "sql" for r in calls)
    assert [r["fields"]["answer"] for r in mine if r["type"] == "answer"] == ["reject"] * 4
    assert not world.of("ran")
    prompts = [r.t for r in mine if r["type"] == "prompt"]
    assert prompts[0] == 10 * S
    assert len(prompts) == 3 + 5 + 1
    assert prompts[3] - prompts[2] >= 30 * S, world.told()
    assert prompts[8] - prompts[3] == 5_000_000


def test_the_adversary_waves_every_notification_away_and_leaves_other_agents_alone() -> None:
    def handle(host: Host, event: Event) -> Any:
        if event.type == "prompt":
            host.notify("p", "see")
        return saying("ask")(host, event)

    world = World(workload(adversary=ATTACK, prompts={"per_hour": 1}), handle, 120)
    assert len(world.events("dismissed", session="s-1")) == 9
    spared = World(workload(adversary=ATTACK, prompts={"per_hour": 1}), handle, 120, attacked=False)
    assert not [r for r in spared.of("event") if r["session"] == "s-1"]


def test_an_attack_that_a_crash_cuts_goes_on_with_its_next_step() -> None:
    world = World(workload(adversary=ATTACK, prompts={"per_hour": 1}), saying("ask"), 200, downs=[(12, 40)])
    calls = [r for r in world.events("tool.before") if r["session"] == "s-1"]
    assert [r["fields"]["command"] for r in calls] == [f"drop table t_{i}" for i in (0, 1, 2, 8)]
    assert calls[1].t >= 40 * S


GUARDS = {name: Gate(name, ("tool.before",), "ask", {}, {}) for name in ("one", "two")}


def test_gates_raise_or_are_slow_while_the_adversary_has_them_so() -> None:
    def handle(host: Host, event: Event) -> Any:
        if event.type == "tool.before":
            for name in GUARDS:
                try:
                    host.judge(name, event, 2 * S)
                except (GateFailed, GateSlow):
                    pass
        return allow(host, event)

    gates = [
        {"gate": "on*", "from": "50s", "to": "100s", "raises": True},
        {"gate": "two", "from": "100s", "slow": "9s"},
    ]
    plan = workload(adversary={"gates": gates}, gate_time="20ms")
    world = World(plan, handle, 200, guards=GUARDS)
    said = [(r.t - r["took"], r["gate"], r["answer"], r["took"]) for r in world.of("judged")]
    assert {(gate, answer) for t, gate, answer, _ in said if t < 50 * S} == {("one", "ask"), ("two", "ask")}
    assert {(gate, answer) for t, gate, answer, _ in said if 50 * S <= t < 100 * S} == {
        ("one", "raised"),
        ("two", "ask"),
    }
    assert {(gate, answer) for t, gate, answer, _ in said if t >= 100 * S} == {("one", "ask"), ("two", "slow")}
    assert {took for *_, answer, took in said if answer == "ask"} == {20_000_000}
    assert {took for *_, answer, took in said if answer == "slow"} == {2 * S}
    late = workload(adversary={"gates": [{"slow": "1s"}]})  # slow, and yet in time
    assert {(r["answer"], r["took"]) for r in World(late, handle, 200, guards=GUARDS).of("judged")} == {("ask", 1 * S)}
    assert not [r for r in World(plan, handle, 200, guards=GUARDS, attacked=False).of("judged") if r["answer"] != "ask"]


def test_a_gates_time_is_drawn_by_the_name_of_the_gate_and_the_call() -> None:
    def asking(names: tuple[str, ...]) -> Any:
        def handle(host: Host, event: Event) -> Any:
            if event.type == "tool.before":
                for name in names:
                    host.judge(name, event, 100 * S)
            return allow(host, event)

        return handle

    plan = workload(gate_time={"kind": "exponential", "mean": "50ms"})
    both = World(plan, asking(("one", "two")), 200, guards=GUARDS)
    alone = World(plan, asking(("two",)), 200, guards=GUARDS)
    times = [[r["took"] for r in world.of("judged", gate="two")] for world in (both, alone)]
    n = min(map(len, times))
    assert n > 10
    assert times[0][:n] == times[1][:n]
    assert len(set(times[0])) == len(times[0])
    assert [r["took"] for r in both.of("judged", gate="one")] != times[0]
