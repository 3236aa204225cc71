"""canonical-intact, effective-follows, survives-rebuild: what crashes, restarts and rebuilds may do."""

from __future__ import annotations

import pytest
from tests.histories.build import Story
from tests.histories.tell import V1, applied, only, silent, started, verdict

INTACT, FOLLOWS, SURVIVES = "canonical-intact", "effective-follows", "survives-rebuild"
CANONICAL, PROMPT = "system/rules.md", "system/system.md"


def cut_inside_the_write(booted: str | None) -> Story:
    """A crash right after canonical was truncated, then a boot that finds what is left."""
    story = (
        started()
        .posts(2.5, V1, "v1")
        .beat(3, 3.05, number=3, outcome="cut")
        .vanished(3.02)
        .canonical(3.03, "", "truncated")
    )
    return story.dies(3.05).boot(4, booted, life=1).idle(5, 3, life=1)


def rebuild_beside_beat(flushed: str | None, final: str | None) -> Story:
    """A rebuild that reads canonical while a beat is writing v1; `flushed` by the rebuild, `final` last."""
    story = (
        started()
        .posts(2.5, V1, "v1")
        .rebuilding(2.9)
        .beat(3, 3.2, number=3)
        .vanished(3.02)
        .canonical(3.03, "", "truncated")
    )
    story.canonical(3.04, "v1")
    if final == "v1":
        return story.prompt(3.05, flushed).rebuilt(3.06).prompt(3.1, "v1").log(3.12)
    return story.prompt(3.05, "v1").log(3.06).prompt(3.1, final).rebuilt(3.11)


# --- canonical-intact ---


def test_a_write_in_place_is_one_hazard_for_each_agent_with_counts() -> None:
    story = applied().posts(14.5, "v2/a-0#1", "v2").consumes(15, "v2")
    found = only(story, INTACT, "hazard", "agent")
    assert "2 times, 2ms in all" in found.message


def test_a_replacing_rename_is_no_hazard() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.02).canonical(3.03, "v1", "replaced")
    silent(story.prompt(3.05, "v1").log(3.06), INTACT)


def test_the_first_write_of_rules_has_nothing_to_lose_until_it_is_short() -> None:
    silent(Story(None).boot(0, None).posts(2.5, V1, "v1").consumes(3, "v1"), INTACT)
    story = Story(None).boot(0, None).posts(2.5, V1, "v1 whole").beat(3, 3.1).vanished(3.01).canonical(3.02, "v1 wh")
    only(story.canonical(3.03, "v1 whole").prompt(3.04, "v1 whole").log(3.05), INTACT, "hazard", "agent")


def test_an_empty_canonical_read_at_boot_is_a_gap_of_the_environment() -> None:
    found = only(cut_inside_the_write(None), INTACT, "gap", "environment")
    assert "beat 3 died" in found.message
    assert "lost" in found.message


def test_an_empty_canonical_read_by_a_rebuild_beside_the_beat_is_a_gap_of_the_protocol() -> None:
    found = only(rebuild_beside_beat(None, "v1"), INTACT, "gap", "protocol")
    assert "beat 3" in found.message


def test_a_rebuild_beside_the_beat_that_read_whole_rules_leaves_a_hazard() -> None:
    only(rebuild_beside_beat("v0", "v1"), INTACT, "hazard", "agent")


def test_a_canonical_that_a_failed_write_left_short_and_a_molt_read_is_a_gap() -> None:
    story = started().posts(2.5, V1, "v1 whole").beat(3, 3.1).vanished(3.02).canonical(3.03, "", "truncated")
    story.canonical(3.04, "v1 wh").log(3.05, "rules_write_error").idle(4, 3).rebuild(8, 8.1, "v1 wh")
    assert "torn" in only(story, INTACT, "gap", "environment").message


def test_an_edit_that_empties_canonical_makes_it_whole() -> None:
    story = started().edit(3, CANONICAL, "").canonical(3, "", "truncated").rebuild(4, 4.1, None)
    silent(story, INTACT)


def test_an_agent_that_removes_canonical_is_found_as_a_hazard() -> None:
    only(started().beat(3, 3.1).canonical(3.05, None, "removed"), INTACT, "hazard", "agent")


def test_canonical_undone_by_a_power_failure_and_lost_at_boot_is_a_gap_of_the_environment() -> None:
    story = applied().dies(15, "power").canonical(15, "").boot(16, None, life=1)
    found = [one for one in verdict(story, INTACT).findings if one.kind == "gap"]
    assert [(one.kind, one.cause) for one in found] == [("gap", "environment")]


# --- effective-follows ---


def test_a_beat_that_persisted_and_flushed_is_in_order() -> None:
    silent(applied(), FOLLOWS)


def test_a_beat_that_persisted_and_did_not_flush_is_found() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2, number=3).vanished(3.02).persists(3.03, "v1").log(3.1)
    assert "beat 3" in only(story, FOLLOWS, "violation", "agent").message


def test_a_rebuild_that_does_not_flush_canonical_is_found() -> None:
    only(applied().rebuild(16, 16.1, None), FOLLOWS, "violation", "agent")


def test_a_stale_flush_by_a_rebuild_beside_the_beat_is_a_gap_of_the_protocol() -> None:
    only(rebuild_beside_beat("v0", "v0"), FOLLOWS, "gap", "protocol")


def test_a_rebuild_beside_the_beat_is_judged_when_both_are_over() -> None:
    silent(rebuild_beside_beat("v0", "v1"), FOLLOWS)


def test_rules_removed_where_canonical_is_empty_or_missing_are_in_order() -> None:
    silent(Story(None).boot(0, None), FOLLOWS)
    silent(Story(" \n").boot(0, None), FOLLOWS)


def failed_flush() -> Story:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).persists(3.03, "v1").fault(3.05, "write", PROMPT)
    return story.log(3.06, "rules_flush_error")


def test_a_failed_flush_that_is_done_again_is_in_order() -> None:
    silent(failed_flush().beat(4.2, 4.3).prompt(4.25, "v1").log(4.26).idle(5, 10), FOLLOWS)


def test_a_failed_flush_that_is_never_done_again_is_a_gap_of_the_protocol() -> None:
    only(failed_flush().idle(4.2, 10), FOLLOWS, "gap", "protocol")


def test_a_failed_flush_that_is_tried_again_and_again_is_in_order() -> None:
    story = failed_flush()
    for beat in range(4, 20):
        story.beat(beat + 0.2, beat + 0.3).prompt(beat + 0.25, None, "torn")
    silent(story, FOLLOWS)


def test_a_failed_flush_with_no_time_left_is_in_order() -> None:
    silent(failed_flush().idle(4.2, 1), FOLLOWS)


def test_a_failed_canonical_write_owes_no_flush() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated")
    silent(story.fault(3.04, "write", CANONICAL).log(3.05, "rules_write_error").idle(4.2, 10), FOLLOWS)


def test_a_failed_canonical_write_that_could_not_be_logged_owes_no_flush() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated")
    story.fault(3.04, "write", CANONICAL).fault(3.05, "emit").fault(8, "write", PROMPT).idle(9, 10)
    silent(story, FOLLOWS)


def test_a_rebuild_that_reported_failure_is_set_aside() -> None:
    silent(started().rebuilding(4).rebuilt(4.1, outcome="failed").idle(5, 5), FOLLOWS)


# --- survives-rebuild ---


@pytest.mark.parametrize("held", [None, "v0"])
def test_a_molt_that_forgets_or_rolls_back_an_applied_version_is_the_agents_violation(held: str | None) -> None:
    found = only(applied().rebuild(16, 16.1, held), SURVIVES, "violation", "agent")
    assert found.posts == (V1,)


def test_a_molt_and_a_restart_that_keep_the_version_are_in_order() -> None:
    silent(applied().rebuild(15, 15.1, "v1").dies(16).boot(17, "v1", life=1), SURVIVES)


def test_a_molt_loses_rules_that_were_there_from_the_start() -> None:
    only(started().rebuild(16, 16.1, None), SURVIVES, "violation", "agent")


def test_a_version_that_was_never_persisted_and_is_rolled_back_is_the_agents_violation() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).prompt(3.05, "v1").log(3.06)
    only(story.idle(4, 5).rebuild(16, 16.1, "v0"), SURVIVES, "violation", "agent")


def test_rules_lost_by_a_crash_inside_the_write_are_a_gap_of_the_environment() -> None:
    only(cut_inside_the_write(None), SURVIVES, "gap", "environment")


def test_rules_cut_short_by_a_write_that_failed_and_read_by_a_molt_are_a_gap_of_the_environment() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated")
    story.log(3.05, "rules_write_error").idle(4, 3).rebuild(8, 8.1, None)
    only(story, SURVIVES, "gap", "environment")


def test_rules_cut_short_for_no_reason_and_read_by_a_molt_are_the_agents_violation() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated")
    story.beat(6, 6.1).log(6.05, "rules_write_error").rebuild(8, 8.1, None)
    only(story, SURVIVES, "violation", "agent")


def test_rules_cut_short_on_a_disk_with_a_budget_are_a_gap_of_the_environment() -> None:
    story = Story(None, agents=()).plan("host", host="host-0", disk=100).agent("a-0", "v0").boot(0, "v0")
    story.posts(2.5, V1, "v1").beat(3, 3.2).vanished(3.02).canonical(3.03, "", "truncated").rebuild(8, 8.1, None)
    only(story, SURVIVES, "gap", "environment")


def test_a_version_that_a_power_failure_undid_is_a_gap_of_the_environment() -> None:
    story = applied().dies(15, "power").canonical(15, "v0").prompt(15, "v0").boot(16, "v0", life=1)
    only(story, SURVIVES, "gap", "environment")


def test_a_stale_flush_beside_the_beat_rolls_the_version_back_as_a_gap_of_the_protocol() -> None:
    only(rebuild_beside_beat("v0", "v0"), SURVIVES, "gap", "protocol")


def test_a_rebuild_that_brings_back_what_an_earlier_one_had_lost_is_in_order() -> None:
    story = rebuild_beside_beat("v0", "v0").rebuild(8, 8.1, "v1", number=1)
    only(story, SURVIVES, "gap", "protocol")


def test_a_restart_that_makes_a_persisted_version_effective_is_in_order() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1, outcome="cut").vanished(3.02).persists(3.03, "v1").dies(3.1)
    silent(story.boot(4, "v1", life=1), SURVIVES)


def test_a_beat_that_applies_beside_a_rebuild_is_in_order() -> None:
    silent(rebuild_beside_beat("v0", "v1"), SURVIVES)


def test_an_edit_that_a_rebuild_takes_up_is_in_order() -> None:
    silent(applied().edit(15, CANONICAL, None).canonical(15, None, "removed").rebuild(16, 16.1, None), SURVIVES)


def test_a_rebuild_that_failed_or_was_struck_is_set_aside() -> None:
    silent(applied().rebuild(16, 16.1, None, outcome="failed"), SURVIVES)
    story = applied().rebuilding(16).fault(16.05, "read", CANONICAL, actor="rebuild").prompt(16.08, None).rebuilt(16.1)
    silent(story, SURVIVES)
