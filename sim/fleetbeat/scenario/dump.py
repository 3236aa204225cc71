"""A scenario written down again as YAML that loads to the same data, every default spelled out."""

from __future__ import annotations

from typing import Any

from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.yaml12 import resolve


class _Flow(list[Any]):
    """A list that is written on one line: long lists of durations."""


def dump(scenario: Scenario) -> str:
    """YAML text of a loaded scenario: units as text, nothing that needs another file."""
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
    Dumper.add_representer(_Flow, flow)
    data = _short(scenario.model_dump(mode="json", by_alias=True, exclude_none=True))
    written: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return written


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
