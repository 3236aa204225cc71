"""The house rules, held against the real tree; and each rule held against planted violations, which it must find."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import house
from tests.house import Module, Rule
from tests.set_order import asks_a_set_for_order

TOP = Path(__file__).resolve().parents[1]
RULES: tuple[Rule, ...] = (
    house.imports_point_up,
    house.in_no_layer,
    house.library_out_of_its_engine,
    house.clock_or_unkeyed_chance,
    house.salted_hash,
    house.prints,
    asks_a_set_for_order,
)
#: Libraries that `--help` has no time for.
HEAVY = ("numpy", "pydantic", "duckdb", "simpy", "jinja2", "tabulate", "rich", "yaml", "docker")


@pytest.fixture(scope="module")
def tree() -> list[Module]:
    return house.modules(TOP)


def test_the_tree_that_is_held_against_the_rules_is_the_whole_one(tree: list[Module]) -> None:
    names = [module.name for module in tree]
    assert {"fleetbeat.cli.progress", "fleetbeat.chance.choices", "agents.reference.program"} <= set(names)
    assert len(names) == len(set(names)) > 100
    imported = {name for module in tree for _, name in house.imports(module)}
    assert {"simpy", "time", "fleetbeat.engines.des", "fleetbeat.history.records.Record"} <= imported


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_keeps_its_rule(rule: Rule, tree: list[Module]) -> None:
    assert rule(tree) == []


def test_only_declared_libraries_are_imported(tree: list[Module]) -> None:
    assert house.undeclared(tree, TOP) == []


def test_no_module_is_too_long_to_be_read_in_one_sitting() -> None:
    assert house.too_long(TOP) == []


def test_only_what_belongs_there_lies_at_the_top() -> None:
    assert house.strangers_at_the_top(TOP) == []


# --- each rule finds what it is there for ---


def _planted(top: Path, name: str, text: str) -> list[Module]:
    path = top / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return house.modules(top)


CHANCE, CLI, DES, FILES, METRICS = (
    f"sim/fleetbeat/{name}.py" for name in ("chance/x", "cli/x", "engines/des/x", "files/x", "metrics/x")
)
PROGRAM = "agents/mine/program.py"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (CHANCE, "import fleetbeat.history.records"),
        (CHANCE, "from fleetbeat.scenario import model"),
        (CHANCE, "from fleetbeat import scenario"),
        (CHANCE, "from ..history import records"),
        (CHANCE, "def late():\n    from fleetbeat.cli import main"),
        (CHANCE, "import_module('fleetbeat.files.real')"),
        (CHANCE, "PLACES = {'real': 'fleetbeat.files.real'}"),
        (FILES, "from fleetbeat.protocol.vocabulary import Op"),
        (FILES, "from fleetbeat.cadence import make"),  # peers: cadence may use files, not the other way
        (METRICS, "from fleetbeat.report import text"),
        (METRICS, "from fleetbeat.engines import ENGINES"),
        (DES, "import fleetbeat.cli"),
        (DES, "import fleetbeat.nowhere"),
        ("sim/fleetbeat/history/x.py", "from fleetbeat.scenario.model import Scenario"),
        ("sim/fleetbeat/checks/__init__.py", "from ..metrics import measure"),
        ("sim/fleetbeat/__init__.py", "from fleetbeat.chance import step"),
        (METRICS, "import fleetbeat.__main__"),
        (PROGRAM, "from fleetbeat.files.port import FileStat"),
        (PROGRAM, "import fleetbeat.scenario.units"),
        ("agents/mine/core.py", "from fleetbeat.framework.hosting import Hosting"),
        ("agents/mine/core.py", "from fleetbeat.framework import policies"),
    ],
)
def test_an_import_that_points_up_is_found(name: str, text: str, tmp_path: Path) -> None:
    (found,) = house.imports_point_up(_planted(tmp_path, name, text))
    assert found.startswith(f"{name}:{len(text.splitlines())}: ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (CLI, "from fleetbeat.chance import step\nimport fleetbeat.report.text\nfrom fleetbeat import __version__"),
        (METRICS, "from fleetbeat.checks.model import Finding\nfrom fleetbeat.metrics.facts import facts"),
        (METRICS, "from . import facts\nfrom ..checks import model"),
        ("sim/fleetbeat/__main__.py", "from fleetbeat.cli import main"),
        ("sim/fleetbeat/sweep/x.py", "from fleetbeat.explore import search"),
        (PROGRAM, "import errno\nfrom fleetbeat.protocol.vocabulary import Stat"),
    ],
)
def test_an_import_that_points_down_is_fine(name: str, text: str, tmp_path: Path) -> None:
    assert house.imports_point_up(_planted(tmp_path, name, text)) == []


def test_a_layer_may_use_what_is_below_it_and_nobody_may_use_the_top() -> None:
    names = [name for row in house.LAYERS for name in row]
    assert [name for name in names if house.may_import("cli", name)] == names
    assert [name for name in names if house.may_import(name, "cli")] == ["cli"]
    both = [(a, b) for a in names for b in names if a != b and house.may_import(a, b) and house.may_import(b, a)]
    assert both == []


PLANTED: tuple[tuple[Rule, str, str], ...] = (
    (house.in_no_layer, "sim/fleetbeat/utils.py", ""),
    (house.in_no_layer, "sim/fleetbeat/helpers/x.py", ""),
    (house.library_out_of_its_engine, "sim/fleetbeat/engines/recorder.py", "import simpy"),
    (house.library_out_of_its_engine, "sim/fleetbeat/engines/design.py", "from simpy.events import Event"),
    (house.library_out_of_its_engine, DES, "import docker.errors"),
    (house.library_out_of_its_engine, CLI, "x = __import__('simpy')"),
    (house.clock_or_unkeyed_chance, CLI, "import time"),
    (house.clock_or_unkeyed_chance, DES, "from time import monotonic"),
    (house.clock_or_unkeyed_chance, CHANCE, "def f():\n    import random"),
    (house.clock_or_unkeyed_chance, CHANCE, "from uuid import uuid4"),
    (house.clock_or_unkeyed_chance, CHANCE, "import os\nx = os.urandom(8)"),
    (house.clock_or_unkeyed_chance, CHANCE, "from os import urandom"),
    (house.clock_or_unkeyed_chance, CHANCE, "import numpy as np\nx = np.random.default_rng()"),
    (house.clock_or_unkeyed_chance, METRICS, "import datetime\nx = datetime.datetime.now()"),
    (house.clock_or_unkeyed_chance, METRICS, "from datetime import datetime\nx = datetime.utcnow()"),
    (house.clock_or_unkeyed_chance, PROGRAM, "import secrets"),
    (house.salted_hash, CHANCE, "x = hash('a')"),
    (house.salted_hash, PROGRAM, "def order(x):\n    return hash(x)"),
    (house.prints, METRICS, "print('here')"),
    (house.prints, DES, "import sys\nsys.stderr.write('here')"),
    (house.prints, PROGRAM, "print('here')"),
    *(
        (asks_a_set_for_order, METRICS, text)
        for text in (
            "for x in {1, 2}:\n    pass",
            "xs = [x for x in set('ab')]",
            "xs = {x: 1 for x in frozenset('ab')}",
            "xs = list({x for x in 'ab'})",
            "xs = tuple(set('ab') | {'c'})",
            "xs = ', '.join(set('ab'))",
            "xs = [*set('ab')]",
            "x = next(iter(set('ab')))",
            "x, y = {'a', 'b'}",
            "x = dict.fromkeys(set('ab'))",
            "x = sorted(set('ab'), key=len)",
            "x = max((x for x in set('ab')), key=len)",
            "def f(names: set[str]):\n    yield from names",
            "def f(a, b):\n    for x in a.keys() & b.keys():\n        pass",
            "def f():\n    seen: set[str] = set()\n    return list(seen)",
            "def f():\n    seen = set()\n    return seen.pop()",
            "def f(xs):\n    seen = set(xs)\n    return list(seen.difference('a'))",
            "class A:\n    names: frozenset[str]\ndef f(a):\n    return [x for x in a.names]",
            "class A:\n    def f(self):\n        self.names = set()\n    def g(self):\n        return list(self.names)",
            "def g() -> set[str]:\n    return set()\ndef f():\n    return list(g())",
        )
    ),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "text"), PLANTED, ids=lambda value: getattr(value, "__name__", None))
def test_a_planted_violation_is_found(rule: Rule, name: str, text: str, tmp_path: Path) -> None:
    (found,) = rule(_planted(tmp_path, name, text))
    assert found.startswith(f"{name}:")


FINE: tuple[tuple[Rule, str, str], ...] = (
    (house.in_no_layer, "sim/fleetbeat/explore/x.py", ""),
    (house.library_out_of_its_engine, DES, "import simpy"),
    (house.clock_or_unkeyed_chance, "sim/fleetbeat/cli/progress.py", "import time\nx = time.monotonic()"),
    (house.clock_or_unkeyed_chance, DES, "x = self.choices.random.bits\ny = clock.time"),
    (house.salted_hash, CHANCE, "class A:\n    def __hash__(self):\n        return hash(self.step)"),
    (house.prints, CLI, "print('here')"),
    (asks_a_set_for_order, METRICS, "x = sorted({1, 2})\ny = {x for x in {1, 2}}\nz = sorted(x for x in set('ab'))"),
    (asks_a_set_for_order, METRICS, "def f(xs):\n    seen = set()\n    for x in xs:\n        seen.add(x)\n    return xs"),
    (asks_a_set_for_order, METRICS, "tally.join(set('ab'), set('c'))"),
    (asks_a_set_for_order, METRICS, "x = {*set('ab'), 'c'}\ny = any(x for x in set('ab'))"),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "name", "text"), FINE, ids=lambda value: getattr(value, "__name__", None))
def test_what_a_rule_allows_is_not_found(rule: Rule, name: str, text: str, tmp_path: Path) -> None:
    assert rule(_planted(tmp_path, name, text)) == []


def test_an_undeclared_library_is_found(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\ndependencies = ['PyYAML>=6', 'numpy']\n")
    tree = _planted(tmp_path, DES, "import os\nimport yaml\nimport numpy.typing\nimport scipy.stats\n")
    assert house.undeclared(tree, tmp_path) == [f"{DES}:4: fleetbeat.engines.des.x imports scipy.stats"]


def test_a_module_above_400_lines_is_found(tmp_path: Path) -> None:
    for folder, lines in (("sim", 400), ("agents", 401), ("tests", 402)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.py").write_text("pass\n" * lines)
    assert house.too_long(tmp_path) == ["agents/x.py:401: 401 lines", "tests/x.py:401: 402 lines"]


def test_a_stranger_at_the_top_is_found(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.egg-info/\ndist/\n")
    for name in ("sim", "dist", "x.egg-info", ".ci", "tools", "NOTES.md"):
        (tmp_path / name).mkdir()
    assert house.strangers_at_the_top(tmp_path) == ["NOTES.md", "tools"]


# --- what is imported when ---


def _python(source: Path, code: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs `code` with `source` first on the path and no other environment."""
    env = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(source)}
    return subprocess.run([sys.executable, *flags, "-c", code], env=env, capture_output=True, text=True, check=False)


def _bare(top: Path) -> subprocess.CompletedProcess[str]:
    """Imports what an agent in a container loads, without any installed library: the port, the protocol, programs; and
    cores with their vocabulary."""
    package = [f"fleetbeat.{part}" for part in ("files", "protocol", "framework.vocabulary")]
    wanted = [module for module in house.modules(top) if module.inside("agents", *package)]
    code = "import importlib.util as u, importlib, sys\n"
    for module in wanted:
        if module.inside("agents"):
            code += f"s = u.spec_from_file_location('program', {str(top / module.shown)!r})\n"
            code += "m = sys.modules['program'] = u.module_from_spec(s)\ns.loader.exec_module(m)\n"
        else:
            code += f"importlib.import_module({module.name!r})\n"
    return _python(top / "sim", f"{code}print({len(wanted)}, 'site' in sys.modules)", "-S")


def test_what_an_agent_in_a_container_loads_needs_the_standard_library_alone() -> None:
    done = _bare(TOP)
    assert done.returncode == 0, done.stderr
    count, site = done.stdout.split()
    assert (int(count) > 15, site) == (True, "False")


@pytest.mark.parametrize("name", ["sim/fleetbeat/protocol/x.py", "sim/fleetbeat/files/y/x.py", PROGRAM])
def test_a_library_that_an_agent_would_need_is_found(name: str, tmp_path: Path) -> None:
    _planted(tmp_path, name, "import click")
    done = _bare(tmp_path)
    assert (done.returncode, "No module named 'click'" in done.stderr) == (1, True)


def _loaded_by_help(source: Path) -> str:
    """The heavy libraries that `--help` loads, as printed."""
    code = (
        "import sys; from fleetbeat.cli import main; code = main(['--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = _python(source, code)
    assert (done.returncode, done.stdout.startswith("Usage: fleetbeat")) == (0, True), done.stderr
    return done.stderr.strip()


def test_help_loads_nothing_heavy() -> None:
    assert _loaded_by_help(TOP / "sim") == "[]"


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_that_help_would_load_is_found(library: str, tmp_path: Path) -> None:
    shutil.copytree(TOP / "sim", tmp_path / "sim", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "sim/fleetbeat/cli/errors.py").open("a") as module:
        module.write(f"\nimport {library}\n")
    assert library in _loaded_by_help(tmp_path / "sim")
