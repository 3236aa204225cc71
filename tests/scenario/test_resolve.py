from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenario.examples import FULL

from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents, body_of, default_path, fault_ids, select, targets, waves


def _fleet(count: int, **more: str) -> Scenario:
    return load(f"fleet: {{agents: {count}}}\n" + "".join(f"{key}: {value}\n" for key, value in more.items()))


def test_the_fleet_is_spelled_out() -> None:
    specs = {spec.name: spec for spec in agents(load(FULL))}
    assert list(specs) == ["web-0", "web-1", "web-2", "web-3", "db-0", "db-1", "db-2", "late-0", "late-1"]
    assert [specs[name].home for name in ("web-1", "db-2", "late-0")] == [
        "/web-1",
        "/web-1/children/db-2",
        "/web-0/children/late-0",
    ]
    assert [specs[f"web-{i}"].host for i in range(4)] == ["h0", "h1", "h0", "h1"]
    assert [specs[name].uid for name in ("web-0", "db-0", "late-0")] == [1001, 1000, 1001]
    assert (specs["late-1"].parent, specs["late-1"].spawn_at, specs["late-1"].hand_down) == (
        "web-0",
        15_000_000_000,
        "in-place",
    )
    assert specs["web-0"].spawn_at is None


def test_a_group_takes_from_the_fleet_what_it_does_not_give() -> None:
    specs = {spec.name: spec for spec in agents(load(FULL))}
    web, db = specs["web-0"], specs["db-0"]
    assert (web.heartbeat.interval, db.heartbeat.interval) == (1_000_000_000, 2_000_000_000)
    assert (db.heartbeat.phase, db.heartbeat.splay, db.heartbeat.stalls) == (
        "splay",
        3_000_000_000,
        web.heartbeat.stalls,
    )
    assert (db.start.rules, db.start.signal, db.start.signal_text) == ("old rules\n", "file", "on")
    assert db.latency is web.latency


def test_a_group_with_another_phase_does_not_take_the_splay() -> None:
    text = "fleet: {heartbeat: {phase: splay, splay: 5s}, groups: [{name: b, count: 1, heartbeat: {phase: aligned}}]}"
    assert agents(load(text))[0].heartbeat.splay == 0


def test_a_parent_may_be_declared_after_its_children() -> None:
    specs = agents(load("fleet: {groups: [{name: b, count: 1, parent: a-0}, {name: a, count: 1}]}"))
    assert [(spec.name, spec.home) for spec in specs] == [("b-0", "/a-0/children/b-0"), ("a-0", "/a-0")]


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (["all"], "web-0 web-1 web-2 web-3 db-0 db-1 db-2 late-0 late-1"),
        (["db-1", "web-2"], "web-2 db-1"),
        (["*-1"], "web-1 db-1 late-1"),
        (["web-[13]"], "web-1 web-3"),
        (["web-1..web-2", "web-2..web-3"], "web-1 web-2 web-3"),
        (["group:db"], "db-0 db-1 db-2"),
        (["host:h1"], "web-1 web-3 db-1"),
        (["0%"], ""),
        (["100%"], "web-0 web-1 web-2 web-3 db-0 db-1 db-2 late-0 late-1"),
    ],
)
def test_a_selector_means_agents_in_the_order_of_the_fleet(selector: list[str], names: str) -> None:
    assert " ".join(select(selector, agents(load(FULL)), "salt")) == names


def test_a_range_counts_and_does_not_compare_texts() -> None:
    assert select(["a-9..a-11"], agents(_fleet(20)), "") == ("a-9", "a-10", "a-11")


def test_another_agent_moves_nobody_into_or_out_of_a_share() -> None:
    few, many = agents(_fleet(500)), agents(_fleet(1000))
    chosen = select(["30%"], few, "salt")
    assert chosen == tuple(name for name in select(["30%"], many, "salt") if int(name[2:]) < 500)
    other = agents(load("fleet: {groups: [{name: zz, count: 7}, {name: a, count: 500}]}"))
    assert chosen == tuple(name for name in select(["30%"], other, "salt") if name.startswith("a-"))
    assert 100 < len(chosen) < 200


def test_a_larger_share_holds_the_smaller_one_and_another_salt_draws_anew() -> None:
    fleet = agents(_fleet(500))
    small, large = select(["10%"], fleet, "salt"), select(["20%"], fleet, "salt")
    assert set(small) < set(large)
    assert select(["10%"], fleet, "pepper") != small


def test_a_share_is_pinned() -> None:
    assert select(["20%"], agents(_fleet(20)), "salt") == PINNED


PINNED = ("a-3", "a-5", "a-9", "a-14", "a-18")


LATE = "{agents: 3, lifecycle: {spawns: [{at: 5s, name: kid, count: 2}]}}"


@pytest.mark.parametrize(
    ("at", "selector", "names"),
    [
        ("4.9s", "all", "a-0 a-1 a-2"),
        ("5s", "all", "a-0 a-1 a-2 kid-0 kid-1"),
        ("1s", "[kid-1, a-0]", "a-0 kid-1"),
        ("1s", "['*-1']", "a-1"),
        ("1s", "['group:kid', '100%', a-0]", "a-0 a-1 a-2"),
    ],
)
def test_a_rollout_leaves_out_agents_spawned_later_unless_they_are_named(at: str, selector: str, names: str) -> None:
    scenario = load(f"fleet: {LATE}\nrollouts: [{{version: v1, at: {at}, targets: {selector}, body: x}}]")
    assert " ".join(targets(scenario.rollouts[0], agents(scenario))) == names


def _waves(count: int, waves_: str, version: str = "v1") -> tuple[tuple[str, ...], ...]:
    scenario = _fleet(count, rollouts=f"[{{version: {version}, at: 1s, targets: all, body: x, waves: {waves_}}}]")
    return waves(scenario.rollouts[0], agents(scenario))


@given(st.integers(1, 60), st.lists(st.integers(1, 99), max_size=4, unique=True))
def test_waves_hold_every_target_once_and_fill_up_to_their_share(count: int, shares: list[int]) -> None:
    upto = [*sorted(shares), 100]
    found = _waves(count, "[" + ", ".join(f"{{upto: {share}%}}" for share in upto) + "]")
    names = [name for wave in found for name in wave]
    assert sorted(names) == sorted(f"a-{i}" for i in range(count))
    done = 0
    for share, wave in zip(upto, found, strict=True):
        done += len(wave)
        assert done == -(-share * count // 100)


def test_who_is_in_the_first_wave_is_drawn_by_version() -> None:
    first = _waves(500, "[{upto: 5%}, {upto: 100%}]")[0]
    assert len(first) == 25
    assert list(first) == sorted(first, key=lambda name: int(name[2:]))
    assert first != _waves(500, "[{upto: 5%}, {upto: 100%}]", "v2")[0]


def test_named_waves_come_as_named_and_a_share_fills_up() -> None:
    found = _waves(10, "[{targets: [a-7, a-3]}, {targets: a-3..a-4}, {upto: 50%}, {upto: 100%}]")
    assert found[:2] == (("a-3", "a-7"), ("a-4",))
    assert [len(wave) for wave in found] == [2, 1, 2, 5]


def test_a_rollout_without_waves_is_one_wave() -> None:
    assert _waves(3, "[]") == (("a-0", "a-1", "a-2"),)


def _ids(*faults: str) -> tuple[str, ...]:
    return fault_ids(
        _fleet(3, rollouts="[{version: v, at: 0, targets: all, body: x}]", faults=f"[{', '.join(faults)}]")
    )


def test_a_fault_without_an_id_is_named_by_what_it_strikes() -> None:
    assert _ids(
        "{operation: read, error: EIO}",
        "{operation: read, error: ENOSPC, probability: 3%, agents: a-0, from: 1s}",
        "{operation: read, delay: 1s}",
        "{operation: write, error: EIO, path: 'logs/*'}",
        "{operation: write, crash: after, on: operators}",
        "{per_hour: 1, crash: before, power: true}",
        "{per_hour: 1, pause: 1s}",
        "{id: mine, operation: read, error: EIO}",
    ) == (
        "read-error", "read-error-2", "read-delay", "write-error@logs/*", "operators-write-crash", "power", "pause",
        "mine",
    )  # fmt: skip


def test_turning_a_parameter_of_a_fault_keeps_its_id() -> None:
    assert _ids("{operation: read, error: EIO, probability: 1%}") == _ids(
        "{operation: read, error: EACCES, probability: 2%, from: 1s, to: 2s, agents: 10%}"
    )


def test_a_derived_id_gives_way_to_a_given_one() -> None:
    assert _ids("{operation: read, error: EIO}", "{id: read-error, operation: unlink, error: EIO}") == (
        "read-error-2",
        "read-error",
    )


@pytest.mark.parametrize(
    ("rollout", "body"),
    [
        ("body: hi", b"<!-- fleetbeat:v1 -->\nhi\n<!-- fleetbeat:v1 -->\n"),
        ("body: hi, mark: false", b"hi"),
        ("body: ' \\n'", b" \\n".join([b"<!-- fleetbeat:v1 -->\n", b"\n<!-- fleetbeat:v1 -->\n"])),
        ('body: " \\n"', b" \n"),
        ('body: ""', b""),
        ("base64: /w==", b"\xff"),
        ("base64: /w==, mark: true", b"<!-- fleetbeat:v1 -->\n\xff\n<!-- fleetbeat:v1 -->\n"),
        ("body: ü", "<!-- fleetbeat:v1 -->\nü\n<!-- fleetbeat:v1 -->\n".encode()),
    ],
)
def test_the_bytes_that_are_posted(rollout: str, body: bytes) -> None:
    scenario = _fleet(3, rollouts=f"[{{version: v1, at: 1s, targets: all, {rollout}}}]")
    assert body_of(scenario.rollouts[0]) == body


def test_a_fault_without_a_path_strikes_where_the_protocol_does_that() -> None:
    found = {
        name: default_path(name)
        for name in ("stat", "read", "unlink", "rename", "write", "truncate", "flush", "mkdir", "sync")
    }
    assert found == {
        "stat": ".rules", "read": ".rules", "unlink": ".rules", "rename": ".rules", "write": "system/rules.md",
        "truncate": "system/rules.md", "flush": "system/system.md", "mkdir": "system", "sync": None,
    }  # fmt: skip
    assert default_path("flush", "prompt.md") == "prompt.md"


def _shuffled(value: object, chance: random.Random) -> object:
    if isinstance(value, dict):
        items = [(key, _shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    return [_shuffled(item, chance) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_keys_does_not_matter(seed: int) -> None:
    import json

    from fleetbeat.scenario.dump import dump
    from fleetbeat.scenario.yaml12 import parse

    text = json.dumps(_shuffled(parse(FULL, "x")[0].plain(), random.Random(seed)))
    shuffled = load(text)
    assert shuffled == load(FULL)
    assert dump(shuffled) == dump(load(FULL))
    assert agents(shuffled) == agents(load(FULL))
