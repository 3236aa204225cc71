"""`--set path=value`: one field of a scenario, laid over the nodes before anything is checked.

An override is checked like the file itself, so a wrong key or value is reported by the same code; only the place
differs: `--set fleet.agentz`. Items of a list go by index, by id, version or name, or `+` for a new one at the end.
"""

from __future__ import annotations

from dataclasses import replace

from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where, listed, nearest, quoted
from fleetbeat.scenario.read import dotted
from fleetbeat.scenario.yaml12 import Limits, Node, parse

_NAMES = ("id", "version", "name")
Path = tuple[str | int, ...]


def override(root: Node, text: str, limits: Limits) -> Node:
    """The nodes with this override; those on its path are copies. Raises `ScenarioError`: no such place, not YAML."""
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8 come from the command line as lone surrogates
        raise ScenarioError([Mistake(Where("--set"), "", ascii(text), "text in UTF-8")]) from None
    path, equals, value = text.partition("=")
    path = path.strip()
    place = Where(f"--set {path or quoted(text)}")
    if not equals or not path or not all(path.split(".")):
        raise ScenarioError([Mistake(place, "", quoted(text), "path=value, such as fleet.agents=10")])
    node = _value(value, place.name, limits)
    return _laid(root, path.split("."), (), node, place)


def _value(text: str, name: str, limits: Limits) -> Node:
    if not text.strip():
        return Node(None, Where(name), Where(name))
    try:
        node, mistakes = parse(text, name, limits)
    except ScenarioError as error:
        mistakes = list(error.mistakes)
    if mistakes:  # lines and columns of one argument would only confuse
        raise ScenarioError([replace(mistake, where=Where(name)) for mistake in mistakes])
    return node


def _placed(node: Node, where: Where) -> Node:
    """The node and all within it as standing at `where`."""
    value = node.value
    if isinstance(value, dict):
        value = {key: _placed(child, where) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_placed(child, where) for child in value]
    return replace(node, value=value, where=where, key=where)


def _laid(node: Node | None, parts: list[str], path: Path, value: Node, place: Where) -> Node:
    """`node` with the value at `parts` below it; what is missing on the way is made."""
    if not parts:
        return _placed(value, replace(place, covers=dotted(path)))
    if node is None or node.value is None:
        starts_list = parts[0] == "+" or parts[0] == "0"
        node = Node([] if starts_list else {}, place, place)
    if isinstance(node.value, dict):
        key = parts[0]
        child = _laid(node.value.get(key), parts[1:], (*path, key), value, place)
        return replace(node, value={**node.value, key: child})
    if isinstance(node.value, list):
        index, rest = _index(node.value, parts, path, place)
        items = list(node.value)
        child = _laid(items[index] if index < len(items) else None, rest, (*path, index), value, place)
        items[index : index + 1] = [child]
        return replace(node, value=items)
    expected = "a mapping or a list there"
    raise ScenarioError([Mistake(place, dotted(path), node.shown(), expected)])


def _index(items: list[Node], parts: list[str], path: Path, place: Where) -> tuple[int, list[str]]:
    """Which item is meant, and the parts that are left. A name may hold dots: the longest that fits is taken."""
    first = parts[0]
    if first == "+":
        return len(items), parts[1:]
    names = [_name(item) for item in items]
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if names.count(name) > 1:
            several = listed(str(i) for i, other in enumerate(names) if other == name)
            raise ScenarioError([Mistake(place, "", f"{quoted(name)}, which several carry", f"an index ({several})")])
        if name in names:
            return names.index(name), parts[length:]
    if first.isascii() and first.isdigit() and int(first[:8]) < len(items):
        return int(first), parts[1:]
    known = list(dict.fromkeys(name for name in names if name))
    indices = f"an index from 0 to {len(items) - 1}, " if items else ""
    expected = (f"{listed(known)}, " if known else "") + indices + "or + for a new one"
    raise ScenarioError([Mistake(place, "", quoted(first), expected, nearest(first, known))])


def _name(item: Node) -> str | None:
    if isinstance(item.value, dict):
        for key in _NAMES:
            child = item.value.get(key)
            if child is not None and isinstance(child.value, str):
                return child.value
    return None
