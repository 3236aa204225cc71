"""consume-before-apply, empty-is-noop, identical-is-noop, write-failure-aborts, one-log-each: what one beat may do."""

from __future__ import annotations

import pytest
from tests.histories.build import Story
from tests.histories.tell import V1, V2, applied, lost_update, only, silent, started, verdict

CONSUME, EMPTY, SAME = "consume-before-apply", "empty-is-noop", "identical-is-noop"
ABORTS, LOGS = "write-failure-aborts", "one-log-each"
CANONICAL = "system/rules.md"


# --- consume-before-apply ---


def failing(operation: str, effect: str = "error") -> Story:
    return started().posts(2.5, V1, "v1").beat(3, 3.2, number=3).fault(3.05, operation, ".rules", effect)


@pytest.mark.parametrize("operation", ["open", "read", "unlink"])
def test_a_body_applied_after_a_failed_operation_on_the_signal_is_found(operation: str) -> None:
    found = only(failing(operation).applies(3.1, "v1"), CONSUME, "violation", "agent")
    assert found.posts == (V1,)
    assert "in beat 3" in found.message


def test_a_canonical_written_alone_after_a_failed_read_is_found() -> None:
    only(failing("read").persists(3.1, "v1"), CONSUME, "violation", "agent")


def test_a_prompt_changed_without_canonical_after_a_failed_unlink_is_found() -> None:
    only(failing("unlink").prompt(3.1, "v1"), CONSUME, "violation", "agent")


def test_a_signal_taken_after_its_read_failed_is_found() -> None:
    assert "after that" in only(failing("read").vanished(3.1), CONSUME, "violation", "agent").message


def test_a_signal_unlinked_before_its_read_failed_is_found() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).fault(3.05, "read", ".rules")
    assert "before that" in only(story, CONSUME, "violation", "agent").message


def test_a_signal_left_alone_and_applied_on_the_next_beat_is_in_order() -> None:
    silent(failing("read").consumes(4, "v1"), CONSUME)


def test_a_signal_that_another_writer_took_meanwhile_is_in_order() -> None:
    story = failing("read").planned(3.06, V2, "v2", write="cross-device").vanished(3.1).begin(3.1, V2)
    silent(story.signal(3.15, "appeared").complete(3.15, V2).consumes(4, "v2"), CONSUME)


def test_a_signal_that_an_outside_hand_took_meanwhile_is_in_order() -> None:
    silent(failing("read").edit(3.1, ".rules", None).vanished(3.1), CONSUME)


def test_a_signal_claimed_before_its_read_failed_is_in_order() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).signal(3.02, "moved", to="system/claimed")
    silent(story.fault(3.05, "read", ".rules"), CONSUME)


def test_an_owed_flush_of_canonical_in_that_beat_is_in_order() -> None:
    silent(failing("unlink").prompt(3.1, "v0"), CONSUME)


def test_a_delay_and_an_effect_after_the_fact_are_not_failures_before() -> None:
    silent(failing("read", "delay").vanished(3.1).applies(3.12, "v1"), CONSUME, examined=False)
    silent(failing("unlink", "after").vanished(3.05), CONSUME, examined=False)


# --- empty-is-noop and identical-is-noop ---


def blank() -> Story:
    return started().posts(2.5, V1, " \n").beat(3, 3.2).vanished(3.05)


def same() -> Story:
    return started("v1").posts(2.5, V1, "v1\n").beat(3, 3.2).vanished(3.05)


@pytest.mark.parametrize(("story", "invariant", "text"), [(blank, EMPTY, "v0"), (same, SAME, "v1")])
def test_a_write_or_a_flush_after_a_body_that_changes_nothing_is_found(story, invariant: str, text: str) -> None:  # type: ignore[no-untyped-def]
    silent(story(), invariant)
    assert "canonical" in only(story().canonical(3.1, text), invariant, "violation", "agent").message
    assert "flushed" in only(story().prompt(3.1, text), invariant, "violation", "agent").message


@pytest.mark.parametrize(("story", "invariant", "text"), [(blank, EMPTY, "v0"), (same, SAME, "v1")])
def test_a_flush_by_a_rebuild_beside_the_beat_or_in_a_later_one_is_in_order(story, invariant: str, text: str) -> None:  # type: ignore[no-untyped-def]
    silent(story().rebuild(3.1, 3.15, text), invariant)
    silent(story().prompt(4.1, text), invariant)


def test_an_owed_flush_after_a_blank_body_is_in_order() -> None:
    story = Story("v0").boot(0, None).posts(2.5, V1, "").beat(3, 3.2).vanished(3.05).prompt(3.1, "v0")
    silent(story, EMPTY)


def test_a_blank_signal_that_replaced_another_in_that_beat_proves_nothing() -> None:
    story = started().posts(2.5, V2, "v2").beat(3, 3.5).posts(3.1, V1, "", over=True).vanished(3.2)
    silent(story.applies(3.3, "v2"), EMPTY, examined=False)


def test_a_body_that_is_canonical_and_not_effective_may_be_flushed() -> None:
    story = Story("v1").boot(0, None).posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.05).prompt(3.1, "v1")
    silent(story, SAME, examined=False)


def test_a_canonical_that_could_not_be_read_may_be_written_again() -> None:
    silent(same().fault(3.06, "read", CANONICAL).applies(3.1, "v1"), SAME, examined=False)


def test_a_different_body_is_no_case_of_either() -> None:
    silent(applied(), EMPTY, examined=False)
    silent(applied(), SAME, examined=False)


# --- write-failure-aborts ---


def unwritten(operation: str = "write", log: bool = True, disk: int | None = None) -> Story:
    story = Story(None, agents=()) if disk is None else Story(None, agents=()).plan("host", host="host-0", disk=disk)
    story.agent("a-0", "v0").boot(0, "v0").posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02)
    story.canonical(3.03, "", "truncated").fault(3.04, operation, CANONICAL)
    return story.log(3.06, "rules_write_error") if log else story


def test_a_failed_write_that_stops_and_logs_is_in_order() -> None:
    silent(unwritten(), ABORTS)
    silent(unwritten(), LOGS)


def test_a_prompt_that_changed_after_a_failed_write_is_found() -> None:
    assert "prompt changed" in only(unwritten().prompt(3.1, "v1"), ABORTS, "violation", "agent").message


def test_a_prompt_that_changed_before_the_write_failed_is_found() -> None:
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).prompt(3.03, "v1").canonical(3.04, "", "truncated")
    )
    only(story.fault(3.05, "write", CANONICAL).log(3.06, "rules_write_error"), ABORTS, "violation", "agent")


def test_a_failed_write_without_its_log_is_found_by_both_checks() -> None:
    only(unwritten(log=False), ABORTS, "violation", "agent")
    only(unwritten(log=False), LOGS, "violation", "agent")


def test_the_log_is_not_demanded_after_a_crash_a_log_fault_or_a_full_disk() -> None:
    crash = started().posts(2.5, V1, "v1").beat(3, 3.05, outcome="cut").vanished(3.02).canonical(3.03, "", "truncated")
    for story in (
        crash.fault(3.04, "write", CANONICAL).dies(3.05),
        unwritten(log=False).fault(3.06, "emit"),
        unwritten(log=False, disk=100),
    ):
        silent(story, ABORTS)
        silent(story, LOGS)


def test_a_log_fault_in_another_beat_does_not_excuse_the_missing_log() -> None:
    only(unwritten(log=False).beat(5, 5.1).fault(5.05, "emit"), ABORTS, "violation", "agent")


def test_an_open_that_failed_when_canonical_was_read_is_no_failed_write() -> None:
    story = (
        started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).fault(3.03, "open", CANONICAL).applies(3.05, "v1")
    )
    silent(story, ABORTS, examined=False)
    silent(story, LOGS)


def test_an_open_that_failed_for_good_is_a_failed_write() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).fault(3.03, "open", CANONICAL)
    only(story.prompt(3.1, "v1").log(3.15, "rules_write_error"), ABORTS, "violation", "agent")


def test_a_prompt_that_a_rebuild_flushed_after_a_failed_write_is_the_rebuilds() -> None:
    silent(unwritten().rebuild(3.1, 3.15, None), ABORTS)


def test_a_full_disk_that_left_canonical_short_is_a_failed_write() -> None:
    story = Story(None, agents=()).plan("host", host="host-0", disk=100).agent("a-0", "v0").boot(0, "v0")
    story.posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated")
    only(story.prompt(3.1, "v1"), ABORTS, "violation", "agent")


# --- one-log-each ---


def test_one_log_for_one_applied_post_is_in_order() -> None:
    silent(applied(), LOGS)
    silent(lost_update(), LOGS)


def test_a_second_log_in_the_same_beat_or_a_later_one_is_found() -> None:
    only(applied().log(3.045), LOGS, "violation", "agent")
    only(applied().log(7), LOGS, "violation", "agent")


def test_a_log_for_a_body_that_changed_nothing_is_found() -> None:
    only(blank().log(3.1), LOGS, "violation", "agent")
    only(same().log(3.1), LOGS, "violation", "agent")


def test_a_missing_log_is_found_and_a_log_fault_excuses_it() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).persists(3.03, "v1").prompt(3.05, "v1")
    only(story, LOGS, "violation", "agent")
    silent(story.fault(3.06, "emit"), LOGS)


def test_a_crash_before_the_log_excuses_it() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.06, outcome="cut").vanished(3.02).persists(3.03, "v1")
    silent(story.prompt(3.05, "v1").dies(3.06), LOGS)


def owed_flush() -> Story:
    story = (
        started()
        .posts(2.5, V1, "v1")
        .beat(3, 3.2)
        .vanished(3.02)
        .persists(3.03, "v1")
        .fault(3.05, "write", "system/system.md")
    )
    return story.log(3.06, "rules_flush_error").posts(3.5, V2, "v2").beat(4, 4.5)


def test_a_log_that_a_failed_flush_left_owed_may_come_before_or_after_the_next_consumption() -> None:
    silent(owed_flush().prompt(4.01, "v1").log(4.02).vanished(4.1).applies(4.2, "v2"), LOGS)
    silent(owed_flush().prompt(4.01, "v1").vanished(4.1).log(4.15).applies(4.2, "v2"), LOGS)


def test_no_more_than_the_owed_log_may_come() -> None:
    story = owed_flush().prompt(4.01, "v1").log(4.02).vanished(4.1).applies(4.2, "v2").log(4.4)
    only(story, LOGS, "violation", "agent")


def test_two_error_logs_for_one_failed_write_are_found() -> None:
    only(unwritten().log(3.07, "rules_write_error"), LOGS, "violation", "agent")


def test_a_log_before_any_signal_is_found() -> None:
    assert verdict(started().beat(2.5, 2.6).log(2.55), LOGS).outcome == "broken"


def test_a_claimed_body_that_is_applied_after_a_restart_is_logged_then() -> None:
    story = (
        started()
        .posts(2.5, V1, "v1")
        .beat(3, 3.05, outcome="cut")
        .signal(3.02, "moved", to="system/claimed")
        .dies(3.05)
    )
    silent(story.boot(4, "v0", life=1).beat(5, 5.1, life=1).applies(5.02, "v1"), LOGS)
