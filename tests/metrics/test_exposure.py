"""Plans of a run on histories made by hand: how each rollout ended, and agents times time on a bad version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.history.hand import S, agent, body, end, prompt, rec, rollout, run_record

from fleetbeat.checks.model import Judgement
from fleetbeat.history.records import Record
from fleetbeat.metrics import measure
from fleetbeat.metrics.exposure import PLAN_METRICS, Plan, numbers, plans
from fleetbeat.metrics.facts import gather

NAMES = ["a-0", "a-1", "a-2", "a-3"]
HEAD = [
    rollout("v2", b"two", NAMES, waves=[NAMES[:2], NAMES[2:]]),
    body(b"two", "v2"),
    body(b"one", "v1"),
    *map(agent, NAMES),
]
BAD = rec(0, "truth", version="v2", bad=True, errors_per_hour=3.0)


def wave(t: int, number: int, event: str = "begin", name: str = "v2") -> Record:
    return rec(t, "wave", rollout=name, wave=number, event=event, targets=2)


def turn(t: int, event: str, number: int = 1) -> Record:
    return rec(t, "plan", rollout="v2", wave=number, event=event)


def gate(t: int, event: str, why: str | None = None) -> Record:
    return rec(t, "gate", rollout="v2", wave=1, event=event, seen={}, lag=None, why=why)


def found(events: Sequence[Record], head: Sequence[Record] = (*HEAD, BAD)) -> Plan:
    told = sorted([*head, *events], key=lambda record: record.t)
    return plans(gather([run_record(), *told, end()]))[0]


def test_exposure_is_the_time_between_the_version_and_what_took_its_place_summed_over_agents() -> None:
    events = [
        wave(10 * S, 1),
        prompt(12 * S, "a-0", b"two"),
        prompt(14 * S, "a-0", b"two"),
        prompt(20 * S, "a-0", b"one"),
        prompt(50 * S, "a-0", b"two"),
        prompt(30 * S, "a-1", b"two"),
        prompt(31 * S, "a-1", b"two", state="torn"),
        prompt(11 * S, "a-3", b"one"),
    ]
    row = found(events)
    assert row.held_ns == (8 + 10 + 1) * S, "12 to 20, 50 to the end at 60, 30 to the torn prompt at 31"
    assert (row.reached, row.at_end) == (2, 1)
    assert numbers([row])["exposure"] == 19


def test_an_agent_that_was_never_posted_to_and_holds_the_version_is_exposed_too() -> None:
    row = found([wave(10 * S, 1), prompt(20 * S, "child-0", b"two")])
    assert (row.held_ns, row.reached) == (40 * S, 1)


def test_a_rollout_without_gates_is_finished_when_its_last_wave_was_reported_and_no_sooner() -> None:
    first = [wave(10 * S, 1), wave(12 * S, 1, "end")]
    assert (found(first).end, found(first).ended) == ("under way", None)
    row = found([*first, wave(20 * S, 2), wave(22 * S, 2, "end")])
    assert (row.end, row.began, row.ended, row.wave) == ("finished", 10 * S, 22 * S, 2)
    row = found([*first, wave(20 * S, 2), wave(22 * S, 2, "stopped")])
    assert (row.end, row.why) == ("stopped", "a target failed or timed out")
    assert found([]).end == "not begun"


def test_a_last_wave_whose_gate_still_looks_is_not_finished() -> None:
    events = [wave(10 * S, 2), wave(12 * S, 2, "end"), gate(13 * S, "look")]
    assert found(events).end == "under way"
    assert found([*events, turn(15 * S, "finished", 2)]).end == "finished"


def test_a_stop_counts_from_the_decision_not_from_the_end_of_its_rollback() -> None:
    events = [
        wave(10 * S, 1),
        gate(13 * S, "look"),
        gate(14 * S, "failed", "2 violations, at most 0"),
        turn(14 * S, "rollback"),
        turn(40 * S, "rolled-back"),
    ]
    row = found(events)
    assert (row.end, row.ended, row.then, row.why) == ("stopped", 14 * S, "rolled-back", "2 violations, at most 0")
    assert row.looks == 2
    assert numbers([row])["stop_after"] == 4


def test_a_rollback_is_no_rollout_of_its_own_and_another_rollout_of_such_a_name_is() -> None:
    back = rollout("v1", b"one", ["a-0"], rollout="v2/rollback")
    events = [wave(10 * S, 1), turn(14 * S, "rollback")]
    told = sorted([run_record(), *HEAD, back, *events, end()], key=lambda record: record.t)
    assert [row.rollout for row in plans(gather(told))] == ["v2"]
    told.remove(events[1])
    assert [row.rollout for row in plans(gather(told))] == ["v2", "v2/rollback"]


def row(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "rollout": "v2", "version": "v2", "bad": False, "targets": 4, "waves": 2, "wave": 2, "began": 10 * S,
        "ended": 30 * S, "end": "finished", "why": "", "then": "", "looks": 0, "held_ns": 5 * S, "reached": 4, "at_end": 4,
        "p99": 7 * S,
    }  # fmt: skip
    return Plan(**{**fields, **changes})


def test_a_good_version_that_was_stopped_is_a_false_alarm_and_a_bad_one_that_finished_slipped() -> None:
    rows = [row(version="v1", end="stopped"), row(bad=True), row(version="v3", bad=True, end="stopped")]
    told = numbers(rows)
    assert (told["false_alarms"], told["slipped"]) == (1, 1)
    assert told["finish"] is None, "a time to finish of a rollout that did not is none, not 0"
    assert told["stop_after"] is None, "one of the two was never stopped"
    assert told["exposure"] == 10, "the good version counts for nothing"


def test_what_a_run_does_not_have_is_none() -> None:
    good = numbers([row(), row(version="v3", ended=50 * S)])
    assert (good["exposure"], good["slipped"], good["stop_after"]) == (None, None, None)
    assert (good["finish"], good["good_p99"], good["false_alarms"]) == (40, 7, 0)
    assert numbers([row(bad=True)])["false_alarms"] is None
    assert list(numbers([])) == list(PLAN_METRICS)


def test_two_rollouts_of_one_bad_version_are_one_exposure() -> None:
    assert numbers([row(bad=True), row(bad=True, rollout="other:v2")])["exposure"] == 5


def test_plans_stand_in_the_metrics_only_where_somebody_planned() -> None:
    def measured(*more: Record) -> int:
        told = [run_record(), *HEAD, *more, wave(10 * S, 1), end()]
        return len(measure(told, Judgement((), ())).plans)

    assert measured() == 0
    assert measured(BAD) == 1
    assert measured(turn(14 * S, "aborted")) == 1


def test_the_time_to_99_percent_counts_from_the_rollouts_begin_over_all_targets() -> None:
    held = [prompt((12 + n) * S, name, b"two") for n, name in enumerate(NAMES)]
    assert found([wave(10 * S, 1), *held]).p99 == 5 * S
    assert found([wave(10 * S, 1), *held[:3]]).p99 is None


def test_a_target_that_a_plan_stopped_before_is_not_to_be_posted_to() -> None:
    told = [run_record(), *HEAD, wave(10 * S, 1), gate(14 * S, "failed", "x"), turn(14 * S, "aborted"), end()]
    missing = measure(told, Judgement((), ())).missing
    assert {(one.agent, one.action.id) for one in missing} == {(name, "nothing") for name in NAMES}
    told.remove(told[-2])
    assert {one.action.id for one in measure(told, Judgement((), ())).missing} == {"post"}


def test_a_version_may_be_posted_again_where_a_later_one_was_stopped_before_it_came() -> None:
    def told(*more: Record) -> list[str]:
        head = [rollout("v1", b"one", ["a-0"]), rollout("v2", b"two", ["a-0", "a-1"]), body(b"one", "v1")]
        head += [body(b"two", "v2"), agent("a-0"), agent("a-1"), wave(S, 1, name="v1"), wave(10 * S, 1)]
        one = measure([run_record(), *head, *more, end()], Judgement((), ())).convergence[0]
        return [row.action.id for row in one.missing]

    assert told(turn(20 * S, "aborted")) == ["post"]
    assert told() == ["nothing"], "v2 is still to come"


def test_a_version_that_was_rolled_back_to_is_not_undone_by_the_one_that_was_rolled_back() -> None:
    """v1 was first, then v2, then v1 again, which failed: v1 is what is missing now, and v2 nobody wants."""

    def post(t: int, name: str, version: str, operator: str = "op") -> Record:
        fields = {"post": name, "version": version, "agent": "a-0", "operator": operator, "attempt": 1}
        return rec(t, "post.plan", **fields, body="x", write="atomic")

    told = [
        run_record(),
        rollout("v1", b"one", ["a-0"]),
        rollout("v2", b"two", ["a-0"]),
        body(b"one", "v1"),
        body(b"two", "v2"),
        agent("a-0"),
        wave(S, 1, name="v1"),
        post(S, "v1/a-0#1", "v1"),
        wave(10 * S, 1),
        post(10 * S, "v2/a-0#1", "v2"),
        turn(20 * S, "rollback"),
        post(20 * S, "op~v2:v1/a-0#1", "v1", "op~v2"),
        end(),
    ]
    one, two = measure(told, Judgement((), ())).convergence
    assert one.missing[0].action.id != "nothing"
    assert two.missing[0].action.id == "nothing"
