"""Folders of cores: how they are named, what their manifests say, and what is said of those that cannot be used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.framework.fake_host import Agent

from fleetbeat.cli import main
from fleetbeat.engines.cores import gates_of, load_core
from fleetbeat.engines.programs import ProgramError
from fleetbeat.framework.fold import COUNTS
from fleetbeat.framework.policies import read
from fleetbeat.scenario.guards import Count
from fleetbeat.scenario.library import agents, cores, find_agent, find_core
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.mistakes import ScenarioError
from fleetbeat.scenario.workload import CoreSetup

WRONG = [name for name, folder in cores().items() if folder.parent.name == "mutants"]


def _folder(top: Path, manifest: str, core: str = "CORE = print\n") -> Path:
    (top / "agent.yaml").write_text(manifest)
    (top / "core.py").write_text(core)
    return top


def test_there_are_the_right_cores_and_the_thirteen_wrong_ones() -> None:
    assert sorted({*cores()} - {*WRONG}) == ["plugin", "reference", "strict"]
    assert len(WRONG) == 13
    assert all(name.startswith("core-") for name in WRONG)


def test_what_is_a_core_alone_is_no_agent_and_the_other_way_round() -> None:
    assert {"reference", "claim"} <= set(agents())
    assert not {"strict", "plugin", *WRONG} & set(agents())
    assert "claim" not in cores()
    with pytest.raises(ScenarioError, match="got 'strict', expected a folder"):
        find_agent("strict")
    with pytest.raises(ScenarioError, match=r"core: got 'core-no-gard'.*did you mean 'core-no-guard'"):
        find_core("core-no-gard")
    assert find_core("./agents/strict", find_core("reference").parents[1]).samefile(find_core("strict"))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_core_says_in_one_line_what_is_wrong_and_is_a_small_change_to_the_reference(name: str) -> None:
    folder = cores()[name]
    manifest = load_manifest(folder)
    source = (folder / "core.py").read_text()
    assert manifest.name == name
    assert source.startswith(f'"""{manifest.about}"""\n')
    assert 'core_of("../../reference", __file__)' in source
    assert len(source.splitlines()) < 60
    assert re.search(rf"^\| `{name}` \| {re.escape(manifest.about)} \| (no-self-trigger|guard-not-silenced) \|$",
                     (folder.parent / "README.md").read_text(), re.MULTILINE)  # fmt: skip


@pytest.mark.parametrize("name", cores())
def test_the_guards_of_a_manifest_are_those_that_the_core_asks(name: str) -> None:
    agent = Agent(name)
    agent.call()
    assert agent.host.asked == list(agent.made.guards) == ["rm-rf"]
    assert agent.made.name == name


def test_a_guard_is_spelled_as_a_gate_in_a_body_and_means_the_same(tmp_path: Path) -> None:
    gate = (
        "{gate: g, on: tool.before, when: {command: [a*, b], subtask: true}, answer: deny,"
        " state: {calls: {at_least: 2, at_most: 9}}, cooldown_s: 5}"
    )
    manifest = load_manifest(_folder(tmp_path, f"name: mine\ncore: core.py\nguards:\n  - {gate}\n"))
    policies = read(f"```yaml policies\npolicies:\n  - {gate}\n```\n")
    assert policies.error is None
    assert tuple(gates_of(manifest.guards).values()) == policies.gates
    assert Count.__args__ == COUNTS


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ("core: cor.py\n", "core: got 'cor.py', expected a file in the agent's folder"),
        ("core: ../core.py\n", "core: got '../core.py', expected text like"),
        ("program: program.py\ncore: core.py\n", "program: got 'program.py', expected a file in the agent's folder"),
        ("command: [x]\nguards: [{gate: g, answer: ask}]\n", "expected guards only where there is a core"),
        ("core: core.py\nguards: [{gate: g, answer: no}]\n", "got 'no', expected allow, deny or ask"),
        ("core: core.py\nguards: [{gate: g, answer: ask, on: prompt}]\n", "guards.0.on"),
        ("core: core.py\nguards: [{gate: g, answer: ask, when: {tool: null}}]\n", "guards.0.when.tool"),
        ("core: core.py\nguards: [{gate: g, answer: ask, when: {tool: []}}]\n", "guards.0.when.tool"),
        ("core: core.py\nguards: [{gate: g, answer: ask, state: {cals: {exactly: 1}}}]\n", "did you mean 'calls'"),
        ("core: core.py\nguards: [{gate: g, answer: ask, state: {calls: {}}}]\n", "guards.0.state.calls"),
        ("core: core.py\nguards: [{gate: g, answer: ask, cooldown_s: -1}]\n", "guards.0.cooldown_s"),
        ("core: core.py\nguards: [{gate: g, answer: ask}, {gate: g, answer: deny}]\n", "guards.1.gate: got 'g'"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_told_with_its_place(manifest: str, told: str, tmp_path: Path) -> None:
    folder = _folder(tmp_path, f"name: mine\n{manifest}")
    with pytest.raises(ScenarioError) as caught:
        load_manifest(folder)
    assert told in str(caught.value)
    assert re.search(r"agent\.yaml:\d+:\d+: ", str(caught.value))


@pytest.mark.parametrize(
    ("core", "told"),
    [
        ("", "got no CORE, expected CORE that is called with a host and options"),
        ("CORE = 1\n", "got CORE, a int, expected CORE"),
        ("import nowhere\n", "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("raise SystemExit(3)\n", "cannot be loaded: SystemExit: 3"),
        ("def\n", "cannot be loaded: SyntaxError"),
    ],
)
def test_a_core_that_cannot_be_loaded_is_told_in_one_line(core: str, told: str, tmp_path: Path) -> None:
    _folder(tmp_path, "name: mine\ncore: core.py\n", core)
    with pytest.raises(ProgramError) as caught:
        load_core(CoreSetup(program=str(tmp_path)))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_agent_without_a_core_is_told_so() -> None:
    with pytest.raises(ScenarioError, match=r"claim/agent\.yaml: core: got nothing, expected the core's Python file"):
        load_core(CoreSetup(program=str(find_agent("claim"))))


def test_the_engine_that_the_plugin_wraps_does_not_know_fleetbeat() -> None:
    tree = ast.parse((find_core("plugin") / "engine.py").read_text())
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in names if name.startswith("fleetbeat")]


# --- on the command line ---


@pytest.mark.parametrize(
    ("core", "told"),
    [
        ("core-no-gard", "did you mean 'core-no-guard'?"),
        ("./agents/claim", "agents/claim/agent.yaml: core: got nothing, expected the core's Python file"),
        ("./agents/nobody", "fleet.core: got './agents/nobody', expected a folder that holds an agent.yaml"),
    ],
)
def test_a_core_that_is_none_is_refused_in_one_line_before_anything_is_played(
    core: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agents").symlink_to(find_core("reference").parent)
    path = tmp_path / "x.yaml"
    path.write_text(
        f"name: x\nduration: 5s\nfleet: {{agents: 1, core: {core}}}\nrollouts: []\nworkload: {{sessions: 1}}\n"
    )
    for verb in (["validate", str(path)], ["run", "-q", str(path)]):
        assert main(verb) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1
        assert told in lines[0]


def test_right_cores_are_listed_with_their_gates_and_wrong_ones_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agents"]) == 0
    out = capsys.readouterr().out
    assert "strict\n  A core that is stricter" in out
    assert out.count("core of the event framework; gates built in: rm-rf\n") == 3
    assert "core-" not in out
