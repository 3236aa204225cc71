"""The policies of a body, as the harness reads them. A core reads them by its own means; nothing here is told to it.

A body holds policies in fenced blocks that open with a line "```yaml policies" and close with a line "```". A block is a
mapping with the one key `policies`, a list. Each is a gate or an observer, with an id:

    gate: ID               on: tool.before           answer: allow, deny or ask
    observer: ID           on: TYPE or list of them   action: {notify: TEXT} | {inject: LINE} | {prepare: TASK}
    both:  when: {FIELD: VALUE or list of them}       state: {COUNT: {at_least|at_most|exactly: N}}       cooldown_s: NUMBER

`on` and the texts of `when` are globs (`*`, `?`, `[..]`, case counts); of a list any one fits; `when` reads an event's
`origin`, `session`, `type` and fields, a number or truth value fits if it is equal, and a field that is not there fits
nothing. `state` reads what was folded of the session's events before this one (`fold.COUNTS`). TASK is {duration_s, cost,
calls, touches}, all optional. Numbers are finite and at least 0, at most 1e9. All blocks of a body count together.
Everything else, a block without an end, and an id that comes twice in a body make the body's policies malformed: a body
means what it says, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fleetbeat.framework.fold import COUNTS
from fleetbeat.framework.plain_yaml import plain
from fleetbeat.framework.vocabulary import ANSWERS, BEFORE

OPENS, CLOSES = "```yaml policies", "```"
BOUNDS = ("at_least", "at_most", "exactly")
MOST = 1_000_000_000
_BOTH = ("on", "when", "state", "cooldown_s")
_TASK = ("duration_s", "cost", "calls", "touches")


@dataclass(frozen=True, slots=True)
class Gate:
    """`on`: globs; `when`: field -> values of which one fits; `state`: count -> ((how, number), ...)."""

    id: str
    on: tuple[str, ...]
    answer: str
    when: Mapping[str, tuple[Any, ...]]
    state: Mapping[str, tuple[tuple[str, int], ...]]
    cooldown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Observer:
    """`action`: notify, inject or prepare; `argument`: its text, line or task."""

    id: str
    on: tuple[str, ...]
    action: str
    argument: Any
    when: Mapping[str, tuple[Any, ...]]
    state: Mapping[str, tuple[tuple[str, int], ...]]
    cooldown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Policies:
    """What one body says. `error`: why its policies are malformed, one line; then there are none here."""

    gates: tuple[Gate, ...] = ()
    observers: tuple[Observer, ...] = ()
    error: str | None = None


class Malformed(ValueError):
    """One line: where, what was got, what was expected."""


def read(text: str | None) -> Policies:
    """The policies of a body. Raises nothing: `error` says why they are malformed, where they are."""
    gates: list[Gate] = []
    observers: list[Observer] = []
    seen: dict[str, str] = {}
    try:
        for where, item in _items(text or ""):
            policy = policy_of(item, where)
            if policy.id in seen:
                raise Malformed(f"{where}: got the id {policy.id!r} again, expected it once (it is {seen[policy.id]})")
            seen[policy.id] = where
            if isinstance(policy, Gate):
                gates.append(policy)
            else:
                observers.append(policy)
    except Malformed as error:
        return Policies(error=str(error))
    return Policies(tuple(gates), tuple(observers))


def _items(text: str) -> Iterator[tuple[str, Any]]:
    """Each policy as it stands there, with its place: block and number, both from 1."""
    for number, block in enumerate(_blocks(text), 1):
        try:
            data = plain(block)
        except ValueError as error:
            raise Malformed(f"block {number}: {error}") from None
        if not isinstance(data, dict) or list(data) != ["policies"] or not isinstance(data["policies"], list):
            raise Malformed(f"block {number}: got {_shown(data)}, expected a mapping with the one key policies, a list")
        yield from ((f"block {number}, policy {place}", item) for place, item in enumerate(data["policies"], 1))


def _blocks(text: str) -> Iterator[str]:
    inside: list[str] | None = None
    for line in text.split("\n"):
        bare = line.rstrip()
        if inside is None:
            inside = [] if bare == OPENS else None
        elif bare == CLOSES:
            yield "\n".join(inside)
            inside = None
        else:
            inside.append(line)
    if inside is not None:
        raise Malformed(f"policies: got a block without an end, expected a line {CLOSES}")


def policy_of(item: Any, where: str) -> Gate | Observer:
    """One policy as a body spells it. Raises `Malformed`."""
    kinds = [kind for kind in ("gate", "observer") if isinstance(item, dict) and kind in item]
    if len(kinds) != 1:
        raise Malformed(f"{where}: got {_shown(item)}, expected a mapping with gate: ID or observer: ID")
    kind = kinds[0]
    allowed = (kind, "answer" if kind == "gate" else "action", *_BOTH)
    for key in item:
        if key not in allowed:
            raise Malformed(f"{where}: got the key {_shown(key)}, expected one of {', '.join(allowed)}")
    name = _text(item[kind], f"{where}.{kind}")
    on = tuple(_text(one, f"{where}.on") for one in _listed(item.get("on"), f"{where}.on"))
    when, state = _when(item, f"{where}.when"), _state(item, f"{where}.state")
    cooldown = float(_number(item.get("cooldown_s", 0), f"{where}.cooldown_s"))
    if kind == "gate":
        if any(one != BEFORE for one in on):
            raise Malformed(f"{where}.on: got {_shown(item['on'])}, expected {BEFORE}, which gates watch")
        answer = item.get("answer")
        if answer not in ANSWERS:
            raise Malformed(f"{where}.answer: got {_shown(answer)}, expected one of {', '.join(ANSWERS)}")
        return Gate(name, on, answer, when, state, cooldown)
    action, argument = _action(item.get("action"), f"{where}.action")
    return Observer(name, on, action, argument, when, state, cooldown)


def _action(given: Any, where: str) -> tuple[str, Any]:
    if isinstance(given, dict) and len(given) == 1:
        ((action, argument),) = given.items()
        if action in ("notify", "inject"):
            return action, _text(argument, f"{where}.{action}")
        if action == "prepare":
            return action, _task(argument, f"{where}.prepare")
    raise Malformed(
        f"{where}: got {_shown(given)}, expected one of {{notify: TEXT}}, {{inject: LINE}}, {{prepare: TASK}}"
    )


def _task(given: Any, where: str) -> dict[str, Any]:
    task = _mapping(given, where, f"a task of {', '.join(_TASK)}")
    for key, value in task.items():
        if key not in _TASK:
            raise Malformed(f"{where}: got the key {_shown(key)}, expected one of {', '.join(_TASK)}")
        if key == "touches":
            _text(value, f"{where}.{key}")
        elif key == "calls":
            _whole(value, f"{where}.{key}")
        else:
            _number(value, f"{where}.{key}")
    return task


def _when(item: Mapping[str, Any], where: str) -> dict[str, tuple[Any, ...]]:
    given = _mapping(item.get("when", {}), where, "a mapping of fields", or_none=False)
    found: dict[str, tuple[Any, ...]] = {}
    for field, values in given.items():
        place = f"{where}.{_text(field, where)}"
        found[field] = tuple(_scalar(value, place) for value in _listed(values, place))
    return found


def _state(item: Mapping[str, Any], where: str) -> dict[str, tuple[tuple[str, int], ...]]:
    given = _mapping(item.get("state", {}), where, "a mapping of counts", or_none=False)
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for count, bounds in given.items():
        if count not in COUNTS:
            raise Malformed(f"{where}: got {_shown(count)}, expected one of {', '.join(COUNTS)}")
        place = f"{where}.{count}"
        if not _mapping(bounds, place, f"a mapping of {', '.join(BOUNDS)}", or_none=False):
            raise Malformed(f"{place}: got an empty mapping, expected one or more of {', '.join(BOUNDS)}")
        for how in bounds:
            if how not in BOUNDS:
                raise Malformed(f"{place}: got {_shown(how)}, expected one of {', '.join(BOUNDS)}")
        found[count] = tuple(sorted((how, _whole(number, f"{place}.{how}")) for how, number in bounds.items()))
    return found


def _mapping(value: Any, where: str, expected: str, or_none: bool = True) -> dict[str, Any]:
    if value is None and or_none:
        return {}
    if not isinstance(value, dict):
        raise Malformed(f"{where}: got {_shown(value)}, expected {expected}")
    return value


def _listed(value: Any, where: str) -> list[Any]:
    """One or more values, of which one may stand alone."""
    if isinstance(value, list):
        if not value:
            raise Malformed(f"{where}: got an empty list, expected one value or more")
        return value
    return [value]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or value == "":
        raise Malformed(f"{where}: got {_shown(value)}, expected text that is not empty")
    return value


def _scalar(value: Any, where: str) -> Any:
    if isinstance(value, (str, bool)) or (isinstance(value, (int, float)) and -MOST <= value <= MOST):
        return value
    raise Malformed(f"{where}: got {_shown(value)}, expected text, a truth value or a number from -1e9 to 1e9")


def _number(value: Any, where: str) -> float | int:
    if type(value) in (int, float) and 0 <= value <= MOST:  # not a number fails both
        return value  # type: ignore[no-any-return]
    raise Malformed(f"{where}: got {_shown(value)}, expected a number from 0 to 1e9")


def _whole(value: Any, where: str) -> int:
    if type(value) is int and 0 <= value <= MOST:
        return value
    raise Malformed(f"{where}: got {_shown(value)}, expected a whole number from 0 to 1e9")


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
