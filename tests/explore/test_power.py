"""Power loss in a search: every file system that unsynced changes may leave, and only with `power`."""

from __future__ import annotations

from itertools import combinations

from tests.explore.small import broken, explore, plan, post

from fleetbeat.explore.model import POWER_AFTER, POWER_BEFORE
from fleetbeat.explore.power import EVERY, kept_sets
from fleetbeat.files.memory import Unsynced


def _pieces(count: int) -> tuple[Unsynced, ...]:
    return tuple(Unsynced("data", f"/a/{number}") for number in range(count))


def test_every_combination_of_a_few_pieces_and_the_extremes_of_many() -> None:
    few = _pieces(EVERY)
    assert {frozenset(s) for n in range(EVERY + 1) for s in combinations(few, n)} == set(kept_sets(few))
    many = frozenset(_pieces(EVERY + 4))
    found = list(kept_sets(_pieces(EVERY + 4)))
    assert found[:2] == [frozenset(), many]
    assert {len(keep) for keep in found} == {0, 1, len(many) - 1, len(many)}
    assert len(found) == 2 + 2 * len(many)


def test_canonical_that_was_written_and_not_synced_may_come_back_old_empty_or_not_at_all() -> None:
    outcome = explore(plan(post("v1"), crashes=1, power=True))
    found = {one.key: one for one in outcome.found}
    assert ("canonical-intact", "gap", "environment") in found
    assert ("survives-rebuild", "gap", "environment") in found
    assert any("all combinations of up to" in note for note in outcome.notes)
    kept = {event.outcome for one in outcome.found for event in one.schedule if event.outcome.startswith("power-")}
    assert kept
    assert all(text.startswith((POWER_BEFORE, POWER_AFTER)) for text in kept)


def test_a_rename_that_was_never_synced_may_be_lost_after_it_was_seen() -> None:
    """The writer's atomic post is complete, the agent has not looked yet, and after the failure nothing is there."""
    lost = explore(plan(post("v1"), crashes=1, power=True), keep_outcomes=True)
    plain = explore(plan(post("v1"), crashes=1), keep_outcomes=True)
    assert lost.outcomes > plain.outcomes


def test_an_agent_without_crashes_keeps_its_unsynced_changes() -> None:
    assert broken(explore(plan(post("v1")))) == set()
