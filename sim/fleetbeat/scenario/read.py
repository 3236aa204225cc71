"""From nodes to a frozen model: pydantic finds all mistakes, this module says where each stands and in which words.

pydantic's locations name union branches as well (`jitter.normal.sd`); parts that are no children in the YAML are
dropped.
"""

from __future__ import annotations

import re
import types
import typing
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where, listed, nearest, quoted
from fleetbeat.scenario.yaml12 import Node

Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]

_WORDS = {
    "missing": "a value (it has no default)",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "finite_number": "a finite number",
    "string_too_short": "text that is not empty",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
    "expected": "{text}",
}
#: What the patterns of the model mean in words.
PATTERNS = {
    "[A-Za-z][": "a name: a letter, then up to 62 letters, digits, _ . or -",
    "[A-Za-z0-9][": "a name: a letter or digit, then up to 62 letters, digits, _ . or -",
    "0?[0-7]{3}": "permissions in quotes, three octal digits such as '600'",
}


def validate(model: type[Model], root: Node) -> tuple[Model | None, list[Mistake]]:
    """The model that the nodes hold, or None and every mistake of shape in them."""
    if not isinstance(root.value, dict):
        return None, [Mistake(root.where, "", root.shown(), "a mapping")]
    try:
        return model.model_validate(root.plain()), []
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        return None, _joined([_mistake(model, root, item) for item in errors])


def _joined(found: list[Mistake]) -> list[Mistake]:
    """One mistake for a value that fits none of several types: `expected X or Y`."""
    by_place: dict[tuple[Where, str, str], Mistake] = {}
    for mistake in found:
        place = (mistake.where, mistake.path, mistake.got)
        first = by_place.get(place)
        if first is None:
            by_place[place] = mistake
        elif mistake.expected not in first.expected:
            expected = f"{first.expected} or {mistake.expected}"
            by_place[place] = Mistake(first.where, first.path, first.got, expected, first.meant or mistake.meant)
    return list(by_place.values())


def _mistake(model: type[BaseModel], root: Node, error: Any) -> Mistake:
    kind, context = error["type"], error.get("ctx") or {}
    location: Path = error["loc"]
    if kind == "extra_forbidden":
        return unknown_key(root, kept(root, location), fields_at(model, location[:-1]))
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"]) or [context["expected"]]
        if location[-1] == "[key]":  # a mapping whose keys are words
            return unknown_key(root, kept(root, location), known)
        return place(root, kept(root, location), listed(known), known)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        known = re.findall(r"'([^']*)'", context.get("expected_tags", ""))
        return place(root, kept(root, (*location, "kind")), listed(known), known)
    if kind == "missing":
        return place(root, (*kept(root, location[:-1]), location[-1]), _WORDS[kind])
    if kind == "string_pattern_mismatch":
        pattern = context["pattern"].removeprefix("^")
        words = next((words for start, words in PATTERNS.items() if pattern.startswith(start)), f"text like {pattern}")
        return place(root, kept(root, location), words)
    expected = _WORDS[kind].format(**context) if kind in _WORDS else _plain(error["msg"])
    at = kept(root, location)
    node = find(root, at)
    if kind == "string_type" and node is not None and not isinstance(node.value, dict | list | None):
        expected = "text (in quotes)"
    return place(root, at, expected)


def _plain(message: str) -> str:
    return message.removeprefix("Input should be ").removeprefix("Value error, ")


def kept(root: Node, location: Path) -> Path:
    """The parts of a location that are children in the YAML."""
    node: Node | None = root
    path: list[str | int] = []
    for part in location:
        child = _child(node, part)
        if child is not None:
            path.append(part)
            node = child
    return tuple(path)


def _child(node: Node | None, part: str | int) -> Node | None:
    if node is None:
        return None
    if isinstance(node.value, dict):
        return node.value.get(part) if isinstance(part, str) else None
    if isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
        return node.value[part]
    return None


def find(root: Node, path: Path) -> Node | None:
    """The node at a path; None if there is none."""
    node: Node | None = root
    for part in path:
        node = _child(node, part)
    return node


def dotted(path: Path) -> str:
    return ".".join(str(part) for part in path)


def place(root: Node, path: Path, expected: str, known: typing.Iterable[str] = (), got: str | None = None) -> Mistake:
    """A mistake at a value; where there is none (it is missing), at the nearest thing around it."""
    node, around = find(root, path), path
    while node is None:
        around = around[:-1]
        node = find(root, around)
    there = around == path
    where = node.key if isinstance(node.value, dict | list) or not there else node.where
    meant = nearest(node.value, known) if there and isinstance(node.value, str) else None
    shown = got if got is not None else node.shown() if there else "nothing"
    return Mistake(where, dotted(path), shown, expected, meant)


def unknown_key(root: Node, path: Path, known: typing.Iterable[str]) -> Mistake:
    node = find(root, path)
    assert node is not None
    names, key = list(known), str(path[-1])
    return Mistake(node.key, dotted(path), f"the unknown key {quoted(key)}", listed(names), nearest(key, names))


def fields_at(model: type[BaseModel], location: Path) -> list[str]:
    """The keys that the model at a location knows, as the YAML spells them."""
    found: Any = model
    for part in location:
        found = _step(found, part)
    for candidate in _members(found):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return [info.alias or name for name, info in candidate.model_fields.items()]
    return []


def _members(kind: Any) -> list[Any]:
    """The types that an annotation allows, without Annotated, None and unions."""
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        return _members(typing.get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(kind) for member in _members(part)]
    return [] if kind is type(None) else [kind]


def _step(kind: Any, part: str | int) -> Any:
    """The type one part further: a field, an item, or the branch of a union that its `kind` names."""
    members = _members(kind)
    if isinstance(part, int):
        return next((typing.get_args(m)[0] for m in members if typing.get_origin(m) is tuple), None)
    models = [m for m in members if isinstance(m, type) and issubclass(m, BaseModel)]
    if len(models) > 1:
        return next((m for m in models if part in typing.get_args(m.model_fields["kind"].annotation)), None)
    for m in models:
        for name, info in m.model_fields.items():
            if part in (name, info.alias):
                return info.annotation
    return None


def raise_if(mistakes: list[Mistake]) -> None:
    if mistakes:
        raise ScenarioError(mistakes)
