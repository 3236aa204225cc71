"""The attack on both checks: random worlds under every core, each judged a second time, slowly, by `truth`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from tests.framework.truth import Truth, truth
from tests.framework.wilds import Dice, played

from fleetbeat.checks.framework import Streamed
from fleetbeat.checks.model import Verdict
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import cores

RIGHT = ("reference", "strict", "plugin")
GATE = {"id": "g", "on": ["tool.before"], "when": {}, "answer": "ask", "state": {}, "cooldown_s": 0}
FAST, MANY = range(4), range(4, 120)


def _verdicts(records: Sequence[Record], window: int | None = None) -> tuple[Verdict, Verdict]:
    streamed = Streamed(window)
    for record in records:
        streamed.feed(record)
    return streamed.verdicts()


def _broken(verdicts: tuple[Verdict, Verdict]) -> tuple[set[int], set[int]]:
    """The actions of the first, the calls of the second."""
    chains, guards = verdicts
    calls = [re.search(r"dangerous call #(\d+)", finding.message) for finding in guards.findings]
    return {int(one.chain[-1].id) for one in chains.findings}, {int(found[1]) for found in calls if found}


def _true(found: Truth) -> tuple[set[int], set[int]]:
    return {id for _, id in found.triggered}, {id for _, id in found.silenced}


def _agree(records: Sequence[Record]) -> Truth:
    """Both judges say the same of these records, one finding after another."""
    verdicts, found = _verdicts(records), truth(records)
    assert (verdicts[0].examined, verdicts[1].examined) == (found.begun, found.watched)
    for told, meant, verdict in zip(_broken(verdicts), _true(found), verdicts, strict=True):
        assert told == meant if not verdict.more else told <= meant, verdict.invariant
    assert [verdict.outcome == "unknown" for verdict in verdicts] == [bool(found.lost) and not found.triggered, False]
    return found


def _hold(numbers: range) -> set[str]:
    """The wrong cores that broke something in one of these worlds."""
    caught: set[str] = set()
    for number in numbers:
        for core in cores():
            found = _agree(played(core, number))
            if found.triggered or found.silenced:
                caught.add(core)
    return caught


def test_both_judges_agree_on_every_core_in_any_world_and_right_ones_break_nothing() -> None:
    caught = _hold(FAST)
    assert not caught & set(RIGHT)
    assert len(caught) > 4


@pytest.mark.slow
def test_both_judges_agree_in_many_worlds() -> None:
    assert _hold(MANY) == set(cores()) - set(RIGHT)


def _erased(records: Sequence[Record]) -> list[Record]:
    """Without anything that a core wrote of its own: origins, marks, logs."""
    emitted = {record["id"] for record in records if record.kind == "action" and record["action"] == "emit"}
    kept: list[Record] = []
    for record in records:
        fields = dict(record.fields)
        if record.kind == "action":
            fields.update(origin="user", mark=None)
        elif record.kind == "event" and (fields["type"] == "ready" or fields["cause"] in emitted):
            fields["origin"] = "user"
        if record.kind != "core.log":
            kept.append(Record(record.t, record.actor, record.kind, fields))
    return kept


def _drawn(number: int, core: str) -> None:
    """One world: nothing that a core wrote counts; a cut history and a short memory tell no lies."""
    dice = Dice(number + 1_000_000)
    records = played(core, number)
    whole, meant = _verdicts(records), _true(truth(records))
    erased = _verdicts(_erased(records))
    assert [one.outcome for one in erased] == [one.outcome for one in whole]
    assert _broken(erased) == _broken(whole)
    _agree(records[: dice.below(len(records) + 1)])
    _agree([one for one in records if one.kind in ("workload", "policies", "core.rules")])
    for window in (1, 2, 16, 64):
        short = _verdicts(records, window)
        for verdict, told, true in zip(short, _broken(short), meant, strict=True):
            assert told <= true, f"{verdict.invariant} in a window of {window}"
            assert verdict.outcome != "held" or not true, f"{verdict.invariant} in a window of {window}"
    _verdicts([one for one in records if dice.below(10)])  # records that are missing: no exception
    _verdicts(records[dice.below(len(records)) :])


@pytest.mark.parametrize("core", ["reference", "core-notify-as-event", "core-silences-gates"])
def test_what_a_core_wrote_counts_for_nothing_and_a_part_of_a_history_tells_no_lies(core: str) -> None:
    for number in FAST:
        _drawn(number, core)


@pytest.mark.slow
def test_a_part_of_any_history_tells_no_lies() -> None:
    for number in range(4, 40):
        for core in cores():
            _drawn(number, core)


@pytest.mark.parametrize(("by", "broken"), [(None, set()), (8, {3})])
def test_an_approval_is_the_users_and_not_one_that_the_core_makes(by: int | None, broken: set[int]) -> None:
    call = {"agent": "a", "id": 3, "type": "tool.before", "origin": "agent", "session": "s", "cause": None}
    answer = {**call, "id": 9, "type": "answer", "cause": by, "fields": {"call": 3, "answer": "approve"}}
    emission = {"agent": "a", "policy": "answer", "session": "s", "id": 8, "cause": 3, "action": "emit"}
    told: list[tuple[str, dict[str, Any]]] = [
        ("workload", {"guards": [GATE]}),
        ("event", {**call, "fields": {"command": "x"}, "dangerous": True}),
        ("judged", {"agent": "a", "call": 3, "gate": "g", "answer": "ask"}),
        ("action", emission),
        ("verdict", {"agent": "a", "call": 3, "verdict": "ask"}),
        ("event", answer),
        ("ran", {"agent": "a", "call": 3}),
    ]
    records = [Record(0, "a", kind, fields) for kind, fields in told]
    assert _broken(_verdicts(records))[1] == broken
    _agree(records)


def test_the_slow_judge_sees_what_it_should() -> None:
    """It is no oracle if it is blind: a Notify from a task's own call, and a call that ran unapproved."""
    event = {"agent": "a", "type": "prompt", "origin": "user", "session": "s", "fields": {}, "dangerous": None}
    action = {"agent": "a", "policy": "p", "session": "s"}
    told: list[tuple[str, dict[str, Any]]] = [
        ("workload", {"guards": [GATE]}),
        ("event", {**event, "id": 1, "cause": None}),
        ("action", {**action, "id": 2, "cause": 1, "action": "prepare"}),
        ("event", {**event, "id": 3, "cause": 2, "type": "tool.before", "dangerous": True}),
        ("action", {**action, "id": 4, "cause": 3, "action": "notify"}),
        ("judged", {"agent": "a", "call": 3, "gate": "g", "answer": "ask"}),
        ("verdict", {"agent": "a", "call": 3, "verdict": "ask"}),
        ("ran", {"agent": "a", "call": 3}),
    ]
    found = truth([Record(0, "a", kind, fields) for kind, fields in told])
    assert (found.triggered, found.silenced, found.begun, found.watched) == ({("a", 4)}, {("a", 3)}, 1, 1)
