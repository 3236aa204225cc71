"""Groups take from the fleet what they do not give: whole sections, and within a section single fields.

Done once, when a scenario is loaded, so that what is written down again says everything and means the same.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.model import Frozen, Group, Scenario


def inherit(scenario: Scenario) -> Scenario:
    """The scenario with the sections of its groups filled in."""
    fleet = scenario.fleet
    if not fleet.groups:
        return scenario
    groups = tuple(_filled(group, fleet) for group in fleet.groups)
    return scenario.model_copy(update={"fleet": fleet.model_copy(update={"groups": groups})})


def _filled(group: Group, fleet: Any) -> Group:
    update = {}
    for name in ("heartbeat", "latency", "start"):
        section: Frozen | None = getattr(group, name)
        if section is not None:
            above = getattr(fleet, name)
            missing = [key for key in type(section).model_fields if key not in section.model_fields_set]
            if "phase" in section.model_fields_set and "splay" in missing:
                missing.remove("splay")  # belongs to the phase that the group replaces
            update[name] = section.model_copy(update={key: getattr(above, key) for key in missing})
    return group.model_copy(update=update) if update else group
