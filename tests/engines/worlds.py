"""Small worlds for engine tests: a scenario from keyword parts, and questions to the history it gives."""

from __future__ import annotations

import json
from typing import Any

from fleetbeat.chance.choices import Overrides
from fleetbeat.checks import judge
from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

MS = 1_000_000
S = 1_000_000_000


def scenario(*rollouts: dict[str, Any], duration: str = "20s", seed: int = 1, **parts: Any) -> Scenario:
    """A scenario of one agent that beats once a second from time 0 on, unless `parts` say otherwise."""
    fleet = {"agents": 1, "heartbeat": {"interval": "1s", "phase": "aligned"}, **parts.pop("fleet", {})}
    data = {"name": "small", "seed": seed, "duration": duration, "fleet": fleet, "rollouts": list(rollouts), **parts}
    return load(json.dumps(data), name="small")


def post(version: str, at: str, **more: Any) -> dict[str, Any]:
    return {"version": version, "at": at, "targets": "all", "body": f"rules {version}", **more}


def play(
    *rollouts: dict[str, Any], overrides: Overrides | None = None, programs: Any = None, **parts: Any
) -> list[Record]:
    return run(scenario(*rollouts, **parts), overrides, programs=programs)


def fates(history: list[Record]) -> dict[str, str]:
    return {fate.post: fate.fate for fate in judge(history).fates}


def of(history: list[Record], kind: str, **fields: Any) -> list[Record]:
    return [r for r in history if r.kind == kind and all(r.get(name) == value for name, value in fields.items())]


def shown(history: list[Record]) -> str:
    """A history to look at in a failure."""
    return "\n".join(
        f"{r.t} {r.actor} {r.kind} {dict(r.fields)}" for r in history if r.kind not in ("run", "body", "host")
    )
