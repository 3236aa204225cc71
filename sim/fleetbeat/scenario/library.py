"""Where scenarios and agents lie that go by a name: in the checkout that this package is run from, or in its data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where, listed, nearest, quoted

_PACKAGE = Path(__file__).resolve().parents[1]


def _folders(kind: str) -> Iterator[Path]:
    """The folders that hold this kind, nearest first: the checkout's, then the package data of an installed wheel."""
    checkout = _PACKAGE.parents[1]
    if (_PACKAGE.parent.name, (checkout / "pyproject.toml").is_file()) == ("sim", True):
        yield checkout / kind
    yield _PACKAGE / "data" / kind


def is_path(name: str) -> bool:
    """Whether a name means a place in the file system and not an entry of the library."""
    return "/" in name or os.sep in name or name.startswith((".", "~"))


def scenarios() -> dict[str, tuple[Path, str]]:
    """Every scenario by name, sorted: its file, and the first line of the comment that it starts with."""
    found: dict[str, tuple[Path, str]] = {}
    for folder in _folders("scenarios"):
        for path in sorted(folder.glob("*.yaml")):
            found.setdefault(path.stem, (path, first_line(path)))
    return dict(sorted(found.items()))


def first_line(path: Path) -> str:
    """The first line of the leading comment that says something; the editor's schema header is passed over."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.startswith("#"):
                    return ""
                text = line.lstrip("#").strip()
                if text and not text.startswith("yaml-language-server"):
                    return text
    except OSError:
        pass
    return ""


def find(name: str | Path) -> Path:
    """The file of a scenario, by path or by name. An existing file wins over a name of the library.

    Raises `ScenarioError` for a name that is neither, with the names that there are.
    """
    text, path = str(name), Path(name)
    if _is_file(path):
        return path
    known = scenarios()
    entry = known.get(text) or known.get(text.removesuffix(".yaml"))
    if entry is not None:
        return entry[0]
    if is_path(text) or text.endswith((".yaml", ".yml")) or _exists(path):
        return path  # loading it says what is wrong with it
    raise ScenarioError([_unknown("scenario", text, list(known), "a scenario's file")])


def agents() -> dict[str, Path]:
    """Every agent of the library by name, sorted: its folder. One that holds nothing but a core is no agent."""
    found: dict[str, Path] = {}
    for folder in _folders("agents"):
        for manifest in sorted(folder.glob("*/agent.yaml")):
            if (manifest.parent / "program.py").is_file() or not (manifest.parent / "core.py").is_file():
                found.setdefault(manifest.parent.name, manifest.parent)
    return dict(sorted(found.items()))


def cores() -> dict[str, Path]:
    """Every core of the event framework in the library by name: its folder. The wrong ones are among them, and last."""
    found: dict[str, Path] = {}
    for folder in _folders("agents"):
        for file in [*sorted(folder.glob("*/core.py")), *sorted(folder.glob("mutants/*/core.py"))]:
            found.setdefault(file.parent.name, file.parent)
    return found


def find_agent(name: str, relative_to: Path | None = None) -> Path:
    """The folder of an agent's program, by name or by a path (one that holds a slash or starts with a dot).

    A path is relative to `relative_to`. Raises `ScenarioError` if there is no such agent.
    """
    return _found("agent", name, agents(), relative_to)


def find_core(name: str, relative_to: Path | None = None) -> Path:
    """The folder of a core of the event framework, by name or by a path; as `find_agent`."""
    return _found("core", name, cores(), relative_to)


def holds_manifest(name: str, relative_to: Path | None) -> bool:
    """Whether a path leads to a folder with an `agent.yaml`."""
    return _is_file((relative_to or Path()) / Path(name).expanduser() / "agent.yaml")


def _found(kind: str, name: str, known: dict[str, Path], relative_to: Path | None) -> Path:
    if is_path(name):
        folder = (relative_to or Path()) / Path(name).expanduser()
        if not holds_manifest(name, relative_to):
            raise ScenarioError([Mistake(Where(kind), "", quoted(name), "a folder that holds an agent.yaml")])
        return folder
    if name not in known:
        raise ScenarioError([_unknown(kind, name, list(known), "a folder (./NAME)")])
    return known[name]


def _unknown(kind: str, name: str, known: list[str], what: str) -> Mistake:
    expected = f"{what} or one of {listed(known)}" if known else what
    return Mistake(Where(kind), "", quoted(name), expected, nearest(name, known))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
