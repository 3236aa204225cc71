from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetbeat.cli.replay import Asked, command, joined

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@given(WORDS, st.lists(WORDS, max_size=2))
def test_the_command_gives_back_what_was_typed(scenario: str, sets: list[str]) -> None:
    asked = Asked(scenario, tuple(sets), 5, "docker", "c.yaml", "my checks", bodies=True, ops=False)
    line = command(asked)
    assert line.isprintable()
    if "$'" not in line:
        words = shlex.split(line)
        assert words[:2] == ["fleetbeat", "run"]
        assert words[-1] == scenario
        assert [words[i + 1] for i, word in enumerate(words) if word == "--set"][: len(sets)] == sets


def test_nothing_that_was_not_asked_for_stands_in_it() -> None:
    assert command(Asked("canary-rollout")) == "fleetbeat run canary-rollout"
    assert command(Asked("-x.yaml")) == "fleetbeat run -- -x.yaml"


def test_what_decides_the_bytes_stands_in_it() -> None:
    asked = Asked("s", ("a=1", "b=two words"), 0, "process", "c", "d", bodies=False, ops=False)
    assert command(asked) == (
        "fleetbeat run --set a=1 --set 'b=two words' --seed 0 --engine process --case c --checks d"
        " --no-bodies --no-ops s"
    )


@pytest.mark.parametrize("word", ["a\nb", "\x1b[2J", "it's\t\\", "\u202e", "é\n"])
def test_a_shell_reads_control_characters_back(word: str) -> None:
    got = subprocess.run(["bash", "-c", f"printf %s {joined([word])}"], capture_output=True, check=True)
    assert got.stdout.decode() == word
