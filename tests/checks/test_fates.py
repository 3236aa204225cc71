"""Each fate by at least two histories, and the borders between neighbours of the list."""

from __future__ import annotations

from tests.histories.build import Story
from tests.histories.tell import V1, V2, applied, fate_of, fates_of, in_place, lost_update, started

from fleetbeat.checks import judge
from fleetbeat.checks.model import FATES


def of(story: Story, post: str = V1) -> str:
    return fate_of(story, post).fate


# --- unposted ---


def test_a_writer_that_failed_before_the_rename_leaves_its_post_unposted() -> None:
    story = started().planned(2, V1, "v1").ended(2.1, V1, "failed", leftover="/a-0/.rules.x")
    found = fate_of(story)
    assert found.fate == "unposted"
    assert "failed" in found.note
    assert (found.begun, found.completed, found.effective) == (None, None, None)


def test_a_plan_without_anything_after_it_is_unposted_even_if_its_version_is_effective() -> None:
    assert of(started("v1").planned(2, V1, "v1")) == "unposted"


# --- torn ---


def test_a_prefix_of_an_in_place_body_that_became_effective_is_torn() -> None:
    story = in_place(complete=3.2).beat(3, 3.1).vanished(3.02)
    story.applies(3.03, "v1 who")
    assert of(story) == "torn"


def test_a_torn_body_that_was_persisted_and_not_flushed_is_torn() -> None:
    story = in_place(complete=None).beat(3, 3.1).vanished(3.02).persists(3.03, "v1 who").log(3.05, "rules_flush_error")
    assert of(story) == "torn"


def test_a_canonical_cut_short_by_a_crash_and_read_at_boot_is_not_torn() -> None:
    story = started().posts(2.5, V1, "v1 whole").beat(3, 3.1, outcome="cut").vanished(3.02)
    story.canonical(3.03, "", "truncated").canonical(3.04, "v1 wh").dies(3.1).boot(4, "v1 wh", life=1).idle(
        5, 3, life=1
    )
    assert of(story) == "lost"


def test_a_canonical_cut_short_by_a_failed_write_is_not_torn() -> None:
    story = started().posts(2.5, V1, "v1 whole").beat(3, 3.1).vanished(3.02).canonical(3.03, "", "truncated")
    story.canonical(3.04, "v1 wh").log(3.05, "rules_write_error").idle(4, 3).rebuild(8, 8.1, "v1 wh")
    assert of(story) == "failed"


def test_what_a_rebuild_reads_in_the_middle_of_the_beats_write_is_not_torn() -> None:
    story = started().posts(2.5, V1, "v1 whole").rebuilding(2.99).beat(3, 3.2).vanished(3.02)
    story.canonical(3.03, "", "truncated").canonical(3.04, "v1 wh").prompt(3.05, "v1 wh").rebuilt(3.06)
    story.canonical(3.07, "v1 whole").prompt(3.08, "v1 whole").log(3.09)
    assert of(story) == "applied"


def test_a_mixture_of_two_bodies_is_charged_to_the_post_that_was_not_whole() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.5).planned(3.01, V2, "v2 long", write="in-place")
    story.signal(3.02, "changed").begin(3.02, V2).vanished(3.1).applies(3.2, "v1ng").ended(3.3, V2, "failed")
    assert fates_of(story) == {V1: "superseded", V2: "torn"}


def test_a_half_body_that_a_whole_one_was_renamed_over_is_torn_and_the_whole_one_lost() -> None:
    story = in_place(begin=2.9, complete=None).beat(3, 3.5).posts(3.1, V2, "v2", over=True)
    story.vanished(3.2).applies(3.3, "v1 who")
    assert fates_of(story) == {V1: "torn", V2: "lost"}


def test_an_agent_that_merges_makes_the_post_torn() -> None:
    assert of(started().posts(2.5, V1, "v1").consumes(3, "v0 and v1")) == "torn"


# --- applied ---


def test_a_consumed_body_that_became_effective_is_applied_with_its_times() -> None:
    found = fate_of(applied())
    assert (found.fate, found.note, found.also) == ("applied", "", ("persisted",))
    assert (found.begun, found.completed) == (2_500_000_000, 2_500_000_000)
    assert (found.persisted, found.effective) == (3_021_000_000, 3_030_000_000)
    assert (found.read, found.unlinked) == (None, None)


def test_read_and_unlink_instants_come_from_operation_records_alone() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).op(3.005, "read", body="v1").op(3.01, "unlink").vanished(3.01)
    found = fate_of(story.applies(3.02, "v1"))
    assert (found.read, found.unlinked) == (3_005_000_000, 3_010_000_000)


def test_a_persisted_body_that_a_reboot_made_effective_is_applied() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1, outcome="cut").vanished(3.02).persists(3.03, "v1").dies(3.1)
    found = fate_of(story.boot(5, "v1", life=1))
    assert found.fate == "applied"
    assert found.effective == 5_009_000_000
    assert "later flush" in found.note


def test_the_replaced_body_that_was_read_is_applied_and_the_one_unlinked_is_lost() -> None:
    found = fate_of(lost_update())
    assert found.fate == "applied"
    assert V2 in found.note
    assert of(lost_update(), V2) == "lost"


def test_with_equal_bodies_the_one_unlinked_is_applied_and_the_replaced_one_superseded() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.5).posts(3.1, "v1/a-0#2", "v1\n", over=True).vanished(3.2)
    assert fates_of(story.applies(3.3, "v1")) == {V1: "superseded", "v1/a-0#2": "applied"}


def test_a_repost_of_what_canonical_holds_and_the_prompt_does_not_is_applied_by_the_next_flush() -> None:
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).persists(3.02, "v1").log(3.05, "rules_flush_error")
    )
    story.posts(5, "v1/a-0#2", "v1").beat(6, 6.1).vanished(6.01).rebuild(9, 9.1, "v1")
    assert fates_of(story) == {V1: "applied", "v1/a-0#2": "applied"}


# --- unchanged ---


def test_a_body_that_is_canonical_and_effective_is_unchanged() -> None:
    found = fate_of(started("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01))
    assert (found.fate, found.effective) == ("unchanged", 3_010_000_000)


def test_a_repost_with_other_whitespace_is_unchanged_and_a_later_molt_does_not_alter_that() -> None:
    story = applied().posts(14.5, V2, "\nv1\n").beat(15, 15.1).vanished(15.01).rebuild(16, 16.1, "v1")
    assert fates_of(story) == {V1: "applied", V2: "unchanged"}


def test_a_body_that_is_canonical_and_not_effective_is_not_unchanged() -> None:
    story = Story("v1").boot(0, None).posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01)
    assert of(story) == "persisted"


def test_an_identical_body_unlinked_unread_while_another_was_applied_is_lost_not_unchanged() -> None:
    story = started("v1").posts(2.5, V2, "v2").beat(3, 3.5).posts(3.1, V1, "v1", over=True).vanished(3.2)
    assert fates_of(story.applies(3.3, "v2")) == {V2: "applied", V1: "lost"}


def test_an_identical_body_unlinked_unread_while_another_was_persisted_alone_is_lost_not_unchanged() -> None:
    story = started("v1").posts(2.5, V2, "v2").beat(3, 3.5).posts(3.1, V1, "v1", over=True).vanished(3.2)
    story.persists(3.3, "v2").log(3.4, "rules_flush_error")
    assert fates_of(story) == {V2: "persisted", V1: "lost"}


def test_an_identical_body_that_made_its_agent_flush_nevertheless_is_applied() -> None:
    assert of(started("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).prompt(3.05, "v1")) == "applied"


def test_an_edit_and_a_molt_after_an_identical_body_leave_it_unchanged() -> None:
    story = started("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01)
    story.canonical(3.05, "by hand").edit(3.05, "system/rules.md", "by hand").rebuild(8, 8.1, "by hand")
    assert of(story) == "unchanged"


def test_a_rebuild_beside_the_beat_leaves_an_identical_body_unchanged() -> None:
    story = (
        started("v1").posts(2.5, V1, "v1").rebuilding(2.99).beat(3, 3.1).vanished(3.01).prompt(3.05, "v1").rebuilt(3.06)
    )
    assert of(story) == "unchanged"


# --- empty, failed, persisted ---


def test_a_blank_body_consumed_is_empty() -> None:
    assert of(started().posts(2.5, V1, " \n").beat(3, 3.1).vanished(3.01)) == "empty"


def test_no_bytes_at_all_are_empty_too_even_unlinked_in_the_place_of_another() -> None:
    story = started().posts(2.5, V2, "v2").beat(3, 3.5).posts(3.1, V1, "", over=True).vanished(3.2)
    story.applies(3.3, "v2")
    assert fates_of(story) == {V2: "applied", V1: "empty"}
    assert fate_of(story).also == ()


def test_a_blank_body_that_is_still_there_is_pending_not_empty() -> None:
    assert of(started().posts(19.9, V1, "")) == "pending"


def test_a_logged_write_error_makes_the_post_failed() -> None:
    assert of(started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).log(3.05, "rules_write_error")) == "failed"


def test_a_write_error_after_the_next_consumption_belongs_to_the_next_post() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).posts(3.5, V2, "v2").beat(4, 4.1)
    story.vanished(4.01).log(4.05, "rules_write_error")
    assert fates_of(story) == {V1: "lost", V2: "failed"}


def test_canonical_held_it_and_the_prompt_never_did_is_persisted() -> None:
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).persists(3.02, "v1").log(3.05, "rules_flush_error")
    )
    assert of(story) == "persisted"


def test_a_run_that_ends_between_canonical_and_prompt_leaves_it_persisted() -> None:
    story = started().posts(19.5, V1, "v1").vanished(19.9).persists(19.95, "v1")
    assert of(story) == "persisted"


# --- superseded, rejected ---


def test_a_post_replaced_before_any_beat_is_superseded() -> None:
    story = started().posts(2.5, V1, "v1").posts(2.6, V2, "v2", over=True).consumes(3, "v2")
    assert fates_of(story) == {V1: "superseded", V2: "applied"}


def test_a_post_that_a_cross_device_writer_unlinked_is_superseded() -> None:
    story = started().posts(2.5, V1, "v1").planned(2.6, V2, "v2", write="cross-device")
    story.vanished(2.7).begin(2.7, V2).signal(2.8, "appeared").signal(2.85, "changed").complete(2.85, V2)
    assert fates_of(story.consumes(3, "v2")) == {V1: "superseded", V2: "applied"}


def test_a_post_that_came_to_nothing_is_superseded_where_its_retry_was_applied() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1, outcome="cut").vanished(3.01).dies(3.05).boot(4, "v0", life=1)
    story.posts(5, "v1/a-0#2", "v1", attempt=2).consumes(6, "v1")
    assert fates_of(story) == {V1: "superseded", "v1/a-0#2": "applied"}


def setting_aside(log: str | None) -> Story:
    story = Story(None, agents=()).agent("a-0", "v0", set_aside=[".rules.bad*"]).boot(0, "v0")
    story.posts(2.5, V1, b"\xff\xfe").beat(3, 3.1).signal(3.02, "moved", to=".rules.bad.1")
    return story if log is None else story.log(3.03, log)


def test_a_signal_moved_to_a_declared_place_and_logged_is_rejected() -> None:
    assert of(setting_aside("rules_rejected")) == "rejected"


def test_a_signal_moved_there_without_a_log_is_lost() -> None:
    assert of(setting_aside(None)) == "lost"


def test_a_log_of_something_else_does_not_make_a_post_rejected() -> None:
    assert of(setting_aside("rules_loaded")) == "lost"


def test_a_signal_claimed_at_a_declared_place_and_applied_is_applied() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).signal(3.01, "moved", to="system/claimed").applies(3.02, "v1")
    assert of(story) == "applied"


# --- poisoned, stuck, pending ---


def test_a_signal_still_there_after_its_beat_ended_the_heartbeat_is_poisoned() -> None:
    story = started().posts(2.5, V1, b"\xff").beat(3, 3.1, outcome="ended", number=2)
    story.add(3.1, "heartbeat.end", agent="a-0", life=0, beat=2, error="UnicodeDecodeError")
    found = fate_of(story)
    assert found.fate == "poisoned"
    assert "UnicodeDecodeError" in found.note
    assert "pending" in found.also


def test_beats_that_stop_without_a_word_poison_as_well() -> None:
    assert of(started().idle(3, 1).posts(3.5, V1, b"\xff")) == "poisoned"


def test_a_signal_that_came_after_the_heartbeat_had_ended_is_pending() -> None:
    story = started().beat(3, 3.1, outcome="ended", number=2)
    story.add(3.1, "heartbeat.end", agent="a-0", life=0, beat=2, error="OSError").posts(10, V1, "v1")
    assert of(story) == "pending"


def test_a_flush_that_ended_the_heartbeat_poisons_no_post_that_landed_meanwhile() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2, outcome="ended", number=2).vanished(3.01).persists(3.02, "v1")
    story.posts(3.1, V2, "v2").add(3.2, "heartbeat.end", agent="a-0", life=0, beat=2, error="OSError")
    assert fates_of(story) == {V1: "persisted", V2: "pending"}


def test_a_beat_that_consumed_another_post_long_before_does_not_save_one_from_being_poisoned() -> None:
    story = (
        started().posts(2.5, V1, "v1").consumes(3, "v1").posts(4.5, V2, b"\xff").beat(5, 5.1, number=9, outcome="ended")
    )
    story.add(5.1, "heartbeat.end", agent="a-0", life=0, beat=9, error="UnicodeDecodeError")
    assert fates_of(story) == {V1: "applied", V2: "poisoned"}


def test_two_runnable_beats_gone_by_make_a_post_stuck() -> None:
    assert of(started().posts(2.5, V1, "v1").idle(3, 2).idle(19.5, 1)) == "stuck"


def test_beats_that_may_not_consume_do_not_count_for_stuck() -> None:
    assert of(started().posts(2.5, V1, "v1").idle(3, 16, runnable=False)) == "pending"


def test_a_beat_that_began_before_completion_does_not_count_for_stuck() -> None:
    story = started().beat(18, 19.2, number=2).posts(18.5, V1, "v1").beat(19.3, 19.4, number=3)
    assert of(story) == "pending"


def test_a_failing_read_for_good_leaves_a_post_stuck() -> None:
    story = started().posts(2.5, V1, "v1")
    for beat in range(3, 19):
        story.beat(beat, beat + 0.1).fault(beat + 0.05, "read", ".rules")
    assert of(story) == "stuck"


def test_a_post_that_landed_last_is_pending() -> None:
    assert of(started().idle(3, 16).posts(19.5, V1, "v1")) == "pending"


def test_a_dead_agent_leaves_a_post_pending() -> None:
    assert of(started().dies(2.2).posts(2.5, V1, "v1")) == "pending"


def test_a_cross_device_writer_still_at_work_is_pending_and_one_that_died_lost() -> None:
    story = started().posts(2.5, V1, "v1").planned(19.6, V2, "v2", write="cross-device").vanished(19.7).begin(19.7, V2)
    assert fates_of(story) == {V1: "superseded", V2: "pending"}
    assert fates_of(story.ended(19.8, V2, "died")) == {V1: "superseded", V2: "lost"}


# --- lost, indeterminate ---


def test_a_crash_between_unlink_and_write_loses_the_post() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.05, outcome="cut").vanished(3.01).dies(3.05).boot(4, "v0", life=1)
    found = fate_of(story)
    assert (found.fate, found.also) == ("lost", ())


def test_an_unlinked_post_of_which_nothing_came_is_lost() -> None:
    assert of(started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).idle(4, 10)) == "lost"


def test_a_signal_that_went_with_the_power_is_lost() -> None:
    story = started().posts(2.5, V1, "v1").dies(2.7, "power").vanished(2.7).boot(4, "v0", life=1)
    found = fate_of(story)
    assert found.fate == "lost"
    assert "power" in found.note


def test_a_hole_in_the_observation_makes_a_lost_post_indeterminate() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).unseen(3.02, 3.05, missing="the prompt")
    found = fate_of(story)
    assert found.fate == "indeterminate"
    assert "the prompt" in found.note
    assert "lost" in found.also


def test_a_hole_long_after_the_beat_leaves_it_lost() -> None:
    assert of(started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).unseen(8, 9)) == "lost"


def test_a_hole_on_another_agent_leaves_it_lost() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).unseen(3.02, 3.05, agent="a-1")
    assert of(story) == "lost"


def test_a_hole_does_not_hide_what_was_seen() -> None:
    assert of(applied().unseen(2, 4, agent=None)) == "applied"


def test_a_run_that_ends_right_after_the_unlink_is_indeterminate() -> None:
    found = fate_of(started().posts(19.5, V1, "v1").vanished(19.99))
    assert found.fate == "indeterminate"
    assert "history ends" in found.note


# --- totals ---


def test_every_fate_has_a_place_in_the_totals_and_they_add_up() -> None:
    judgement = judge(lost_update().planned(9, "v3/a-0#1", "v3").history())
    totals = judgement.totals()
    assert list(totals) == list(FATES)
    assert sum(totals.values()) == len(judgement.fates) == 3
    assert (totals["applied"], totals["lost"], totals["unposted"]) == (1, 1, 1)
