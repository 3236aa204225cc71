"""What a scenario takes from elsewhere on disk: bodies, lists of durations, agents' folders.

It is read before the model is made, so a scenario that was loaded needs no file, and can be written down and loaded
again from anywhere. Every file is given up to what is left of one budget, since the whole must still load.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic_core import PydanticCustomError

from fleetbeat.scenario.library import find_agent, find_core, holds_manifest, is_path
from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where
from fleetbeat.scenario.read import Path as Keys
from fleetbeat.scenario.read import place
from fleetbeat.scenario.units import format_duration, parse_duration
from fleetbeat.scenario.yaml12 import Node, read_bytes, resolve, text_of

#: Bytes that all files of one scenario may hold together.
BUDGET = 256 * 1024
_ONE_LIST = "exactly one of values and file, with a duration or more"
_BODIES = ("body", "file", "base64")


@dataclass(slots=True)
class Includer:
    """Goes through the nodes once. `folder` is where relative names start."""

    root: Node
    folder: Path
    left: int = BUDGET
    mistakes: list[Mistake] = field(default_factory=list)

    def run(self) -> Node:
        """The nodes with everything taken in; mistakes are collected."""
        root = self.walk(self.root, ())
        self.agents(root)
        self.core(root)
        return root

    def walk(self, node: Node, path: Keys) -> Node:
        if isinstance(node.value, list):
            return replace(node, value=[self.walk(child, (*path, i)) for i, child in enumerate(node.value)])
        if not isinstance(node.value, dict):
            return node
        node = replace(node, value={key: self.walk(child, (*path, key)) for key, child in node.value.items()})
        if len(path) == 2 and path[0] == "rollouts":
            return self.body(node, path)
        kind = _children(node).get("kind")
        return self.durations(node, path) if kind is not None and kind.value == "empirical" else node

    def body(self, node: Node, path: Keys) -> Node:
        given = _given(node, _BODIES)
        if len(given) != 1:
            got = " and ".join(given) or "none of them"
            self.mistakes.append(place(self.root, path, "exactly one of body, file and base64", got=got))
            return node
        child = _children(node)[given[0]]
        if not isinstance(child.value, str):
            return node  # the model says that it must be text
        if given[0] == "base64":
            self.base64(child.value, (*path, "base64"))
        elif given[0] == "file" and (data := self.read(child.value, (*path, "file"))) is not None:
            return _with(node, "file", *_body(data, child))
        return node

    def base64(self, text: str, path: Keys) -> None:
        try:
            base64.b64decode(text, validate=True)
        except ValueError:
            self.mistakes.append(place(self.root, path, "base64"))

    def durations(self, node: Node, path: Keys) -> Node:
        given = _given(node, ("values", "file"))
        child = _children(node)[given[0]] if given else node
        if len(given) != 1 or child.value == []:
            got = " and ".join(given) or "none of them" if len(given) != 1 else "an empty list"
            self.mistakes.append(place(self.root, path, _ONE_LIST, got=got))
            return node
        if given[0] == "values" or not isinstance(child.value, str):
            return node
        data = self.read(child.value, (*path, "file"))
        values = None if data is None else self.listed(data, child.value, child)
        if values is None:
            return node
        return _with(node, "file", "values", Node(values, child.where, child.key))

    def listed(self, data: bytes, name: str, place_of: Node) -> list[Node] | None:
        """One duration a line; empty lines and those that start with # are passed over."""
        try:
            lines = text_of(data, name).splitlines()
        except ScenarioError as error:
            self.mistakes += error.mistakes
            return None
        found, wrong = [], []
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if text and not text.startswith("#"):
                try:
                    exact = format_duration(parse_duration(resolve(text), signed=True))
                    found.append(Node(exact, place_of.where, place_of.key, exact))
                except PydanticCustomError as error:
                    wrong.append(Mistake(Where(name, number, 1), "", repr(text[:60]), error.message()))
        if not found and not wrong:
            wrong.append(Mistake(Where(name), "", "no durations", "one duration a line"))
        self.mistakes += wrong[:20]
        return None if wrong else found

    def read(self, name: str, path: Keys) -> bytes | None:
        at = place(self.root, path, "")
        try:
            data = read_bytes(self.folder / name, self.left, at.where, at.path, name)
        except ScenarioError as error:
            self.mistakes += error.mistakes
            return None
        self.left -= len(data)
        return data

    def agents(self, root: Node) -> None:
        """Are the programs there that the fleet and its groups name? Paths become absolute."""
        fleet = _children(root).get("fleet")
        if fleet is None:
            return
        groups = _children(fleet).get("groups")
        owners: list[tuple[Node, Keys]] = [(fleet, ("fleet",))]
        if groups is not None and isinstance(groups.value, list):
            owners += [(group, ("fleet", "groups", i)) for i, group in enumerate(groups.value)]
        for owner, path in owners:
            child = _children(owner).get("agent")
            if child is None or not isinstance(child.value, str):
                continue
            try:
                folder = find_agent(child.value, self.beside(child))
            except ScenarioError as error:
                told = error.mistakes[0]
                self.mistakes.append(replace(place(self.root, (*path, "agent"), told.expected), meant=told.meant))
            else:
                if is_path(child.value):
                    _children(owner)["agent"] = replace(child, value=str(folder.resolve()))

    def beside(self, child: Node) -> Path:
        """Where a folder is looked for: what somebody types after --set, where they are, if there is one there."""
        typed = child.where.name.startswith("--set ")
        return Path() if typed and holds_manifest(str(child.value), None) else self.folder

    def core(self, root: Node) -> None:
        """Is the core there that the fleet names, as a text or as its `program`? A path becomes absolute."""
        fleet = _children(root).get("fleet")
        given = None if fleet is None else _children(fleet).get("core")
        if fleet is None or given is None:
            return
        path: Keys = ("fleet", "core")
        owner, key = fleet, "core"
        if isinstance(given.value, dict):
            owner, key, path = given, "program", (*path, "program")
        child = _children(owner).get(key)
        if child is None or not isinstance(child.value, str):
            return
        try:
            folder = find_core(child.value, self.beside(child))
        except ScenarioError as error:
            told = error.mistakes[0]
            self.mistakes.append(replace(place(self.root, path, told.expected), meant=told.meant))
        else:
            if is_path(child.value):
                _children(owner)[key] = replace(child, value=str(folder.resolve()))


def _children(node: Node) -> dict[str, Node]:
    return node.value if isinstance(node.value, dict) else {}


def _given(node: Node, keys: tuple[str, ...]) -> list[str]:
    children = _children(node)
    return [key for key in keys if key in children and children[key].value is not None]


def _with(node: Node, old: str, new: str, value: Node) -> Node:
    kept = {key: child for key, child in _children(node).items() if key not in (old, new)}
    return replace(node, value={**kept, new: value})


def _body(data: bytes, child: Node) -> tuple[str, Node]:
    """The key and value that say the same without the file: text if the bytes are UTF-8, else base64."""
    try:
        key, text = "body", data.decode("utf-8")
    except UnicodeDecodeError:
        key, text = "base64", base64.b64encode(data).decode("ascii")
    return key, replace(child, value=text, text=text)
