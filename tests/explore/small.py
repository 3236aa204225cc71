"""Small worlds for tests of the explorer, and searches of them."""

from __future__ import annotations

import json
from typing import Any

from fleetbeat.explore.model import Bounds, Outcome
from fleetbeat.explore.plan import Plan, plan_of
from fleetbeat.explore.search import explore
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario


def scenario(*rollouts: dict[str, Any], faults: tuple[dict[str, Any], ...] = (), **fleet: Any) -> Scenario:
    """One agent that holds rules already, and these posts."""
    fleet = {"agents": 1, "start": {"rules": "as it was"}, **fleet}
    data = {"name": "small", "duration": "20s", "fleet": fleet, "faults": list(faults), "rollouts": list(rollouts)}
    return load(json.dumps(data), name="small")


def post(version: str, **more: Any) -> dict[str, Any]:
    return {"version": version, "at": "1s", "targets": "all", "body": f"rules {version}", **more}


def bounds(**numbers: Any) -> Bounds:
    """One beat, and nothing more than is asked for."""
    return Bounds(**{"beats": 1, "rebuilds": 0, "crashes": 0, **numbers})


def plan(
    *rollouts: dict[str, Any], faults: tuple[dict[str, Any], ...] = (), program: Any = None, **numbers: Any
) -> Plan:
    programs = None if program is None else {"reference": program}
    fleet = {"agents": numbers["agents"]} if "agents" in numbers else {}
    return plan_of(scenario(*rollouts, faults=faults, **fleet), bounds(**numbers), programs=programs)


def naive(world: Plan, *, merge: bool = True) -> Outcome:
    """The search without its short cuts."""
    return explore(world, prune=False, merge=merge, first_look=False, keep_outcomes=True)


def broken(outcome: Outcome) -> set[str]:
    return {found.invariant for found in outcome.found}
