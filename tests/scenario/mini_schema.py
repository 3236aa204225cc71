"""As much of JSON Schema (2020-12) as our schema uses; a keyword that it does not know is an error of the test."""

from __future__ import annotations

import re
from typing import Any

_TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
_SAID = {"description", "title", "$schema", "$defs", "examples"}


def errors(schema: Any, value: Any, root: Any = None, path: str = "") -> list[str]:
    """What keeps a value from fitting a schema; empty if it fits."""
    root = schema if root is None else root
    if schema is True:
        return []
    if schema is False:
        return [f"{path}: not allowed"]
    found: list[str] = []
    for key, wanted in schema.items():
        if key not in _SAID:
            found += _CHECKS[key](wanted, value, schema, root, path)
    return found


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type(wanted: str, value: Any, *_: Any) -> list[str]:
    if wanted == "number":
        ok = _number(value)
    elif wanted == "integer":
        ok = _number(value) and float(value).is_integer()
    else:
        ok = isinstance(value, _TYPES[wanted])
    return [] if ok else [f"{_[-1]}: {value!r} is no {wanted}"]


def _any(wanted: list[Any], value: Any, _: Any, root: Any, path: str) -> list[str]:
    tried = [errors(option, value, root, path) for option in wanted]
    return [] if any(not found for found in tried) else [f"{path}: none of {tried}"]


def _one(wanted: list[Any], value: Any, _: Any, root: Any, path: str) -> list[str]:
    fits = sum(not errors(option, value, root, path) for option in wanted)
    return [] if fits == 1 else [f"{path}: {fits} of {len(wanted)} fit {value!r}"]


def _properties(wanted: dict[str, Any], value: Any, schema: Any, root: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [e for key, item in value.items() if key in wanted for e in errors(wanted[key], item, root, f"{path}.{key}")]


def _more(wanted: Any, value: Any, schema: Any, root: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    others = [key for key in value if key not in schema.get("properties", {})]
    return [e for key in others for e in errors(wanted, value[key], root, f"{path}.{key}")]


def _keys(wanted: Any, value: Any, schema: Any, root: Any, path: str) -> list[str]:
    return [e for key in value for e in errors(wanted, key, root, path)] if isinstance(value, dict) else []


def _items(wanted: Any, value: Any, schema: Any, root: Any, path: str) -> list[str]:
    first = len(schema.get("prefixItems", ()))
    rest = value[first:] if isinstance(value, list) else []
    return [e for index, item in enumerate(rest) for e in errors(wanted, item, root, f"{path}.{index}")]


def _first(wanted: list[Any], value: Any, _: Any, root: Any, path: str) -> list[str]:
    pairs = zip(wanted, value, strict=False) if isinstance(value, list) else []
    return [e for option, item in pairs for e in errors(option, item, root, path)]


def _holds(kind: Any, test: Any) -> Any:
    def check(wanted: Any, value: Any, _: Any, root: Any, path: str) -> list[str]:
        relevant = _number(value) if kind is float else isinstance(value, kind)
        return [f"{path}: {value!r} against {wanted!r}"] if relevant and not test(wanted, value) else []

    return check


_CHECKS: dict[str, Any] = {
    "type": lambda wanted, value, schema, root, path: _type(wanted, value, path),
    "$ref": lambda wanted, value, schema, root, path: errors(root["$defs"][wanted.split("/")[-1]], value, root, path),
    "anyOf": _any,
    "oneOf": _one,
    "enum": lambda wanted, value, schema, root, path: [] if value in wanted else [f"{path}: {value!r} not in {wanted}"],
    "const": lambda wanted, value, schema, root, path: (
        [] if value == wanted else [f"{path}: {value!r} is not {wanted!r}"]
    ),
    "properties": _properties,
    "additionalProperties": _more,
    "propertyNames": _keys,
    "items": _items,
    "prefixItems": _first,
    "required": _holds(dict, lambda wanted, value: all(key in value for key in wanted)),
    "pattern": _holds(str, lambda wanted, value: re.search(wanted, value) is not None),
    "minimum": _holds(float, lambda wanted, value: value >= wanted),
    "maximum": _holds(float, lambda wanted, value: value <= wanted),
    "exclusiveMinimum": _holds(float, lambda wanted, value: value > wanted),
    "exclusiveMaximum": _holds(float, lambda wanted, value: value < wanted),
    "minItems": _holds(list, lambda wanted, value: len(value) >= wanted),
    "maxItems": _holds(list, lambda wanted, value: len(value) <= wanted),
}
