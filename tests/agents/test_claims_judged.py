"""How checks judge an agent that claims by rename, on histories written by hand."""

from __future__ import annotations

import pytest
from tests.histories.build import Story
from tests.histories.tell import V1, V2, fate_of, fates_of, only, silent, started

CLAIMED, ASIDE = ".rules.claimed", ".rules.rejected"
DECLARED = [".rules", CLAIMED, ASIDE, "system", "system/*"]


def _claimed(at: float = 3.02, body: str | bytes = "v1", end: float = 3.1) -> Story:
    """v1 is posted, and moved away in a beat that does no more."""
    story = Story("v0", agents=()).agent("a-0", "v0", declares=DECLARED, set_aside=[ASIDE])
    story.boot(0, "v0").idle(1, 2).posts(2.5, V1, body)
    return story.beat(3, end, number=3).signal(at, "moved", to=CLAIMED)


def _logs(story: Story, t: float, event: str, **fields: str) -> Story:
    return story.add(t, "log", "a-0/beat", agent="a-0", life=0, event=event, fields=fields)


def test_a_claim_that_the_log_says_was_set_aside_at_a_declared_place_is_rejected() -> None:
    story = _logs(_claimed(body=b"\xff\xfe"), 3.05, "rules_rejected", to=ASIDE).idle(4, 10)
    assert fate_of(story).fate == "rejected"
    silent(story, "no-silent-loss")


def test_it_may_be_set_aside_on_a_later_beat() -> None:
    story = _claimed(body=b"\xff\xfe").beat(4, 4.1, number=4)
    assert fate_of(_logs(story, 4.05, "rules_rejected", to=ASIDE).idle(5, 10)).fate == "rejected"


@pytest.mark.parametrize("fields", [{}, {"to": "/tmp/somewhere"}, {"to": CLAIMED}])
def test_a_log_that_names_no_place_for_what_is_set_aside_saves_nothing(fields: dict[str, str]) -> None:
    story = _logs(_claimed(), 3.05, "rules_rejected", **fields).idle(4, 10)
    assert fate_of(story).fate == "lost"
    only(story, "no-silent-loss", "violation", "agent")


def test_what_a_later_claim_set_aside_is_not_the_first_one() -> None:
    story = _claimed().posts(3.5, V2, b"\xff\xfe").beat(4, 4.1, number=4).signal(4.01, "moved", to=CLAIMED)
    assert fates_of(_logs(story, 4.05, "rules_rejected", to=ASIDE).idle(5, 10)) == {V1: "lost", V2: "rejected"}


def test_a_write_that_fails_again_on_a_later_beat_is_logged_again() -> None:
    story = _logs(_claimed(), 3.05, "rules_write_error").beat(4, 4.1, number=4)
    story = _logs(story, 4.05, "rules_write_error").idle(5, 10)
    silent(story, "one-log-each")
    assert fate_of(story).fate == "failed"


def test_one_write_that_fails_is_logged_once_also_of_a_claim() -> None:
    story = _logs(_logs(_claimed(), 3.05, "rules_write_error"), 3.06, "rules_write_error").idle(4, 10)
    only(story, "one-log-each", "violation", "agent")


def test_a_failure_logged_by_a_later_life_makes_a_claim_failed() -> None:
    story = _claimed().dies(3.1).boot(4, "v0", life=1)
    story.beat(5, 5.1, number=0, life=1)
    story = _logs(story, 5.05, "rules_write_error").idle(6, 10, life=1)
    assert fate_of(story).fate == "failed"


def test_a_claim_is_pending_while_faults_keep_the_agent_from_it_and_lost_when_they_are_over() -> None:
    story = _claimed()
    for t in range(4, 20):
        story.beat(t, t + 0.1, number=t).fault(t + 0.05, "read", CLAIMED)
    assert fate_of(story).fate == "pending"
    story = _claimed().beat(4, 4.1, number=4).fault(4.05, "read", CLAIMED).idle(5, 10)
    assert fate_of(story).fate == "lost"


def test_a_claim_that_gave_way_to_another_is_not_pending() -> None:
    story = _claimed().posts(19.1, V2, "v2").beat(19.2, 19.9, number=4).signal(19.3, "moved", to=CLAIMED)
    assert fates_of(story)[V1] == "lost"


def test_what_was_replaced_before_a_claim_was_not_read_in_its_place() -> None:
    """v2 equals canonical, and stood at the name when it was moved away: it changed nothing, whatever stood there before."""
    story = Story("v0", agents=()).agent("a-0", "v0", declares=DECLARED, set_aside=[ASIDE])
    story.boot(0, "v0").idle(1, 2).posts(2.5, V1, "v1").beat(3, 3.4, number=3).posts(3.1, V2, "v0", over=True)
    story.signal(3.2, "moved", to=CLAIMED).idle(4, 10)
    assert fates_of(story) == {V1: "superseded", V2: "unchanged"}


def test_a_signal_from_the_start_that_a_boot_makes_effective_is_newer_than_the_rules() -> None:
    story = Story("v0").edit(0, ".rules", "left over").boot(0, "v0")
    story.beat(1, 1.1, outcome="cut").vanished(1.01).persists(1.02, "left over").dies(1.1)
    story.boot(2, "left over", life=1).idle(3, 10, life=1)
    silent(story, "survives-rebuild")


def test_a_boot_that_goes_back_to_a_signal_from_the_start_is_found() -> None:
    story = Story("v0").edit(0, ".rules", "left over").boot(0, "v0").consumes(1, "left over")
    story.posts(2.5, V1, "v1").consumes(3, "v1").idle(4, 3).dies(7).canonical(7, "left over").boot(
        8, "left over", life=1
    )
    only(story.idle(9, 5, life=1), "survives-rebuild", "gap", "environment")


def test_a_prompt_that_a_power_failure_brought_back_makes_nothing_effective_again() -> None:
    """v2 was v1 over again and changed nothing; v3 is the newest, whatever the power failure left in the prompt."""
    story = started().posts(2.5, V1, "v1").consumes(3, "v1").posts(3.5, V2, "v1").beat(4, 4.05).vanished(4.01)
    story.posts(4.5, "v3/a-0#1", "v3").beat(5, 5.04, outcome="cut").vanished(5.01).persists(5.02, "v3")
    story.prompt(5.03, "v3").dies(5.04, "power").prompt(5.04, "v1")
    story.boot(6, "v1", life=1).told.pop(-2)  # it dies before it flushed anything
    story.told.pop()
    story.dies(6.01, life=1).boot(7, "v3", life=2).idle(8, 5, life=2)
    assert fates_of(story) == {V1: "applied", V2: "unchanged", "v3/a-0#1": "applied"}
    silent(story, "survives-rebuild")
