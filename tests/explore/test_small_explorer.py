"""The seam that the explorer stands on: programs run under any order, and the same order gives the same world."""

from __future__ import annotations

from collections import Counter
from math import comb
from typing import Any

import pytest
from tests.engines.wrong_agents import REFERENCE
from tests.explore.small_explorer import Actor, World, schedules

from fleetbeat.files.memory import MemoryFiles
from fleetbeat.protocol.process import Process, section_of
from fleetbeat.protocol.vocabulary import Context, Rename, Stat


def _straight(files: MemoryFiles, name: str, steps: int) -> Actor:
    def line() -> Any:
        for _ in range(steps):
            try:
                yield Stat("/nothing")
            except OSError:
                pass

    return Actor(name, Process(name, f"/{name}", files.process()), [line])


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 3), (4, 4), (5, 3)])
def test_two_straight_lines_have_as_many_orders_as_there_are_ways_to_lace_them(m: int, n: int) -> None:
    def make() -> World:
        files = MemoryFiles()
        return files, [_straight(files, "a", m), _straight(files, "b", n)]

    orders = [order for order, _ in schedules(make)]
    assert len(orders) == len(set(orders)) == comb(m + n, n)


def _race() -> World:
    """One agent that beats twice; v1 lies there already; a writer renames v2 into place some time."""
    files = MemoryFiles()
    files.make_dirs("/a/system", 1000)
    files.put("/a/.rules", b"v1", 1000)
    files.put("/a/.rules.v2", b"v2", 1000)
    context, memory = Context("a", "/a"), REFERENCE.start
    beat = lambda: REFERENCE.beat(context, memory)  # noqa: E731
    agent = Actor("agent", Process("a", "/a", files.process()), [beat, beat])

    def last_steps() -> Any:
        yield Stat("/a/.rules.v2")
        yield Rename("/a/.rules.v2", "/a/.rules")

    return files, [agent, Actor("writer", Process("w", "/a", files.process()), [last_steps])]


def _effective(files: MemoryFiles) -> str | None:
    return section_of((files.peek("/a/system/system.md") or b"").decode(), "<rules>\n", "\n</rules>")[1]


def test_every_order_of_one_writer_and_two_beats_ends_in_v2_but_for_the_lost_update() -> None:
    ends: Counter[tuple[str | None, bool]] = Counter()
    lost: list[tuple[str, ...]] = []
    for order, (files, _) in schedules(_race):
        pending = files.peek("/a/.rules") is not None
        ends[_effective(files), pending] += 1
        if _effective(files) == "v1" and not pending:
            lost.append(order)
    assert set(ends) == {("v2", False), ("v1", True), ("v1", False)}, ends
    # in each of them the rename, the writer's last step, falls between the open and the unlink of the first beat
    for order in lost:
        rename = [n for n, name in enumerate(order) if name == "writer"][-1]
        before = order[:rename].count("agent")
        assert 2 <= before <= 5, order  # after stat and open, before the unlink, which is the agent's sixth step


def test_the_same_order_feeds_the_same_results_and_leads_to_the_same_world() -> None:
    first = [(order, world[0].state(), [actor.fed for actor in world[1]]) for order, world in schedules(_race)]
    second = [(order, world[0].state(), [actor.fed for actor in world[1]]) for order, world in schedules(_race)]
    assert first == second
    assert len(first) > 50
