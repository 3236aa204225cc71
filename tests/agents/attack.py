"""Attacks on an agent that is meant to survive: wild worlds with writers that rename, and one fault at every operation.

The fault model is the claim agent's (its README). Set aside are worlds in which the power failed while a writer was at
work, since nothing was promised for that post yet, and what a blank or undecodable post did by replacing a good one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.engines.wild_worlds import random_world

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.checks import judge
from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load

Data = dict[str, Any]
#: Operations that a scenario's fault can name.
FAULTY = {"stat", "open", "read", "write", "close", "rename", "unlink", "mkdir", "sync", "emit"}
HALVES = {"write", "open", "emit"}


# --- wild worlds ---


def wild(number: int, wide: bool) -> Data:
    """A wild world of the claim agent, all of whose writers rename; `wide`: its faults strike at any path."""
    data = random_world(number)
    fleet = data["fleet"]
    fleet["agent"] = "claim"
    fleet["latency"]["rename"] = fleet["latency"]["unlink"]
    powers = [*data["faults"], *fleet["lifecycle"].get("crashes", [])]
    power = any(one.get("power") for one in powers)
    for rollout in data["rollouts"]:
        rollout["write"] = "atomic-synced" if power or rollout["write"] == "atomic-synced" else "atomic"
    for spawn in fleet["lifecycle"].get("spawns", []):
        spawn["hand_down"] = "none" if power else "atomic"
    for index, fault in enumerate(data["faults"] if wide else ()):
        _widen(fault, number, index)
    return data


def _widen(fault: Data, number: int, index: int) -> None:
    if fault.get("on") == "operators" or fault.get("operation") in (None, "flush", "emit"):
        return
    fault["path"] = ("*", "*", ".rules*", "system/rules*")[(number + index) % 4]
    if number % 3 == 0:
        fault["operation"] = {"unlink": "rename", "stat": "sync"}.get(fault["operation"], fault["operation"])


# --- one fault at every operation ---


def _rollout(version: str, at: str, body: str) -> Data:
    text: Data = {"base64": "/3f/"} if body == "POISON" else {"body": body, "mark": False}
    return {"version": version, "at": at, "targets": "all", "write": "atomic-synced", **text}


BESIDE = {"rebuilds": [{"at": ["1s", "2010ms", "2020ms", "3015ms", "4s"], "beside_beat": True}]}
SHORT: dict[str, Data] = {
    "two posts": {
        "fleet": {"start": {"rules": "old"}},
        "rollouts": [_rollout("v1", "1500ms", "one"), _rollout("v2", "2500ms", "two")],
    },
    "a post into a beat": {
        "fleet": {},
        "rollouts": [_rollout("v1", "1500ms", "one"), _rollout("v2", "2010ms", "two")],
    },
    "posts that change nothing": {
        "fleet": {},
        "rollouts": [
            _rollout(f"v{n}", f"{n}500ms", body) for n, body in enumerate(("one", "one", " \n", "POISON", "five"), 1)
        ],
    },
    "rebuilds beside": {
        "fleet": {"start": {"rules": "old"}, "lifecycle": BESIDE},
        "rollouts": [_rollout("v1", "1500ms", "one"), _rollout("v2", "2500ms", "two")],
    },
}
MODES: dict[str, Data] = {
    **{f"crash {when}": {"crash": when, "restart": "300ms"} for when in ("before", "after")},
    **{
        f"power {when}, unsynced {fate}": {"crash": when, "power": True, "unsynced": fate, "restart": "300ms"}
        for when in ("before", "after")
        for fate in ("lost", "kept", "random")
    },
    "EIO": {"error": "EIO"},
    "EIO after the effect": {"error": "EIO", "effect": "after"},
    "ENOSPC halfway": {"error": "ENOSPC", "effect": "partial"},
}
Plan = tuple[tuple[Step, str], ...]


def played(world: str, plan: Plan = (), seed: int = 1, agent: str = "claim") -> list[Record]:
    """A short world in which each step of `plan` is struck in its way, and nothing else is."""
    faults = [
        {"id": f"f{n}", "operation": step.operation, "path": "*", "probability": 1e-9, **MODES[mode]}
        for n, (step, mode) in enumerate(plan)
    ]
    short = SHORT[world]
    heartbeat = {"interval": "1s", "phase": "aligned"}
    fleet = {"agents": 1, "agent": agent, "heartbeat": heartbeat, **short["fleet"]}
    data = {"name": "short", "seed": seed, "duration": "9s", "fleet": fleet, "rollouts": short["rollouts"]}
    struck = {(f"fault:f{n}", step): 0 for n, (step, _) in enumerate(plan)}
    return run(load(json.dumps({**data, "faults": faults}), name="short"), Overrides(bits=struck))


def plans(world: str, agent: str = "claim") -> Iterator[Plan]:
    """Every operation of the agent in this world, with everything that can befall it."""
    for record in played(world, agent=agent):
        if record.kind == "op" and record.actor.startswith("a-0/") and record["operation"] in FAULTY:
            fields = (record["life"], record["episode"], record["operation"], record["path"], record["nth"])
            step = Step(record.actor, *fields)
            for mode in MODES:
                if "halfway" not in mode or step.operation in HALVES:
                    yield ((step, mode),)


# --- what is asked of a history ---


def wrong(history: Sequence[Record]) -> list[str]:
    """Violations, gaps and unknown verdicts, but for what the fault model leaves out."""
    if _fails_while_writing(history):
        return []
    judgement = judge(history)
    found = [f"{v.invariant}: unknown: {v.reason}" for v in judgement.verdicts if v.outcome == "unknown"]
    for verdict in judgement.verdicts:
        for one in verdict.findings:
            if one.kind != "hazard" and "replaced it before it was read, and" not in one.message:
                found.append(f"{one.invariant}: {one.kind}, {one.cause}: {one.message}")
    return found


def _fails_while_writing(history: Sequence[Record]) -> bool:
    begun: dict[str, tuple[int, str]] = {}
    spans: list[tuple[int, int, str]] = []
    for record in history:
        if record.kind == "post.plan":
            begun[record["post"]] = (record.t, record["agent"])
        elif record.kind == "post.end":
            start, agent = begun.pop(record["post"])
            spans.append((start, record.t, agent))
    spans += [(start, history[-1].t, agent) for start, agent in begun.values()]
    ends = [(r.t, r["agent"]) for r in history if r.kind == "life.end" and r["cause"] == "power"]
    return any(start <= t <= end and agent == whose for t, whose in ends for start, end, agent in spans)
