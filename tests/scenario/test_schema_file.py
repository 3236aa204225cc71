"""The schema that editors use lies beside the scenarios and is the one that the program prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetbeat.scenario.library import scenarios
from fleetbeat.scenario.schema import schema

FOLDER = Path(__file__).parents[2] / "scenarios"


def test_the_schema_beside_the_scenarios_is_the_programs_own() -> None:
    """To renew it: fleetbeat schema > scenarios/schema.json."""
    assert json.loads((FOLDER / "schema.json").read_text(encoding="utf-8")) == schema()


@pytest.mark.parametrize("name", sorted(scenarios()))
def test_a_scenario_names_the_schema_in_its_first_line(name: str) -> None:
    first = (FOLDER / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=./schema.json"
