"""guard-not-silenced over hand-written histories of three to six records, and the nasty ones beside them."""

from __future__ import annotations

import pytest
from tests.checks.steps import (
    answers,
    begins,
    body,
    call,
    event,
    gate,
    judged,
    judged_by,
    ran,
    record,
    rules,
    verdict,
    workload,
)  # fmt: skip

from fleetbeat.history.records import Record

ASKS, DENIES = gate("asks"), gate("denies", answer="deny")
ONE, TWO = workload(ASKS), workload(ASKS, DENIES)

ALLOWED: dict[str, list[Record]] = {
    "the gate lets it": [ONE, call(1), judged(1, "asks", "allow"), verdict(1, "allow"), ran(1)],
    "the gate asks and the user approves": [
        ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask"), answers(2, 1, "approve"), ran(1)],
    "the user rejects": [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask"), answers(2, 1, "reject")],
    "the user ignores": [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask"), answers(2, 1, "ignore")],
    "nobody answers": [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask")],
    "one denies": [TWO, call(1), judged(1, "asks", "allow"), judged(1, "denies", "deny"), verdict(1, "deny")],
    "a core that denies early asks no other gate": [TWO, call(1), judged(1, "denies", "deny"), verdict(1, "deny")],
    "a core that denies without asking anybody": [ONE, call(1), verdict(1, "deny")],
    "a core without a verdict": [ONE, call(1), judged(1, "asks", "raised"), verdict(1, None)],
    "a stricter verdict than the gates'": [ONE, call(1), judged(1, "asks", "allow"), verdict(1, "deny")],
    "a gate that raised, and the user was asked": [ONE, call(1), judged(1, "asks", "raised"), verdict(1, "ask")],
    "a gate that was slow, and the call denied": [ONE, call(1), judged(1, "asks", "slow"), verdict(1, "deny")],
    "a gate that raised and was asked again": [
        ONE, call(1), judged(1, "asks", "raised"), judged(1, "asks", "allow"), verdict(1, "allow"), ran(1)],
    "a call that no gate watches": [ONE, call(1, "curl x | sh"), verdict(1, "allow"), ran(1)],
    "a harmless call that nobody was asked about": [ONE, call(1, dangerous=False), verdict(1, "allow"), ran(1)],
    "a call that died with its process": [ONE, begins(), call(1), begins(1), call(2), verdict(2, "deny")],
    "allowed, and the process died before it ran": [ONE, call(1), verdict(1, "allow"), begins(1)],
    "a gate of the body that is gone": [
        ONE, body("n", gate("mine")), rules("n"), rules(None), call(1), judged(1, "asks", "allow"), verdict(1, "allow"),
        ran(1)],
    "a gate that is not in force and raised": [
        ONE, call(1), judged(1, "stale", "raised"), judged(1, "asks", "allow"), verdict(1, "allow"), ran(1)],
}  # fmt: skip

#: The records, and words of the finding.
BROKEN: dict[str, tuple[list[Record], str]] = {
    "nobody asked the gate and the call ran": (
        [ONE, call(1), verdict(1, "allow"), ran(1)],
        "ran although gate asks was not asked"),
    "nobody asked the gate and the user was": (
        [ONE, call(1), verdict(1, "ask")],
        "put to the user although gate asks was not"),
    "one gate of two was asked": (
        [TWO, call(1), judged(1, "asks", "allow"), verdict(1, "allow"), ran(1)], "gate denies was not asked"),
    "allowed although a gate asks": (
        [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "allow")], "was allowed although gate asks said ask"),
    "allowed although a gate denies": (
        [TWO, call(1), judged(1, "denies", "deny"), judged(1, "asks", "allow"), verdict(1, "allow"), ran(1)],
        "was allowed although gate denies said deny"),
    "put to the user although a gate denies": (
        [TWO, call(1), judged(1, "asks", "raised"), judged(1, "denies", "deny"), verdict(1, "ask")],
        "put to the user although"),
    "a raising gate allows": (
        [ONE, call(1), judged(1, "asks", "raised"), verdict(1, "allow"), ran(1)],
        "raised, which counts"),
    "a slow gate allows": (
        [ONE, call(1), judged(1, "asks", "slow"), verdict(1, "allow"), ran(1)],
        "too slow, which counts"),
    "it ran before the user answered": (
        [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask"), ran(1)],
        "nobody approved"),
    "it ran although the user rejected": (
        [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask"), answers(2, 1, "reject"), ran(1)],
        "nobody approved"),
    "it ran although it was denied": (
        [TWO, call(1), judged(1, "denies", "deny"), verdict(1, "deny"), ran(1)], "ran although gate denies said deny"),
    "an approval of another call": (
        [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask"), answers(2, 7, "approve"), ran(1)],
        "nobody approved"),
    "a gate that denied and then was asked until it gave in": (
        [ONE, call(1), judged(1, "asks", "deny"), judged(1, "asks", "allow"), verdict(1, "allow")], "said deny"),
    "a body's gate that was not asked": (
        [ONE, body("n", gate("mine", "curl *")), rules("n"), call(1, "curl x"), verdict(1, "allow"), ran(1)],
        "gate mine was not"),
    "a body that removes a guard": (
        [ONE, body("n", gate("mine", "curl *")), rules("n"), call(1), verdict(1, "allow"), ran(1)],
        "gate asks was not"),
    "a body's gate of the guard's name does not replace it": (
        [ONE, body("n", gate("asks", "curl *")), rules("n"), call(1), verdict(1, "allow"), ran(1)],
        "gate asks was not"),
    "a malformed body leaves the one before in force": (
        [ONE, body("n", gate("mine", "curl *")), rules("n"), rules("x", malformed=True), call(1, "curl x"),
         verdict(1, "allow"), ran(1)], "gate mine was not"),
    "a restart leaves the rules in force": (
        [ONE, body("n", gate("mine", "curl *")), rules("n"), begins(1), call(1, "curl x"), verdict(1, "allow"), ran(1)],
        "gate mine was not"),
    "a subtask's call": ([ONE, call(1, session="s/sub"), verdict(1, "allow"), ran(1)], "gate asks was not asked"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_what_the_gates_let_holds(name: str) -> None:
    _, found = judged_by(*ALLOWED[name])
    assert (found.outcome, [finding.message for finding in found.findings]) == ("held", [])


@pytest.mark.parametrize("name", BROKEN)
def test_what_they_did_not_let_is_found_once(name: str) -> None:
    told, words = BROKEN[name]
    _, found = judged_by(*told)
    assert found.outcome == "broken"
    (finding,) = found.findings
    assert words in finding.message
    assert (finding.kind, finding.cause, finding.agent) == ("violation", "agent", "a")


@pytest.mark.parametrize("name", BROKEN)
def test_the_same_call_without_danger_breaks_nothing(name: str) -> None:
    told = [Record(one.t, one.actor, one.kind, {**one.fields, "dangerous": False}) if one.kind == "event" else one
            for one in BROKEN[name][0]]  # fmt: skip
    assert judged_by(*told)[1].outcome == "held"


def test_examined_counts_dangerous_calls_that_some_gate_watched() -> None:
    told = [ONE, call(1), call(2, "curl x"), call(3, dangerous=False), call(4), event(5, "tool.after", 4)]
    assert judged_by(*told)[1].examined == 2


def test_a_gates_state_and_cooldown_do_not_keep_it_from_being_asked() -> None:
    quiet = {**gate("quiet"), "state": {"rejections": [["at_most", 0]]}, "cooldown_s": 3600.0}
    _, found = judged_by(
        workload(quiet), call(1), judged(1, "quiet", "ask"), verdict(1, "ask"), call(2), verdict(2, "allow"), ran(2)
    )
    assert [finding.t // 10**9 for finding in found.findings] == [7]


def test_rules_whose_policies_nobody_recorded_leave_a_call_unknown() -> None:
    _, found = judged_by(ONE, rules("strange"), call(1), judged(1, "asks", "allow"), verdict(1, "allow"), ran(1))
    assert (found.outcome, found.reason) == (
        "unknown", "1 dangerous call: the policies of the rules in effect are not recorded")  # fmt: skip


def test_rules_that_nobody_saw_leave_calls_unknown_until_others_are_in_effect() -> None:
    unseen = record("unseen", **{"from": 0, "to": 0, "missing": "the text of its rules: which policies are in force"})
    lets = [judged(1, "asks", "allow"), verdict(1, "allow"), ran(1)]
    assert judged_by(ONE, unseen, call(1), *lets)[1].outcome == "unknown"
    assert judged_by(ONE, unseen, rules(None), call(1), *lets)[1].outcome == "held"


def test_a_guard_that_was_passed_over_is_found_though_the_rules_are_unknown() -> None:
    assert judged_by(ONE, rules("strange"), call(1), verdict(1, "allow"), ran(1))[1].outcome == "broken"


def test_what_another_agent_did_settles_nothing_here() -> None:
    other = Record(0, "b", "judged", {"agent": "b", "call": 1, "gate": "asks", "answer": "allow", "took": 0})
    assert judged_by(ONE, call(1), other, verdict(1, "allow"), ran(1))[1].outcome == "broken"


def many(count: int, *told: Record) -> list[Record]:
    """Calls that nobody settles, and others after them that are."""
    return [ONE, begins(), *(call(n) for n in range(10, 10 + count)), *told]


def test_in_a_window_a_call_that_waits_for_its_user_is_not_forgotten() -> None:
    settled = [one for n in range(1000, 1100) for one in (call(n), judged(n, "asks", "deny"), verdict(n, "deny"))]
    told = many(1, judged(10, "asks", "ask"), verdict(10, "ask"), *settled, ran(10))
    _, found = judged_by(*told, window=64)
    assert [finding.message.split(" at ")[0] for finding in found.findings] == ["a: dangerous call #10 (rm -rf /)"]


def test_in_a_window_more_open_calls_than_it_holds_make_it_unknown() -> None:
    _, found = judged_by(*many(1000), window=64)
    assert found.outcome == "unknown"
    assert "too many at once" in found.reason


def test_in_a_window_calls_that_died_with_their_process_are_let_go() -> None:
    told = [one for life in range(100) for one in (begins(life), *(call(life * 10 + n) for n in range(4)))]
    assert judged_by(ONE, *told, window=64)[1].outcome == "held"


def test_an_answer_that_names_no_call_approves_none() -> None:
    asked = [ONE, call(1), judged(1, "asks", "ask"), verdict(1, "ask")]
    for fields in (
        {"call": [1], "answer": "approve"},
        {"answer": "approve"},
        {"call": 1, "answer": ["approve"]},
        {"call": True},
    ):
        assert judged_by(*asked, event(2, "answer", fields=fields), ran(1))[1].outcome == "broken"
