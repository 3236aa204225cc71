"""The framework's checks over whole runs: what they do not read, how they stand beside the others, when a run is vacuous."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.checks.steps import act, call, event, gate, history, judged, prepare, ran, ready, verdict
from tests.checks.trial import RIGHT, SOME_WRONG, played, verdicts
from tests.histories.tell import applied

from fleetbeat.checks import CHECKS, FRAMEWORK_CHECKS, Decision, decide, judge
from fleetbeat.checks.chains import drawn, shortest
from fleetbeat.checks.framework import Streamed
from fleetbeat.history import jsonl
from fleetbeat.history.records import Record
from fleetbeat.history.strip import without_bodies, without_ops
from fleetbeat.scenario.words import OF_FRAMEWORK

BOTH = ("reference", *SOME_WRONG)


def test_a_wrong_core_is_broken_and_a_right_one_is_not() -> None:
    """So that what follows compares verdicts of both kinds."""
    found = {core: tuple(one.outcome for one in verdicts(played(core))) for core in (*RIGHT, *SOME_WRONG)}
    assert {found[core] for core in RIGHT} == {("held", "held")}
    assert {found[core] for core in SOME_WRONG} == {("broken", "held"), ("held", "broken")}


# --- what cores wrote ---


def _rewritten(records: tuple[Record, ...], origin: str | None) -> list[Record]:
    """With no mark, no entry of a core's log, and `origin` for what cores wrote as origins; None: taken out."""
    made = []
    for record in records:
        if record.kind == "core.log":
            continue
        fields: dict[str, Any] = dict(record.fields)
        is_written = record.kind == "event" and (fields["type"] == "ready" or fields["type"] not in HARNESS_TYPES)
        if record.kind == "action" or is_written:
            fields["origin"] = origin
        fields.pop("mark", None)
        made.append(Record(record.t, record.actor, record.kind, fields))
    return made


HARNESS_TYPES = ("prompt", "reply", "tool.before", "tool.after", "file.changed", "answer", "dismissed")


@pytest.mark.parametrize("core", BOTH)
@pytest.mark.parametrize("origin", [None, "user"])
def test_erasing_or_rewriting_all_that_a_core_wrote_changes_no_verdict(core: str, origin: str | None) -> None:
    assert verdicts(_rewritten(played(core), origin)) == verdicts(played(core))


def test_cores_do_write_marks_origins_and_logs() -> None:
    """Or there would be nothing to erase."""
    records = played("reference")
    assert any(record.get("mark") is not None for record in records if record.kind == "action")
    assert any(record["origin"] == "proactive" for record in records if record.kind == "event")
    assert any(record.kind == "core.log" for record in records)


# --- what is left out of a history ---


@pytest.mark.parametrize("core", ["reference", "core-notify-as-event", "core-silences-gates"])
@pytest.mark.parametrize("strip", [without_ops, without_bodies])
def test_what_a_user_leaves_out_changes_no_verdict(core: str, strip: Callable[[Any], list[Record]]) -> None:
    bare = [jsonl.line(record) for record in strip(played(core))]
    again = [_read(line) for line in bare]
    assert [one.outcome for one in verdicts(again)] == [one.outcome for one in verdicts(played(core))]
    assert [len(one.findings) for one in verdicts(again)] == [len(one.findings) for one in verdicts(played(core))]


def _read(line: bytes) -> Record:
    import json

    value = json.loads(line)
    return Record(value.pop("t"), value.pop("actor"), value.pop("kind"), value)


def test_without_bodies_no_text_of_a_body_is_left_in_the_frameworks_records() -> None:
    records = list(played("reference"))
    said = ["There are notes for you.", "Really.", "The notes have changed.", "Ask less?", "fetch, on: tool.before"]
    told = jsonl.dumps(records).decode()
    assert all(text in told for text in said[:4])
    bare = jsonl.dumps(without_bodies(records)).decode()
    assert [text for text in said if text in bare] == []
    assert without_bodies(without_bodies(records)) == without_bodies(records)


def test_without_bodies_a_cores_own_words_stay_only_where_they_look_like_identifiers() -> None:
    secret = "the launch code is 7"
    told = [
        act(2, "prepare", 1, secret, mark={"why": secret, "hops": 1}, origin=secret),
        event(3, secret, 2, fields={"text": "word", "n": 3}),
        event(4, "ready", 2, fields={"task": 2, "policy": secret, "result": "word"}),
        Record(0, "a", "core.log", {"agent": "a", "event": "held", "fields": {"policy": secret, "action": "inject"}}),
        Record(0, "a", "core.failed", {"agent": "a", "event": 1, "error": f"KeyError: {secret}"}),
    ]
    bare = without_bodies(told)
    assert secret not in jsonl.dumps(bare).decode()
    assert "word" not in jsonl.dumps(bare).decode()
    assert bare[0]["mark"]["hops"] == 1
    assert bare[3]["fields"]["action"] == "inject"
    assert bare[4]["error"] == "KeyError"


# --- beside the other checks ---


def test_the_two_are_judged_only_where_there_is_a_workload() -> None:
    names = [check.invariant.id for check in CHECKS]
    assert [one.invariant for one in judge(applied().history()).verdicts] == names
    assert [one.invariant for one in judge(played("reference")).verdicts] == [*names, *OF_FRAMEWORK]
    assert [check.invariant.id for check in FRAMEWORK_CHECKS] == list(OF_FRAMEWORK)


@pytest.mark.parametrize("core", ["reference", "core-notify-as-event", "core-silences-gates"])
def test_the_judge_says_what_the_stream_says_and_a_window_that_is_wide_enough_as_well(core: str) -> None:
    told = judge(played(core)).verdicts[-2:]
    assert told == verdicts(played(core))
    assert told == verdicts(played(core), window=8192)


def test_verdicts_may_be_asked_for_at_any_time() -> None:
    streamed = Streamed()
    assert [one.outcome for one in streamed.verdicts()] == ["held", "held"]
    for record in played("core-no-guard"):
        streamed.feed(record)
        if streamed.verdicts()[0].outcome == "broken":
            break
    (finding,) = streamed.verdicts()[0].findings
    assert "the framework's chain begins" in drawn(finding.chain)[1]


def test_every_finding_of_a_run_has_a_chain_that_ends_in_what_breaks_it() -> None:
    for core in SOME_WRONG:
        for one in verdicts(played(core)):
            assert all(finding.chain and f"#{finding.chain[-1].id}" in finding.message for finding in one.findings)
            assert len(shortest([finding.chain for finding in one.findings])) <= 6


# --- vacuity and expectations ---


def decided(*told: Record, rollout: bool = False, **expect: Any) -> Decision:
    records = history(*told, guards=[gate("asks")], rollout=rollout)
    return decide(expect, judge(records), records)


JUDGED = [call(9), judged(9, "asks", "deny"), verdict(9, "deny")]


def test_a_run_with_a_chain_and_a_dangerous_call_is_green_without_any_post() -> None:
    found = decided(event(1), prepare(2, 1), *JUDGED)
    assert (found.exit_code, found.verdict, found.reasons) == (0, "held", ())


def test_a_run_in_which_the_framework_began_no_chain_is_vacuous() -> None:
    found = decided(event(1), act(2, "notify", 1), *JUDGED)
    assert (found.exit_code, found.verdict) == (3, "vacuous")
    assert found.reasons == ("no framework chain began: no core prepared, injected or emitted anything",)


def test_a_run_without_a_dangerous_call_is_vacuous() -> None:
    found = decided(event(1), prepare(2, 1), call(3, dangerous=False))
    assert (found.exit_code, found.reasons) == (3, ("no dangerous call was made",))


def test_rollouts_of_which_no_post_began_are_vacuous_beside_a_workload_too() -> None:
    assert decided(event(1), prepare(2, 1), *JUDGED, rollout=True).reasons == ("no post began",)


def test_a_broken_run_is_broken_even_if_it_is_vacuous() -> None:
    found = decided(event(1), prepare(2, 1), ready(3, 2), prepare(4, 3))
    assert found.exit_code == 1
    assert found.reasons[0].startswith("no-self-trigger is broken: a: prepare #4 (p) at 4s")
    assert "no dangerous call was made" in found.reasons


def test_what_is_expected_to_break_breaks_as_expected() -> None:
    told = [event(1), prepare(2, 1), ready(3, 2), prepare(4, 3), *JUDGED]
    found = decided(*told, broken=["no-self-trigger"])
    assert (found.exit_code, found.verdict) == (0, "broken-as-expected")
    assert decided(*told, broken=["guard-not-silenced"]).exit_code == 1


def test_an_unknown_verdict_makes_the_run_unknown() -> None:
    found = decided(event(1), prepare(2, 1), prepare(4, 3), *JUDGED)
    assert (found.exit_code, found.verdict) == (3, "unknown")


def test_the_reason_counts_findings_that_were_not_kept() -> None:
    told = [one for n in range(1, 2401, 2) for one in (call(n), verdict(n, "allow"), ran(n))]
    found = decided(event(1), prepare(2, 1), *told)
    assert "(and 1199 more)" in found.reasons[0]
