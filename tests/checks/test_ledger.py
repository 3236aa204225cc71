"""Event ledgers of other systems: judged as far as they tell enough, and what is missing is said."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.trial import RIGHT, played, verdicts

from fleetbeat.checks.ledger import Ledger
from fleetbeat.checks.ledger_judge import LedgerJudgement, is_ledger, judge_ledger, judgement_of
from fleetbeat.checks.ledger_write import ledger_lines, write, written
from fleetbeat.history import jsonl
from fleetbeat.history.jsonl import HistoryError

Line = dict[str, Any]
GATES: Line = {
    "action": "gates",
    "gates": [{"gate": "asks", "on": "tool.before", "when": {"command": "rm *"}, "answer": "ask"}],
}


def _fail(got: str) -> Any:
    raise HistoryError(got)


def judged(*lines: Line, window: int | None = None) -> LedgerJudgement:
    ledger = Ledger(window)
    for number, line in enumerate(lines):
        ledger.feed({"ts": number, **line}, _fail)
    return judgement_of(ledger)


def event(id: int | str, type: str = "prompt", cause: int | str | None = None, **more: Any) -> Line:
    return {"id": id, "type": type, "origin": "agent", "session": "s", "cause": cause, **more}


def act(id: int | str, action: str, cause: int | str | None, **more: Any) -> Line:
    return {"id": id, "action": action, "policy": "p", "session": "s", "cause": cause, **more}


def call(id: int, command: str = "rm -rf /", dangerous: bool | None = True) -> Line:
    label = {} if dangerous is None else {"dangerous": dangerous}
    return event(id, "tool.before", fields={"command": command}, **label)


def fact(action: str, id: int, **more: Any) -> Line:
    return {"action": action, "call": id, **more}


SPIRAL = [event(1), act(2, "prepare", 1), event(3, "ready", 2), act(4, "prepare", 3)]
ONCE = [event(1), act(2, "prepare", 1), event(3, "ready", 2), act(4, "notify", 3)]
ASKED = [call(10), fact("judged", 10, gate="asks", answer="ask"), fact("verdict", 10, verdict="ask")]
APPROVED = [*ASKED, fact("answer", 10, answer="approve"), fact("ran", 10)]


def outcomes(found: LedgerJudgement) -> list[str]:
    return [one.outcome for one in found.verdicts]


# --- whole ledgers ---


def test_a_ledger_that_tells_all_and_breaks_nothing_holds() -> None:
    found = judged(GATES, *ONCE, *APPROVED)
    assert (found.code, found.word, found.missing, found.reasons) == (0, "held", (), ())
    assert (found.lines, found.events, found.actions, found.sessions) == (10, 3, 2, 1)


def test_a_spiral_breaks_it_and_has_its_chain() -> None:
    found = judged(GATES, *SPIRAL, *APPROVED)
    assert (found.code, outcomes(found)) == (1, ["broken", "held"])
    assert [link.id for link in found.verdicts[0].findings[0].chain] == [1, 2, 3, 4]


def test_ids_may_be_texts() -> None:
    told = [event("e1"), act("p1", "prepare", "e1"), event("r1", "ready", "p1"), act("x", "inject", "r1")]
    assert "inject #x (p)" in judged(*told).verdicts[0].findings[0].message


def test_ids_of_two_agents_do_not_meet() -> None:
    other = [{**line, "agent": "b"} for line in ONCE]
    assert outcomes(judged(*ONCE, *other))[0] == "held"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([call(10), fact("verdict", 10, verdict="allow"), fact("ran", 10), *APPROVED[:0]], "gate asks was not asked"),
        ([*ASKED[:2], fact("verdict", 10, verdict="allow")], "was allowed although gate asks said ask"),
        ([*ASKED, fact("ran", 10)], "nobody approved it"),
        ([*ASKED, event(11, "tool.after", 10)], "nobody approved it"),
        (
            [*ASKED, event(11, "answer", 10, fields={"call": 10, "answer": "reject"}), fact("ran", 10)],
            "nobody approved it",
        ),
    ],
)
def test_a_call_that_goes_past_a_gate_breaks_it(told: list[Line], words: str) -> None:
    told_elsewhere = [
        call(20), fact("judged", 20, gate="asks", answer="ask"), fact("verdict", 20, verdict="ask"),
        fact("answer", 20, answer="reject"),
    ]  # fmt: skip
    found = judged(GATES, *ONCE, *told_elsewhere, *told)
    assert outcomes(found) == ["held", "broken"]
    assert words in found.verdicts[1].findings[0].message


# --- what is missing ---


def test_a_line_without_a_cause_leaves_what_follows_from_it_unknown() -> None:
    told = [{name: value for name, value in line.items() if name != "cause"} for line in SPIRAL]
    found = judged(*told)
    assert outcomes(found)[0] == "unknown"
    assert found.verdicts[0].reason == "2 actions cannot be placed: 4 lines do not tell a cause"
    assert "cause: 4 lines do not have it" in found.missing


def test_a_cause_that_is_not_in_the_ledger_is_unknown_and_not_held() -> None:
    found = judged(event(1), act(2, "prepare", 1), act(5, "notify", 4))
    assert outcomes(found)[0] == "unknown"
    assert "1 line names one that is not among the last" in found.verdicts[0].reason


def test_causes_that_lead_to_no_action_may_be_missing() -> None:
    told = event(9, "tool.after")
    del told["cause"]
    assert outcomes(judged(*ONCE, told, event(11, "x", 99)))[0] == "held"


def test_a_call_without_a_label_is_unknown_and_it_is_said_whether_it_would_break() -> None:
    told = [call(10, dangerous=None), fact("judged", 10, gate="asks", answer="deny"), fact("ran", 10)]
    found = judged(GATES, *ONCE, *told)
    assert outcomes(found)[1] == "unknown"
    assert (
        "1 call without a label, dangerous or not; 1 of these would break it if dangerous" in found.verdicts[1].reason
    )
    assert "dangerous: 1 tool.before line without it" in found.missing


def test_without_gates_a_call_is_judged_by_the_gates_that_were_asked() -> None:
    ran = [call(10), fact("judged", 10, gate="x", answer="deny"), fact("verdict", 10, verdict="allow"), fact("ran", 10)]
    assert outcomes(judged(*ONCE, *ran))[1] == "broken"
    found = judged(*ONCE, *APPROVED)
    assert outcomes(found)[1] == "unknown"
    assert "no line says which gates are in force" in found.verdicts[1].reason


def test_gates_of_null_are_unknown_from_there_on() -> None:
    assert outcomes(judged(GATES, *ONCE, {"action": "gates", "gates": None}, *APPROVED))[1] == "unknown"


def test_without_any_word_of_who_was_asked_nobody_is_blamed_for_not_asking() -> None:
    found = judged(GATES, *ONCE, call(10), fact("verdict", 10, verdict="allow"), fact("ran", 10))
    assert outcomes(found)[1] == "unknown"
    assert "1 dangerous call went through, and no line tells which gates were asked" in found.verdicts[1].reason
    assert "judged: no line tells which gates were asked" in found.missing


def test_without_any_word_of_users_nobody_is_blamed_for_what_they_did_not_approve() -> None:
    found = judged(GATES, *ONCE, *ASKED, fact("ran", 10))
    assert outcomes(found)[1] == "unknown"
    assert "no line tells what users answered" in found.verdicts[1].reason


def test_a_call_that_ran_and_was_never_begun_is_unknown() -> None:
    assert outcomes(judged(GATES, *ONCE, *APPROVED, fact("ran", 77)))[1] == "unknown"


def test_a_window_that_is_too_short_is_unknown_and_not_held() -> None:
    told = [
        event(1),
        act(2, "prepare", 1),
        *(event(n) for n in range(10, 200)),
        event(3, "ready", 2),
        act(4, "notify", 3),
    ]
    assert outcomes(judged(*told, window=64))[0] == "unknown"
    assert outcomes(judged(*told))[0] == "held"


def test_nothing_that_the_framework_began_and_no_dangerous_call_are_vacuous() -> None:
    found = judged(GATES, event(1), act(2, "notify", 1), call(3, dangerous=False))
    assert (found.code, found.word) == (3, "vacuous")
    assert [reason.split(":")[0] for reason in found.reasons] == [
        "no framework chain began",
        "no dangerous call was made",
    ]


# --- whose act it was ---


def test_what_a_user_does_starts_afresh_whatever_its_cause() -> None:
    told = [*ONCE, event(5, "prompt", 4, origin="user"), act(6, "prepare", 5)]
    assert outcomes(judged(*told))[0] == "held"
    assert outcomes(judged(*[{**line, "origin": "agent"} for line in told]))[0] == "broken"


def test_a_user_without_a_cause_is_not_missing_one() -> None:
    told = event(1, origin="user")
    del told["cause"]
    assert judged(told, *ONCE[1:]).missing == ()


def test_an_emission_does_not_pass_for_a_user() -> None:
    told = [event(1), act(2, "emit", 1), event(3, "prompt", 2, origin="user"), act(4, "prepare", 3)]
    assert outcomes(judged(*told))[0] == "broken"


def test_where_prepares_are_not_logged_a_proactive_event_begins_the_chain() -> None:
    told = [event(1), event(2, "ready", 1, origin="proactive")]
    assert outcomes(judged(*told, act(3, "notify", 2)))[0] == "held"
    found = judged(*told, act(3, "prepare", 2))
    assert (outcomes(found)[0], found.verdicts[0].examined) == ("broken", 1)


# --- lines ---


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"id": 1}, "type: got nothing"),
        ({"type": "prompt"}, "id: got nothing, expected a whole number or text"),
        (event(True), "id: got True"),
        (event(""), "id: got ''"),
        (event(1.5), "id: got 1.5"),  # type: ignore[arg-type]
        (event(2, cause=[1]), "cause: got [1]"),  # type: ignore[arg-type]
        (event(2, session=3), "session: got 3"),
        (event(2, ts="yesterday"), "ts: got 'yesterday', expected seconds"),
        (event(2, ts=True), "ts: got True"),
        (event(2, ts=1e300), "ts: got 1e+300"),
        (act(2, "Notify", 1), "action: got 'Notify', expected notify, inject"),
        (act(2, ["notify"], 1), "action: got ['notify']"),  # type: ignore[arg-type]
        ({**call(2), "dangerous": "yes"}, "dangerous: got 'yes', expected true or false"),
        (fact("judged", 2, gate="g", answer="perhaps"), "answer: got 'perhaps', expected allow, deny"),
        (fact("judged", 2, answer="ask"), "gate: got nothing"),
        (fact("verdict", 2, verdict="maybe"), "verdict: got 'maybe', expected allow, deny, ask, or null"),
        (fact("answer", 2, answer=["approve"]), "answer: got ['approve']"),
        ({"action": "ran"}, "call: got nothing"),
        ({"action": "gates", "gates": {}}, "gates: got {}, expected a list"),
        ({"action": "gates", "gates": [{"gate": "g"}]}, "gates.0"),
        ({"action": "gates", "gates": [{"observer": "o", "on": "x", "action": {"notify": "x"}}]}, "expected a gate"),
        (event(7), "id: got 7 again"),
        (event(2, "Notify"), "type: got 'Notify' and no action, expected action: notify"),
    ],
)
def test_a_line_that_is_none_says_what_was_got_and_expected(line: Line, words: str) -> None:
    with pytest.raises(HistoryError) as caught:
        judged(event(7), line)
    assert words in str(caught.value)


def test_times_may_be_those_of_a_calendar_and_may_go_back() -> None:
    told = [{**event(1), "ts": "2026-01-02T03:04:05.5Z"}, {**event(2), "ts": "2026-01-02T03:04:07+00:00"},
            {**event(3), "ts": "2026-01-02T03:04:06"}]  # fmt: skip
    assert judged(*told).duration == 1_500_000_000
    assert judged({**event(1), "ts": 1_700_000_000.5}, {**event(2), "ts": 1_700_000_003}).duration == 2_500_000_000
    assert judged({**event(1), "ts": 5}, {**event(2), "ts": 7.25}).duration == 7_250_000_000


def test_an_event_without_fields_has_its_other_keys_for_them() -> None:
    told = {"id": 10, "type": "tool.before", "origin": "agent", "cause": None, "command": "rm -rf /", "dangerous": True}
    found = judged(GATES, *ONCE, *ASKED[:0], told, *APPROVED[1:])
    assert outcomes(found) == ["held", "held"]
    assert found.verdicts[1].examined == 1


#: What stands in lines that nobody meant.
_values = st.sampled_from(
    [None, True, 0, 1, 2, 10**400, -1.5, "", "1", "ask", "approve", "prompt", "tool.before", "0001-01-01T00:00+23:00",
     "9999-12-31", [], [1], {}, {"call": 1, "answer": "approve"}, {"call": [1]},
     [{"gate": "g", "on": "tool.before", "answer": "ask"}], [[]], float("inf"), float("nan")]
)  # fmt: skip
_lines = st.fixed_dictionaries(
    {},
    optional={
        "action": st.sampled_from(["notify", "prepare", "emit", "gates", "judged", "verdict", "answer", "ran", None])
        | _values,
        "id": st.integers(1, 9) | _values,
        "type": st.sampled_from(["prompt", "tool.before", "tool.after", "ready", "answer"]) | _values,
        "call": st.integers(1, 9) | _values,
        **dict.fromkeys(("ts", "agent", "origin", "session", "cause", "fields", "dangerous", "gates", "gate"), _values),
        **dict.fromkeys(("answer", "verdict", "policy"), _values),
    },
)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(_lines, max_size=8))
def test_a_line_is_taken_or_refused_whatever_stands_in_it(told: list[Line]) -> None:
    ledger = Ledger()
    for line in told:
        with suppress(HistoryError):
            ledger.feed(line, _fail)
    assert judgement_of(ledger).code in (0, 1, 3)


# --- files ---


def lines(path: Path, *told: Any) -> Path:
    path.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in told))
    return path


def test_a_ledger_is_told_from_a_history_by_its_first_line(tmp_path: Path) -> None:
    assert is_ledger(lines(tmp_path / "l", *ONCE))
    for number, other in enumerate(("{}", "[]", "no", "", '{"kind":"run","id":1}', '{"t":0}')):
        assert not is_ledger(lines(tmp_path / str(number), other))
    assert not is_ledger(tmp_path / "missing")


def test_a_file_is_judged_line_by_line_and_a_bad_line_named(tmp_path: Path) -> None:
    path = lines(tmp_path / "l", *ONCE, "", "{")
    with pytest.raises(HistoryError, match=r"l:6: got b'\{"):
        judge_ledger(path)
    path = lines(tmp_path / "l", GATES, *SPIRAL)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert judge_ledger(path).code == 1


# --- a run's own ledger ---


@pytest.mark.parametrize(
    "core", [*RIGHT, "core-no-guard", "core-notify-as-event", "core-forgets-at-restart", "core-silences-gates",
             "core-failure-cancels-deny", "core-body-removes-guard"]
)  # fmt: skip
def test_the_ledger_of_a_run_has_the_verdicts_of_its_history(core: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    write(path, played(core))
    assert is_ledger(path)
    found = judge_ledger(path)
    assert found.verdicts == verdicts(played(core))
    assert found.missing == ()
    assert found.code == (0 if core in RIGHT else 1)


def test_a_history_without_a_workload_has_no_ledger() -> None:
    assert list(written(record for record in played("reference") if record.kind in ("run", "agent", "beat"))) == []


def test_rules_that_nobody_saw_are_gates_of_null_in_the_ledger() -> None:
    records = [record for record in played("reference") if record.kind != "policies"]
    gates = [line["gates"] for line in ledger_lines(records) if line.get("action") == "gates"]
    assert None in gates
    assert [] not in gates


def test_a_ledger_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    bad = [
        *played("reference")[:40],
        jsonl.Record(10**9, "a", "event", {"agent": "a", "type": "x", "fields": {"n": {1}}}),
    ]
    with pytest.raises(TypeError):
        write(tmp_path / "ledger.jsonl", bad)
    assert list(tmp_path.iterdir()) == []
