"""The rules of the house that no module can see from inside, as functions from a source tree to the places that break them.

They read the source as syntax trees and run none of it. Each takes modules (`modules`), or the root of a checkout, and
returns lines `path:line: what is wrong`, sorted; an empty list is what a tree should give. `test_architecture` holds the
real tree against them, and them against planted violations.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

#: Top to bottom. A layer may import itself and those below it. Of several named together a later one may import an
#: earlier one, never back. Source: DESIGN, "The layout".
LAYERS = (
    ("cli",),
    ("explore", "sweep", "conform"),
    ("engines",),
    ("checks", "metrics", "report"),
    ("framework",),
    ("protocol",),
    ("files", "cadence"),
    ("history", "scenario"),
    ("chance",),
)
#: What the programs and cores of agents may import of fleetbeat: they run where nothing else is installed.
OF_PROGRAMS = ("fleetbeat.protocol", "fleetbeat.framework.vocabulary")
#: Libraries that belong to one engine.
OWNED = {
    "simpy": "fleetbeat.engines.des",
    "docker": "fleetbeat.engines.docker",
    "inotify_simple": "fleetbeat.engines.real.inotify",
    "distributed": "fleetbeat.sweep.remote",
}
#: Extras whose libraries the package imports where they are there.
EXTRAS = ("dask",)
#: Where the clock may be read: to decide what is shown while a run goes on, and where time is real.
CLOCKED = (
    "fleetbeat.cli.progress",
    "fleetbeat.engines.real",
    "fleetbeat.engines.process",
    "fleetbeat.engines.docker",
    "fleetbeat.protocol.live_clock",
)
#: Entropy, and the date, which nothing here may ask for: chance is drawn by name from the seed (`fleetbeat.chance`).
UNKEYED = (
    "random", "secrets", "uuid", "numpy.random", "np.random", "os.urandom", "os.getrandom", "datetime.now",
    "datetime.utcnow", "datetime.today", "date.today",
)  # fmt: skip
#: What lies at the top of the checkout besides names that start with a dot. PKG-INFO is added to an sdist.
TOP = ("sim", "scenarios", "agents", "tests", "compose", "pyproject.toml", "README.md", "LICENSE", "PKG-INFO")
MOST_LINES = 400
#: Name of a distribution -> names it is imported by, where they are not that one alone.
IMPORTED_AS = {"pyyaml": ("yaml",), "pydantic": ("pydantic", "pydantic_core")}


@dataclass(frozen=True, slots=True)
class Module:
    """One source file. `name`: dotted, as imported; `shown`: its path from the top of the checkout."""

    name: str
    shown: str
    is_package: bool
    tree: ast.Module

    def at(self, node: ast.AST, what: str) -> str:
        return f"{self.shown}:{getattr(node, 'lineno', 1)}: {what}"

    def inside(self, *packages: str) -> bool:
        return any(self.name == package or self.name.startswith(package + ".") for package in packages)


Rule = Callable[[Sequence[Module]], list[str]]


def modules(top: Path) -> list[Module]:
    """The package and the agents' programs of a checkout, in the order of their paths."""
    found = []
    for folder in ("sim", "agents"):
        for path in sorted((top / folder).rglob("*.py")):
            parts = path.relative_to(top / folder).with_suffix("").parts
            is_package = parts[-1] == "__init__"
            name = ".".join((("agents",) if folder == "agents" else ()) + parts[: len(parts) - is_package])
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
            found.append(Module(name, path.relative_to(top).as_posix(), is_package, tree))
    return found


def imports(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Everything a module imports, wherever in it: by statement, by `import_module`, or as a text `fleetbeat.x.y` that
    somebody will import by name (x a layer: labels of containers are spelled alike). `from a import b` is `a.b`, whether
    b is a module or not."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.name.split(".")
                kept = parents[: len(parents) - node.level + module.is_package]
                base = ".".join(kept + ([node.module] if node.module else []))
            yield from ((node, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            yield from ((node, text) for text in map(_text, node.args) if text)
        elif re.fullmatch(r"fleetbeat(\.\w+)+", _text(node)) and _layer(_text(node)) in _known_layers():
            yield node, _text(node)


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _called(node: ast.Call) -> str:
    """The last name of what is called: `b` for `a.b()`."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


# --- layers ---


def _known_layers() -> tuple[str, ...]:
    return tuple(name for row in LAYERS for name in row)


def _layer(name: str) -> str | None:
    """The layer of a dotted name of this package; None for `fleetbeat` itself and its `__version__`."""
    part = [*name.split("."), ""][1]
    if part == "__main__":
        return "cli"
    return None if not part or part.startswith("__") else part


def may_import(user: str | None, used: str | None) -> bool:
    """Whether the layer `user` may import the layer `used`; None is the bare package, which imports nothing."""
    if used is None or user == used:
        return True
    places = {name: (level, index) for level, row in enumerate(LAYERS) for index, name in enumerate(row)}
    if user not in places or used not in places:
        return False
    (user_level, user_index), (used_level, used_index) = places[user], places[used]
    return used_level > user_level or (used_level == user_level and used_index < user_index)


def imports_point_up(tree: Sequence[Module]) -> list[str]:
    broken = []
    for module in tree:
        program = module.inside("agents")
        user = _layer(module.name)
        for node, name in imports(module):
            if name != "fleetbeat" and not name.startswith("fleetbeat."):
                continue
            used = _layer(name)
            if not _within(name, OF_PROGRAMS) if program else not may_import(user, used):
                broken.append(module.at(node, f"{module.name} imports {name}"))
    return sorted(set(broken))


def in_no_layer(tree: Sequence[Module]) -> list[str]:
    package = [module for module in tree if module.inside("fleetbeat")]
    known = _known_layers()
    return [module.at(module.tree, "in no layer") for module in package if _layer(module.name) not in (None, *known)]


def library_out_of_its_engine(tree: Sequence[Module]) -> list[str]:
    return sorted(
        module.at(node, f"{module.name} imports {name}")
        for module in tree
        for node, name in imports(module)
        for library, owner in OWNED.items()
        if name.split(".")[0] == library and not module.inside(owner)
    )


def undeclared(tree: Sequence[Module], top: Path) -> list[str]:
    """Imports of libraries that `pyproject.toml` does not list among the core dependencies or in one of `EXTRAS`."""
    project = tomllib.loads((top / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    listed = [*project["dependencies"], *(item for extra in EXTRAS for item in extras.get(extra, ()))]
    named = [re.match(r"[\w.-]+", item) for item in listed]
    names = [match.group().lower() for match in named if match]
    libraries = [library for name in names for library in IMPORTED_AS.get(name, (name,))]
    known = {"fleetbeat", *sys.stdlib_module_names, *libraries}
    return sorted(
        module.at(node, f"{module.name} imports {name}")
        for module in tree
        for node, name in imports(module)
        if name.split(".")[0] not in known
    )


# --- clock, chance, output ---


def clock_or_unkeyed_chance(tree: Sequence[Module]) -> list[str]:
    broken = []
    for module in tree:
        for node, name in imports(module):
            timed = _within(name, ("time",)) and not module.inside(*CLOCKED)
            if timed or _within(name, UNKEYED):
                broken.append(module.at(node, name))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
                # the last two parts: `datetime.datetime.now` is `datetime.now` too
                name = f"{getattr(node.value, 'attr', getattr(node.value, 'id', ''))}.{node.attr}"
                if name in UNKEYED:
                    broken.append(module.at(node, name))
    return sorted(set(broken))


def _within(name: str, forbidden: tuple[str, ...]) -> bool:
    """Whether a dotted name is one of these or lies in one: `time` covers the module and what is imported of it."""
    return any(name == one or name.startswith(one + ".") for one in forbidden)


def salted_hash(tree: Sequence[Module]) -> list[str]:
    """`hash()` of texts differs from process to process; inside `__hash__` it only finds a place in a dictionary."""
    broken = []
    for module in tree:
        fine = {
            id(node)
            for function in ast.walk(module.tree)
            if isinstance(function, ast.FunctionDef) and function.name == "__hash__"
            for node in ast.walk(function)
        }
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hash":
                broken += [] if id(node) in fine else [module.at(node, "hash()")]
    return sorted(broken)


def prints(tree: Sequence[Module]) -> list[str]:
    """Printing, or writing to the standard streams, outside the command line."""
    broken = []
    for module in tree:
        if module.inside("fleetbeat.cli"):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                broken.append(module.at(node, "print()"))
            elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"):
                broken.append(module.at(node, ast.unparse(node)))
    return sorted(broken)


# --- the checkout as a whole ---


def too_long(top: Path) -> list[str]:
    """Python files that cannot be read in one sitting, tests too."""
    found = []
    for folder in ("sim", "agents", "tests"):
        for path in sorted((top / folder).rglob("*.py")):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            if lines > MOST_LINES:
                found.append(f"{path.relative_to(top).as_posix()}:{MOST_LINES + 1}: {lines} lines")
    return found


def strangers_at_the_top(top: Path) -> list[str]:
    """Names at the top of the checkout that do not belong there and that `.gitignore` does not cover."""
    listing = top / ".gitignore"
    ignored = [line.rstrip("/") for line in listing.read_text().split()] if listing.is_file() else []
    names = sorted(path.name for path in top.iterdir())
    return [
        name
        for name in names
        if not name.startswith(".") and name not in TOP and not any(fnmatch(name, pattern) for pattern in ignored)
    ]
