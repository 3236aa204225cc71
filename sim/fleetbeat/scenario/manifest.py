"""An agent's manifest, `agent.yaml` in its folder: what it is, what it writes where, which promises it may break.

An agent is played from its `program` (simulation, and our driver in real engines), or started by its `command` (real
engines only): somebody's own program, which obeys the protocol by its own means. It may have both. A folder may hold a
`core` of the event framework as well, or nothing but one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from fleetbeat.scenario.guards import Guard
from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where
from fleetbeat.scenario.model import NAME, Frozen, Names
from fleetbeat.scenario.read import Path as Path_
from fleetbeat.scenario.read import kept, place, raise_if, validate
from fleetbeat.scenario.shapes import OneOrMore
from fleetbeat.scenario.words import INVARIANTS
from fleetbeat.scenario.yaml12 import Node, parse, read_text

#: Canonical rules, relative to home. Source: PROTOCOL ("canonical" is `system/rules.md`).
CANONICAL = "system/rules.md"
#: What a word of a command may hold in braces.
PLACEHOLDERS = ("{home}", "{name}", "{interval}")

Ask = Literal["rebuild", "suspend", "refresh"]
Sign = Annotated[str, Field(min_length=1)]


class Prompt(Frozen):
    """The flushed prompt, and how its protected rules section is found there."""

    path: Annotated[str, Field(min_length=1, description="relative to home")] = "system/system.md"
    begin: Annotated[str, Field(min_length=1, description="text right before the rules")] = "<rules>\n"
    end: Annotated[str, Field(min_length=1, description="text right after the rules")] = "\n</rules>"


def _shape(asks: Any) -> str:
    return "signs" if isinstance(asks, Mapping) else "words"


class Manifest(Frozen):
    """`program` is a Python file in the agent's folder; the program in it is called PROGRAM. `core` is another: CORE."""

    name: Annotated[str, Field(pattern=NAME)]
    about: str = ""
    program: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+\.py$")] = "program.py"
    command: Annotated[
        Names,
        Field(
            description="words that start it, in its folder (docker: in its image's working directory); {home}: its"
            " home directory, {name}: its name, {interval}: seconds between beats. None: our driver plays `program`"
        ),
    ] = ()
    image: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Field(description="docker: a ready image that is used as it is; none: one is built from the folder"),
    ] = None
    prompt: Prompt = Prompt()
    heartbeat: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        Field(
            description="the file, relative to home, that it writes on each beat (need not be among `writes`); none: unseen"
        ),
    ] = ".agent.heartbeat"
    writes: Annotated[Names, Field(description="globs, relative to home, of all that it writes")] = ()
    set_aside: Annotated[Names, Field(description="globs, relative to home: where it moves signals on purpose")] = ()
    asks: Annotated[
        Annotated[tuple[Ask, ...], OneOrMore(), Tag("words")] | Annotated[dict[Ask, Sign], Tag("signs")],
        Discriminator(_shape),
        Field(
            description="what an operator can ask of it; or for each of these the file, relative to home, that is made"
            " to ask it (it removes it when done; a suspend lasts until the file is removed)"
        ),
    ] = ()
    known_gaps: Annotated[Names, Field(description="ids of invariants that it is known to break")] = ()
    core: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+\.py$")] | None,
        Field(description="the Python file of its core of the event framework; none: it has none"),
    ] = None
    guards: Annotated[tuple[Guard, ...], Field(description="the gates that are built into its core")] = ()

    @property
    def canonical(self) -> str:
        return CANONICAL

    @property
    def is_foreign(self) -> bool:
        """Whether real engines start it by a command of its own."""
        return bool(self.command)

    @property
    def is_core_alone(self) -> bool:
        """Whether it is a core of the event framework and no agent."""
        return self.core is not None and not self.command and "program" not in self.model_fields_set

    @property
    def signs(self) -> Mapping[str, str]:
        """The files that ask something of it, relative to home, by what they ask."""
        return {str(ask): sign for ask, sign in self.asks.items()} if isinstance(self.asks, dict) else {}

    def words(self, home: str, name: str, interval_ns: int) -> tuple[str, ...]:
        """The command for one agent. `home`: its directory as the agent sees it."""
        values = {"{home}": home, "{name}": name, "{interval}": f"{interval_ns / 1e9:.9g}"}
        return tuple(_PLACED.sub(lambda found: values.get(found[0], found[0]), word) for word in self.command)


_PLACED = re.compile(r"\{[a-z_]+\}")


def load_core_manifest(folder: Path) -> tuple[Manifest, str]:
    """The manifest of a folder that holds a core of the event framework, and that core's file. As `load_manifest`."""
    missing = Mistake(Where(str(folder / "agent.yaml")), "core", "nothing", "the core's Python file, such as core.py")
    try:
        manifest = load_manifest(folder)
    except ScenarioError as error:
        if [mistake.path for mistake in error.mistakes] == ["program"]:  # it is no agent, nor is it to be one
            raise ScenarioError([missing]) from error
        raise
    if manifest.core is None:
        raise ScenarioError([missing])
    return manifest, manifest.core


def load_manifest(folder: Path, name: str | None = None) -> Manifest:
    """The manifest of an agent's folder. Raises `ScenarioError` with every mistake and its place."""
    path = folder / "agent.yaml"
    shown = name or str(path)
    root, mistakes = parse(read_text(path, shown), shown)
    manifest, wrong = validate(Manifest, root)
    if manifest is not None:
        wrong = _meaning(manifest, folder, root)
    raise_if(mistakes + wrong)
    assert manifest is not None
    return manifest


def _meaning(manifest: Manifest, folder: Path, root: Node) -> list[Mistake]:
    found = []
    is_named = "program" in manifest.model_fields_set
    needed = is_named or not (manifest.is_foreign or manifest.is_core_alone)
    if needed and not (folder / manifest.program).is_file():
        found.append(place(root, ("program",), "a file in the agent's folder", got=repr(manifest.program)))
    if manifest.core is not None and not (folder / manifest.core).is_file():
        found.append(place(root, ("core",), "a file in the agent's folder", got=repr(manifest.core)))
    for index, invariant in enumerate(manifest.known_gaps):
        if invariant not in INVARIANTS:
            found.append(place(root, kept(root, ("known_gaps", index)), "an invariant's id", INVARIANTS))
    for at, path in _paths(manifest):
        if path.startswith("/") or ".." in path.split("/"):
            found.append(place(root, kept(root, at), "a path relative to home, without .."))
    return found + _commands(manifest, root) + _guards(manifest, root)


def _guards(manifest: Manifest, root: Node) -> list[Mistake]:
    if manifest.guards and manifest.core is None:
        return [place(root, ("guards",), "guards only where there is a core: core.py that has them")]
    ids = [guard.gate for guard in manifest.guards]
    return [
        place(root, ("guards", index, "gate"), "an id that no other guard has")
        for index, name in enumerate(ids)
        if name in ids[:index]
    ]


def _paths(manifest: Manifest) -> list[tuple[Path_, str]]:
    paths: list[tuple[Path_, str]] = [(("writes", i), glob) for i, glob in enumerate(manifest.writes)]
    paths += [(("set_aside", i), glob) for i, glob in enumerate(manifest.set_aside)]
    paths += [(("asks", ask), sign) for ask, sign in manifest.signs.items()]
    paths.append((("prompt", "path"), manifest.prompt.path))
    return paths if manifest.heartbeat is None else [*paths, (("heartbeat",), manifest.heartbeat)]


def _commands(manifest: Manifest, root: Node) -> list[Mistake]:
    found = []
    for index, word in enumerate(manifest.command):
        strange = [part for part in _PLACED.findall(word) if part not in PLACEHOLDERS]
        at = kept(root, ("command", index))
        if strange:
            found.append(place(root, at, "no other braces than {home}, {name} and {interval}", PLACEHOLDERS))
        elif not word:
            found.append(place(root, at, "a word"))
        elif len(manifest.command) == 1 and " " in word:
            found.append(place(root, at, "a list of words, such as [python3, agent.py, '{home}']"))
    return found
