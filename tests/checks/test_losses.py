"""whole-body, no-silent-loss, last-write-wins: what they find, of which class and cause, and when they stay silent."""

from __future__ import annotations

import pytest
from tests.histories.build import Story
from tests.histories.tell import V1, V2, applied, fate_of, in_place, lost_update, only, silent, started, verdict

LOSS, WHOLE, LAST = "no-silent-loss", "whole-body", "last-write-wins"


def crashed_after_unlink() -> Story:
    story = started().posts(2.5, V1, "v1").beat(3, 3.05, outcome="cut").vanished(3.01).dies(3.05)
    return story.boot(4, "v0", life=1).idle(5, 3, life=1)


# --- no-silent-loss ---


def test_a_lost_update_is_a_gap_of_the_protocol_and_names_post_beat_and_window() -> None:
    found = only(lost_update(), LOSS, "gap", "protocol")
    assert found.posts == (V2,)
    assert found.t == 3_200_000_000
    assert found.message == (
        "a-0: v2/a-0#1 landed 100ms into beat 3, was unlinked unread at 3.2s; v1 was applied (window 200ms)"
    )


def test_a_lost_update_over_a_blank_signal_says_that_it_changed_nothing() -> None:
    story = started().posts(2.5, V1, " ").beat(3, 3.5).posts(3.1, V2, "v2", over=True).vanished(3.2)
    assert "changed nothing" in only(story, LOSS, "gap", "protocol").message


def test_a_post_that_appeared_during_a_beat_over_nothing_is_no_lost_update_but_the_agents_loss() -> None:
    story = started().beat(3, 3.5).posts(3.1, V1, "v1").vanished(3.2).idle(4, 10)
    only(story, LOSS, "violation", "agent")


def test_a_post_that_replaced_another_before_the_beat_is_the_agents_loss() -> None:
    story = started().posts(2.5, V1, "v1").posts(2.6, V2, "v2", over=True).beat(3, 3.1).vanished(3.01).idle(4, 10)
    assert only(story, LOSS, "violation", "agent").posts == (V2,)


def test_a_crash_after_the_unlink_is_a_gap_of_the_environment() -> None:
    assert "crashed at 3.05s" in only(crashed_after_unlink(), LOSS, "gap", "environment").message


def test_a_power_failure_that_took_the_signal_is_a_gap_of_the_environment() -> None:
    story = started().posts(2.5, V1, "v1").dies(2.7, "power").vanished(2.7).boot(4, "v0", life=1)
    assert "went with its host's power at 2.7s" in only(story, LOSS, "gap", "environment").message


def test_a_signal_moved_away_and_forgotten_is_the_agents_loss() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1, number=3).signal(3.02, "moved", to="system/claimed").idle(4, 10)
    assert "was moved to system/claimed at 3.02s in beat 3" in only(story, LOSS, "violation", "agent").message


def test_a_signal_that_an_outside_hand_took_or_replaced_is_a_gap_of_the_environment() -> None:
    only(started().posts(2.5, V1, "v1").edit(2.7, ".rules", None).vanished(2.7), LOSS, "gap", "environment")
    only(started().posts(2.5, V1, "v1").vanished(2.7).edit(2.7, ".rules", None), LOSS, "gap", "environment")
    story = started().posts(2.5, V1, "v1").edit(2.7, ".rules", "by hand").signal(2.7, "replaced")
    only(story.consumes(3, "by hand"), LOSS, "gap", "environment")


def test_a_signal_that_went_with_the_power_while_its_agent_was_down_is_a_gap_of_the_environment() -> None:
    story = started().dies(2.3).posts(2.5, V1, "v1").fault(2.7, "power", effect="power", actor="beat").vanished(2.7)
    assert "power" in only(story.boot(4, "v0", life=1), LOSS, "gap", "environment").message


def test_a_signal_that_vanished_outside_any_beat_was_taken_by_another_hand() -> None:
    assert (
        "another hand"
        in only(started().posts(2.5, V1, "v1").vanished(2.7).idle(3, 5), LOSS, "gap", "environment").message
    )


def test_a_signal_that_vanished_during_a_rebuild_is_the_agents_loss() -> None:
    story = started().posts(2.5, V1, "v1").rebuilding(2.6).vanished(2.7).rebuilt(2.8).idle(3, 5)
    only(story, LOSS, "violation", "agent")


def test_a_full_disk_that_took_the_log_as_well_is_a_gap_of_the_environment_and_no_excuse_elsewhere() -> None:
    for disk, kind, cause in ((100, "gap", "environment"), (None, "violation", "agent")):
        story = Story(None, agents=()).plan("host", host="host-0", disk=disk).agent("a-0", "v0").boot(0, "v0")
        story.posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated").idle(4, 10)
        only(story, LOSS, kind, cause)
    story = Story(None, agents=()).plan("host", host="host-0", disk=100).agent("a-0", "v0").boot(0, "v0")
    only(story.posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).idle(4, 10), LOSS, "violation", "agent")


def test_a_crash_in_a_later_beat_excuses_nothing() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).beat(4, 4.1, outcome="cut").dies(4.1)
    only(story, LOSS, "violation", "agent")


def test_an_unlink_that_failed_after_it_took_effect_is_a_gap_of_the_environment() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).fault(3.01, "unlink", ".rules", "after")
    only(story.idle(4, 10), LOSS, "gap", "environment")


def test_a_write_and_a_log_that_both_failed_are_a_gap_of_the_environment() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).fault(3.02, "open", "system/rules.md")
    only(story.fault(3.03, "emit").idle(4, 10), LOSS, "gap", "environment")


def test_a_failed_write_alone_does_not_excuse_that_nothing_was_logged() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01).fault(3.02, "open", "system/rules.md")
    only(story.idle(4, 10), LOSS, "violation", "agent")


def test_an_in_place_body_that_was_consumed_blank_is_the_writers_loss() -> None:
    story = in_place(begin=2.95, complete=None).beat(3, 3.1).vanished(3.05).ended(3.2, V1).idle(4, 10)
    only(story, LOSS, "violation", "writer")


def test_an_in_place_body_that_was_whole_before_the_beat_is_the_agents_loss() -> None:
    story = in_place(begin=2.5, complete=2.6).beat(3, 3.1).vanished(3.05).idle(4, 10)
    only(story, LOSS, "violation", "agent")


def test_a_cross_device_writer_that_died_with_the_name_gone_is_the_writers_loss() -> None:
    story = started().posts(2.5, V1, "v1").planned(2.6, V2, "v2", write="cross-device").vanished(2.7).begin(2.7, V2)
    assert only(story.ended(2.8, V2, "died"), LOSS, "violation", "writer").posts == (V2,)


@pytest.mark.parametrize("write", ["hand-down", "shared-temp"])
def test_a_post_that_was_whole_at_once_is_lost_to_the_protocol_whatever_its_writing_is_called(write: str) -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.5).posts(3.1, V2, "v2", over=True, write=write).vanished(3.2)
    only(story.applies(3.3, "v1"), LOSS, "gap", "protocol")


@pytest.mark.parametrize("story", [applied(), started("v1").posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.01)])
def test_what_was_applied_or_unchanged_is_not_lost(story: Story) -> None:
    silent(story, LOSS)


def test_a_post_never_begun_is_not_examined() -> None:
    silent(started().planned(2, V1, "v1").ended(2.1, V1, "failed"), LOSS, examined=False)


# --- whole-body ---


def test_a_torn_read_of_an_in_place_write_is_the_writers_violation() -> None:
    story = in_place(complete=3.2).beat(3, 3.1).vanished(3.02).applies(3.03, "v1 who")
    assert only(story, WHOLE, "violation", "writer").posts == (V1,)


def test_a_mixture_made_by_the_agent_is_its_own_violation() -> None:
    found = only(started().posts(2.5, V1, "v1").consumes(3, "v0 and v1"), WHOLE, "violation", "agent")
    assert found.posts == (V1,)


def test_a_text_from_nowhere_is_the_agents_violation() -> None:
    only(started().beat(3, 3.1).prompt(3.05, "something"), WHOLE, "violation", "agent")


def test_a_body_that_was_posted_to_another_agent_alone_is_not_whole_here() -> None:
    story = Story("v0", agents=("a-0", "a-1")).boot(0, "v0").posts(1.5, "v1/a-1#1", "v1", agent="a-1")
    only(story.posts(2.5, V2, "v2").consumes(3, "v1"), WHOLE, "violation", "agent")


def test_a_body_applied_before_anybody_posted_it_is_not_whole() -> None:
    story = started().posts(2.5, V2, "v2").consumes(3, "v1").posts(8, V1, "v1")
    assert verdict(story, WHOLE).outcome == "broken"


def test_a_cut_canonical_that_a_boot_flushed_is_a_gap_of_the_environment() -> None:
    story = started().posts(2.5, V1, "v1 whole").beat(3, 3.1, outcome="cut").vanished(3.02)
    story.canonical(3.03, "", "truncated").canonical(3.04, "v1 wh").dies(3.1).boot(4, "v1 wh", life=1)
    only(story, WHOLE, "gap", "environment")


def test_a_canonical_in_the_middle_of_its_write_that_a_rebuild_flushed_is_a_gap_of_the_protocol() -> None:
    story = started().posts(2.5, V1, "v1 whole").rebuilding(2.99).beat(3, 3.2).vanished(3.02)
    story.canonical(3.03, "", "truncated").canonical(3.04, "v1 wh").prompt(3.05, "v1 wh").rebuilt(3.06)
    only(story.canonical(3.07, "v1 whole").prompt(3.08, "v1 whole").log(3.09), WHOLE, "gap", "protocol")


def test_a_signal_that_a_power_failure_cut_is_a_gap_of_the_environment() -> None:
    story = started().posts(2.5, V1, "v1 whole").dies(2.7, "power").signal(2.7, "changed").boot(4, "v0", life=1)
    story.beat(5, 5.1, life=1).vanished(5.01).applies(5.02, "v1 wh")
    only(story, WHOLE, "gap", "environment")


def test_a_prompt_that_a_rebuild_and_a_beat_mixed_is_a_gap_of_the_protocol_and_tears_no_post() -> None:
    story = started().posts(2.5, V1, "v1").rebuilding(2.99).beat(3, 3.2).vanished(3.02).persists(3.03, "v1")
    story.prompt(3.1, "v0v1").rebuilt(3.15).log(3.16).rebuild(4, 4.1, "v1")
    only(story, WHOLE, "gap", "protocol")
    assert fate_of(story).fate == "applied"


@pytest.mark.parametrize("text", ["v1", " v1\r\n", "v1\n"])
def test_line_ends_and_outer_blanks_make_no_other_body(text: str) -> None:
    silent(started().posts(2.5, V1, text).consumes(3, "v1"), WHOLE)


def test_a_start_state_and_an_outside_edit_are_whole() -> None:
    story = started("old").edit(3, "system/rules.md", "by hand").canonical(3, "by hand")
    silent(story.rebuild(4, 4.1, "by hand"), WHOLE)


# --- last-write-wins ---


def test_after_a_lost_update_the_older_version_stays_effective() -> None:
    found = only(lost_update(), LAST, "gap", "protocol")
    assert "v1 is effective at the end" in found.message


def test_an_older_version_applied_after_the_newer_one_is_the_agents_violation() -> None:
    story = started().posts(2.5, V1, "v1").consumes(3, "v1").posts(5.5, V2, "v2").consumes(6, "v2")
    only(story.beat(8, 8.1).applies(8.02, "v1"), LAST, "violation", "agent")


def test_a_stuck_version_without_any_fault_does_not_win() -> None:
    only(started().posts(2.5, V1, "v1").idle(3, 16), LAST, "violation", "agent")


def test_a_torn_read_of_the_last_version_is_the_writers_doing() -> None:
    only(in_place(complete=3.2).beat(3, 3.1).vanished(3.02).applies(3.03, "v1 who"), LAST, "violation", "writer")


def test_a_half_written_body_over_a_whole_one_is_the_writers_doing() -> None:
    story = started().posts(2.5, V1, "v1").planned(2.6, V2, "v2 long", write="in-place").signal(2.7, "changed")
    story.begin(2.7, V2).ended(2.8, V2, "died").consumes(3, "v2 l")
    assert only(story, LAST, "violation", "writer").posts == (V1,)


def test_the_newer_version_wins() -> None:
    silent(applied().posts(14.5, V2, "v2").consumes(15, "v2"), LAST)


@pytest.mark.parametrize("body", ["", " \n", b"\xff\xfe"])
def test_blank_and_invalid_versions_are_set_aside(body: str | bytes) -> None:
    silent(applied().posts(14.5, V2, body).beat(15, 15.1).vanished(15.01), LAST)


@pytest.mark.parametrize("body", ["", b"\xff\xfe"])
def test_a_useless_post_that_replaced_the_last_version_unread_is_a_gap_of_the_protocol(body: str | bytes) -> None:
    story = applied().posts(14.5, V2, "v2").posts(14.6, "v3/a-0#1", body, over=True).beat(15, 15.1).vanished(15.01)
    only(story, LAST, "gap", "protocol")


def test_a_version_replaced_by_one_still_on_its_way_need_not_win() -> None:
    silent(applied().posts(19.7, V2, "v2").posts(19.8, "v3/a-0#1", "v3", over=True), LAST)


def test_a_failed_version_is_set_aside() -> None:
    story = applied().posts(14.5, V2, "v2").beat(15, 15.1).vanished(15.01).log(15.05, "rules_write_error")
    silent(story, LAST)


def test_a_version_still_on_its_way_is_set_aside() -> None:
    silent(applied().posts(19.9, V2, "v2"), LAST)


def test_a_fault_since_it_completed_sets_the_agent_aside_and_one_before_does_not() -> None:
    silent(started().posts(2.5, V1, "v1").idle(3, 10).fault(15, "read", ".rules").idle(16, 3), LAST, examined=False)
    verdict_ = verdict(started().fault(2.2, "stat", ".rules").posts(2.5, V1, "v1").idle(3, 16), LAST)
    assert verdict_.outcome == "broken"


def full_disk() -> Story:
    story = Story(None, agents=()).plan("host", host="host-0", disk=100).agent("a-0", "v0").boot(0, "v0")
    story.posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).persists(3.03, "v1")
    return story.prompt(3.1, None, "torn").idle(4, 16)


def test_a_full_disk_since_it_completed_sets_the_agent_aside() -> None:
    silent(full_disk().log(3.15, "rules_flush_error"), LAST, examined=False)
    silent(full_disk(), LAST, examined=False)


def test_a_crash_or_an_edit_since_it_completed_sets_the_agent_aside() -> None:
    silent(crashed_after_unlink(), LAST, examined=False)
    story = applied().edit(16, "system/rules.md", "by hand").canonical(16, "by hand").rebuild(17, 17.1, "by hand")
    silent(story, LAST, examined=False)


def test_a_version_never_completed_need_not_win() -> None:
    silent(applied().planned(15, V2, "v2").ended(15.1, V2, "failed"), LAST)
