"""How the harness reads a body's policies: what is malformed, and what the others say."""

from __future__ import annotations

from typing import Any

import pytest
from tests.framework.bodies import BAD, GOOD, block, policies

from fleetbeat.framework.plain_yaml import plain
from fleetbeat.framework.policies import Gate, Observer, Policies, read
from fleetbeat.protocol.folders import load_module
from fleetbeat.scenario.library import find_core

CORE: Any = load_module(find_core("reference") / "policies.py")


@pytest.mark.parametrize("name", GOOD)
def test_a_good_body_has_no_error(name: str) -> None:
    assert read(GOOD[name]).error is None


@pytest.mark.parametrize("name", BAD)
def test_a_bad_body_is_malformed_as_a_whole_and_says_why_in_one_line(name: str) -> None:
    found = read(BAD[name])
    assert (found.gates, found.observers) == ((), ())
    assert found.error
    assert len(found.error.splitlines()) == 1
    assert len(found.error) < 400
    assert "expected" in found.error


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_the_reference_core_finds_the_same_bodies_malformed(name: str) -> None:
    text = {**GOOD, **BAD}[name]
    try:
        gates, observers = CORE.read(text, plain)
    except CORE.Malformed:
        assert name in BAD
        return
    assert name in GOOD
    harness = read(text)
    assert [gate.id for gate in gates] == [gate.id for gate in harness.gates]
    assert [(one.id, one.argument) for one in observers] == [(one.id, one.argument) for one in harness.observers]


def test_no_body_has_no_policies() -> None:
    assert read(None) == read("") == Policies()


def test_a_gate_is_read_with_all_that_it_says() -> None:
    text = policies(
        "gate: g, on: tool.before, answer: deny, when: {command: 'rm *', tool: [shell, sql]}, state: "
        "{rejections: {at_most: 9, at_least: 3}}, cooldown_s: 2"
    )
    gate = Gate(
        "g",
        ("tool.before",),
        "deny",
        {"command": ("rm *",), "tool": ("shell", "sql")},
        {"rejections": (("at_least", 3), ("at_most", 9))},
        2.0,
    )
    assert read(text) == Policies((gate,))


def test_observers_are_read_in_the_order_of_the_body() -> None:
    text = policies(
        "observer: b, on: [ready, 'file.*'], action: {notify: done}", "observer: a, on: x, action: {prepare: {cost: 2}}"
    )
    first = Observer("b", ("ready", "file.*"), "notify", "done", {}, {})
    assert read(text).observers == (first, Observer("a", ("x",), "prepare", {"cost": 2}, {}, {}))


def test_an_error_names_block_policy_and_field() -> None:
    text = policies("gate: g, on: tool.before, answer: ask") + policies(
        "gate: h, on: tool.before, answer: ask", "gate: i, on: tool.before, answer: perhaps"
    )
    assert read(text).error == ("block 2, policy 2.answer: got 'perhaps', expected one of allow, ask, deny")


def test_broken_yaml_is_told_with_its_line_in_the_block() -> None:
    assert "policies:2:" in str(read(block("policies:\n- a: }\n")).error)


def test_one_bad_policy_takes_the_good_ones_of_its_body_with_it() -> None:
    assert read(BAD["one bad policy among good ones"]).gates == ()


def test_on_is_text_as_yaml_1_2_has_it() -> None:
    (observer,) = read(block("policies:\n- observer: on\n  on: on\n  action: {notify: no}")).observers
    assert (observer.id, observer.on, observer.argument) == ("on", ("on",), "no")


@pytest.mark.parametrize(
    ("text", "data"), [("1e3", 1000.0), ("12:30:00", "12:30:00"), ("{a: [yes, ~]}", {"a": ["yes", None]})]
)
def test_plain_data_is_that_of_yaml_1_2(text: str, data: Any) -> None:
    assert plain(text) == data


@pytest.mark.parametrize("text", ["", "[", "a: 1\na: 2", "1: a", "!!int 3", "--- 1\n--- 2", "x" * 300_000])
def test_what_is_no_plain_yaml_raises_value_error_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        plain(text)
    assert len(str(caught.value).splitlines()) == 1
