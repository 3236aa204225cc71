"""Selectors: the texts by which scenarios mean agents. What each kind matches; nothing here knows a scenario.

`all`, a name, a glob (`web-*`), a range (`a-0..a-9`, both ends included), a share (`30%`), `group:NAME`, `host:NAME`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from fractions import Fraction
from hashlib import blake2b
from typing import Literal, Protocol

from fleetbeat.scenario.units import share_of_text

Kind = Literal["all", "name", "glob", "range", "share", "group", "host"]

_RANGE = re.compile(r"(.+)-(0|[1-9][0-9]{0,6})\.\.(.+)-(0|[1-9][0-9]{0,6})")
_NUMBERED = re.compile(r"(.+)-(0|[1-9][0-9]{0,6})")


class Selectable(Protocol):
    """What selectors look at in an agent."""

    @property
    def name(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def spawn_at(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Item:
    """One selector, taken apart. `word`: the name, group, host, or glob; `low` and `high`: the ends of a range."""

    kind: Kind
    word: str = ""
    low: int = 0
    high: int = 0
    share: Fraction = Fraction(1)


def parse_item(text: str) -> Item:
    """The parts of a selector. Raises ValueError, its text is what was expected instead."""
    if text == "all":
        return Item("all")
    for kind in ("group", "host"):
        if text.startswith(f"{kind}:"):
            return Item("group" if kind == "group" else "host", text.removeprefix(f"{kind}:"))
    if "%" in text:
        share = share_of_text(text)
        if share is None:
            raise ValueError("a share such as 30%, at most 100%")
        return Item("share", share=share)
    if ".." in text:
        match = _RANGE.fullmatch(text)
        if match is None or match[1] != match[3]:
            raise ValueError("a range within one group such as a-0..a-9")
        if int(match[2]) > int(match[4]):
            raise ValueError(f"a range that goes up, such as {match[1]}-{match[4]}..{match[1]}-{match[2]}")
        return Item("range", match[1], int(match[2]), int(match[4]))
    if any(sign in text for sign in "*?["):
        if len(text) > 200:
            raise ValueError("a pattern of at most 200 characters")
        return Item("glob", text)
    return Item("name", text)


def number_of(name: str) -> tuple[str, int] | None:
    """The group and the number that an agent's name is made of."""
    match = _NUMBERED.fullmatch(name)
    return (match[1], int(match[2])) if match else None


def place_of(salt: str, name: str) -> int:
    """Where a name falls under a salt: 64 bits, the same in every run, whoever else is there."""
    return int.from_bytes(
        blake2b(f"{salt}\0{name}".encode(), digest_size=8, person=b"fleetbeat select").digest(), "big"
    )


def matcher(item: Item, salt: str) -> Callable[[Selectable], bool]:
    """Whether an agent is meant by this item."""
    word, low, high = item.word, item.low, item.high
    if item.kind == "all":
        return lambda agent: True
    if item.kind == "share":
        limit = item.share.numerator << 64
        denominator = item.share.denominator
        return lambda agent: place_of(salt, agent.name) * denominator < limit
    if item.kind == "group":
        return lambda agent: agent.group == word
    if item.kind == "host":
        return lambda agent: agent.host == word
    if item.kind == "range":
        return lambda agent: agent.group == word and low <= int(agent.name[len(word) + 1 :]) <= high
    if item.kind == "glob":
        match = re.compile(translate(word)).fullmatch
        return lambda agent: match(agent.name) is not None
    return lambda agent: agent.name == word


def select(selector: Sequence[str], agents: Sequence[Selectable], salt: str, at: int | None = None) -> tuple[str, ...]:
    """Names of the agents meant by any of these texts, in the order of the fleet.

    A share takes those agents whose hash of (salt, name) falls below it, so another agent more or less moves nobody,
    and a larger share holds the smaller one; it may take nobody. With `at` (ns), agents spawned later than that are
    left out unless they are named one by one: what is rolled out does not fan out to agents that do not exist yet.
    Raises ValueError for a text that is no selector.
    """
    items = [parse_item(text) for text in selector]
    named = {item.word for item in items if item.kind == "name"}
    tests = [matcher(item, salt) for item in items if item.kind != "name"]
    return tuple(
        agent.name
        for agent in agents
        if agent.name in named
        or ((at is None or agent.spawn_at is None or agent.spawn_at <= at) and any(test(agent) for test in tests))
    )
