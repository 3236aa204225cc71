"""The reference core reads bodies by its own means: what is malformed, and what a policy is about, as the harness has it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.framework.bodies import BAD, GOOD

from fleetbeat.framework.fold import COUNTED, COUNTS, Fold
from fleetbeat.framework.match import fits
from fleetbeat.framework.plain_yaml import plain
from fleetbeat.framework.policies import Gate, read
from fleetbeat.framework.vocabulary import TYPES, Event
from fleetbeat.protocol.folders import load_module
from fleetbeat.scenario.library import find_core

own: Any = load_module(find_core("reference") / "policies.py")


def _block(text: str) -> str:
    return f"Words.\n```yaml policies\n{text}\n```\n"


def _same(text: str) -> bool:
    """Whether it is well-formed; core and harness must agree, and on what it says."""
    harness, reason = read(text), None
    try:
        gates, observers = own.read(text, plain)
    except own.Malformed as error:
        reason = str(error)
    assert (reason is None) == (harness.error is None), reason or harness.error
    if reason is not None:
        assert "\n" not in reason
        return False
    assert [(gate.id, gate.cooldown_ns) for gate in gates] == [
        (gate.id, round(gate.cooldown_s * 1e9)) for gate in harness.gates
    ]
    assert [(one.id, one.on, one.action, one.argument, one.cooldown_ns) for one in observers] == [
        (one.id, one.on, one.action, one.argument, round(one.cooldown_s * 1e9)) for one in harness.observers
    ]
    return True


# --- what is malformed ---


@pytest.mark.parametrize("name", GOOD)
def test_a_body_that_is_well_formed_is_so_for_the_core(name: str) -> None:
    assert _same(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_a_body_that_is_malformed_is_so_for_the_core(name: str) -> None:
    assert not _same(BAD[name])


MORE_BAD = [
    *(
        _block(f"policies: [{{gate: g, on: tool.before, answer: ask, {more}}}]")
        for more in ("when: 1", "when: null", "when: {a: null}", "when: {a: []}", "when: {a: {b: 1}}", "when: {1: a}",
                     "when: {'': a}", "state: null", "state: {calls: 1}", "state: {calls: {}}", "cooldown_s: .nan",
                     "state: {cals: {exactly: 1}}", "state: {calls: {above: 1}}", "state: {calls: {exactly: true}}",
                     "state: {calls: {exactly: 1.5}}", "cooldown_s: true", "cooldown_s: .inf", "cooldown_s: 1e300")
    ),
    *(
        _block(f"policies: [{{observer: o, on: {on}, action: {action}}}]")
        for on, action in (("prompt", "{}"), ("prompt", "x"), ("prompt", "{notify: ''}"), ("prompt", "{notify: 1}"),
                           ("prompt", "{notify: a, inject: b}"), ("prompt", "{deny: a}"), ("[]", "{notify: a}"),
                           ("''", "{notify: a}"), ("[1]", "{notify: a}"), ("null", "{notify: a}"),
                           ("prompt", "{prepare: x}"), ("prompt", "{prepare: {cost: -1}}"),
                           ("prompt", "{prepare: {calls: 1.5}}"), ("prompt", "{prepare: {touches: ''}}"),
                           ("prompt", "{prepare: {more: 1}}"))
    ),
    *(
        _block(f"policies: [{{gate: {name}, on: {on}, answer: {answer}}}]")
        for name, on, answer in (("''", "tool.before", "ask"), ("1", "tool.before", "ask"), ("g", "'*'", "ask"),
                                 ("g", "[]", "ask"), ("g", "tool.before", "[ask]"), ("g", "tool.before", "null"))
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", MORE_BAD)
def test_what_else_is_malformed_is_so_for_the_core(text: str) -> None:
    assert not _same(text)


_word = st.sampled_from(["g", "o", "", "*", "tool.before", "prompt", "ask", "rm *"])
_scalar = st.one_of(_word, st.integers(-2, 3), st.booleans(), st.none(), st.floats(-1, 2, allow_nan=False))
_number = st.one_of(st.integers(0, 3), st.floats(0, 2, allow_nan=False))


def _mostly(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One in ten is something else."""
    return st.integers(0, 9).flatmap(lambda drawn: good if drawn else st.one_of(_scalar, st.lists(_scalar, max_size=2)))


_common = {
    "when": _mostly(st.dictionaries(st.sampled_from(["tool", "origin"]), _mostly(_word.filter(bool)), max_size=2)),
    "state": _mostly(
        st.dictionaries(
            _mostly(st.sampled_from(COUNTS)).map(str),
            st.dictionaries(st.sampled_from(["at_least", "at_most"]), _mostly(st.integers(0, 3)), min_size=1),
            max_size=1,
        )
    ),
    "cooldown_s": _mostly(_number),
}
_gate = st.fixed_dictionaries(
    {
        "gate": _mostly(st.sampled_from(["g", "h", "i"])),
        "on": _mostly(st.just("tool.before")),
        "answer": _mostly(st.sampled_from(["ask", "deny", "allow"])),
    },
    optional=_common,
)
_task = st.fixed_dictionaries({}, optional={"cost": _mostly(_number), "calls": _mostly(st.integers(0, 3))})
_observer = st.fixed_dictionaries(
    {
        "observer": _mostly(st.sampled_from(["o", "p", "g"])),
        "on": _mostly(st.lists(_mostly(st.sampled_from(["prompt", "*"])), min_size=1, max_size=2)),
        "action": _mostly(
            st.one_of(
                st.fixed_dictionaries({"notify": _mostly(st.just("x"))}),
                st.fixed_dictionaries({"prepare": _mostly(_task)}),
                st.fixed_dictionaries({"inject": st.just("x"), "notify": st.just("x")}),
            )
        ),
    },
    optional=_common,
)
_policy = st.one_of(_gate, _observer)


FOUND: list[bool] = []


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(_policy, min_size=1, max_size=3))
def test_core_and_harness_agree_on_bodies_that_nobody_thought_of(policies: list[Any]) -> None:
    FOUND.append(_same(_block(json.dumps({"policies": policies}))))


def test_of_those_bodies_many_are_well_formed_and_many_are_not() -> None:
    FOUND.clear()
    test_core_and_harness_agree_on_bodies_that_nobody_thought_of()
    assert 20 < sum(FOUND) < len(FOUND) - 20


# --- what a policy is about ---

_values = st.one_of(
    st.sampled_from(["rm -rf *", "rm -rf x", "r?*", "[rs]*", "shell", "user", "", "*", "a.b", "aXb", "a?b", "[ab]Xb"]),
    st.sampled_from([0, 1, True, False, 1.0, 2]),
)
_event = st.builds(
    lambda type, origin, fields: Event(1, 0, type, origin, "s", None, fields),
    st.sampled_from([*TYPES, "notice"]),
    st.sampled_from(["user", "agent", "tool", "proactive"]),
    st.dictionaries(st.sampled_from(["command", "tool", "subtask"]), st.one_of(_values, st.none()), max_size=3),
)


@settings(max_examples=250, deadline=None, derandomize=True, database=None)
@given(
    on=st.lists(st.sampled_from(["*", "tool.*", "prompt", "t?ol.before", "[a-p]*"]), min_size=1, max_size=2),
    when=st.dictionaries(
        st.sampled_from(["command", "tool", "subtask", "origin", "type", "session"]),
        st.lists(_values.filter(lambda value: value != ""), min_size=1, max_size=3),
        max_size=2,
    ),
    state=st.dictionaries(
        st.sampled_from(COUNTS),
        st.dictionaries(st.sampled_from(["at_least", "at_most", "exactly"]), st.integers(0, 2), min_size=1, max_size=2),
        max_size=1,
    ),
    events=st.lists(_event, max_size=3),
    event=_event,
)
def test_core_and_harness_agree_on_what_a_policy_is_about(
    on: list[str], when: dict[str, Any], state: dict[str, Any], events: list[Event], event: Event
) -> None:
    policy = {"observer": "o", "on": on, "when": when, "state": state, "action": {"notify": "x"}}
    text = _block(json.dumps({"policies": [policy]}))
    (harness,), (_, (mine,)) = read(text).observers, own.read(text, plain)
    fold = Fold()
    for one in events:
        fold.add(one.type, one.fields)
    about = mine.condition.watches(event.type) and mine.condition.fits(event, fold.counts)
    assert about == fits(harness, event, fold)


@pytest.mark.parametrize(
    ("glob", "text", "about"),
    [("a?b", "aXb", True), ("a?b", "ab", False), ("[ab]c", "bc", True), ("a.b", "aXb", False), ("A*", "ab", False)],
)
def test_texts_are_globs_whose_case_counts(glob: str, text: str, about: bool) -> None:
    body = _block(
        json.dumps({"policies": [{"observer": "o", "on": "*", "when": {"text": glob}, "action": {"notify": "x"}}]})
    )
    (harness,), (_, (mine,)) = read(body).observers, own.read(body, plain)
    event = Event(1, 0, "prompt", "user", "s", None, {"text": text})
    assert mine.condition.fits(event, {}) == fits(harness, event, None) == about


def test_core_and_harness_count_the_same() -> None:
    assert own.COUNTS == COUNTS
    assert own.COUNTED == COUNTED


def test_a_core_that_took_numbers_for_truth_values_would_not_agree() -> None:
    text = _block("policies: [{gate: g, on: tool.before, when: {subtask: 1}, answer: deny}]")
    (gate,) = read(text).gates
    assert isinstance(gate, Gate)
    event = Event(1, 0, "tool.before", "agent", "s", None, {"subtask": True})
    assert not fits(gate, event, None)
    assert not own.Condition(gate.on, gate.when, ()).fits(event, {})
    assert gate.when["subtask"][0] == True  # noqa: E712 (what a plain comparison would have said)
