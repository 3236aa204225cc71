from __future__ import annotations

from tests.history.hand import S, beat, claim, end, log, op, rec, run_record, small, span

from fleetbeat.checks.model import Finding, Judgement, Verdict
from fleetbeat.metrics.claims import Claims, claims
from fleetbeat.metrics.cost import Operations, cost
from fleetbeat.metrics.facts import gather


def test_idle_spans_count_as_many_beats_and_operations_as_they_hold() -> None:
    spent = cost([run_record(), span(0, "a-0", 3, 12), span(20 * S, "a-0", 13, 13, runnable=False), end()])
    assert (spent.beats, spent.idle, spent.busy, spent.not_runnable) == (11, 11, 0, 1)
    assert spent.operations == (Operations("stat", 11, 0),)
    assert not spent.observed


def test_busy_beats_are_counted_by_how_they_came_out() -> None:
    spent = cost([beat(1, "a", 0), beat(2, "a", 1, "cut"), beat(3, "a", 2, "ended", runnable=False)])
    assert (spent.beats, spent.busy, spent.cut, spent.ended, spent.not_runnable) == (3, 3, 1, 1, 1)


def test_operations_are_told_apart_by_who_made_them() -> None:
    spent = cost(
        [op(1, "a", "read"), op(2, "a", "read", "boot"), op(3, "a", "read", "hand-down"), op(4, "a", "rename", "post")]
    )
    assert spent.operations == (Operations("read", 3, 0), Operations("rename", 0, 1))
    assert spent.observed


def test_polls_that_saw_something_are_counted_beside_those_that_saw_nothing() -> None:
    polls = rec(9, "polls", "a/poll", agent="a", operator="op", count=4, ops={"read": 8})
    assert cost([op(1, "a", "read", "poll"), polls]).operations == (Operations("read", 0, 9),)
    assert cost([op(1, "a", "read", "poll")]).operations == (Operations("read", 0, 1),)
    assert cost([op(1, "b", "read", "poll"), polls]).operations == (Operations("read", 0, 9),)
    assert cost([polls]).polls == 4


def test_logs_and_rebuilds_are_counted() -> None:
    done = rec(5, "rebuild.end", agent="a", life=0, rebuild=0, outcome="done")
    spent = cost([log(1, "a", "y"), log(1, "a", "x"), log(2, "a", "y"), done])
    assert (spent.logs, spent.rebuilds) == ((("x", 1), ("y", 2)), 1)


def test_a_false_done_is_one_that_the_check_found() -> None:
    records, judgement = small()
    assert claims(gather(records), judgement) == (Claims("canonical", 1, 1, 0, 0, 1),)


def test_claims_are_told_apart_by_how_they_were_verified() -> None:
    said = [
        claim(1, "p", "a", "done"),
        claim(2, "q", "a", "timeout"),
        claim(3, "r", "a", "failed", "none"),
        claim(4, "s", "a", "done", "none"),
    ]
    found = Finding("honest-operator", "hazard", "writer", 4, "no", "a", ("s", "q"))
    judgement = Judgement((), (Verdict("honest-operator", "", "held", (found,), 2),))
    assert claims(gather(said), judgement) == (Claims("canonical", 2, 1, 1, 0, 0), Claims("none", 2, 1, 0, 1, 1))


def test_where_nobody_judged_claims_none_is_called_false_or_true() -> None:
    said = gather([claim(1, "p", "a", "done")])
    for verdicts in ((), (Verdict("honest-operator", "", "unknown"),)):
        assert claims(said, Judgement((), verdicts))[0].false_done is None
