from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from tests.cli.calls import Desk
from tests.history.hand import SECRET

from fleetbeat.cli.replay import without_text

WORD = "launch"


def everything(desk: Desk, *arguments: str) -> str:
    """All that a run says and keeps, the columns of posts.parquet written out."""
    said = desk("run", "s.yaml", "-o", "out", *arguments)
    assert said.code == 0
    told = [said.out, said.err]
    for path in sorted(Path("out").iterdir()):
        if path.suffix == ".parquet":
            with duckdb.connect() as connection:
                rows = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
            told.append(str(rows))
        else:
            told.append(path.read_text())
    return "\n".join(told)


@pytest.fixture
def secretive(desk: Desk) -> Desk:
    """Start states hold the secret too."""
    text = Path("s.yaml").read_text()
    starts = f"start: {{rules: '{SECRET}', signal: file, signal_text: '{SECRET}'}}"
    spawn = f"lifecycle: {{spawns: [{{at: 5s, name: late, {starts}}}]}}"
    group = f"groups: [{{name: b, count: 2, {starts}}}]"
    Path("s.yaml").write_text(text.replace("{agents: 2}", f"{{{group}, {starts}, {spawn}}}"))
    return desk


def test_with_bodies_the_text_is_kept_so_the_next_test_can_fail(secretive: Desk) -> None:
    assert everything(secretive).count(WORD) > 5


def test_without_bodies_the_text_is_nowhere(secretive: Desk) -> None:
    told = everything(secretive, "--no-bodies", "--set", f"rollouts.0.body='{SECRET} again'")
    assert WORD not in told
    assert "4711" not in told
    assert "--no-bodies" in told
    assert "(left out)" in told


def test_without_bodies_verdicts_and_fates_are_the_same(desk: Desk) -> None:
    plain = json.loads(desk("run", "s.yaml", "--json").out)
    bare = json.loads(desk("run", "s.yaml", "--json", "--no-bodies").out)
    assert {**plain, "replay": ""} == {**bare, "replay": ""}


def test_without_bodies_the_resolved_scenario_refuses_to_run_with_other_rules(secretive: Desk) -> None:
    everything(secretive, "--no-bodies")
    said = secretive("run", "out")
    assert said.code == 2
    assert "body" in said.err


@pytest.mark.parametrize(
    ("setting", "kept"),
    [
        ("rollouts.0.body=secret", "rollouts.0.body=(left out)"),
        ("rollouts.0.body =secret", "rollouts.0.body =(left out)"),
        ("rollouts[0].base64=c2Vj", "rollouts[0].base64=(left out)"),
        ("fleet.start.rules=secret", "fleet.start.rules=(left out)"),
        ("rollouts=[{version: v2, body: secret}]", "rollouts=(left out)"),
        ("fleet.agents=5", "fleet.agents=5"),
        ("seed=5", "seed=5"),
    ],
)
def test_a_setting_that_may_hold_a_text_is_left_out_of_the_replay_command(setting: str, kept: str) -> None:
    assert without_text(setting) == kept
