"""A core of one's own, in a folder beside where one stands: named after --set, and told what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetbeat.scenario.load import ScenarioError, load

TEXT = "name: x\nduration: 10s\nfleet: {agents: 1}\nworkload: {}\n"
CORE = "class CORE:\n    def __init__(self, host, options):\n        raise ValueError('not\\x1b[31m yet')\n"


def folder(where: Path) -> Path:
    where.mkdir(parents=True)
    (where / "agent.yaml").write_text("name: mine\ncore: core.py\n")
    (where / "core.py").write_text(CORE)
    return where


def test_a_folder_after_set_is_looked_for_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = folder(tmp_path / "here" / "mine")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    loaded = load(TEXT, overrides=["fleet.core=./mine"], folder=tmp_path / "there")
    assert loaded.fleet.core.program == str(mine.resolve())
    with pytest.raises(ScenarioError, match=r"got './mine', expected a folder"):  # in the file it is beside the file
        load(TEXT.replace("agents: 1", "agents: 1, core: ./mine"), folder=tmp_path / "there")


def test_a_folder_after_set_may_be_beside_the_scenario_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = folder(tmp_path / "there" / "mine")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    loaded = load(TEXT, overrides=["fleet.core=./mine"], folder=tmp_path / "there")
    assert loaded.fleet.core.program == str(mine.resolve())


def test_the_report_says_what_escaped_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fleetbeat.cli import main

    scenario = tmp_path / "x.yaml"
    scenario.write_text(TEXT.replace("agents: 1", "agents: 1, core: ./mine"))
    folder(tmp_path / "mine")
    assert main(["run", str(scenario)]) == 3
    said = capsys.readouterr().out
    assert "The first exception: ValueError: not\\x1b[31m yet" in said


def test_a_core_is_no_agent_to_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from fleetbeat.cli import main

    assert main(["agents", "check", str(folder(tmp_path / "mine"))]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "got nothing but a core, expected an agent; a core is put on trial by: fleetbeat run core-trial" in line


def test_what_a_core_prints_is_not_among_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    from fleetbeat.cli import main

    scenario = tmp_path / "x.yaml"
    scenario.write_text(TEXT.replace("agents: 1", "agents: 1, core: ./mine"))
    (folder(tmp_path / "mine") / "core.py").write_text("print('noise')\n" + CORE)
    assert main(["run", str(scenario), "--json"]) == 3
    told = capsys.readouterr()
    assert json.loads(told.out)
    assert "noise" in told.err


def test_a_folder_without_a_core_is_told_what_is_missing(tmp_path: Path) -> None:
    from fleetbeat.scenario.manifest import load_core_manifest

    mine = folder(tmp_path / "mine")
    (mine / "agent.yaml").write_text("name: mine\n")
    with pytest.raises(ScenarioError, match="core: got nothing, expected the core's Python file"):
        load_core_manifest(mine)
