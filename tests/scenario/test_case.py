from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetbeat.chance.step import Step
from fleetbeat.scenario.case import load_case, parse_step
from fleetbeat.scenario.mistakes import ScenarioError

CASE = """\
format: 1
choices:
  bits:
    - {stream: jitter, step: "a-3/beat#0.17:tick", value: 0xFFFFFFFFFFFFFFFF}
    - {stream: other, step: "a-3/beat#0.17:tick", value: 1}
  ties:
    - {step: {actor: a-3/beat, life: 1, episode: 17, operation: unlink, path: .rules, nth: 2}, value: 5}
  holds:
    - {step: "a-3/beat#0.17:unlink .rules", until: "op:v2/a-3#0.1:rename /a-3/.rules@3"}
"""


def test_a_case_names_choices() -> None:
    choices = load_case(CASE)
    tick = Step("a-3/beat", 0, 17, "tick")
    assert choices.bits == {("jitter", tick): 2**64 - 1, ("other", tick): 1}
    assert choices.ties == {Step("a-3/beat", 1, 17, "unlink", ".rules", 2): 5}
    assert choices.holds == {
        Step("a-3/beat", 0, 17, "unlink", ".rules"): Step("op:v2/a-3", 0, 1, "rename", "/a-3/.rules", 3)
    }


def test_a_case_may_choose_nothing() -> None:
    assert load_case("format: 1").bits == {}


_words = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#@"), min_size=1, max_size=8)


@given(
    st.builds(
        Step,
        actor=_words,
        life=st.integers(0, 99),
        episode=st.integers(0, 2**32 - 1),
        operation=_words | st.just(""),
        path=_words | st.just("") | st.just("with space"),
        nth=st.integers(0, 999),
    )
)
def test_the_text_of_a_step_reads_back(step: Step) -> None:
    assert parse_step(str(step)) == step


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("choices: {}", ["x.yaml:1:1: format: got nothing, expected a value (it has no default)"]),
        ("format: 2", ["x.yaml:1:9: format: got 2, expected 1"]),
        (
            "format: 1\nchoices: {bit: []}",
            [
                "x.yaml:2:11: choices.bit: got the unknown key 'bit', "
                "expected bits, ties or holds (did you mean 'bits'?)"
            ],
        ),
        (
            "format: 1\nchoices:\n  ties:\n    - {step: 'a-3', value: 18446744073709551616}",
            [
                "x.yaml:4:14: choices.ties.0.step: got 'a-3', expected a step such as 'a-3/beat#0.17:unlink .rules' "
                "(actor#life.episode:operation path@nth)",
                "x.yaml:4:28: choices.ties.0.value: got 18446744073709551616, expected at most 18446744073709551615",
            ],
        ),
        (
            "format: 1\nchoices:\n  ties:\n"
            "    - {step: 'a#0.0:x', value: 1}\n    - {step: {actor: a, operation: x}, value: 2}",
            ["x.yaml:5:7: choices.ties.1: got 'a#0.0:x' again, expected each choice once"],
        ),
        (
            "format: 1\nchoices: {holds: [{step: 'a#0.0:x', until: 'a#0.0:x'}]}",
            ["x.yaml:2:44: choices.holds.0.until: got 'a#0.0:x', expected another step than the one that is held"],
        ),
        (
            "format: 1\nchoices: {ties: [{step: {actor: a, lif: 1}, value: 1}]}",
            [
                "x.yaml:2:36: choices.ties.0.step.lif: got the unknown key 'lif', expected actor, life, episode, "
                "operation, path or nth (did you mean 'life'?)"
            ],
        ),
    ],
)
def test_mistakes_of_a_case_are_told_with_their_place(text: str, lines: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_case(text, "x.yaml")
    assert str(caught.value).splitlines() == lines
