"""Small scenarios that differ in what could make a skipped beat matter: cadences, and mixes of faults and lifecycles.

`cases` is a fixed matrix for every day; `scenarios` draws from far more for a long search (Hypothesis). All are plain
data, to be loaded as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

from hypothesis import strategies as st

from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

Data = dict[str, Any]

HOSTS = [{"name": "h0"}, {"name": "h1", "clock_ppm": 200, "clock_offset": "3ms"}]
ROLLOUTS: list[Data] = [
    {"version": "v1", "at": "5s", "targets": "all", "body": "be kind", "verify": "effective"},
    {
        "version": "v2",
        "at": "15s",
        "targets": "all",
        "body": "be kinder",
        "write": "in-place",
        "chunk": 16,
        "verify": "disappearance",
    },
    {
        "version": "v3",
        "at": "15010ms",
        "targets": "all",
        "body": "third",
        "operator": "bob",
        "verify": "canonical",
        "retries": 2,
        "timeout": "3s",
    },
]
JITTERS: dict[str, Any] = {
    "even": "none",
    "normal": {"kind": "normal", "sd": "50ms"},
    "uniform": {"kind": "uniform", "low": "-100ms", "high": "200ms"},
    "exponential": {"kind": "exponential", "mean": "30ms"},
}

#: name -> what is laid over the fleet, and the faults.
MIXES: dict[str, tuple[Data, list[Data]]] = {
    "nothing goes wrong": ({}, []),
    "operations fail": (
        {},
        [
            {"operation": "read", "probability": 0.3, "error": "EIO"},
            {"operation": "stat", "probability": 0.1, "error": "EIO"},
            {"operation": "unlink", "probability": 0.3, "error": "EACCES"},
            {"operation": "write", "probability": 0.3, "error": "ENOSPC", "effect": "partial"},
            {"operation": "flush", "probability": 0.3, "error": "EIO"},
        ],
    ),
    "stalls, crashes and power losses": (
        {"heartbeat": {"stalls": {"per_hour": 600, "length": "2s"}}},
        [
            {"operation": "write", "probability": 0.2, "crash": "before", "restart": "2s"},
            {"per_hour": 300, "crash": "after", "restart": "500ms", "power": True, "unsynced": "random"},
        ],
    ),
    "suspended, rebuilt, crashed, spawned": (
        {
            "lifecycle": {
                "suspend": [{"from": "14s", "to": "18s"}, {"agents": "50%", "from": "17s", "to": "20s"}],
                "rebuilds": [{"every": "3s", "beside_beat": True}, {"every": "7s"}],
                "crashes": [
                    {"agents": "a-1", "at": "15s", "restart": "1s"},
                    {"hosts": ["h1"], "at": "20s", "power": True, "restart": "1s"},
                ],
                "spawns": [{"at": "12s", "name": "kid", "count": 2, "parent": "a-0", "hand_down": "in-place"}],
            }
        },
        [],
    ),
    "slow operations, pauses, n-th occurrences": (
        {"latency": {name: {"kind": "exponential", "mean": "100ms"} for name in ("read", "unlink", "write", "close")}},
        [
            {"operation": "stat", "occurrence": [3, 17], "error": "EIO"},
            {"operation": "read", "delay": "400ms", "from": "10s", "to": "20s"},
            {"per_hour": 900, "pause": "700ms"},
            {"on": "operators", "operation": "stat", "probability": 0.3, "error": "EIO"},
        ],
    ),
    "looking takes long": (
        {"latency": {"stat": "20ms"}, "heartbeat": {"interval": "600ms"}},
        [
            {"operation": "stat", "probability": 0.05, "delay": "900ms"},
            {"operation": "stat", "error": "EIO", "from": "16s", "to": "18s"},
            {"operation": "stat", "probability": 0.4, "delay": "30ms", "from": "22s", "to": "33s"},
        ],
    ),
    "a directory in the way, operators that die": (
        {"start": {"signal": "directory", "rules": "old"}},
        [
            {"on": "operators", "operation": "rename", "probability": 0.4, "crash": "before"},
            {"on": "operators", "operation": "write", "probability": 0.2, "error": "ENOSPC"},
        ],
    ),
}


def scenario_of(data: Data) -> Scenario:
    return load(json.dumps(data), name="mix")


def _made(seed: int, heartbeat: Data, fleet: Data, faults: list[Data], rollouts: list[Data]) -> Data:
    fleet = {"agents": 4, "hosts": HOSTS, **fleet, "heartbeat": {**heartbeat, **fleet.get("heartbeat", {})}}
    return {"name": "mix", "seed": seed, "duration": "40s", "fleet": fleet, "faults": faults, "rollouts": rollouts}


def cases() -> Iterator[tuple[str, Data]]:
    """Every mix with every kind of jitter, in either mode and phase, though not all of them with all; and some ties."""
    kinds = list(JITTERS)
    places = product(enumerate(("fixed-delay", "fixed-rate")), enumerate(("random", "aligned")), enumerate(MIXES))
    for (first, mode), (second, phase), (third, mix) in places:
        for kind in kinds[:2] if (first + second + third) % 2 else kinds[2:]:
            heartbeat = {"interval": "1s", "mode": mode, "phase": phase, "jitter": JITTERS[kind]}
            seed = 8 * first + 4 * second + third
            yield f"{mode}, {phase}, {kind}: {mix}", _made(seed, heartbeat, *MIXES[mix], ROLLOUTS)
    for mode, seed in product(("fixed-delay", "fixed-rate"), range(4)):
        yield f"{mode}, on one grid: seed {seed}", _on_one_grid(mode, seed)


def _on_one_grid(mode: str, seed: int) -> Data:
    """Every effect falls on a tenth of a second and some ns (a process is a nanosecond on after each step outside an
    episode), so that the ends and the beginnings of beats meet writers and the harness at one instant."""
    shift = seed % 10
    on = 4 if mode == "fixed-rate" else 5
    latency = dict.fromkeys(
        ("stat", "list", "open", "read", "write", "truncate", "close", "rename", "unlink", "mkdir", "sync", "emit"),
        "100ms",
    )
    lifecycle = {
        "suspend": [{"agents": "a-0", "from": f"12{shift}0000000{on}ns", "to": f"13{shift}0000000{on}ns"}],
        "crashes": [
            {"agents": f"a-{agent}", "at": f"2{agent}{agent}0000000{on}ns", "restart": "1s"} for agent in range(4)
        ],
    }
    fleet = {"latency": latency, "lifecycle": lifecycle, "hosts": HOSTS[:1]}
    rollouts = [
        {
            **ROLLOUTS[number % 3],
            "version": f"v{number}",
            "latency": latency,
            "at": f"{5 + number}{(number + shift) % 10}0000000{on - 1}ns",
        }
        for number in range(9)
    ]
    heartbeat = {"interval": "300ms", "mode": mode, "phase": "aligned"}
    return _made(seed, heartbeat, fleet, [], rollouts)


# --- drawn ---

_MS = st.integers(0, 40_000).map("{}ms".format)
_SHORT = st.sampled_from(["0s", "1us", "3ms", "40ms", "400ms", "1s", "2500ms"])
_LONG = st.sampled_from(["500ms", "1s", "4s"])
_CHANCE = st.sampled_from([0.02, 0.1, 0.3, 0.8])
_WHO = st.sampled_from(["all", "50%", "a-0", "a-1..a-2", "host:h1"])
_SPREAD = st.one_of(
    _SHORT,
    _SHORT.map(lambda mean: {"kind": "exponential", "mean": mean}),
    _SHORT.map(lambda high: {"kind": "uniform", "low": "0s", "high": high}),
)


def _window(data: Data) -> Data:
    first, last = sorted((data.pop("_from"), data.pop("_to")), key=lambda text: int(text[:-2]))
    return {**data, "from": first, "to": last} if first != last else data


_WINDOWED = {"_from": _MS, "_to": _MS}


def _some(*fixed: st.SearchStrategy[Data]) -> st.SearchStrategy[list[Data]]:
    return st.lists(st.one_of(*fixed), max_size=4)


_EFFECTS = st.one_of(
    st.fixed_dictionaries(
        {"error": st.sampled_from(["EIO", "ENOSPC", "EACCES"])}, optional={"effect": st.just("after")}
    ),
    st.fixed_dictionaries({"delay": _SPREAD}),
    st.fixed_dictionaries({"pause": _SPREAD}),
    st.fixed_dictionaries({"crash": st.sampled_from(["before", "after"]), "restart": _LONG}),
    st.just({"crash": "after", "power": True, "unsynced": "random", "restart": "1s"}),
)
_WHEN = st.one_of(
    st.fixed_dictionaries({"probability": _CHANCE}),
    st.fixed_dictionaries({"occurrence": st.lists(st.integers(1, 60), min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"probability": _CHANCE, **_WINDOWED}).map(_window),
    st.fixed_dictionaries(dict(_WINDOWED)).map(_window),
)
_OPERATIONS = ("stat", "open", "read", "write", "close", "unlink", "mkdir", "emit", "flush")
_FAULTS = _some(
    st.builds(
        lambda operation, who, effect, when: {"operation": operation, "agents": who, **effect, **when},
        st.sampled_from(_OPERATIONS),
        _WHO,
        _EFFECTS,
        _WHEN,
    ),
    st.builds(
        lambda effect, who, rate: {"per_hour": rate, "agents": who, **effect},
        st.one_of(
            st.fixed_dictionaries({"pause": _SPREAD}),
            st.fixed_dictionaries({"crash": st.just("before"), "restart": _LONG, "power": st.booleans()}),
        ),
        _WHO,
        st.sampled_from([60, 300, 900]),
    ),
    st.builds(
        lambda operation, effect, when: {"on": "operators", "operation": operation, **effect, **when},
        st.sampled_from(["stat", "open", "read", "write", "rename", "unlink"]),
        st.sampled_from([{"error": "EIO"}, {"delay": "300ms"}, {"crash": "before"}]),
        _WHEN,
    ),
)
_LIFECYCLE = st.fixed_dictionaries(
    {},
    optional={
        "boot": _SPREAD,
        "suspend": _some(st.fixed_dictionaries({"agents": _WHO, **_WINDOWED}).map(_window).filter(lambda d: "to" in d)),
        "rebuilds": _some(
            st.fixed_dictionaries({"agents": _WHO, "at": _MS, "beside_beat": st.booleans()}),
            st.fixed_dictionaries({"agents": _WHO, "every": _LONG, "beside_beat": st.booleans()}),
        ),
        "crashes": _some(
            st.fixed_dictionaries({"agents": _WHO, "at": _MS, "restart": _LONG}),
            st.fixed_dictionaries({"hosts": st.just(["h0"]), "at": _MS, "restart": _LONG, "power": st.booleans()}),
        ),
        "spawns": st.just([{"at": "12s", "name": "kid", "parent": "a-0", "hand_down": "in-place"}]),
    },
)
_HEARTBEAT = st.fixed_dictionaries(
    {
        "mode": st.sampled_from(["fixed-delay", "fixed-rate"]),
        "phase": st.sampled_from(["random", "aligned"]),
        "interval": st.sampled_from(["500ms", "1s", "1700ms"]),
        "jitter": st.sampled_from(sorted(JITTERS)).map(JITTERS.__getitem__),
    },
    optional={"stalls": st.fixed_dictionaries({"per_hour": st.sampled_from([60, 900]), "length": _SPREAD})},
)
_LATENCY = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("open", "read", "write", "close", "unlink", "emit"), _SPREAD),
        "stat": st.sampled_from(["0s", "1us", "20ms", "700ms"]),
    },
)
_START = st.sampled_from(
    [{}, {"rules": "old"}, {"signal": "file", "signal_text": "there"}, {"signal": "directory"}, {"rules": " "}]
)
_ROLLOUTS = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.sampled_from(["3s", "5s", "5010ms", "17s"]),
            "targets": _WHO,
            "body": st.sampled_from(["be kind", "be kinder", " "]),
            "write": st.sampled_from(["atomic", "atomic-synced", "in-place", "cross-device", "shared-temp"]),
            "verify": st.sampled_from(["none", "disappearance", "canonical", "effective"]),
            "poll": st.sampled_from(["300ms", "1s"]),
            "timeout": st.sampled_from(["2s", "30s"]),
            "retries": st.integers(0, 2),
            "order": st.sampled_from(["together", "one-by-one"]),
            "operator": st.sampled_from(["op", "bob"]),
        }
    ),
    min_size=1,
    max_size=3,
).map(lambda rollouts: [{**rollout, "version": f"v{number}"} for number, rollout in enumerate(rollouts)])


def scenarios() -> st.SearchStrategy[Data]:
    fleet = st.fixed_dictionaries({"latency": _LATENCY, "lifecycle": _LIFECYCLE, "start": _START})
    drawn = st.builds(_made, st.integers(0, 2**64 - 1), _HEARTBEAT, fleet, _FAULTS, _ROLLOUTS)
    return drawn | st.builds(_on_one_grid, st.sampled_from(["fixed-delay", "fixed-rate"]), st.integers(0, 99_999))
