from __future__ import annotations

from typing import Any

import pytest
from tests.history.hand import S, agent, body, end, fault, log, plan, post_end, rec, run_record

from fleetbeat.checks.model import FATES, PostFate
from fleetbeat.history.records import Record
from fleetbeat.metrics.facts import gather
from fleetbeat.metrics.next_action import NextAction, next_action

POST = "v2/a-0#1"


def decide(fate: str, *events: Record, data: bytes = b"two", **ended: Any) -> NextAction:
    head = [run_record(), body(data, "v2"), agent("a-0"), rec(0, "life.begin", agent="a-0", life=0)]
    posted = [plan(S, POST, "v2", "a-0", data), post_end(2 * S, POST, "a-0", **ended)]
    return next_action(
        gather([*head, *posted, *events, end()]), "a-0", PostFate(POST, "v2", "a-0", "op", fate, begun=S)
    )


@pytest.mark.parametrize("fate", FATES)
def test_every_fate_has_an_action_in_one_sentence(fate: str) -> None:
    action = decide(fate)
    assert action.id
    assert len(action.text) > 20


@pytest.mark.parametrize(
    ("fate", "action"),
    [
        ("unposted", "post-again"),
        ("torn", "post-again"),
        ("failed", "post-again"),
        ("lost", "post-again"),
        ("persisted", "rebuild"),
        ("poisoned", "remove-and-restart"),
        ("rejected", "fix-body"),
        ("stuck", "find-cause"),
        ("pending", "wait"),
        ("indeterminate", "look"),
        ("empty", "nothing"),
    ],
)
def test_a_fate_with_nothing_else_known_has_its_plain_action(fate: str, action: str) -> None:
    assert decide(fate).id == action


@pytest.mark.parametrize("fate", ["pending", "stuck", "persisted"])
def test_nothing_is_posted_again_while_a_post_is_there_or_in_canonical(fate: str) -> None:
    for events in ([], [fault(5 * S, "a-0", "f", "read")], [fault(5 * S, "a-0", "f", "write", "ENOSPC")]):
        assert "post again" not in decide(fate, *events).text.replace("do not post again", "")


@pytest.mark.parametrize(
    ("errno", "action"), [("ENOSPC", "free-disk"), ("EDQUOT", "free-disk"), ("EROFS", "fix-access")]
)
@pytest.mark.parametrize("fate", ["failed", "stuck", "persisted", "pending"])
def test_the_last_errno_of_the_agent_is_cured_first(fate: str, errno: str, action: str) -> None:
    got = decide(fate, fault(5 * S, "a-0", "disk", "write", errno))
    assert got.id == action
    assert errno in got.text


def test_the_errno_may_stand_in_the_agents_own_log() -> None:
    assert decide("failed", log(5 * S, "a-0", "rules_write_error", error="[Errno 28] ENOSPC: full")).id == "free-disk"


def test_an_errno_that_was_met_before_the_post_is_not_blamed() -> None:
    head = [run_record(), body(b"two", "v2"), agent("a-0"), fault(S // 2, "a-0", "disk", "write", "ENOSPC")]
    facts = gather([*head, plan(S, POST, "v2", "a-0", b"two"), end()])
    assert next_action(facts, "a-0", PostFate(POST, "v2", "a-0", "op", "failed", begun=S)).id == "post-again"


def test_a_temporary_that_was_left_is_looked_at_before_anything_else() -> None:
    got = decide("unposted", outcome="failed", error="ENOSPC", leftover="/a-0/.rules.x1")
    assert got.id == "look-at-temporary"
    assert "/a-0/.rules.x1" in got.text


def test_the_writers_own_errno_is_cured_before_it_posts_again() -> None:
    assert decide("unposted", outcome="failed", error="EACCES").id == "fix-access"
    assert decide("unposted", outcome="died").text == "post again: its operator died first"


@pytest.mark.parametrize("fate", ["pending", "stuck", "persisted"])
def test_an_agent_that_is_down_or_beats_no_more_is_restarted(fate: str) -> None:
    down = rec(5 * S, "life.end", agent="a-0", life=0, cause="crash", fault=None)
    over = rec(5 * S, "heartbeat.end", agent="a-0", life=0, beat=1, error="OSError")
    assert decide(fate, down).id == "restart-agent"
    assert decide(fate, over).id == "restart-agent"
    assert decide(fate, down, rec(6 * S, "life.begin", agent="a-0", life=1)).id != "restart-agent"


def test_a_suspended_agent_is_resumed() -> None:
    off = rec(5 * S, "runnable", agent="a-0", runnable=False)
    assert decide("pending", off).id == "resume-agent"
    assert decide("pending", off, rec(6 * S, "runnable", agent="a-0", runnable=True)).id == "wait"


@pytest.mark.parametrize("fate", ["poisoned", "rejected", "stuck"])
def test_a_body_that_is_not_utf_8_gets_its_encoding_fixed(fate: str) -> None:
    got = decide(fate, data=b"caf\xe9")
    assert got.id == "fix-body"
    assert "UTF-8" in got.text


def test_where_a_later_version_was_rolled_out_nothing_is_posted_again_whatever_the_fate() -> None:
    facts = gather([run_record(), end()])
    for fate in FATES:
        got = next_action(facts, "a-0", PostFate(POST, "v2", "a-0", "op", fate), later="v3")
        assert got.id == "nothing"
        assert "v3 came later" in got.text


def test_a_temporary_of_an_overtaken_version_is_still_looked_at_but_not_posted_again() -> None:
    facts = gather([run_record(), post_end(S, POST, "a-0", "failed", "EACCES", "/a-0/.rules.x1"), end()])
    got = next_action(facts, "a-0", PostFate(POST, "v2", "a-0", "op", "unposted"), later="v3")
    assert got.id == "look-at-temporary"
    assert "do not post again" in got.text
