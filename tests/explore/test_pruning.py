"""What a search leaves out changes nothing of what it finds; and what it counts is what there is."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import pytest
from tests.engines.wrong_agents import CASES, Case
from tests.explore.small import naive, plan, post

from fleetbeat.explore.plan import Plan
from fleetbeat.explore.search import explore
from fleetbeat.protocol.vocabulary import Stat, Unlink

HALF = {"operation": "write", "error": "EIO", "effect": "partial"}
UNLINK = {"operation": "unlink", "error": "EIO", "effect": "after"}
DEATH = {"on": "operators", "operation": "rename", "path": "*", "crash": "after"}

WORLDS: dict[str, Plan] = {
    "two posts": plan(post("v1"), post("v2")),
    "a crash": plan(post("v1"), crashes=1),
    "a fault and a crash": plan(post("v1"), faults=(HALF,), crashes=1),
    "two posts, a fault and a crash": plan(post("v1"), post("v2"), faults=(UNLINK,), crashes=1),
    "a rebuild beside a beat": plan(post("v1"), rebuilds=1),
    "a post in place": plan(post("v1", write="in-place", chunk=20)),
    "a post across devices": plan(post("v1", write="cross-device", chunk=20), crashes=1),
    "two posts through one temporary": plan(post("v1", write="shared-temp"), post("v2", write="shared-temp")),
    "a writer that dies": plan(post("v1"), post("v2"), faults=(DEATH,)),
    "power": plan(post("v1", write="atomic-synced"), crashes=1, power=True),
    "two agents": plan(post("v1"), agents=2, posts=1, crashes=1),
}


SLOW = {
    "two posts, a fault and a crash",
    "a post across devices",
    "two posts through one temporary",
    "power",
    "two agents",
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in WORLDS])
def test_pruned_and_unpruned_searches_have_the_same_outcomes(name: str) -> None:
    pruned, whole = explore(WORLDS[name], keep_outcomes=True), naive(WORLDS[name])
    assert pruned.complete
    assert whole.complete
    assert pruned.outcomes == whole.outcomes
    assert pruned.states < whole.states
    assert len(whole.outcomes) > 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: type(case.agent).__name__)
def test_pruning_hides_nothing_of_a_wrong_agent(case: Case) -> None:
    faults = tuple({key: value for key, value in fault.items() if key != "occurrence"} for fault in case.faults)
    bodies: list[dict[str, Any]] = [
        {"base64": "/3f/"} if text == "POISON" else {"body": text, "mark": text != "same"} for text in case.bodies
    ]
    posts = [{"version": f"v{number}", "at": "1s", "targets": "all", **body} for number, body in enumerate(bodies)]
    world = plan(*posts, faults=faults, program=case.agent)
    pruned, whole = explore(world, keep_outcomes=True), naive(world)
    assert pruned.outcomes == whole.outcomes
    assert {found.key for found in pruned.found} == {found.key for found in whole.found}


def test_merging_states_hides_nothing_and_counts_the_schedules_that_playing_each_of_them_counts() -> None:
    for world in (plan(post("v1"), faults=(HALF,)), plan(post("v1"), crashes=1)):
        merged, played = naive(world), naive(world, merge=False)
        assert merged.outcomes == played.outcomes
        assert merged.schedules == played.schedules > 5
        assert merged.states < played.states


@dataclass(frozen=True)
class Straight:
    """Its beat is this many looks at something of its own, one after another."""

    steps: int
    start: tuple[()] = ()

    def boot(self, context: Any, memory: Any) -> Any:
        yield Stat(context.path("system"))
        return memory

    def beat(self, context: Any, memory: Any) -> Any:
        for _ in range(self.steps):
            yield Stat(context.path("system"))
        return memory

    rebuild = beat


def _orders(m: int, n: int) -> Plan:
    """The writer of a post in place in m chunks makes m + 2 steps, the agent's beat n."""
    body = "x" * m
    return plan(post("v1", write="in-place", chunk=1, body=body, mark=False), program=Straight(n))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (3, 3), (5, 3)])
def test_two_straight_lines_have_as_many_orders_as_there_are_ways_to_lace_them(m: int, n: int) -> None:
    for merge in (True, False):
        assert naive(_orders(m, n), merge=merge).schedules == comb(m + 2 + n, n)


def test_what_an_agent_does_elsewhere_ends_the_trust_and_hides_nothing() -> None:
    class Nosy(type(CASES[0].agent).__bases__[0]):  # type: ignore[misc]
        """Takes the signal away from whoever is writing it: it removes temporaries that it finds."""

        def is_posted(self, context: Any) -> Any:
            from fleetbeat.protocol.vocabulary import List

            for name in (yield List(context.home)):
                if name.startswith(".rules."):
                    yield Unlink(context.path(name))
            return (yield from super().is_posted(context))

    world = plan(post("v1"), program=Nosy())
    pruned, whole = explore(world, keep_outcomes=True), naive(world)
    assert pruned.outcomes == whole.outcomes
    assert any("looks beyond its own files" in note for note in pruned.notes)
    assert any(("v1/a-0#1", "unposted") in fates for fates, _ in pruned.outcomes)  # type: ignore[misc]
