from __future__ import annotations

from typing import Any

import pytest
from tests.scenario.examples import FULL
from tests.scenario.mini_schema import errors

from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.library import scenarios
from fleetbeat.scenario.load import load
from fleetbeat.scenario.schema import schema
from fleetbeat.scenario.words import INVARIANTS
from fleetbeat.scenario.yaml12 import parse


def _errors(text: str) -> list[str]:
    return errors(schema(), parse(text, "x.yaml")[0].plain())


def test_the_schema_accepts_what_the_loader_accepts() -> None:
    assert _errors(FULL) == []
    assert _errors(dump(load(FULL))) == []


@pytest.mark.parametrize("name", list(scenarios()))
def test_the_schema_and_the_loader_accept_each_scenario_of_the_library(name: str) -> None:
    path, line = scenarios()[name]
    assert _errors(path.read_text(encoding="utf-8")) == []
    assert load(path).name == name
    assert line


SHORT = [
    "latency: {read: 5ms}", "latency: {read: 0.5}", "latency: {read: {value: 5ms}}", "latency: {read: '0'}",
    "heartbeat: {jitter: none}", "heartbeat: {jitter: 0}", "lifecycle: {rebuilds: [{at: 5s}, {at: [5s, 1h 30m]}]}",
    "lifecycle: {suspend: [{from: 0, to: 5, agents: a-0}]}", "hosts: [{name: h, disk: 5, clock_offset: -1ms}]",
    "heartbeat: {jitter: {kind: uniform, low: -1us, high: 1e-6}}", "uid: 65535",
]  # fmt: skip


@pytest.mark.parametrize("text", SHORT)
def test_the_schema_accepts_the_short_ways_of_writing(text: str) -> None:
    whole = f"fleet: {{agents: 5, {text}}}"
    load(whole)
    assert _errors(whole) == []


WRONG = [
    "fleet: {agentz: 5}", "fleet: {agents: '5'}", "fleet: {agents: 0}",
    "fleet: {agents: 5, latency: {read: 5 parsecs}}",
    "fleet: {agents: 5, latency: {read: {kind: gauss}}}", "fleet: {agents: 5, latency: {read: {kind: normal}}}",
    "fleet: {agents: 5, heartbeat: {phase: fixed}}", "fleet: {agents: 5}\nexpect: {broken: drain}", "seed: 1",
    "fleet: {agents: 5}\nexpect: {fates: {lots: 1}}", "fleet: {agents: 5}\nexpect: {fates: {lost: [1]}}",
    "fleet: {agents: 5}\nworkload: 3", "fleet: {agents: 5}\nseed: -1", "fleet: {agents: 5, latency: {read: -1}}",
    "fleet: {agents: 5}\nrollouts: [{version: v1, at: 1s, targets: []}]", "fleet: {agents: 5, uid: 65536}",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_the_schema_refuses_what_an_editor_should_mark(text: str) -> None:
    assert _errors(text)


def test_the_schema_explains_fields_and_lists_words() -> None:
    made: dict[str, Any] = schema()
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    fleet = made["$defs"]["Fleet"]["properties"]
    assert "a-0" in fleet["agents"]["description"]
    assert fleet["agents"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 1_000_000}
    assert {"enum": list(INVARIANTS)} in made["$defs"]["Expect"]["properties"]["broken"]["anyOf"]
    assert "from" in made["$defs"]["Fault"]["properties"]
    assert "default" not in str(made["$defs"]["Latency"]["properties"])
