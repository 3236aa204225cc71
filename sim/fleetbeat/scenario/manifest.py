"""An agent's manifest, `agent.yaml` in its folder: what it is, what it writes where, which promises it may break."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fleetbeat.scenario.mistakes import Mistake
from fleetbeat.scenario.model import NAME, Frozen, Names
from fleetbeat.scenario.read import Path as Path_
from fleetbeat.scenario.read import kept, place, raise_if, validate
from fleetbeat.scenario.words import INVARIANTS
from fleetbeat.scenario.yaml12 import Node, parse, read_text

#: Canonical rules, relative to home. Source: PROTOCOL ("canonical" is `system/rules.md`).
CANONICAL = "system/rules.md"


class Prompt(Frozen):
    """The flushed prompt, and how its protected rules section is found there."""

    path: Annotated[str, Field(min_length=1, description="relative to home")] = "system/system.md"
    begin: Annotated[str, Field(min_length=1, description="text right before the rules")] = "<rules>\n"
    end: Annotated[str, Field(min_length=1, description="text right after the rules")] = "\n</rules>"


class Manifest(Frozen):
    """`program` is a Python file in the agent's folder; the program in it is called PROGRAM."""

    name: Annotated[str, Field(pattern=NAME)]
    about: str = ""
    program: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+\.py$")] = "program.py"
    prompt: Prompt = Prompt()
    writes: Annotated[Names, Field(description="globs, relative to home, of all that it writes")] = ()
    set_aside: Annotated[Names, Field(description="globs, relative to home: where it moves signals on purpose")] = ()
    asks: Annotated[
        tuple[Literal["rebuild", "suspend", "refresh"], ...], Field(description="what an operator can ask of it")
    ] = ()
    known_gaps: Annotated[Names, Field(description="ids of invariants that it is known to break")] = ()
    image: Annotated[str | None, Field(description="reserved for engines that start real agents")] = None
    command: Annotated[Names, Field(description="reserved for engines that start real agents")] = ()

    @property
    def canonical(self) -> str:
        return CANONICAL


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
    if not (folder / manifest.program).is_file():
        found.append(place(root, ("program",), "a file in the agent's folder", got=repr(manifest.program)))
    for index, invariant in enumerate(manifest.known_gaps):
        if invariant not in INVARIANTS:
            found.append(place(root, kept(root, ("known_gaps", index)), "an invariant's id", INVARIANTS))
    paths: list[tuple[Path_, str]] = [(("writes", i), glob) for i, glob in enumerate(manifest.writes)]
    paths += [(("set_aside", i), glob) for i, glob in enumerate(manifest.set_aside)]
    for at, glob in [*paths, (("prompt", "path"), manifest.prompt.path)]:
        if glob.startswith("/") or ".." in glob.split("/"):
            found.append(place(root, kept(root, at), "a path relative to home, without .."))
    return found
