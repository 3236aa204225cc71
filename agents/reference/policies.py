"""How the reference core reads the policies of a rules body, and when one is about an event.

A body holds them in fenced blocks: a line "```yaml policies", a mapping with the one key `policies`, a line "```". All
blocks of a body count together, and one mistake makes all of them malformed: a body means what it says or nothing.
Standard library only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

from fleetbeat.framework.vocabulary import ANSWERS, BEFORE, Event

OPENS, CLOSES = "```yaml policies", "```"
#: Type of event -> what it is counted as, in the session it belongs to; an answer is counted by what it says.
COUNTED = {
    "prompt": "prompts", "reply": "replies", "tool.before": "calls", "tool.after": "results",
    "file.changed": "changes", "ready": "readies", "dismissed": "dismissals",
}  # fmt: skip
ANSWERED = {"approve": "approvals", "reject": "rejections", "ignore": "ignored"}
COUNTS = (*COUNTED.values(), *ANSWERED.values())
NOTIFY, INJECT, PREPARE = "notify", "inject", "prepare"
#: What `when` reads of the event itself; everything else is one of its fields.
OWN = ("type", "origin", "session")
MOST = 1_000_000_000
BOUNDS = ("at_least", "at_most", "exactly")
_COMMON = ("on", "when", "state", "cooldown_s")
_TASK: dict[str, Callable[[Any], bool]] = {}


class Malformed(Exception):
    """The policies of a body are not as they must be; the message is one line."""


class Condition:
    """What a policy is about. `on`: types; `when`: (field, exact texts, patterns, numbers and truth values)."""

    __slots__ = ("on", "state", "when")

    def __init__(
        self, on: tuple[str, ...], when: Mapping[str, tuple[Any, ...]], state: tuple[tuple[str, str, int], ...]
    ):
        self.on = tuple(re.compile(translate(glob)) for glob in on)
        self.when = tuple((name, *_sorted_out(values)) for name, values in when.items())
        self.state = state

    def watches(self, type: str) -> bool:
        return any(glob.match(type) for glob in self.on)

    def fits(self, event: Event, counts: Mapping[str, int]) -> bool:
        """Whether it is about this event, of a type that it watches. `counts`: what was counted of the session before."""
        for name, texts, patterns, others in self.when:
            value = getattr(event, name) if name in OWN else event.fields.get(name)
            if isinstance(value, str):
                if value not in texts and not any(pattern.match(value) for pattern in patterns):
                    return False
            elif not any(type(one) is type(value) and one == value for one in others):
                return False
        for count, bound, number in self.state:
            value = counts.get(count, 0)
            if not (
                value >= number if bound == "at_least" else value <= number if bound == "at_most" else value == number
            ):
                return False
        return True


def _sorted_out(values: tuple[Any, ...]) -> tuple[tuple[str, ...], tuple[re.Pattern[str], ...], tuple[Any, ...]]:
    texts = [value for value in values if isinstance(value, str)]
    globs = [text for text in texts if any(sign in text for sign in "*?[")]
    exact = tuple(text for text in texts if text not in globs)
    others = tuple(value for value in values if not isinstance(value, str))
    return exact, tuple(re.compile(translate(glob)) for glob in globs), others


@dataclass(frozen=True, slots=True)
class Gate:
    """The host judges by a gate's condition; the core needs its id alone."""

    id: str
    cooldown_ns: int


@dataclass(frozen=True, slots=True)
class Observer:
    """`action`: notify, inject or prepare; `argument`: its text, line or task."""

    id: str
    on: tuple[str, ...]
    action: str
    argument: Any
    condition: Condition
    cooldown_ns: int


def read(text: str | None, yaml: Callable[[str], Any]) -> tuple[tuple[Gate, ...], tuple[Observer, ...]]:
    """The gates and observers of a body, in its order. `yaml`: text -> plain data, ValueError. Raises `Malformed`."""
    gates: list[Gate] = []
    observers: list[Observer] = []
    seen: set[str] = set()
    for block in _blocks(text or ""):
        try:
            data = yaml(block)
        except ValueError as error:
            raise Malformed(f"policies: {error}") from error
        if not isinstance(data, dict) or list(data) != ["policies"] or not isinstance(data["policies"], list):
            raise Malformed("policies: got a block of another shape, expected a mapping `policies: [...]`")
        for number, item in enumerate(data["policies"]):
            policy = _policy(item, f"policies.{number}")
            if policy.id in seen:
                raise Malformed(f"policies.{number}: got the id {policy.id!r} again, expected one that no other has")
            seen.add(policy.id)
            if isinstance(policy, Gate):
                gates.append(policy)
            else:
                observers.append(policy)
    return tuple(gates), tuple(observers)


def _blocks(text: str) -> list[str]:
    found: list[str] = []
    inside: list[str] | None = None
    for line in text.split("\n"):
        bare = line.rstrip()
        if inside is None:
            inside = [] if bare == OPENS else None
        elif bare == CLOSES:
            found.append("\n".join(inside))
            inside = None
        else:
            inside.append(line)
    if inside is not None:
        raise Malformed("policies: got a block without an end, expected a line ```")
    return found


def _policy(item: Any, where: str) -> Gate | Observer:
    kinds = [kind for kind in ("gate", "observer") if isinstance(item, dict) and kind in item]
    if len(kinds) != 1:
        raise Malformed(f"{where}: got {_shown(item)}, expected a mapping with gate: ID or observer: ID")
    kind = kinds[0]
    does = "answer" if kind == "gate" else "action"
    for key in item:
        if key not in (kind, does, *_COMMON):
            raise Malformed(f"{where}: got the key {_shown(key)}, expected one of {', '.join((kind, does, *_COMMON))}")
    name = item[kind]
    _must(_is_text(name), f"{where}.{kind}", name, "an id")
    on = _listed(item.get("on"))
    _must(bool(on) and all(map(_is_text, on)), f"{where}.on", item.get("on"), "types of events")
    when, state, cooldown = item.get("when", {}), item.get("state", {}), item.get("cooldown_s", 0)
    _must(_is_when(when), f"{where}.when", when, "fields, each with a text, number or truth value or a list of them")
    _must(_is_state(state), f"{where}.state", state, f"counts ({', '.join(COUNTS)}) with at_least, at_most or exactly")
    _must(_is_number(cooldown), f"{where}.cooldown_s", cooldown, "a number of seconds")
    cooldown_ns = round(cooldown * 1_000_000_000)
    if kind == "gate":
        _must(set(on) == {BEFORE}, f"{where}.on", item["on"], f"{BEFORE}, which gates watch")
        _must(item.get("answer") in ANSWERS, f"{where}.answer", item.get("answer"), ", ".join(ANSWERS))
        return Gate(name, cooldown_ns)
    action, argument = _action(item.get("action"), where)
    bounds = tuple((count, how, number) for count, some in state.items() for how, number in some.items())
    condition = Condition(tuple(on), {field: tuple(_listed(some)) for field, some in when.items()}, bounds)
    return Observer(name, tuple(on), action, argument, condition, cooldown_ns)


def _action(given: Any, where: str) -> tuple[str, Any]:
    expected = "one of {notify: TEXT}, {inject: LINE}, {prepare: TASK}"
    _must(isinstance(given, dict) and len(given) == 1, f"{where}.action", given, expected)
    ((action, argument),) = given.items()
    if action == PREPARE:
        task = {} if argument is None else argument
        is_task = isinstance(task, dict) and all(key in _TASK and _TASK[key](value) for key, value in task.items())
        _must(is_task, f"{where}.action", argument, "a task of duration_s, cost, calls, touches")
        return action, task
    _must(action in (NOTIFY, INJECT) and _is_text(argument), f"{where}.action", given, expected)
    return action, argument


def _must(holds: bool, where: str, got: Any, expected: str) -> None:
    if not holds:
        raise Malformed(f"{where}: got {_shown(got)}, expected {expected}")


def _shown(value: Any) -> str:
    return "nothing" if value is None else repr(value)[:60]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MOST  # what is not a number is neither


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, bool)) or (isinstance(value, (int, float)) and -MOST <= value <= MOST)


def _is_when(value: Any) -> bool:
    if not isinstance(value, dict) or not all(map(_is_text, value)):
        return False
    lists = [_listed(one) for one in value.values()]
    return all(some and all(map(_is_scalar, some)) for some in lists)


def _is_state(value: Any) -> bool:
    if not isinstance(value, dict) or not all(count in COUNTS for count in value):
        return False
    return all(
        isinstance(some, dict) and some and all(how in BOUNDS and _is_count(number) for how, number in some.items())
        for some in value.values()
    )


_TASK.update(duration_s=_is_number, cost=_is_number, calls=_is_count, touches=_is_text)
