"""Whose body became canonical or effective, where more than one post, or none, could have brought it there."""

from __future__ import annotations

from tests.histories.build import Story
from tests.histories.tell import V1, V2, fate_of, fates_of, in_place, only, silent, started

AGAIN = "v1/a-0#2"


def test_a_rebuild_that_read_canonical_before_the_beat_rewrote_it_applies_nobodys_post() -> None:
    story = Story("v1").boot(0, None).idle(1, 2).posts(2.5, V2, "v2").rebuilding(2.9).beat(3, 3.3)
    story.posts(3.02, V1, "v1", over=True).vanished(3.05).canonical(3.1, "", "truncated")
    story.prompt(3.15, "v1").rebuilt(3.16).log(3.2, "rules_write_error").idle(4, 10)
    assert fates_of(story) == {V1: "failed", V2: "superseded"}


def test_a_flush_owed_for_the_text_from_the_start_applies_nobodys_post() -> None:
    story = started("v1").beat(2.8, 2.9).log(2.85, "rules_flush_error").prompt(2.85, None, "torn")
    story.posts(3, V2, "v2").beat(4, 4.3).posts(4.02, V1, "v1", over=True).vanished(4.05)
    story.canonical(4.1, "", "truncated").log(4.2, "rules_write_error").beat(5, 5.1).prompt(5.05, "v1").idle(6, 10)
    assert fates_of(story) == {V1: "failed", V2: "superseded"}


def test_an_agent_that_flushes_before_it_persists_still_applies_its_post() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.3).vanished(3.05).canonical(3.1, "", "truncated")
    assert fates_of(story.prompt(3.15, "v1").log(3.2, "rules_write_error")) == {V1: "applied"}


def test_a_flush_owed_for_a_persisted_body_applies_it_though_canonical_is_broken_by_then() -> None:
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).persists(3.02, "v1").log(3.05, "rules_flush_error")
    )
    story.posts(3.5, V2, "v2").beat(4, 4.2).vanished(4.05).canonical(4.1, "", "truncated").log(
        4.15, "rules_write_error"
    )
    assert fates_of(story.beat(5, 5.1).prompt(5.05, "v1").log(5.06)) == {V1: "applied", V2: "failed"}


def test_of_equal_bodies_the_one_that_was_never_whole_at_the_name_has_no_credit() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.5).planned(3.05, AGAIN, "v1", write="cross-device")
    story.vanished(3.1).begin(3.1, AGAIN).signal(3.1, "appeared").posts(3.2, V2, "v2", over=True).vanished(3.3)
    assert fates_of(story.applies(3.4, "v1")) == {V1: "applied", AGAIN: "superseded", V2: "lost"}


def test_a_body_read_whole_through_a_kept_handle_is_applied_though_it_was_never_whole_at_the_name() -> None:
    story = in_place("v1 whole", begin=2.9, complete=None).beat(3, 3.5).posts(3.1, V2, "v2", over=True).vanished(3.3)
    assert fates_of(story.applies(3.4, "v1 whole")) == {V1: "applied", V2: "lost"}


def owed_flush(other: str | bytes) -> Story:
    """v1 is canonical, its flush failed; another body, then v1 again stand there in one beat that writes nothing."""
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).persists(3.02, "v1").log(3.05, "rules_flush_error")
    )
    story.posts(3.5, V2, other).beat(4, 4.2).posts(4.05, AGAIN, "v1", over=True).vanished(4.1)
    return story.beat(5, 5.1).prompt(5.05, "v1").log(5.06).idle(6, 10)


def test_an_identical_body_was_read_if_nothing_else_at_the_name_explains_a_beat_that_wrote_nothing() -> None:
    for other in ("v2", b"\xff"):
        assert fates_of(owed_flush(other)) == {V1: "applied", V2: "superseded", AGAIN: "applied"}


def test_a_blank_body_explains_it_as_well_and_leaves_the_identical_one_without_credit() -> None:
    assert fates_of(owed_flush(" \n")) == {V1: "applied", V2: "superseded", AGAIN: "superseded"}


def test_half_a_body_is_torn_although_the_beat_died_if_a_boot_made_it_effective_and_no_whole_one_was_there() -> None:
    story = in_place(complete=None).beat(3, 3.1, outcome="cut").vanished(3.02).persists(3.03, "v1 who").dies(3.1)
    story.boot(4, "v1 who", life=1).idle(5, 3, life=1)
    assert fates_of(story) == {V1: "torn"}
    only(story, "whole-body", "violation", "writer")


def test_half_a_body_that_a_dead_beat_left_is_not_torn_if_a_whole_one_could_have_been_read() -> None:
    story = in_place(complete=3.005).beat(3, 3.1, outcome="cut").vanished(3.02).persists(3.03, "v1 who").dies(3.1)
    assert fates_of(story.boot(4, "v1 who", life=1).idle(5, 3, life=1)) == {V1: "lost"}


def test_a_rebuild_that_flushes_what_a_failed_write_left_while_its_beat_goes_on_tears_nothing() -> None:
    story = started().posts(2.5, V1, "v1 whole").beat(3, 4).vanished(3.02).canonical(3.03, "", "truncated")
    story.fault(3.04, "write", "system/rules.md", "partial").canonical(3.04, "v1 wh").fault(3.05, "emit", "logs/x")
    story.rebuild(3.1, 3.3, "v1 wh").idle(5, 10)
    assert fates_of(story) == {V1: "lost"}
    only(story, "no-silent-loss", "gap", "environment")


def two_writers(last: str) -> Story:
    """V1, then V2, written in place into one file; the one named `last` makes the last change."""
    story = started().planned(19.4, V1, "v1 long", write="in-place").planned(19.4, V2, "v2 long", write="in-place")
    story.signal(19.5, "appeared").begin(19.5, V1).signal(19.51, "changed").begin(19.51, V2)
    first = V1 if last == V2 else V2
    return story.signal(19.52, "changed").ended(19.52, first).signal(19.53, "changed").ended(19.53, last)


def test_a_change_after_one_writer_ended_is_the_other_writers() -> None:
    assert fates_of(two_writers(V1)) == {V1: "pending", V2: "superseded"}
    assert fates_of(two_writers(V2)) == {V1: "superseded", V2: "pending"}


def test_a_rules_loaded_owed_dies_with_the_process_that_owed_it() -> None:
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).persists(3.02, "v1").log(3.05, "rules_flush_error")
    )
    story.dies(3.5).boot(4, "v1", life=1).posts(4.5, V2, "v2").beat(5, 5.1, life=1).vanished(5.01).applies(5.02, "v2")
    silent(story, "one-log-each")
    only(story.log(5.05, life=1), "one-log-each", "violation", "agent")


def test_a_log_that_failed_before_the_signal_was_taken_does_not_excuse_a_write_error_untold() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).fault(3.01, "emit", "logs/x").vanished(3.05)
    story.canonical(3.1, "", "truncated").fault(3.15, "write", "system/rules.md").idle(4, 10)
    only(story, "one-log-each", "violation", "agent")
    silent(story.fault(3.16, "emit", "logs/x"), "one-log-each")


def test_a_failed_write_leaves_no_rules_loaded_owed() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).canonical(3.02, "", "truncated")
    story.log(3.05, "rules_write_error").posts(4.5, V2, "v2").beat(5, 5.1).vanished(5.01).applies(5.02, "v2")
    silent(story, "one-log-each")
    only(story.log(5.05), "one-log-each", "violation", "agent")


def test_beats_held_up_by_rebuilds_on_their_thread_have_not_stopped() -> None:
    story = Story("v0").boot(0, "v0").idle(1, 2)
    for number in range(1, 17):
        story.rebuild(2 + number, 2.99 + number, "v0", number=number)
    silent(story, "beats-go-on")
    only(
        Story("v0", end=40).boot(0, "v0").idle(1, 2).rebuild(3, 4, "v0", number=1), "beats-go-on", "violation", "agent"
    )


def test_a_post_that_gave_way_to_one_still_in_hand_is_not_the_last_to_win() -> None:
    story = started().posts(18.5, V1, "v1").posts(18.6, V2, "v2", over=True).beat(19, 20, outcome="cut").vanished(19.1)
    story.persists(19.2, "v2")
    assert fate_of(story, V2).fate == "persisted"
    silent(story, "last-write-wins", examined=False)


def test_a_post_that_gave_way_through_another_one_is_not_the_last_to_win_either() -> None:
    story = started().posts(18.5, V1, "v1").posts(18.6, AGAIN, "v1 again", over=True).posts(18.7, V2, "v2", over=True)
    silent(story, "last-write-wins", examined=False)


def test_a_post_that_was_read_and_then_replaced_is_in_hand_as_well() -> None:
    story = started().posts(18.5, V1, "v1").beat(19, 20, outcome="cut").posts(19.1, V2, " \n", over=True).vanished(19.2)
    story.persists(19.3, "v1")
    assert fates_of(story) == {V1: "persisted", V2: "empty"}
    silent(story, "last-write-wins", examined=False)


def test_a_torn_post_that_did_not_win_is_its_writers_though_another_was_unlinked_in_its_place() -> None:
    story = in_place(begin=2.9, complete=3.1).beat(3, 3.5).posts(3.2, V2, " \n", over=True).vanished(3.3)
    story.applies(3.4, "v1 who")
    assert fates_of(story) == {V1: "torn", V2: "empty"}
    only(story, "last-write-wins", "violation", "writer")


def test_a_writer_whose_file_was_unlinked_puts_nothing_at_the_name_any_more() -> None:
    story = in_place(begin=2.9, complete=None).beat(3, 3.1).vanished(3.02).posts(3.5, V2, "v2")
    story.planned(3.9, AGAIN, "v1", write="in-place").signal(4, "changed").begin(4, AGAIN)
    story.signal(4.1, "changed").complete(4.1, AGAIN).ended(4.1, AGAIN).ended(4.5, V1).idle(5, 15)
    assert fates_of(story) == {V1: "lost", V2: "superseded", AGAIN: "stuck"}
