"""Same scenario and seed: the same history bytes. In fresh processes under several hash seeds (and interpreters), with
the keys of the YAML in another order, when played again, in parts, or beside unrelated agents, faults and rollouts.

The scenario is rich on purpose: a leak that it does not meet would go unseen. `test_the_scenario_meets_what_could_leak`
says what it meets.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from fleetbeat.engines import ENGINES
from fleetbeat.history import jsonl
from fleetbeat.history.records import Record
from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.yaml12 import parse

TOP = Path(__file__).resolve().parents[1]

#: Forty agents: `a` beats in step (ties at every second), `b` with jitter and stalls, `c` below a-0 in the tree.
RICH = """\
name: rich
seed: 7
duration: 60s
fleet:
  hosts: [{name: h0}, {name: h1, clock_ppm: 150, clock_offset: 3ms}, {name: h2, disk: 9kB}]
  groups:
    - {name: a, count: 22, hosts: [h0, h1], heartbeat: {phase: aligned}}
    - name: b
      count: 14
      hosts: [h1, h2, h0]
      start: {rules: old}
      heartbeat: {mode: fixed-rate, jitter: {kind: normal, sd: 40ms}, stalls: {per_hour: 300, length: 2s}}
    - {name: c, count: 4, parent: a-0, hosts: [h0], heartbeat: {jitter: {kind: uniform, low: -100ms, high: 200ms}}}
  latency:
    read: {kind: exponential, mean: 30ms}
    unlink: {kind: uniform, low: 0ms, high: 40ms}
    write: {kind: lognormal, median: 5ms, sigma: 1}
  lifecycle:
    boot: {kind: uniform, low: 0s, high: 300ms}
    suspend: [{agents: 30%, from: 14s, to: 18s}, {agents: 'group:b', from: 17s, to: 20s}]
    rebuilds:
      - {agents: all, every: 9s, beside_beat: true}
      - {agents: 'group:a', at: [15s, 25s], cause: refresh}
    crashes:
      - {agents: a-1, at: 16s, restart: 1s}
      - {hosts: [h1], at: 21s, power: true, unsynced: random, restart: 1s}
    spawns:
      - {at: 12s, name: kid, count: 2, parent: a-0, hand_down: in-place}
      - {at: 31s, name: late, count: 1, parent: b-0, hand_down: atomic}
faults:
  - {id: stat, operation: stat, probability: 2%, error: EIO}
  - {id: open, operation: open, path: .rules, probability: 10%, error: EACCES}
  - {id: read, operation: read, probability: 20%, error: EIO}
  - {id: unlink, operation: unlink, probability: 20%, error: EACCES}
  - {id: mkdir, operation: mkdir, probability: 5%, error: EROFS}
  - {id: write, operation: write, probability: 20%, error: ENOSPC, effect: partial}
  - {id: close, operation: close, path: system/rules.md, probability: 5%, error: EIO, effect: after}
  - {id: flush, operation: flush, probability: 15%, error: EIO}
  - {id: emit, operation: emit, probability: 10%, error: ENOSPC, effect: partial}
  - {id: slow, operation: read, probability: 20%, delay: {kind: exponential, mean: 200ms}}
  - {id: third, operation: stat, occurrence: [3, 17], delay: 1500ms}
  - {id: dies, agents: 'group:b', operation: write, probability: 15%, crash: after, restart: 2s}
  - {id: stops, agents: 50%, pause: {kind: uniform, low: 100ms, high: 2s}, per_hour: 200}
  - {id: falls, agents: 'group:c', crash: before, per_hour: 60, power: true, unsynced: random, restart: 500ms}
  - {id: rename, on: operators, operation: rename, probability: 10%, error: EIO}
  - {id: sync, on: operators, operation: sync, probability: 10%, error: EIO}
  - {id: short, on: operators, operation: write, probability: 10%, error: ENOSPC, effect: partial}
  - {id: gone, on: operators, operators: [bob], operation: write, probability: 5%, crash: before}
rollouts:
  - version: v1
    at: 5s
    targets: ['group:a', 'group:b', 'group:c']
    body: be kind
    write: atomic-synced
    verify: effective
    timeout: 4s
    retries: 1
    waves: [{upto: 20%, bake: 2s}, {upto: 100%}]
  - {version: v2, at: 15s, targets: ['group:a', 'group:b'], body: be kinder, write: in-place, chunk: 16, verify: canonical}
  - version: v3
    operator: bob
    at: 15s
    targets: ['group:a', 'group:c']
    body: nay
    verify: disappearance
    retries: 2
    timeout: 3s
  - {version: v4, operator: bob, at: 24s, targets: 'group:b', body: yea, write: cross-device, chunk: 8, order: one-by-one}
  - {version: v5, at: 33s, targets: ['group:a', 'group:b'], body: last, write: shared-temp, poll: 300ms, verify: effective}
  - {version: v6, at: 33s, targets: a-0..a-9, base64: /w==, operator: bob}
"""

PLAY = """\
import sys
from fleetbeat.engines import ENGINES
from fleetbeat.history import jsonl
from fleetbeat.scenario.load import load
sys.stdout.buffer.write(jsonl.dumps(ENGINES.engine("des")(load(sys.stdin.read()))))
"""


def _play(text: str) -> list[Record]:
    return ENGINES.engine("des")(load(text))


@pytest.fixture(scope="module")
def rich() -> list[Record]:
    return _play(RICH)


def _same(got: bytes, expected: bytes) -> None:
    """Fails with the first line at which two histories part, and the three before it."""
    if got == expected:
        return
    left, right = got.splitlines(), expected.splitlines()
    place = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    before = b"\n  ".join(right[max(0, place - 3) : place]).decode()
    ends = [lines[place].decode() if place < len(lines) else "(its end)" for lines in (left, right)]
    counts = f"{place} of {len(left)} and {len(right)}"
    pytest.fail(f"they part at record {counts}, after\n  {before}\ngot      {ends[0]}\nexpected {ends[1]}")


def test_the_scenario_meets_what_could_leak(rich: list[Record]) -> None:
    kinds = Counter(record.kind for record in rich)
    assert kinds["agent"] == 43
    seen = {"life.end", "pause", "runnable", "rebuild.end", "prompt", "log", "claim", "polls", "beats"}
    assert seen <= kinds.keys()
    fired = Counter(record["fault"] for record in rich if record.kind == "fault")
    planned = {record["fault"] for record in rich if record.kind == "fault.plan"}
    assert (planned - fired.keys(), len(planned)) == (set(), 18)
    events = {record["event"] for record in rich if record.kind in ("signal", "canonical")}
    assert {"appeared", "replaced", "changed", "vanished", "truncated", "written"} <= events
    assert {record["outcome"] for record in rich if record.kind == "post.end"} == {"written", "failed", "died"}
    assert {record["cause"] for record in rich if record.kind == "life.end"} >= {"crash", "power"}
    # ties: instants at which different actors act
    actors: dict[int, set[str]] = {}
    for record in rich:
        if record.t and record.kind in ("op", "beat", "beats", "signal"):
            actors.setdefault(record.t, set()).add(record.actor)
    assert sum(len(names) > 1 for names in actors.values()) > 200
    assert sum(len(names) > 9 for names in actors.values()) > 20


# --- fresh processes ---


def _others() -> list[str]:
    """Further interpreters that have fleetbeat installed, as CI names them; none where nobody names any."""
    return [path for path in os.environ.get("FLEETBEAT_PYTHONS", "").split(os.pathsep) if path]


def _processes() -> list[tuple[str, str]]:
    """(interpreter, PYTHONHASHSEED)"""
    return [
        *((sys.executable, seed) for seed in ("0", "1", "12345", "random")),
        *((path, "random") for path in _others()),
    ]


def test_fresh_processes_give_the_same_bytes_whatever_the_hash_seed(rich: list[Record]) -> None:
    expected = jsonl.dumps(rich)
    for python, seed in _processes():
        command, env = [python, "-W", "error", "-c", PLAY], {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, input=RICH.encode(), env=env, cwd="/", capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode()) == (0, "")
        _same(done.stdout, expected)


def test_fresh_processes_give_the_framework_the_same_bytes() -> None:
    text = find("core-trial").read_text(encoding="utf-8")
    expected = jsonl.dumps(_play(text))
    assert expected.count(b'"kind":"event"') > 1000
    for python, seed in _processes():
        command, env = [python, "-W", "error", "-c", PLAY], {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, input=text.encode(), env=env, cwd="/", capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode()) == (0, "")
        _same(done.stdout, expected)


# --- the same thing said otherwise ---


def _turned(value: Any) -> Any:
    """The same data with the keys of every mapping the other way round."""
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_keys_changes_nothing() -> None:
    scenario = _data(RICH)
    scenario["expect"] = {"fates": {"applied": [1, 900], "torn": [0, 900]}, "broken": ["whole-body"]}
    turned = _turned(scenario)
    assert list(turned) == list(reversed(scenario))
    _same(jsonl.dumps(_play(json.dumps(turned))), jsonl.dumps(_play(json.dumps(scenario))))


def test_the_order_in_which_groups_are_declared_moves_no_event() -> None:
    """What different actors do at one instant is ordered by name and chance, not by who was there first. (Power losses
    aside: one step ends the lives of a whole host, in the order of the fleet.)"""
    scenario = _data(RICH)
    scenario["fleet"]["lifecycle"]["crashes"].pop()
    scenario["faults"] = [fault for fault in scenario["faults"] if "power" not in fault]
    there = _play(json.dumps(scenario))
    scenario["fleet"]["groups"].reverse()
    scenario["fleet"]["lifecycle"]["spawns"].reverse()
    here = _play(json.dumps(scenario))
    assert here[:50] != there[:50]
    _same(*(jsonl.dumps(record for record in history if record.t) for history in (here, there)))


def test_a_scenario_as_resolved_gives_the_same_history(rich: list[Record]) -> None:
    _same(jsonl.dumps(_play(dump(load(RICH)))), jsonl.dumps(rich))


def test_a_run_again_in_this_process_gives_the_same_bytes(rich: list[Record]) -> None:
    _same(jsonl.dumps(_play(RICH)), jsonl.dumps(rich))


def test_a_run_that_tells_its_progress_gives_the_same_bytes(rich: list[Record]) -> None:
    told: list[int] = []
    records = ENGINES.engine("des")(load(RICH), None, told.append)
    _same(jsonl.dumps(records), jsonl.dumps(rich))
    assert told[-1] == 60_000_000_000


def test_another_seed_gives_another_history(rich: list[Record]) -> None:
    def events(records: Sequence[Record]) -> bytes:
        return jsonl.dumps(record for record in records if record.kind != "run")

    assert events(_play(RICH.replace("seed: 7", "seed: 8"))) != events(rich)


# --- unrelated things added ---


def _data(text: str) -> dict[str, Any]:
    """A scenario as plain data; its YAML is 1.2, where `on` is a text."""
    root, mistakes = parse(text, "rich")
    assert not mistakes
    data: dict[str, Any] = root.plain()
    return data


def _added(scenario: Mapping[str, Any], path: str, *items: Mapping[str, Any], first: bool = False) -> dict[str, Any]:
    """The scenario with items added to the list at `path`, in front of the others or behind them."""
    changed: dict[str, Any] = copy.deepcopy(dict(scenario))
    *above, last = path.split(".")
    place = changed
    for key in above:
        place = place[key]
    place[last] = [*items, *place[last]] if first else [*place[last], *items]
    return changed


def _with_strangers(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Agents, a host, spawns, crashes, faults of all kinds and rollouts that concern the added agents alone."""
    changed = _added(scenario, "fleet.groups", {"name": "z", "count": 5, "hosts": ["h0", "hz"]}, first=True)
    changed = _added(changed, "fleet.groups", {"name": "y", "count": 3, "parent": "a-3", "hosts": ["h1"]})
    changed = _added(changed, "fleet.hosts", {"name": "hz", "disk": "2kB"}, first=True)
    spawn = {"at": "11s", "name": "stray", "count": 2, "parent": "z-1", "hand_down": "in-place"}
    changed = _added(changed, "fleet.lifecycle.spawns", spawn, first=True)
    changed = _added(changed, "fleet.lifecycle.suspend", {"agents": "group:z", "from": "1s", "to": "30s"})
    changed = _added(
        changed, "fleet.lifecycle.crashes", {"hosts": ["hz"], "at": "16s", "power": True, "unsynced": "random"}
    )
    who = {"agents": ["group:z", "group:y"]}
    changed = _added(
        changed,
        "faults",
        {"operation": "read", "probability": "50%", "error": "EIO", **who},
        {"operation": "stat", "probability": "30%", "delay": "700ms", **who},
        {"on": "operators", "operation": "rename", "probability": "50%", "crash": "after", **who},
        {"pause": "1s", "per_hour": 900, **who},
        {"crash": "after", "per_hour": 300, "restart": "0s", **who},
        first=True,
    )
    rollouts: list[dict[str, Any]] = [
        {"version": "w1", "at": "5s", "targets": ["group:z", "group:y"], "body": "be mean", "verify": "effective"},
        {
            "version": "w2",
            "at": "15s",
            "targets": "group:z",
            "body": "be meaner",
            "operator": "bob",
            "write": "in-place",
        },
        {
            "version": "w3",
            "at": "15s",
            "targets": "group:y",
            "body": "meanest",
            "operator": "eve",
            "order": "one-by-one",
        },
    ]
    return _added(changed, "rollouts", *rollouts, first=True)


def _of(records: Sequence[Record], agent: str) -> bytes:
    """What a history says of one agent. `body` records aside: each stands where a body is first met by anybody."""
    return jsonl.dumps(record for record in records if record.get("agent") == agent and record.kind != "body")


def test_unrelated_agents_faults_and_rollouts_leave_every_record_of_the_others_as_it_was(rich: list[Record]) -> None:
    crowded = _play(json.dumps(_with_strangers(_data(RICH))))
    here = [record["agent"] for record in rich if record.kind == "agent"]
    there = [record["agent"] for record in crowded if record.kind == "agent"]
    assert (len(here), len(there), here) == (43, 53, [agent for agent in there if agent in here])
    for agent in here:
        _same(_of(crowded, agent), _of(rich, agent))
    struck = [r for r in crowded if r.kind in ("fault", "post.complete") and r["agent"] not in here]
    assert len(struck) > 20
    waves = {record["rollout"] for record in rich if record.kind == "wave"}
    for kind in ("wave", "rollout"):
        both = ([r for r in records if r.kind == kind and r["rollout"] in waves] for records in (crowded, rich))
        _same(*map(jsonl.dumps, both))


def test_faults_that_never_strike_move_no_draw_of_the_others(rich: list[Record]) -> None:
    idle: list[dict[str, Any]] = [
        {"operation": "read", "probability": 0, "error": "EIO"},
        {"operation": "stat", "from": "2h", "error": "EIO"},
        {"operation": "unlink", "occurrence": 9999, "error": "EIO"},
        {"crash": "before", "per_hour": 0, "restart": "1s"},
        {"on": "operators", "operators": ["bob"], "operation": "sync", "probability": 0, "error": "EIO"},
    ]
    records = _play(json.dumps(_added(_data(RICH), "faults", *idle, first=True)))
    assert sum(record.kind == "fault.plan" for record in records) == 18 + len(idle)
    _same(*(jsonl.dumps(r for r in history if r.kind != "fault.plan") for history in (records, rich)))
