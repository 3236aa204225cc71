"""A scenario written down again as YAML that loads to the same data, every default spelled out."""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.yaml12 import resolve


class _Flow(list[Any]):
    """A list that is written on one line: long lists of durations."""


class OnOneLine(dict[str, Any]):
    """A mapping that is written on one line."""


def dump(scenario: Scenario) -> str:
    """YAML text of a loaded scenario: units as text, nothing that needs another file."""
    return written(_short(scenario.model_dump(mode="json", by_alias=True, exclude_none=True)))


def brief(scenario: Scenario) -> dict[str, Any]:
    """A scenario as data for `written`, without what is left at its default. Groups are spelled out: what a group does
    not say it takes from the fleet."""
    if scenario.fleet.groups:
        return {**_short(scenario.model_dump(mode="json", by_alias=True, exclude_none=True))}
    data = _short(scenario.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    return {key: _on_lines(_constants(value)) for key, value in data.items()}


def _constants(value: Any) -> Any:
    """Spreads of which only the length was left are plain durations."""
    if isinstance(value, list):
        return type(value)(map(_constants, value))
    if not isinstance(value, dict):
        return value
    return value["value"] if list(value) == ["value"] else {key: _constants(item) for key, item in value.items()}


def _on_lines(value: Any) -> Any:
    """Mappings without mappings or long texts in them go on one line each."""
    if isinstance(value, list):
        return type(value)(map(_on_lines, value))
    if not isinstance(value, dict):
        return value
    inner = {key: _on_lines(item) for key, item in value.items()}
    flat = not any(isinstance(item, dict | list) and not isinstance(item, _Flow) for item in inner.values())
    return OnOneLine(inner) if flat and not any("\n" in str(item) for item in inner.values()) else inner


def written(data: Any) -> str:
    """YAML 1.2 text of plain data."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        """Quoted wherever YAML 1.2 would read something else than text: PyYAML knows 1.1 only and leaves `1e3` bare."""
        bare = "|" if "\n" in value else None
        style = bare if isinstance(resolve(value), str) else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    def flow(dumper: Any, value: _Flow) -> Any:
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)

    Dumper.add_representer(str, text)

    def line(dumper: Any, value: OnOneLine) -> Any:
        return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=True)

    Dumper.add_representer(_Flow, flow)
    Dumper.add_representer(OnOneLine, line)
    text_of_all: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text_of_all


def _short(value: Any) -> Any:
    """Constants as plain durations, no jitter as `none`."""
    if isinstance(value, list):
        return (_Flow if value and all(isinstance(item, str) for item in value) else list)(map(_short, value))
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "constant":
        return value["value"]
    if value == {"kind": "none"}:
        return "none"
    return {key: _short(item) for key, item in value.items()}
