"""What a scenario means: mistakes that no single value shows, such as an agent that does not exist or a window that
ends before it begins. Each module checks one section; none assumes anything about sections that have mistakes.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from fleetbeat.scenario.inherit import inherit
from fleetbeat.scenario.meaning import expect, faults, fleet, rollouts, workload
from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.mistakes import Mistake
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.yaml12 import Node


def check(scenario: Scenario, root: Node) -> list[Mistake]:
    """The mistakes of meaning in a scenario without mistakes of shape."""
    return _run(Context(scenario, root, list(range(len(scenario.faults))), list(range(len(scenario.rollouts)))))


def check_rest(root: Node, wrong: list[Mistake]) -> list[Mistake]:
    """The mistakes of meaning in what is left once everything with a mistake of shape is taken out."""
    data, broken = root.plain(), [(*mistake.path.split("."), "")[:2] for mistake in wrong]
    if not isinstance(data, dict):
        return []
    fleet_known = all(section != "fleet" for section, _ in broken)
    if not fleet_known:
        data["fleet"] = {"agents": 1}
    places = {section: _left(data, section, broken) for section in ("faults", "rollouts")}
    for section, key in broken:
        if section == "expect" and key and isinstance(data.get(section), dict):
            data[section].pop(key, None)
        elif section not in ("fleet", "faults", "rollouts"):
            data.pop(section, None)
    try:
        scenario = inherit(Scenario.model_validate(data))
    except ValidationError:
        return []
    whole = all(section not in ("faults", "rollouts") for section, _ in broken)
    return _run(Context(scenario, root, places["faults"], places["rollouts"], fleet_known, fleet_known, whole))


def _left(data: dict[str, Any], section: str, broken: list[tuple[str, ...]]) -> list[int]:
    """Takes the items with mistakes out of a list; answers the places of those that stay."""
    items = data.get(section)
    if not isinstance(items, list):
        data.pop(section, None)
        return []
    bad = {key for name, key in broken if name == section}
    stay = [] if "" in bad else [index for index in range(len(items)) if str(index) not in bad]
    data[section] = [items[index] for index in stay]
    return stay


def _run(context: Context) -> list[Mistake]:
    if context.fleet_known:
        fleet.check(context)
    faults.check(context)
    rollouts.check(context)
    workload.check(context)
    expect.check(context)
    return context.mistakes
