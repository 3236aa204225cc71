"""beats-go-on, drains, scope, honest-operator, coverage."""

from __future__ import annotations

import pytest
from tests.histories.build import Story
from tests.histories.tell import V1, V2, applied, lost_update, only, silent, started, verdict

from fleetbeat.checks import judge

GOES_ON, DRAINS, SCOPE = "beats-go-on", "drains", "scope"
HONEST, COVERAGE = "honest-operator", "coverage"


# --- beats-go-on ---


def test_a_heartbeat_that_ended_is_found_with_its_beat_and_error() -> None:
    story = started().posts(2.5, V1, b"\xff").beat(3, 3.1, number=3, outcome="ended")
    story.add(3.1, "heartbeat.end", agent="a-0", life=0, beat=3, error="UnicodeDecodeError")
    found = only(story, GOES_ON, "violation", "agent")
    assert "beat 3 at 3.1s: UnicodeDecodeError" in found.message
    assert found.posts == (V1,)


def test_beats_that_stop_without_a_word_are_found() -> None:
    only(started(), GOES_ON, "violation", "agent")


def test_a_heartbeat_that_stops_after_its_first_beat_is_found_where_its_interval_is_known() -> None:
    def once(interval: int | None) -> Story:
        return Story(None, agents=()).agent("a-0", "v0", interval=interval).boot(0, "v0").idle(1, 1)

    only(once(1_000_000_000), GOES_ON, "violation", "agent")
    silent(once(30_000_000_000), GOES_ON)
    silent(once(None), GOES_ON)


def test_a_heartbeat_that_dies_again_after_a_restart_is_found_twice() -> None:
    story = started().beat(3, 3.1, number=3, outcome="ended")
    story.add(3.1, "heartbeat.end", agent="a-0", life=0, beat=3, error="OSError").dies(5).boot(6, "v0", life=1)
    story.beat(7, 7.1, number=0, life=1, outcome="ended")
    story.add(7.1, "heartbeat.end", agent="a-0", life=1, beat=0, error="OSError")
    assert len(verdict(story, GOES_ON).findings) == 2


def test_beats_up_to_the_end_are_in_order_even_where_they_may_not_consume() -> None:
    silent(started().idle(3, 16, runnable=False), GOES_ON)


def test_a_life_that_ended_needs_no_more_beats() -> None:
    silent(started().dies(3), GOES_ON)


def test_a_pause_or_a_hole_in_the_observation_is_no_silence() -> None:
    silent(started().add(2.5, "pause", agent="a-0", what="process", end=19_000_000_000, fault=None), GOES_ON)
    silent(started().unseen(4, 19), GOES_ON)


def test_one_beat_alone_does_not_tell_how_often_an_agent_beats() -> None:
    silent(Story("v0").boot(0, "v0").idle(1, 1), GOES_ON)


def test_an_agent_whose_beats_nobody_could_see_is_not_called_well() -> None:
    def judged(story: Story) -> tuple[str, str]:
        found = next(one for one in judge(story.history()).verdicts if one.invariant == GOES_ON)
        return found.outcome, found.reason

    dark = Story("v0").boot(0, "v0").posts(2.5, V1, "v1").unseen(0, 20, missing="beats: no file")
    outcome, reason = judged(dark)
    assert (outcome, "no beat of a-0 was seen: beats: no file" in reason) == ("unknown", True)
    assert judged(Story("v0").boot(0, "v0").posts(2.5, V1, "v1"))[0] == "held"
    assert judged(Story("v0").boot(0, "v0").idle(1, 18).unseen(0, 20))[0] == "held"


# --- drains ---


def test_a_signal_that_stays_over_two_runnable_beats_is_found() -> None:
    found = only(started().posts(2.5, V1, "v1").idle(3, 2).consumes(5, "v1"), DRAINS, "violation", "agent")
    assert "2 runnable beats" in found.message


def test_a_signal_resolved_in_the_second_beat_is_in_order() -> None:
    silent(started().posts(2.5, V1, "v1").idle(3, 1).consumes(4, "v1"), DRAINS)


def test_a_signal_ignored_for_good_is_found_even_if_another_one_replaced_it() -> None:
    story = started().posts(2.5, V1, "v1").idle(3, 10).posts(13.5, V2, "v2", over=True).idle(14, 5)
    assert len(verdict(story, DRAINS).findings) == 2


@pytest.mark.parametrize(
    "tell",
    [
        lambda story: story.idle(3, 10, runnable=False).consumes(14, "v1"),
        lambda story: story.beat(3, 3.1).beat(4, 4.1).fault(4.05, "read", ".rules").idle(5, 1).consumes(6, "v1"),
        lambda story: story.idle(3, 1).dies(3.5).boot(4, "v0", life=1).idle(5, 1, life=1).consumes(6, "v1"),
        lambda story: story.add(3, "runnable", agent="a-0", runnable=True).idle(3.1, 1).consumes(4, "v1"),
        lambda story: story.unseen(3, 4).idle(3, 5).consumes(8, "v1"),
    ],
)
def test_what_kept_the_agent_from_it_does_not_count(tell) -> None:  # type: ignore[no-untyped-def]
    found = verdict(tell(started().posts(2.5, V1, "v1")), DRAINS)
    assert not found.findings, found.findings


def test_two_beats_after_the_last_fault_count() -> None:
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).fault(3.05, "read", ".rules").idle(4, 2).consumes(6, "v1")
    only(story, DRAINS, "violation", "agent")


def test_a_fault_after_the_signal_was_resolved_excuses_nothing() -> None:
    story = started().posts(2.5, V1, "v1").idle(3, 2).consumes(5, "v1").beat(6, 6.1).fault(6.05, "stat", ".rules")
    only(story, DRAINS, "violation", "agent")


def test_bodies_that_do_not_decode_and_posts_that_never_completed_are_not_examined() -> None:
    silent(started().posts(2.5, V1, b"\xff").idle(3, 10), DRAINS, examined=False)
    story = started().planned(2.4, V1, "v1", write="in-place").signal(2.5, "appeared").begin(2.5, V1).idle(3, 10)
    silent(story, DRAINS, examined=False)


def test_a_directory_or_an_unreadable_file_at_the_name_is_not_examined() -> None:
    for fields in ({"entry": "directory"}, {"readable": False}):
        story = started().planned(2.4, V1, "v1").signal(2.5, "appeared", **fields).begin(2.5, V1).complete(2.5, V1)
        silent(story.idle(3, 10), DRAINS, examined=False)


def test_a_write_through_what_stood_there_from_the_start_is_not_examined() -> None:
    story = Story("v0").edit(0, ".rules", None).signal(0, "appeared", entry="symlink").boot(0, "v0")
    story.planned(2.4, V1, "v1", write="in-place").signal(2.5, "changed").begin(2.5, V1).complete(2.5, V1).idle(3, 10)
    silent(story, DRAINS, examined=False)


# --- scope ---


def test_a_write_outside_what_is_declared_is_found_and_tells_agent_from_writer() -> None:
    story = started().rollout("v1").add(3, "write", "a-0/beat", agent="a-0", path="/a-0/notes.md")
    assert "/a-0/notes.md" in only(story, SCOPE, "violation", "agent").message
    story = started().rollout("v1").add(3, "write", "op:v1/a-0", agent=None, path="/tmp/x")
    only(story, SCOPE, "violation", "writer")


def test_a_post_to_an_agent_that_no_rollout_names_is_found() -> None:
    story = Story("v0", agents=("a-0", "a-1")).rollout("v1", "a-1").posts(2.5, V1, "v1")
    only(story, SCOPE, "violation", "writer")


def test_a_post_by_another_operator_than_the_rollouts_is_found() -> None:
    story = started().rollout("v1").posts(2.5, "bob:v1/a-0#1", "v1", operator="bob")
    only(story, SCOPE, "violation", "writer")


def test_a_signal_moved_to_a_place_that_is_not_declared_is_found() -> None:
    story = started().rollout("v1").posts(2.5, V1, "v1").beat(3, 3.1).signal(3.01, "moved", to="trash/rules")
    only(story, SCOPE, "violation", "agent")


def test_posts_to_targets_and_claims_at_declared_places_are_in_order() -> None:
    story = started().rollout("v1").posts(2.5, V1, "v1").beat(3, 3.1).signal(3.01, "moved", to="system/claimed")
    silent(story.applies(3.02, "v1"), SCOPE)


def test_a_post_that_never_begun_is_no_write() -> None:
    silent(started().planned(2.5, V1, "v1").ended(2.6, V1, "failed"), SCOPE)


# --- honest-operator ---


def test_done_for_a_lost_update_is_a_hazard_that_names_the_way_of_verifying() -> None:
    found = only(lost_update().claim(8, V2), HONEST, "hazard", "writer")
    assert "verified by disappearance, and v1 was effective then" in found.message


def test_done_before_it_was_effective_is_a_hazard_even_if_it_became_so() -> None:
    story = started().posts(2.5, V1, "v1").claim(2.9, V1, verify="none").consumes(3, "v1")
    assert "verified by nothing" in only(story, HONEST, "hazard", "writer").message


def test_done_for_what_was_effective_is_true_and_other_claims_are_no_promise() -> None:
    assert silent(applied().claim(8, V1), HONEST).examined == 1
    silent(lost_update().claim(8, V2, "timeout"), HONEST, examined=False)
    silent(started().posts(2.5, V1, "").beat(3, 3.1).vanished(3.01).claim(8, V1), HONEST, examined=False)


# --- coverage ---


def spawned(rules: str | None, at: float = 8) -> Story:
    story = applied().rollout("v1")
    return story.spawns(at, "a-9", rules)


def test_an_agent_spawned_after_the_rollout_without_its_version_is_a_hazard() -> None:
    assert only(spawned(None), COVERAGE, "hazard", "protocol").agent == "a-9"


def test_an_agent_that_came_to_hold_the_version_is_covered() -> None:
    silent(spawned("v1"), COVERAGE)
    silent(spawned(None).posts(9, "v1/a-9#1", "v1", agent="a-9").consumes(10, "v1", agent="a-9"), COVERAGE)


def test_only_the_latest_rollout_that_was_over_counts() -> None:
    story = applied().rollout("v1").rollout("v2").posts(6, V2, "v2").consumes(7, "v2")
    silent(story.spawns(8, "a-9", "v2"), COVERAGE)


def test_an_agent_spawned_before_the_rollout_was_over_is_not_examined() -> None:
    silent(spawned(None, at=2), COVERAGE, examined=False)


def test_an_agent_is_spawned_when_it_is_recorded_not_when_it_first_runs() -> None:
    story = spawned(None, at=2)
    story.told = [one for one in story.told if not (one.kind == "life.begin" and one.fields["agent"] == "a-9")]
    silent(story.add(8, "life.begin", "a-9", agent="a-9", life=0), COVERAGE, examined=False)


def test_agents_there_from_the_start_are_not_examined() -> None:
    silent(applied().rollout("v1"), COVERAGE, examined=False)
