"""Pictures of states: alike where the states go on alike, and never where they do not."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fleetbeat.explore.framework.picture import Unfrozen, picture

FIRST = 1000
IDS = range(FIRST, FIRST + 100)


def drawn(*roots: object) -> bytes:
    return picture(roots, IDS, {})


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value


class Slotted:
    __slots__ = ("__hidden", "shown")

    def __init__(self, shown: Any, hidden: Any) -> None:
        self.shown, self.__hidden = shown, hidden


class Sub(dict[str, Any]):
    pass


def test_states_are_alike_whatever_ids_their_events_have() -> None:
    one = {"waits": [FIRST + 1, FIRST + 2], "marks": {FIRST + 1: "a", FIRST + 2: "b"}}
    other = {"waits": [FIRST + 8, FIRST + 3], "marks": {FIRST + 3: "b", FIRST + 8: "a"}}
    assert drawn(one) == drawn(other)


def test_states_differ_where_the_ids_mean_something_else() -> None:
    one = {"waits": [FIRST + 1, FIRST + 2], "marks": {FIRST + 1: "a", FIRST + 2: "b"}}
    other = {"waits": [FIRST + 1, FIRST + 2], "marks": {FIRST + 1: "b", FIRST + 2: "a"}}
    assert drawn(one) != drawn(other)


def test_what_is_held_under_an_id_that_nobody_names_is_not_drawn() -> None:
    assert drawn([FIRST], {FIRST: 1, FIRST + 1: 2}) == drawn([FIRST], {FIRST: 1})
    assert drawn([FIRST], {FIRST: 1, ("a", FIRST + 1): 2}) == drawn([FIRST], {FIRST: 1})
    assert drawn([FIRST], {FIRST, FIRST + 1}) == drawn([FIRST], {FIRST})


def test_what_is_held_under_an_id_that_another_entry_names_is_drawn() -> None:
    assert drawn([FIRST], {FIRST: FIRST + 1, FIRST + 1: 2}) != drawn([FIRST], {FIRST: FIRST + 1, FIRST + 1: 3})
    assert drawn([FIRST], {FIRST}) != drawn([FIRST], set())


def test_numbers_that_are_no_ids_are_themselves() -> None:
    assert drawn([1, 2]) != drawn([2, 1])
    assert drawn({1: "a"}) != drawn({2: "a"})
    assert drawn(1) != drawn(True)
    assert drawn(1) != drawn(1.0)


def test_the_order_of_a_list_counts_and_that_of_a_mapping_does_not() -> None:
    assert drawn({"a": 1, "b": 2}) == drawn({"b": 2, "a": 1})
    assert drawn([1, 2]) != drawn([2, 1])


def test_one_thing_in_two_places_is_not_two_things_that_look_alike() -> None:
    shared = Box(1)
    assert drawn(shared, shared) != drawn(Box(1), Box(1))


def test_what_goes_round_in_a_circle_is_drawn_once() -> None:
    one, other = Box(None), Box(None)
    one.value, other.value = other, one
    assert drawn(one) == drawn(one)


@pytest.mark.parametrize(
    "make",
    [
        lambda value: functools.partial(print, value),
        lambda value: Box(value),
        lambda value: Slotted(1, value),
        lambda value: Sub(a=value),
        lambda value: lambda: value,
        lambda value: lambda one=value: one,
        lambda value: Box(value).__class__.__init__.__get__(Box(value)),
        lambda value: [value].append,
        lambda value: {"a": (value, [{value}])},
        lambda value: re.compile(str(value)),
        lambda value: ValueError(value),
    ],
)
def test_what_differs_deep_inside_differs(make: Callable[[int], object]) -> None:
    """A `partial` is a class of C that looks like one of Python's: taken for that, its arguments would not be seen."""
    assert drawn(make(1)) == drawn(make(1))
    assert drawn(make(1)) != drawn(make(2))


def counting() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize("one", [counting(), iter([1]), threading.Lock(), {object(): 1}.items(), memoryview(b"a")])
def test_what_cannot_be_looked_into_is_said(one: object) -> None:
    with pytest.raises(Unfrozen, match="an object of"):
        drawn([one])


def test_attributes_may_be_left_out_of_one_object_or_of_a_class() -> None:
    one, other = Box(1), Box(2)
    assert picture(one, IDS, {id(one): frozenset(("value",))}) == picture(other, IDS, {id(Box): frozenset(("value",))})
    whole: frozenset[str] = frozenset()
    assert picture(one, IDS, {id(one): whole}) != picture(other, IDS, {id(other): whole})
