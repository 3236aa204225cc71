"""The JSON Schema of scenarios, for editors: made from the model, so that it accepts what the loader accepts.

It says less than the loader (nothing about meaning) and never more. Bounds on durations are in their descriptions.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.words import INVARIANTS

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}
_LEFT_OUT = ("title", "default", "discriminator")
_INVARIANT_LISTS = ("broken", "hazards")


def schema() -> dict[str, Any]:
    """The schema as JSON data, draft 2020-12."""
    made: dict[str, Any] = _tidied(Scenario.model_json_schema(by_alias=True, mode="validation"), "")
    _name_invariants(made["$defs"]["Expect"]["properties"])
    made["$defs"]["Sometimes"]["properties"]["broken"]["anyOf"][0] = {"enum": list(INVARIANTS)}
    return {"$schema": DRAFT, "title": "fleetbeat scenario", **{k: v for k, v in made.items() if k != "title"}}


def _tidied(value: Any, key: Any) -> Any:
    """Without titles and defaults (those of durations would be nanoseconds), with bounds in the schema's own words."""
    if isinstance(value, list):
        return [_tidied(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    if key in ("properties", "$defs", "mapping"):  # keys are names here
        return {name: _tidied(item, "") for name, item in value.items()}
    kept = {_BOUNDS.get(name, name): item for name, item in value.items() if name not in _LEFT_OUT}
    if kept.get("type") == "array" and "prefixItems" in kept:
        kept["items"] = False
    return {name: _tidied(item, name) for name, item in kept.items()}


def _name_invariants(properties: dict[str, Any]) -> None:
    words = {"enum": list(INVARIANTS)}
    for name in _INVARIANT_LISTS:
        for option in properties[name]["anyOf"]:
            if option.get("type") == "array":
                option["items"] = words
        properties[name]["anyOf"] = [words if o == {"type": "string"} else o for o in properties[name]["anyOf"]]
