"""Whatever is given, loading answers with a scenario or with a ScenarioError of whole lines."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.scenario.examples import FULL

from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.load import ScenarioError, load
from fleetbeat.scenario.resolve import agents, fault_ids, targets, waves
from fleetbeat.scenario.yaml12 import parse

WHOLE = parse(FULL, "x")[0].plain()


def _tried(text: str, *overrides: str) -> None:
    try:
        scenario = load(text, "x.yaml", overrides)
    except ScenarioError as error:
        lines = str(error).split("\n")
    else:
        lines = []
        fleet = agents(scenario)
        assert len(fault_ids(scenario)) == len(scenario.faults)
        for rollout in scenario.rollouts:
            assert sum(map(len, waves(rollout, fleet))) == len(targets(rollout, fleet))
        assert load(dump(scenario)) == scenario
    for line in lines:
        assert line.startswith(("x.yaml", "--set"))
        assert ": got " in line
        assert ", expected " in line


_words = st.sampled_from(
    [
        "all",
        "web-0",
        "30%",
        "web-*",
        "[",
        "a-0..a-1",
        "1s",
        "-1s",
        "EIO",
        "read",
        "none",
        "normal",
        "",
        "x",
        "v1",
        "host:h0",
        "kind",
    ]
)
_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.integers(), st.floats(), st.text(max_size=5), _words
)
_junk = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words | st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += _places(item, (*path, key))
    return found


PLACES = _places(WHOLE)


def _with(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """`value` with `new` at a path; as far as the path is still there."""
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: _with(value.get(path[0]), path[1:], new)}
    if isinstance(value, list) and isinstance(path[0], int) and path[0] < len(value):
        return [_with(item, path[1:], new) if index == path[0] else item for index, item in enumerate(value)]
    return value


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), _junk), min_size=1, max_size=3))
def test_a_scenario_with_junk_in_some_places_is_refused_in_words(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    data = WHOLE
    for path, new in changes:
        data = _with(data, path, new)
    _tried(json.dumps(data))


@settings(max_examples=80, deadline=None)
@given(st.text(st.sampled_from("ab:-{}[],&*!|>'\"%#@ \n\t\\0.?~"), max_size=60) | st.text(max_size=40))
def test_junk_is_refused_in_words(text: str) -> None:
    _tried(text)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, len(FULL)), st.integers(0, 20), st.text(max_size=4))
def test_a_scenario_with_a_piece_cut_out_is_refused_in_words(start: int, length: int, new: str) -> None:
    _tried(FULL[:start] + new + FULL[start + length :])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(PLACES), max_size=2), st.text(max_size=8) | _scalars.map(str))
def test_junk_overrides_are_refused_in_words(paths: list[tuple[Any, ...]], value: str) -> None:
    _tried(FULL, *(".".join(map(str, path)) + f"={value}" for path in paths), value)


def test_loading_imports_nothing_heavy() -> None:
    code = "import sys, fleetbeat.scenario.load as l; l.load('fleet: {agents: 3}'); print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "duckdb", "simpy", "jinja2", "rich"} & set(loaded)
