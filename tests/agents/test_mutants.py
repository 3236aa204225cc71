"""Every mutant breaks what its scenario says and nothing else, and its base agent breaks nothing there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleetbeat.checks import CHECKS, judge
from fleetbeat.engines.des import run
from fleetbeat.engines.programs import load_program
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.load import load
from fleetbeat.scenario.manifest import load_manifest

AGENTS = find_agent("reference").parent
MUTANTS = {folder.parent.name: folder.parent for folder in sorted((AGENTS / "mutants").glob("*/program.py"))}
#: Hazards that no agent can cause.
OF_OPERATORS = {"honest-operator", "coverage"}


def _base(folder: Path) -> str:
    found = re.search(r'program_of\("\.\./\.\./(\w+)"', (folder / "program.py").read_text())
    assert found is not None
    return found[1]


def _broken(folder: Path, *sets: str) -> set[str]:
    judgement = judge(run(load(folder / "scenario.yaml", overrides=sets)))
    assert [verdict.reason for verdict in judgement.verdicts if verdict.outcome == "unknown"] == []
    return {verdict.invariant for verdict in judgement.verdicts if verdict.outcome == "broken"}


def _expected(folder: Path) -> set[str]:
    return set(load(folder / "scenario.yaml").expect.broken)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_where_its_base_is_not(name: str) -> None:
    folder = MUTANTS[name]
    assert _broken(folder) == _expected(folder) != set()
    assert _broken(folder, f"fleet.agent={_base(folder)}") == set()


def test_each_invariant_that_an_agent_can_break_is_broken_alone_by_some_mutant() -> None:
    alone = {min(broken) for folder in MUTANTS.values() if len(broken := _expected(folder)) == 1}
    assert alone == {check.invariant.id for check in CHECKS} - OF_OPERATORS


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_says_in_one_line_what_is_wrong_with_it(name: str) -> None:
    folder = MUTANTS[name]
    manifest = load_manifest(folder)
    assert manifest.name == name
    assert manifest.known_gaps == ()
    assert (folder / "program.py").read_text().startswith(f'"""{manifest.about}"""\n')
    assert f"| `{name}` | {_base(folder)} | {', '.join(load(folder / 'scenario.yaml').expect.broken)}" in (
        AGENTS / "mutants" / "README.md"
    ).read_text(encoding="utf-8")


def test_a_mutant_builds_on_the_very_class_of_its_base() -> None:
    claim = load_program(find_agent("claim"), load_manifest(find_agent("claim")))
    folder = MUTANTS["logs-twice"]
    assert isinstance(load_program(folder, load_manifest(folder)), type(claim))


def test_mutants_load_from_wherever_agents_lie_with_the_standard_library_alone(tmp_path: Path) -> None:
    shutil.copytree(AGENTS, tmp_path / "agents", ignore=shutil.ignore_patterns("__pycache__"))
    source = Path(sys.modules["fleetbeat"].__path__[0]).parent
    code = (
        "import sys, pathlib; sys.path.insert(0, sys.argv[1])\n"
        "from fleetbeat.protocol.folders import load_module\n"
        "for path in sorted(pathlib.Path(sys.argv[2]).glob('mutants/*/program.py')):\n"
        "    print(type(load_module(path).PROGRAM).__mro__[1].__module__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code, str(source), str(tmp_path / "agents")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == len(MUTANTS) >= 14
    assert len(set(done.stdout.split())) == 2
