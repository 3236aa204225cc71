"""What a power failure takes, brings back or leaves in parts is the environment's, and nobody knows what it left."""

from __future__ import annotations

from tests.histories.build import Story
from tests.histories.tell import V1, V2, fates_of, only, silent, started

AGAIN = "v1/a-0#2"


def test_a_signal_that_vanished_while_no_process_lived_was_not_consumed() -> None:
    story = started().posts(2.5, V1, " \n").dies(2.7).vanished(3).boot(4, "v0", life=1)
    assert fates_of(story) == {V1: "lost"}
    only(story, "no-silent-loss", "gap", "environment")


def test_an_unlink_after_which_the_power_failed_is_a_consumption() -> None:
    story = started().posts(2.5, V1, " \n").beat(3, 3.1, outcome="cut").fault(3.1, "unlink", ".rules", "power")
    story.vanished(3.1).dies(3.1, "power").prompt(3.1, None, "missing").boot(4, "v0", life=1)
    assert fates_of(story) == {V1: "empty"}
    silent(story, "empty-is-noop")


def test_a_post_that_went_with_the_power_is_superseded_where_its_retry_was_applied() -> None:
    story = started().posts(2.5, V1, "v1").dies(2.7, "power").vanished(2.7).boot(4, "v0", life=1)
    story.posts(5, AGAIN, "v1").beat(6, 6.1, life=1).vanished(6.01).applies(6.02, "v1")
    assert fates_of(story) == {V1: "superseded", AGAIN: "applied"}


def brought_back(text: str = "v1") -> Story:
    """v1 and a blank V2 posted, V2 consumed, its unlink undone by a power failure; then a beat applies `text`."""
    story = started().posts(2.5, V1, "v1").posts(2.6, V2, "\n", over=True).beat(3, 3.1).vanished(3.01)
    story.dies(3.5, "power").signal(3.5, "appeared").boot(4, "v0", life=1)
    return story.beat(5, 5.1, life=1).vanished(5.01).applies(5.02, text)


def test_the_text_that_is_applied_tells_which_post_a_power_failure_brought_back() -> None:
    assert fates_of(brought_back()) == {V1: "applied", V2: "empty"}


def test_what_was_consumed_once_keeps_that_fate_if_a_power_failure_brings_it_back() -> None:
    story = started("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).dies(3.5, "power").signal(3.5, "appeared")
    story.prompt(3.5, None, "missing").boot(4, "v1", life=1).beat(5, 5.1, life=1).vanished(5.01)
    story.canonical(5.02, "", "truncated").log(5.03, "rules_write_error", life=1).idle(6, 10, life=1)
    assert fates_of(story) == {V1: "unchanged"}


def test_a_signal_brought_back_that_no_beat_can_take_accuses_nobody() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1, outcome="cut").vanished(3.01)
    story.dies(3.1, "power").signal(3.1, "appeared").boot(4, "v0", life=1).idle(5, 10, life=1)
    silent(story, "drains", examined=False)


def test_a_prompt_that_the_power_took_does_not_undo_an_identical_body() -> None:
    story = started("v1").posts(2.5, V1, "v1").beat(3, 3.1, outcome="cut").vanished(3.1).dies(3.1, "power")
    assert fates_of(story.prompt(3.1, "", "torn").boot(4, "v1", life=1)) == {V1: "unchanged"}


def test_a_prompt_that_the_power_took_after_a_failed_write_is_not_the_agents() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2, outcome="cut").vanished(3.02).canonical(3.03, "", "truncated")
    story.fault(3.05, "write", "system/rules.md").dies(3.2, "power").prompt(3.2, None, "missing")
    silent(story.boot(4, None, life=1), "write-failure-aborts")


def flushed_as_the_power_failed(before: bool) -> Story:
    """v1 persisted; the prompt holds it in the instant of the power failure, before it or as what that left."""
    story = started().posts(2.5, V1, "v1").beat(3, 3.1, outcome="cut").vanished(3.01).persists(3.02, "v1")
    story = story.prompt(3.1, "v1").dies(3.1, "power") if before else story.dies(3.1, "power").prompt(3.1, "v1")
    return story.canonical(3.1, "v0").boot(4, "v0", life=1)


def test_a_flush_that_the_power_undid_at_once_was_one_and_what_the_power_left_is_none() -> None:
    assert fates_of(flushed_as_the_power_failed(before=True)) == {V1: "applied"}
    assert fates_of(flushed_as_the_power_failed(before=False)) == {V1: "persisted"}


def test_power_that_fails_in_the_instant_in_which_a_rebuild_ends_accuses_nobody() -> None:
    story = started().rebuild(3, 3.5, "v0", number=1).dies(3.5, "power").prompt(3.5, "", "torn").boot(4, "v0", life=1)
    for invariant in ("effective-follows", "survives-rebuild"):
        silent(story, invariant)


def test_an_atomic_body_of_which_the_power_left_parts_is_torn_by_the_environment() -> None:
    story = started().planned(2.2, V1, "v1 whole").dies(2.3, "power").boot(2.4, "v0", life=1)
    story.signal(2.6, "appeared").begin(2.6, V1).ended(2.6, V1)
    story.beat(3, 3.1, life=1).vanished(3.01).applies(3.02, "v1 wh")
    assert fates_of(story) == {V1: "torn"}
    only(story, "whole-body", "gap", "environment")
