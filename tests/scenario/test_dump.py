from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scenario.examples import FULL

from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.load import ScenarioError, load
from fleetbeat.scenario.resolve import body_of


def test_a_scenario_written_down_loads_to_the_same_data() -> None:
    scenario = load(FULL)
    text = dump(scenario)
    assert load(text) == scenario
    assert dump(load(text)) == text


def test_what_is_written_down_spells_out_defaults_and_units() -> None:
    text = dump(load("fleet: {agents: 3}"))
    assert "duration: 10m\n" in text
    assert "    interval: 1s\n" in text
    assert "    jitter: none\n" in text
    assert "    sync: 2ms\n" in text


SMALL = load("fleet: {agents: 1}")


@given(st.text() | st.text("\x00\x07\x85\u2028\ufeff \n\r\t:#-'\"\\ü😀", max_size=12))
def test_any_text_comes_back(text: str) -> None:
    assert load(dump(SMALL.model_copy(update={"about": text}))).about == text


@pytest.mark.parametrize(
    "text", ["on", "1e3", "0o17", "null", "~", "", "1:30", "- x", "a: b", "5", " x ", "x\n", "\n\nx", "x\r\ny", "<<"]
)
def test_a_text_that_looks_like_something_else_stays_text(text: str) -> None:
    scenario = load(f"fleet: {{agents: 1}}\nabout: {json.dumps(text)}\n")
    assert load(dump(scenario)).about == text


@given(st.binary(max_size=300))
def test_a_body_from_a_file_is_posted_as_it_was_wherever_the_scenario_goes(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rules.md").write_bytes(data)
        rollout = "rollouts: [{version: v1, at: 1s, targets: all, mark: false, file: rules.md}]"
        (Path(folder) / "x.yaml").write_text(f"fleet: {{agents: 1}}\n{rollout}\n")
        scenario = load(Path(folder) / "x.yaml")
    assert body_of(scenario.rollouts[0]) == data
    assert load(dump(scenario)) == scenario


def test_text_from_a_file_is_marked_and_bytes_are_not(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"be kind\r\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    rollouts = "".join(f"  - {{version: {name}, at: 1s, targets: all, file: {name}}}\n" for name in ("text", "bytes"))
    scenario = load(f"fleet: {{agents: 1}}\nrollouts:\n{rollouts}", folder=tmp_path)
    assert [body_of(rollout) for rollout in scenario.rollouts] == [
        b"<!-- fleetbeat:text -->\nbe kind\r\n\n<!-- fleetbeat:text -->\n",
        b"\xff\xfe",
    ]
    assert base64.b64decode(scenario.rollouts[1].base64 or "") == b"\xff\xfe"


JITTER = "fleet: {agents: 1, heartbeat: {jitter: {kind: empirical, file: waits.txt}}}\n"


def test_a_list_of_durations_is_taken_in(tmp_path: Path) -> None:
    (tmp_path / "waits.txt").write_text("# measured\n1ms\n\n-2ms\n0.003\n")
    scenario = load(JITTER, folder=tmp_path)
    assert scenario.fleet.heartbeat.jitter.values == (1_000_000, -2_000_000, 3_000_000)  # type: ignore[union-attr]
    assert load(dump(scenario)) == scenario


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (
            "1ms\nfast\n",
            ["waits.txt:2:1: got 'fast', expected a duration such as 1h30m, 250ms or a number of seconds"],
        ),
        ("# none\n", ["waits.txt: got no durations, expected one duration a line"]),
        ("\udcff", ["waits.txt:1:1: got byte 0xff, expected UTF-8 text"]),
        (
            "1ms\n" * 100_000,
            [
                "x.yaml:1:64: fleet.heartbeat.jitter.file: got 'waits.txt', more than 262144 bytes, "
                "expected at most 262144 bytes"
            ],
        ),
    ],
    ids=["word", "none", "bytes", "big"],
)
def test_a_list_that_is_wrong_is_told_with_its_line(tmp_path: Path, content: str, lines: list[str]) -> None:
    (tmp_path / "waits.txt").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ScenarioError) as caught:
        load(JITTER, "x.yaml", folder=tmp_path)
    assert str(caught.value).splitlines() == lines


def test_files_share_one_budget_so_that_the_whole_still_loads(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 200_000)
    rollouts = "".join(f"  - {{version: v{i}, at: 1s, targets: all, file: big}}\n" for i in range(2))
    with pytest.raises(ScenarioError, match=r"rollouts\.1\.file: got 'big', more than 62144 bytes"):
        load(f"fleet: {{agents: 1}}\nrollouts:\n{rollouts}", folder=tmp_path)


def test_the_folder_of_an_agent_is_found_from_the_scenario_and_kept_whole(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.yaml").write_text("name: mine")
    (tmp_path / "x.yaml").write_text("fleet: {agents: 1, agent: ./mine}")
    assert load(tmp_path / "x.yaml").fleet.agent == str(tmp_path / "mine")
