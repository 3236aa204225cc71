"""YAML 1.2 with the place of every key and value, from input that nobody vouches for.

Built on PyYAML's stream of events and its C parser where there is one. Its composer and resolver are not used: the
composer recurses (in C, where deep nesting overflows the stack), does not count what anchors expand to, and keeps the
last of two equal keys; the resolver is YAML 1.1's, which reads `on` as true, `12:30:00` as 45000 and `1e3` as text.
Rejected: ruamel.yaml, thirteen times slower.

Of YAML 1.2's core schema all is read except tags: `!!str` forces a text, any other tag is a mistake. Merge keys (`<<`)
are no part of 1.2 and get no meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where, quoted

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(slots=True)
class Node:
    """One value: plain data, where it stands, where its key stands (an item of a list: itself), how it was written.

    `size` counts it and all values within it, `levels` the containers down to its deepest value; anchors expanded.
    """

    value: Scalar | dict[str, Node] | list[Node]
    where: Where
    key: Where
    text: str = ""
    size: int = 1
    levels: int = 0

    def plain(self) -> Any:
        """The data without places. Containers are new ones."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def shown(self) -> str:
        """What the messages say was got."""
        if isinstance(self.value, dict):
            return "a mapping" if self.value else "an empty mapping"
        if isinstance(self.value, list):
            return "a list" if self.value else "an empty list"
        if self.value is None:
            return "nothing"
        return quoted(self.value) if isinstance(self.value, str) else self.text[:60]


@dataclass(frozen=True, slots=True)
class Limits:
    """What an input may cost: bytes read, levels of nesting, values after anchors are expanded."""

    size: int = 1 << 20
    depth: int = 50
    values: int = 100_000


DEFAULT = Limits()

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBERS: tuple[tuple[re.Pattern[str], Any], ...] = (
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"0o[0-7]+"), lambda text: int(text[2:], 8)),
    (re.compile(r"0x[0-9a-fA-F]+"), lambda text: int(text[2:], 16)),
    (re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"), float),
    (re.compile(r"[-+]?\.(?:inf|Inf|INF)"), lambda text: float(text.replace(".", ""))),
    (re.compile(r"\.(?:nan|NaN|NAN)"), lambda text: float("nan")),
)


def resolve(text: str) -> Scalar:
    """What an unquoted scalar means in YAML 1.2's core schema. A number of more than 100 digits stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 100:
        for pattern, convert in _NUMBERS:
            if pattern.fullmatch(text):
                value: Scalar = convert(text)
                return value
    return text


def read_text(path: Path, name: str, limit: int = DEFAULT.size) -> str:
    """The text of a file. Raises `ScenarioError`: missing, a directory, unreadable, too big, or not UTF-8 text."""
    return text_of(read_bytes(path, limit, Where(name)), name)


def read_bytes(path: Path, limit: int, where: Where, at: str = "", said: str = "") -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Raises `ScenarioError`, at `where` and the field `at` if one names the file, in the words `said`.
    """
    got = f"{quoted(said)}, " if said else ""
    try:
        if path.is_dir():
            raise ScenarioError([Mistake(where, at, got + "a directory", "a file")])
        if path.exists() and not path.is_file():
            raise ScenarioError([Mistake(where, at, got + "something that is no regular file", "a file")])
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise ScenarioError([Mistake(where, at, got + "no such file", "a file")]) from None
    except (OSError, ValueError) as error:
        got += f"an error on reading it ({getattr(error, 'strerror', None) or error})"
        raise ScenarioError([Mistake(where, at, got, "a readable file")]) from None
    if len(data) > limit:
        raise ScenarioError([Mistake(where, at, got + f"more than {limit} bytes", f"at most {limit} bytes")])
    return data


def text_of(data: bytes, name: str) -> str:
    """UTF-8 text without a byte-order mark. Raises `ScenarioError` with the place of the first bad byte."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        where = Where(name, before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1)
        raise ScenarioError([Mistake(where, "", f"byte 0x{data[error.start]:02x}", "UTF-8 text")]) from None


def parse(text: str, name: str, limits: Limits = DEFAULT) -> tuple[Node, list[Mistake]]:
    """The one document of a YAML text, and the mistakes that do not keep it from being read (duplicate keys, tags).

    Raises `ScenarioError` where nothing can be read: not YAML, no document or several, too big, deep or many values.
    """
    if len(text) > limits.size or len(text.encode("utf-8", "replace")) > limits.size:
        size = f"{limits.size} bytes"
        raise ScenarioError([Mistake(Where(name), "", f"more than {size}", f"at most {size}")])
    return _Reader(name, limits).document(text)


@dataclass(slots=True)
class _Open:
    """A container whose end has not come yet."""

    node: Node
    anchor: str | None
    pending: tuple[str, Where] | None = None


@dataclass(slots=True)
class _Reader:
    """Turns events into nodes with a stack of its own, so that no nesting of the input recurses here."""

    name: str
    limits: Limits
    mistakes: list[Mistake] = field(default_factory=list)
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, Node | None] = field(default_factory=dict)
    values: int = 0
    root: Node | None = None

    def document(self, text: str) -> tuple[Node, list[Mistake]]:
        import yaml

        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            documents = 0
            for event in yaml.parse(text, Loader=loader):
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        raise self.fatal(event, "another document", "one document")
                else:
                    self.take(event, yaml)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = Where(self.name, mark.line + 1, mark.column + 1) if mark else Where(self.name)
            if "nesting depth" in (error.problem or ""):
                raise ScenarioError([self.too_deep(where)]) from None
            raise ScenarioError([Mistake(where, "", f"broken YAML ({error.problem})", "valid YAML")]) from None
        except yaml.reader.ReaderError as error:
            raise ScenarioError([self.unreadable(text, error)]) from None
        except yaml.YAMLError as error:
            got = f"broken YAML ({quoted(str(error))})"
            raise ScenarioError([Mistake(Where(self.name), "", got, "valid YAML")]) from None
        if self.root is None:
            raise ScenarioError([Mistake(Where(self.name), "", "an empty file", "a mapping")])
        return self.root, self.mistakes

    def unreadable(self, text: str, error: Any) -> Mistake:
        at = next((i for i, c in enumerate(text) if c < " " and c not in "\t\n\r"), error.position)
        where = Where(self.name, text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1)
        code = ord(text[at]) if isinstance(at, int) and at < len(text) else 0
        return Mistake(where, "", f"the control character U+{code:04X}", "text")

    def too_deep(self, where: Where) -> Mistake:
        return Mistake(where, "", f"more than {self.limits.depth} levels", f"at most {self.limits.depth} levels")

    def path(self, *last: str) -> str:
        """Where the reader is, as the path that messages show."""
        parts = []
        for level in self.stack:
            if level.pending:
                parts.append(level.pending[0])
            elif isinstance(level.node.value, list):
                parts.append(str(len(level.node.value)))
        return ".".join((*parts, *last))

    def take(self, event: Any, yaml: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self.scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            mapping = isinstance(event, yaml.MappingStartEvent)
            if len(self.stack) >= self.limits.depth:
                raise ScenarioError([self.too_deep(self.where(event))])
            if event.tag not in (None, "!", "tag:yaml.org,2002:map" if mapping else "tag:yaml.org,2002:seq"):
                self.mistakes.append(Mistake(self.where(event), self.path(), f"the tag {event.tag}", "no tag"))
            where = self.where(event)
            self.stack.append(_Open(Node({} if mapping else [], where, where, levels=1), event.anchor))
            if event.anchor:
                self.anchors[event.anchor] = None
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            done = self.stack.pop()
            self.add(done.node, done.anchor, event)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event)

    def scalar(self, event: Any) -> None:
        if event.tag not in (None, "!", "tag:yaml.org,2002:str"):
            self.mistakes.append(Mistake(self.where(event), self.path(), f"the tag {event.tag}", "no tag"))
        plain = event.tag is None and event.style in (None, "")
        value = resolve(event.value) if plain else event.value
        where = self.where(event)
        if any("\ud800" <= char <= "\udfff" for char in event.value):
            self.mistakes.append(Mistake(where, self.path(), "half of a surrogate pair", "text that UTF-8 can hold"))
        self.add(Node(value, where, where, event.value), event.anchor, event)

    def alias(self, event: Any) -> None:
        target = self.anchors.get(event.anchor)
        if event.anchor not in self.anchors:
            raise self.fatal(event, f"*{event.anchor}", "an anchor that was given before")
        if target is None:
            raise self.fatal(event, f"*{event.anchor} inside its own anchor", "an anchor that has ended")
        where = self.where(event)
        copy = Node(target.value, where, where, target.text, target.size, target.levels)
        self.add(copy, None, event, values=target.size)

    def add(self, node: Node, anchor: str | None, event: Any, values: int = 1) -> None:
        """Puts a finished value where it belongs: a key, the value of the key before it, an item, or the root."""
        if anchor:
            self.anchors[anchor] = node
        self.values += values
        if self.values > self.limits.values:
            raise self.fatal(event, f"more than {self.limits.values} values", f"at most {self.limits.values} values")
        if len(self.stack) + node.levels > self.limits.depth:
            raise ScenarioError([self.too_deep(self.where(event))])
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        top.node.size += node.size
        top.node.levels = max(top.node.levels, node.levels + 1)
        if isinstance(top.node.value, list):
            top.node.value.append(node)
        elif top.pending is None:
            top.pending = (self.key(node), node.where)
        else:
            assert isinstance(top.node.value, dict)
            (name, where), top.pending = top.pending, None
            node.key = where
            if name in top.node.value:
                first = top.node.value[name].key.line
                once = f"it once (it stands at line {first} already)"
                self.mistakes.append(Mistake(where, self.path(name), f"the key {quoted(name)} again", once))
            else:
                top.node.value[name] = node

    def key(self, node: Node) -> str:
        if isinstance(node.value, str):
            return node.value
        self.mistakes.append(Mistake(node.where, self.path(), f"{node.shown()} as a key", "text"))
        return f"<{node.text or 'key'}>"

    def where(self, event: Any) -> Where:
        return Where(self.name, event.start_mark.line + 1, event.start_mark.column + 1)

    def fatal(self, event: Any, got: str, expected: str) -> ScenarioError:
        return ScenarioError([Mistake(self.where(event), "", got, expected)])
