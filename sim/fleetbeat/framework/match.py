"""Whether a policy is about an event, as the harness sees it. A core decides the same by its own means."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, Protocol

from fleetbeat.framework.fold import Fold
from fleetbeat.framework.policies import Gate, Observer


class Told(Protocol):
    """What is asked of an event."""

    @property
    def type(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def fields(self) -> Mapping[str, Any]: ...


def watches(policy: Gate | Observer, event: Told) -> bool:
    """Whether the policy's `on` and `when` fit the event; its `state` aside."""
    type = event.type  # plain loops: a core asks every gate about every call
    for glob in policy.on:
        if glob == type or fnmatchcase(type, glob):
            break
    else:
        return False
    for name, values in policy.when.items():  # noqa: SIM110
        if not _one_fits(_value(event, name), values):
            return False
    return True


def fits(policy: Gate | Observer, event: Told, fold: Fold | None) -> bool:
    """Whether the policy is about the event, given what was folded of its session before."""
    if not watches(policy, event):
        return False
    if not policy.state:
        return True
    counts = {} if fold is None else fold.counts
    return all(_holds(counts.get(name, 0), bounds) for name, bounds in policy.state.items())


def _value(event: Told, name: str) -> Any:
    if name in ("type", "origin", "session"):
        return getattr(event, name)
    return event.fields.get(name)


def _one_fits(value: Any, values: tuple[Any, ...]) -> bool:
    if value is None:
        return False
    if isinstance(value, str):
        for one in values:  # noqa: SIM110
            if isinstance(one, str) and fnmatchcase(value, one):
                return True
        return False
    return any(type(one) is type(value) and one == value for one in values)


def _holds(count: int, bounds: tuple[tuple[str, int], ...]) -> bool:
    for how, number in bounds:
        if how == "at_least":
            if count < number:
                return False
        elif how == "at_most":
            if count > number:
                return False
        elif count != number:
            return False
    return True
