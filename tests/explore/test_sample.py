"""Searches by chance: they find what is likely, say what they guarantee, and are told by their seed."""

from __future__ import annotations

import re

from tests.explore.small import broken, plan, post

from fleetbeat.explore.model import Outcome
from fleetbeat.explore.search import explore

READ = {"operation": "read", "error": "EIO"}
LOST = ("no-silent-loss", "gap", "protocol")


def _same(one: Outcome, other: Outcome) -> bool:
    return [(f.key, f.schedule) for f in one.found] == [(f.key, f.schedule) for f in other.found]


def test_pct_finds_the_lost_update_and_prints_the_guarantee_with_what_it_measured() -> None:
    outcome = explore(plan(post("v1"), post("v2")), "pct", runs=300)
    assert LOST in {found.key for found in outcome.found}
    (note,) = [note for note in outcome.notes if note.startswith("pct:")]
    chance, n, k, d = re.search(r"= ([0-9.e-]+), with n = (\d+) actors, k = (\d+) steps .*, d = (\d+)", note).groups()  # type: ignore[union-attr]
    assert (int(n), int(d)) == (3, 3)
    longest = max(len(found.schedule) for found in outcome.found)
    assert longest <= int(k) < 2 * longest
    assert float(chance) == float(f"{1 / (3 * int(k) ** 2):.2g}")


def test_pct_finds_the_lost_update_far_more_often_than_it_guarantees_whatever_the_seed() -> None:
    world = plan(post("v1"), post("v2"))
    for seed in range(5):
        outcome = explore(world, "pct", runs=100, seed=seed, invariant="no-silent-loss")
        assert [found.key for found in outcome.found] == [LOST]


def test_pct_of_depth_1_changes_no_priority_and_so_never_interrupts_an_episode() -> None:
    assert broken(explore(plan(post("v1"), post("v2")), "pct", runs=200, depth=1)) == set()


def test_a_seed_tells_the_whole_search_and_another_seed_another_one() -> None:
    world = plan(post("v1"), post("v2"), faults=(READ,), crashes=1)
    for strategy in ("pct", "random"):
        runs = [explore(world, strategy, runs=50, seed=seed) for seed in (5, 5, 6)]
        assert _same(runs[0], runs[1])
        assert runs[0].states == runs[1].states
        assert runs[0].states != runs[2].states


def test_random_runs_differ_in_what_may_go_wrong_and_runs_without_trouble_are_counted_not_redrawn() -> None:
    outcome = explore(plan(post("v1"), post("v2"), faults=(READ,), crashes=1), "random", runs=200)
    assert {"no-silent-loss", "last-write-wins"} <= broken(outcome)
    (note,) = [note for note in outcome.notes if note.startswith("random:")]
    counts = {kind: int(count) for count, kind in re.findall(r"(\d+) ([a-z ]+)", note.split(": ")[2])}
    assert set(counts) == {"nothing going wrong", "crashes allowed", "faults allowed", "faults and crashes allowed"}
    assert sum(counts.values()) == 200
    assert min(counts.values()) > 5


def test_a_sample_is_never_complete_and_says_how_many_runs_it_made() -> None:
    for strategy in ("pct", "random"):
        outcome = explore(plan(post("v1")), strategy, runs=7)
        assert not outcome.complete
        assert outcome.schedules == 7
        assert outcome.summary == f"budget ran out at 7 of 7 runs of {strategy}"
        assert not explore(plan(post("v1")), strategy, runs=7, stop=lambda: True).schedules
