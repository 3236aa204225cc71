"""The commands that read scenarios and run nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.scenario.examples import FULL

from fleetbeat.cli import scenarios, schema, validate
from fleetbeat.scenario.schema import schema as json_schema


def test_validate_counts_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(FULL)
    result = CliRunner().invoke(validate.command, [str(tmp_path / "x.yaml")])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "ok: full (9 agents, 2 rollouts, 4 faults)\n", "")


def test_validate_tells_the_mistakes_of_all_files_and_exits_2(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("fleet: {agents: -1}\nseed: x")
    (tmp_path / "b.yaml").write_text("fleet: {agents: 1}\nname: b")
    result = CliRunner().invoke(validate.command, [str(tmp_path / name) for name in ("a.yaml", "b.yaml", "c.yaml")])
    assert result.exit_code == 2
    assert result.stdout == "ok: b (1 agent, 0 rollouts, 0 faults)\n"
    assert result.stderr.splitlines() == [
        f"{tmp_path}/a.yaml:1:17: fleet.agents: got -1, expected at least 1",
        f"{tmp_path}/a.yaml:2:7: seed: got 'x', expected a whole number",
        f"{tmp_path}/c.yaml: got no such file, expected a file",
    ]


def test_validate_lays_overrides_over(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("fleet: {agents: 1}")
    result = CliRunner().invoke(validate.command, [str(tmp_path / "x.yaml"), "--set", "fleet.agents=5"])
    assert result.stdout == "ok: scenario (5 agents, 0 rollouts, 0 faults)\n"
    result = CliRunner().invoke(validate.command, [str(tmp_path / "x.yaml"), "--set", "fleet.agents=x"])
    assert (result.exit_code, result.stderr) == (2, "--set fleet.agents: got 'x', expected a whole number\n")


def test_validate_wants_a_scenario() -> None:
    assert CliRunner().invoke(validate.command, []).exit_code == 2


def test_schema_prints_the_json_schema() -> None:
    result = CliRunner().invoke(schema.command, [])
    assert json.loads(result.stdout) == json_schema()


def test_scenarios_prints_a_line_for_each() -> None:
    from fleetbeat.scenario.library import scenarios as known

    result = CliRunner().invoke(scenarios.command, [])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(known())


def test_validate_reads_the_manifests_of_a_scenarios_agents(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "agent.yaml").write_text("name: mine\nprogramm: x.py\n")
    (tmp_path / "x.yaml").write_text("fleet: {groups: [{name: a, count: 1, agent: ./mine}]}")
    result = CliRunner().invoke(validate.command, [str(tmp_path / "x.yaml")])
    assert result.exit_code == 2
    assert "agent.yaml:2:1: programm: " in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("arguments", [["scenarios"], ["schema"], ["validate", "canary-rollout"]], ids=" ".join)
def test_a_full_disk_below_standard_output_is_the_environments(arguments: list[str]) -> None:
    code = "import sys; from fleetbeat.cli import main; sys.exit(main())"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 4
    assert done.stderr.startswith(b"fleetbeat: standard output: got No space left")
