"""A picture of everything that a state consists of, so that states which go on alike are searched once.

Two states have one picture if they are the same but for the ids of their events and actions: each id is drawn as the how
manieth it is that was met in the picture, so that events that came in another order look the same. What merging relies on:

- What is in a mapping or a set is drawn in the order of its keys, whatever order it was put in.
- What a mapping or a set holds under an id is drawn only where something else in the picture names that id. What waits to
  happen names every id that a later event can have for its cause, so the rest will never be looked up.

A core that goes by how large an id is, how many it remembers, or in which order it filled a mapping, may behave in a way
that is not searched. What cannot be looked into (a generator, an open file, an object of a C library) raises `Unfrozen`;
then nothing is merged.
"""

from __future__ import annotations

import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Generic, NamedTuple, Protocol

#: A class that Python code defined (CPython's Py_TPFLAGS_HEAPTYPE).
_HEAP = 1 << 9
_PLAIN = (dict, OrderedDict, defaultdict, list, tuple, set, frozenset, deque, str, int, float, bytes, object, Exception)
_BASES = frozenset((*_PLAIN, BaseException))
_TYPING = (Generic, Protocol)
#: Classes whose objects are drawn in a way of their own.
_OF_OTHERS = (type, PurePath, Enum, count, partial, MappingProxyType, ModuleType)


class Unfrozen(Exception):
    """Something that cannot be looked into; the message says what it is."""


def picture(roots: object, ids: range, omit: Mapping[int, frozenset[str]]) -> bytes:
    """16 bytes that stand for a state.

    `ids`: of events and actions, numbers that mean nothing else. `omit`: attributes to leave out, by `id` of the object,
    or of the class for all of its objects; where none is named, the object stands for itself. Raises `Unfrozen`.
    """
    drawing = _Drawing(ids, omit)
    try:
        drawing.draw(roots)
        drawing.draw_looked_up()
    except RecursionError:
        raise Unfrozen("something nested very deep") from None
    return blake2b(repr(drawing.tokens).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Drawing:
    __slots__ = ("held", "ids", "met", "omit", "seen", "tokens", "under_ids")

    def __init__(self, ids: range, omit: Mapping[int, frozenset[str]]) -> None:
        self.ids = ids
        self.omit = omit
        self.tokens: list[Any] = []
        self.seen: dict[int, int] = {}
        #: Ids that were met, by their place among them, and what is held under ids: (number of the mapping, key, value).
        self.met: dict[int, int] = {}
        self.under_ids: list[tuple[int, Any, Any]] = []
        #: Bound methods and the like are made when they are looked at; kept, so that no other gets their `id`.
        self.held: list[Any] = []

    def draw(self, one: Any) -> None:
        kind = type(one)
        if kind is str:
            self.tokens.append(one)
        elif kind is int:
            self.tokens.append(("id", self.met.setdefault(one, len(self.met))) if one in self.ids else one)
        elif one is None or kind is bool or kind is float or kind is bytes or kind is complex:
            self.tokens.append(one if one == one else "nan")
        elif kind is tuple:
            self.tokens.append(len(one))
            for part in one:
                self.draw(part)
        else:
            self.shared(one, kind)

    def shared(self, one: Any, kind: type) -> None:
        """Something with an identity of its own: drawn once, and named by its number from then on."""
        number = self.seen.get(id(one))
        if number is not None:
            self.tokens.append(("again", number))
            return
        number = self.seen[id(one)] = len(self.seen)
        self.held.append(one)
        if kind is dict:
            self.mapping(one, number)
        elif kind is list or kind is deque:
            self.tokens.append(("list", len(one), getattr(one, "maxlen", None)))
            for part in one:
                self.draw(part)
        elif kind is set or kind is frozenset:
            self.set(one, number)
        elif kind is re.Pattern:
            self.tokens.append(("pattern", one.pattern, one.flags))
        elif kind.__flags__ & _HEAP and not issubclass(kind, _OF_OTHERS):
            self.thing(one, kind, number)
        else:
            self.other(one, kind, number)

    def mapping(self, one: Mapping[Any, Any], number: int) -> None:
        try:
            plain = []
            for key, value in one.items():
                if self.ids_of(key):
                    self.under_ids.append((number, key, value))
                else:
                    plain.append((self.key(key), value))
        except Unfrozen:  # keys with an identity of their own: in the order in which they came
            plain = []
            for key, value in one.items():
                self.draw(key)
                self.draw(value)
        plain.sort(key=_first)
        self.tokens.append(("mapping", len(plain)))
        for name, value in plain:
            self.tokens.append(name)
            self.draw(value)

    def set(self, one: AbstractSet[Any], number: int) -> None:
        parts = [part for _, _, part in sorted((repr(part), id(part), part) for part in one)]
        self.under_ids += [(number, part, None) for part in parts if self.ids_of(part)]
        self.tokens.append(("set", *sorted(self.key(part) for part in parts if not self.ids_of(part))))

    def draw_looked_up(self) -> None:
        """What is held under ids that were met, which may lead to others."""
        waiting = self.under_ids
        while True:
            met, self.under_ids = self.met, []
            now = [one for one in waiting if all(id in met for id in self.ids_of(one[1]))]
            if not now:
                return
            waiting = [one for one in waiting if not all(id in met for id in self.ids_of(one[1]))]
            for number, name, value in sorted(((one[0], self.key(one[1]), one[2]) for one in now), key=_place):
                self.tokens.append(("under", number, name))
                self.draw(value)
            waiting += self.under_ids

    def ids_of(self, key: Any) -> tuple[int, ...]:
        """The ids in a key."""
        if type(key) is int:
            return (key,) if key in self.ids else ()
        if type(key) is tuple:
            return tuple(id for part in key for id in self.ids_of(part))
        return ()

    def key(self, one: Any) -> str:
        """A key as text, another for every other key; ids in it were met."""
        kind = type(one)
        if kind is str:
            return repr(one)
        if kind is int:
            return f"id {self.met[one]}" if one in self.ids else str(one)
        if one is None or kind is bool or kind is float or kind is bytes:
            return repr(one)
        if isinstance(one, tuple):
            return repr(list(map(self.key, one)))
        if isinstance(one, frozenset):
            return repr(sorted(map(self.key, one)))
        if isinstance(one, Enum):
            return f"{kind.__qualname__} {one.name}"
        if isinstance(one, type):
            return f"type {one.__module__} {one.__qualname__} {id(one)}"
        raise Unfrozen(f"a key of {kind.__module__}.{kind.__qualname__}")

    def other(self, one: Any, kind: type, number: int) -> None:
        if isinstance(one, type):
            self.tokens.append(("type", one.__module__, one.__qualname__, id(one)))
        elif kind is FunctionType:
            self.function(one)
        elif kind is MethodType:
            self.tokens.append("method")
            self.draw(one.__func__)
            self.draw(one.__self__)
        elif kind is partial:
            self.tokens.append("partial")
            self.draw((one.func, one.args, one.keywords))
        elif kind is BuiltinFunctionType:
            self.tokens.append(("built in", one.__name__))
            if not isinstance(one.__self__, ModuleType | None):
                self.draw(one.__self__)
        elif isinstance(one, PurePath | ModuleType | count | range | bytearray):
            self.tokens.append((kind.__name__, one.__name__ if isinstance(one, ModuleType) else repr(one)))
        elif isinstance(one, Enum):
            self.tokens.append(("enum", kind.__qualname__, one.name))
        elif isinstance(one, MappingProxyType):
            self.mapping(one, number)
        else:
            self.thing(one, kind, number)

    def function(self, one: FunctionType) -> None:
        self.tokens.append(("function", one.__module__, one.__qualname__, id(one.__code__)))
        cells = []
        for cell in one.__closure__ or ():
            try:
                cells.append(cell.cell_contents)
            except ValueError:  # not filled yet
                cells.append("empty")
        self.draw((tuple(cells), one.__defaults__, one.__kwdefaults__, one.__dict__ or None))

    def thing(self, one: Any, kind: type, number: int) -> None:
        """An object: its attributes, and what it holds if it is a mapping or list of sorts."""
        left_out = self.omit.get(id(one), self.omit.get(id(kind)))
        shape = _SHAPES.get(kind) or _shape(kind)
        self.tokens.append(shape.name)
        if left_out is not None and not left_out:
            self.tokens.append(id(one))
            return
        if shape.holds is not None:
            self.held_by(one, shape.holds, number)
        for name in shape.slots:
            if left_out is None or name not in left_out:
                self.draw(getattr(one, name, None))
        if shape.has_dict:
            for name, value in sorted(one.__dict__.items(), key=_first):
                if left_out is None or name not in left_out:
                    self.tokens.append(name)
                    self.draw(value)

    def held_by(self, one: Any, base: type, number: int) -> None:
        """What an object holds as the `base` that it is one of."""
        if issubclass(base, dict):
            self.mapping(one, number)
            if isinstance(one, defaultdict):
                self.draw(one.default_factory)
        elif base in (list, tuple, deque):
            self.draw(tuple(one))
        elif base in (set, frozenset):
            self.set(one, number)
        elif issubclass(base, BaseException):
            self.draw(one.args)
        else:
            self.tokens.append(base.__repr__(one))


class _Shape(NamedTuple):
    """How objects of a class are drawn. `holds`: the built-in class that they are also one of."""

    name: tuple[str, str, int]
    slots: tuple[str, ...]
    has_dict: bool
    holds: type | None


_SHAPES: dict[type, _Shape] = {}


def _shape(kind: type) -> _Shape:
    """Raises `Unfrozen` for a class that is not made of Python's own."""
    slots: list[str] = []
    holds: type | None = None
    for base in kind.__mro__:
        if not base.__flags__ & _HEAP:
            if not issubclass(base, BaseException) and base not in _BASES and base.__module__ != "typing":
                raise Unfrozen(f"an object of {kind.__module__}.{kind.__qualname__}")
            holds = holds or (base if base not in (object, *_TYPING) else None)
        some = base.__dict__.get("__slots__", ())
        if base.__flags__ & _HEAP and _hidden(base, 1 if isinstance(some, str) else len(tuple(some))):
            raise Unfrozen(f"an object of {base.__module__}.{base.__qualname__}")
        for name in (some,) if isinstance(some, str) else some:
            if name not in ("__dict__", "__weakref__"):
                slots.append(f"_{base.__name__.lstrip('_')}{name}" if _is_mangled(name) else name)
    has_dict = getattr(kind, "__dictoffset__", 0) != 0
    shape = _SHAPES[kind] = _Shape((kind.__module__, kind.__qualname__, id(kind)), tuple(slots), has_dict, holds)
    return shape


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _place(one: tuple[int, str, Any]) -> tuple[int, str]:
    return one[:2]


def _hidden(kind: type, slots: int) -> bool:
    """Whether objects of a class hold more than its slots and its `__dict__` say: one that was written in C."""
    own = kind.__dict__
    slots -= ("__dict__" in own.get("__slots__", ())) + ("__weakref__" in own.get("__slots__", ()))
    explained = slots + ("__dict__" in own and kind.__dictoffset__ > 0) + ("__weakref__" in own and _weak(kind) > 0)
    base = kind.__base__
    if base is None or base.__itemsize__:  # of tuples and whole numbers every object has its own size
        return False
    return kind.__basicsize__ - base.__basicsize__ != 8 * explained


def _weak(kind: type) -> int:
    return int(kind.__weakrefoffset__)


def _is_mangled(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")
