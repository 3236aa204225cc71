"""Nasty histories: equal instants, equal bodies, overlaps, holes, and histories that end anywhere or show too little."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.histories.build import Story, shown, without_ops
from tests.histories.tell import V1, V2, applied, fate_of, fates_of, in_place, lost_update, started, verdict

from fleetbeat.checks import World, judge
from fleetbeat.history.records import Record


def same_instant() -> Story:
    """The agent unlinks v1 and v2 is renamed to the free name in the same nanosecond."""
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).vanished(3.02).posts(3.02, V2, "v2")
    return story.applies(3.03, "v1").consumes(4, "v2")


def same_instant_other_order() -> Story:
    """v2 is renamed over v1, and unlinked in the same nanosecond."""
    story = started().posts(2.5, V1, "v1").beat(3, 3.1).posts(3.02, V2, "v2", over=True).vanished(3.02)
    return story.applies(3.03, "v1").idle(4, 10)


def posted_as_the_beat_begins() -> Story:
    return started().posts(3, V1, "v1").beat(3, 3.1).vanished(3.02).applies(3.03, "v1").idle(4, 10)


def unlink_and_cross_device_at_once() -> Story:
    """The agent takes v1; a cross-device writer finds nothing to unlink and creates the name right then."""
    story = started().posts(2.5, V1, "v1").planned(2.6, V2, "v2", write="cross-device").beat(3, 3.1).vanished(3.02)
    story.signal(3.02, "appeared").begin(3.02, V2).signal(3.025, "changed").complete(3.025, V2).ended(3.026, V2)
    return story.applies(3.03, "v1").consumes(4, "v2")


def three_posts_in_one_window() -> Story:
    story = started().posts(2.5, V1, "v1").beat(3, 3.5).posts(3.1, V2, "v2", over=True)
    return story.posts(3.15, "v3/a-0#1", "v3", over=True).vanished(3.2).applies(3.3, "v1").idle(4, 10)


def the_middle_one_was_read() -> Story:
    story = started().posts(2.5, V1, "v1").beat(3, 3.5).posts(3.1, V2, "v2", over=True)
    return story.posts(3.15, "v3/a-0#1", "v3", over=True).vanished(3.2).applies(3.3, "v2").idle(4, 10)


def reposts_of_one_body() -> Story:
    story = started().posts(2.5, V1, "v1").posts(2.6, "v1/a-0#2", "v1", over=True).consumes(3, "v1")
    story.posts(3.5, "v1/a-0#3", "v1\n").beat(4, 4.1).vanished(4.01)
    return story.posts(4.5, V2, "v2").consumes(5, "v2").posts(5.5, "v1/a-0#4", "v1").consumes(6, "v1")


def two_versions_of_one_body() -> Story:
    return started().posts(2.5, V1, "same").consumes(3, "same").posts(3.5, V2, "same").beat(4, 4.1).vanished(4.01)


def crash_inside_the_write() -> Story:
    story = (
        started()
        .posts(2.5, V1, "v1 whole")
        .beat(3, 3.05, outcome="cut")
        .vanished(3.01)
        .canonical(3.02, "", "truncated")
    )
    story.canonical(3.03, "v1 wh").dies(3.05).boot(4, "v1 wh", life=1).idle(5, 3, life=1)
    return story.posts(9, V2, "v2").beat(10, 10.1, life=1).vanished(10.01).applies(10.02, "v2")


def crash_with_everything_at_one_instant() -> Story:
    story = started().posts(3, V1, "v1").beat(3, 3, outcome="cut").vanished(3).canonical(3, "", "truncated").dies(3)
    return story.boot(3, None, life=1).idle(4, 10, life=1)


def two_in_place_writers() -> Story:
    """v2 truncates what v1 is still writing; v1 goes on; v2 completes last."""
    story = in_place(begin=2.5, complete=None).planned(2.55, V2, "v2 whole", write="in-place").signal(2.6, "changed")
    story.begin(2.6, V2).signal(2.65, "changed").signal(2.7, "changed").complete(2.7, V2).ended(2.7, V2)
    return story.ended(2.8, V1, "failed").consumes(3, "v2 whole")


def an_older_writer_finishes_last() -> Story:
    """v1 in place is overtaken by v2 in place, and then shows its whole body: it is what stands there."""
    story = (
        in_place(begin=2.5, complete=None)
        .planned(2.55, V2, "v2", write="in-place")
        .signal(2.6, "changed")
        .begin(2.6, V2)
    )
    story.complete(2.6, V2).ended(2.6, V2).signal(2.8, "changed").complete(2.8, V1).ended(2.8, V1)
    return story.consumes(3, "v1 whole v1")


def renamed_over_a_writer_in_place() -> Story:
    """v2 is renamed over v1, which is being written in place: v1's further writes go to a file without a name."""
    story = in_place(begin=2.5, complete=None).posts(2.6, V2, "v2", over=True).ended(2.7, V1)
    return story.consumes(3, "v2")


def unlinked_under_a_writer_in_place() -> Story:
    story = in_place(begin=2.9, complete=None).beat(3, 3.1).vanished(3.02).ended(3.5, V1)
    return story.posts(4.5, V2, "v2").consumes(5, "v2")


def a_stranger_at_the_name() -> Story:
    story = started().signal(2.5, "appeared").beat(3, 3.5).posts(3.1, V1, "v1", over=True).vanished(3.2)
    return story.edit(3.25, ".rules", "strange").applies(3.3, "strange").idle(4, 10)


def a_stranger_from_the_start() -> Story:
    """A signal that lay there before the first boot, told by an edit and seen as a signal."""
    story = Story("v0").edit(0, ".rules", "old signal").signal(0, "appeared").boot(0, "v0").consumes(1, "old signal")
    return story.posts(2.5, V1, "v1").consumes(3, "v1")


def a_slow_writer_scribbles_over_a_whole_post() -> Story:
    """v1 in place is overtaken by v2 in place, which is whole; then v1 writes on, and the agent reads the mixture."""
    story = (
        in_place(begin=2.5, complete=None)
        .planned(2.55, V2, "v2", write="in-place")
        .signal(2.6, "changed")
        .begin(2.6, V2)
    )
    story.complete(2.6, V2).ended(2.6, V2).signal(2.8, "changed").consumes(3, "v2 whole v1")
    return story.ended(3.5, V1)


def shared_temporary_swapped() -> Story:
    """v1's rename carries v2's bytes to the name, since both wrote one temporary."""
    story = started().planned(2.3, V1, "v1", write="shared-temp").planned(2.4, V2, "v2", write="shared-temp")
    story.signal(2.5, "appeared").begin(2.5, V1).ended(2.5, V1).ended(2.6, V2, "failed").consumes(3, "v2")
    return story.idle(4, 10)


def signal_back_after_power_loss() -> Story:
    """The unlink was not synced: the power failure brings the consumed signal back, and it is applied again."""
    story = (
        applied().dies(15, "power").signal(15, "appeared").canonical(15, "v0").prompt(15, "v0").boot(16, "v0", life=1)
    )
    return story.beat(17, 17.1, life=1).vanished(17.01).applies(17.02, "v1")


def holes_everywhere() -> Story:
    return lost_update().unseen(0, 20, agent=None, missing="everything")


def no_beats_at_all() -> Story:
    return Story("v0").posts(2.5, V1, "v1").vanished(3.01).applies(3.02, "v1")


def no_agent_record() -> Story:
    return Story(None, agents=()).posts(2.5, V1, "v1").consumes(3, "v1")


TOLD: dict[Callable[[], Story], dict[str, str]] = {
    same_instant: {V1: "applied", V2: "applied"},
    same_instant_other_order: {V1: "applied", V2: "lost"},
    posted_as_the_beat_begins: {V1: "applied"},
    unlink_and_cross_device_at_once: {V1: "applied", V2: "applied"},
    three_posts_in_one_window: {V1: "applied", V2: "superseded", "v3/a-0#1": "lost"},
    the_middle_one_was_read: {V1: "superseded", V2: "applied", "v3/a-0#1": "lost"},
    reposts_of_one_body: {
        V1: "superseded",
        "v1/a-0#2": "applied",
        "v1/a-0#3": "unchanged",
        V2: "applied",
        "v1/a-0#4": "applied",
    },
    two_versions_of_one_body: {V1: "applied", V2: "unchanged"},
    crash_inside_the_write: {V1: "lost", V2: "applied"},
    crash_with_everything_at_one_instant: {V1: "lost"},
    two_in_place_writers: {V1: "superseded", V2: "applied"},
    an_older_writer_finishes_last: {V1: "applied", V2: "superseded"},
    renamed_over_a_writer_in_place: {V1: "superseded", V2: "applied"},
    unlinked_under_a_writer_in_place: {V1: "lost", V2: "applied"},
    a_stranger_at_the_name: {V1: "lost"},
    a_stranger_from_the_start: {V1: "applied"},
    a_slow_writer_scribbles_over_a_whole_post: {V1: "torn", V2: "superseded"},
    shared_temporary_swapped: {V1: "lost", V2: "unposted"},
    signal_back_after_power_loss: {V1: "applied"},
    holes_everywhere: {V1: "applied", V2: "indeterminate"},
    no_beats_at_all: {V1: "applied"},
    no_agent_record: {V1: "applied"},
}
STORIES = pytest.mark.parametrize("tell", TOLD, ids=lambda tell: tell.__name__)


@STORIES
def test_a_nasty_history_gives_each_post_its_fate(tell: Callable[[], Story]) -> None:
    assert fates_of(tell()) == TOLD[tell], shown(tell().history())


@STORIES
def test_wherever_a_history_ends_every_post_has_one_fate_and_no_check_raises(tell: Callable[[], Story]) -> None:
    records = tell().history()
    for length in range(len(records) + 1):
        judgement = judge(records[:length])
        plans = sum(record.kind == "post.plan" for record in records[:length])
        assert sum(judgement.totals().values()) == plans
        raised = [one.reason for one in judgement.verdicts if one.outcome == "unknown" and not _is_dark(one.reason)]
        assert not raised, (raised, shown(records[:length]))


def _is_dark(reason: str) -> bool:
    """Said where a history ends before the first beat and nobody looked: no check raised."""
    return reason.startswith("no beat of a-0 was seen: everything")


@STORIES
def test_without_operation_records_every_verdict_and_fate_stays(tell: Callable[[], Story]) -> None:
    story = tell()
    for t in (2.99, 3.005, 3.3):  # misleading ones, to show that they are not listened to
        story.op(t, "read", body="v9").op(t, "unlink")
    with_ops, bare = judge(story.history()), judge(without_ops(story.history()))
    assert with_ops.verdicts == bare.verdicts
    assert [(one.post, one.fate, one.note) for one in with_ops.fates] == [
        (one.post, one.fate, one.note) for one in bare.fates
    ]


@STORIES
def test_without_texts_everything_is_judged_alike(tell: Callable[[], Story]) -> None:
    records = tell().history()
    bare = [
        Record(one.t, one.actor, one.kind, {**one.fields, "text": None, "base64": None}) if one.kind == "body" else one
        for one in records
    ]
    assert judge(bare) == judge(records)


@STORIES
def test_another_agent_in_the_fleet_changes_no_fate(tell: Callable[[], Story]) -> None:
    story = tell()
    story.agent("z-9", "v0").boot(0, "v0", agent="z-9").posts(2.51, "v9/z-9#1", "v9", agent="z-9").consumes(
        3.01, "v9", "z-9"
    )
    assert {post: fate for post, fate in fates_of(story).items() if "z-9" not in post} == TOLD[tell]


def test_three_posts_in_one_window_lose_one_and_name_it() -> None:
    found = verdict(three_posts_in_one_window(), "no-silent-loss").findings
    assert [(one.kind, one.cause, one.posts) for one in found] == [("gap", "protocol", ("v3/a-0#1",))]


def test_a_shared_temporary_that_carried_another_body_is_the_writers_violation() -> None:
    found = verdict(shared_temporary_swapped(), "no-silent-loss").findings
    assert [(one.kind, one.cause) for one in found] == [("violation", "writer")]
    assert verdict(shared_temporary_swapped(), "whole-body").outcome == "held"


def test_a_signal_from_the_start_is_one_stand_and_its_body_is_whole() -> None:
    agent = World(a_stranger_from_the_start().history()).agents["a-0"]
    assert [stand.post is None for stand in agent.stands] == [True, False]
    assert verdict(a_stranger_from_the_start(), "whole-body").outcome == "held"


def test_a_crash_inside_the_write_breaks_what_it_should_and_nothing_else() -> None:
    records = crash_inside_the_write().rollout("v1").rollout("v2").history()
    broken = {one.invariant for one in judge(records).verdicts if one.outcome == "broken"}
    assert broken == {"no-silent-loss", "whole-body", "canonical-intact", "survives-rebuild"}


def test_a_signal_that_came_back_with_the_power_is_no_second_post() -> None:
    judgement = judge(signal_back_after_power_loss().history())
    assert sum(judgement.totals().values()) == 1
    assert next(one for one in judgement.verdicts if one.invariant == "no-silent-loss").outcome == "held"


def test_an_empty_history_is_judged_and_nothing_is_examined() -> None:
    judgement = judge([])
    assert judgement.fates == ()
    assert {one.outcome for one in judgement.verdicts} == {"held"}
    assert sum(one.examined for one in judgement.verdicts) == 0


def test_beats_are_counted_exactly_where_spans_are_cut_and_never_too_many_elsewhere() -> None:
    agent = World(started().idle(3, 5).beat(9, 9.1).idle(10, 4).history()).agents["a-0"]
    second = 1_000_000_000
    assert agent.finished_beats(2 * second + 1, 20 * second) == 10
    assert agent.finished_beats(9 * second, 20 * second) == 4
    assert agent.finished_beats(13 * second, 20 * second) == 0
    assert agent.finished_beats(2 * second + 1, 11 * second) <= 7
    assert 7 <= agent.finished_beats(3 * second, 20 * second) <= 9


def test_the_same_history_in_a_generator_is_judged_alike() -> None:
    records = lost_update().history()
    assert judge(iter(records)) == judge(records)


def test_a_fate_is_told_of_a_history_without_its_end_record() -> None:
    assert fate_of(applied().history(end=False)).fate == "applied"
