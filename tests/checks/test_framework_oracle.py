"""Both checks against the rules as prose, told a second time: whole histories at once, by walking causes up. Nothing is
shared but the records."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.checks.steps import act, answers, call, event, gate, judged, judged_by, ran, verdict, workload
from tests.history.hand import end, run_record
from tests.history.test_jsonl import some_record

from fleetbeat.checks import decide, judge
from fleetbeat.history.records import Record

ACTIONS = ("notify", "inject", "prepare", "emit")
#: How strict an answer or verdict is; no verdict is as strict as deny.
STRICT = {"allow": 0, "ask": 1, "raised": 1, "slow": 1, "deny": 2, None: 2}


@st.composite
def causes(draw: st.DrawFn) -> list[Record]:
    """Events and actions, each following from any one before it that may bring it about, or from nothing."""
    told: list[Record] = [
        event(1),
        act(2, draw(st.sampled_from(["prepare", "prepare", "inject", "emit", "notify"])), 1),
    ]
    for id in range(3, draw(st.integers(5, 14))):
        events = [one["id"] for one in told if one.kind == "event"]
        anything = [one["id"] for one in told]
        if events and draw(st.integers(0, 2)):
            told.append(act(id, draw(st.sampled_from(ACTIONS)), draw(st.sampled_from(events[-4:]))))
        else:
            cause = (
                draw(st.sampled_from([*anything[-4:], *anything[-2:]]))
                if anything and draw(st.integers(0, 4))
                else None
            )
            told.append(event(id, draw(st.sampled_from(["ready", "ready", "tool.after", "notice"])), cause))
    return told


def self_triggered(told: Sequence[Record]) -> list[int]:
    """Ids of the actions that break no-self-trigger."""
    known = {one["id"]: one for one in told}

    def way(id: int) -> list[Record]:
        """From where it all came from to this one."""
        one = known[id]
        return [*(way(one["cause"]) if one["cause"] is not None else []), one]

    def of_chain(id: int) -> list[Record]:
        """From the beginning of its framework chain to this one; empty if it is on none."""
        whole = way(id)
        begins = [n for n, one in enumerate(whole) if one.get("action") in ("prepare", "inject", "emit")]
        return whole[begins[0] :] if begins else []

    notified: dict[int, int] = {}
    broken = []
    for one in told:
        chain = of_chain(one["id"]) if one.kind == "action" else []
        if len(chain) < 2 or one["action"] == "emit":
            continue
        begin, before = chain[0], chain[-2]
        if one["action"] != "notify":
            broken.append(one["id"])
            continue
        is_own_ready = before["id"] != begin["id"] and before.get("type") == "ready" and before["cause"] == begin["id"]
        is_near = is_own_ready if begin["action"] == "prepare" else len(chain) <= 3
        if begin["id"] in notified or not is_near:
            broken.append(one["id"])
        notified.setdefault(begin["id"], one["id"])
    return broken


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(causes())
def test_chains_are_judged_as_the_prose_has_it(told: list[Record]) -> None:
    found = judged_by(*told)[0]
    assert [finding.chain[-1].id for finding in found.findings] == self_triggered(told)
    assert found.outcome == ("broken" if self_triggered(told) else "held")


GATES = (gate("a", "rm *"), gate("b", "* /"), gate("c", "curl *"))
COMMANDS = {"rm /": "ab", "rm x": "a", "curl x": "c", "ls": ""}


@st.composite
def calls(draw: st.DrawFn) -> list[Record]:
    """Calls, what gates were asked and said, what came of it: of each as much and in the order that it may happen."""
    told: list[Record] = []
    for id in range(1, draw(st.integers(2, 5)) * 10, 10):
        told.append(call(id, draw(st.sampled_from(sorted(COMMANDS))), draw(st.integers(0, 5)) > 0))
        for name in draw(st.lists(st.sampled_from("abc"), max_size=3, unique=True)):
            told.append(judged(id, name, draw(st.sampled_from(["allow", "ask", "deny", "raised", "slow"]))))
        says = draw(st.sampled_from(["allow", "allow", "ask", "deny", None]))
        told.append(verdict(id, says))
        if draw(st.booleans()):
            told.append(answers(id + 1, id, draw(st.sampled_from(["approve", "reject", "ignore"]))))
        if draw(st.booleans()):
            told.append(ran(id))
    return told


def gone_past(told: Sequence[Record]) -> list[int]:
    """Ids of the dangerous calls at which guard-not-silenced breaks."""
    broken = []
    for one in told:
        if one.get("dangerous") is not True:
            continue
        of_it = [other for other in told if other.get("call") == one["id"]]
        watching = COMMANDS[one["fields"]["command"]]
        said = {
            other["gate"]: other["answer"] for other in of_it if other.kind == "judged" and other["gate"] in watching
        }
        (says,) = [other["verdict"] for other in of_it if other.kind == "verdict"]
        did_run = any(other.kind == "ran" for other in of_it)
        approved = any(
            other.get("type") == "answer" and other["fields"] == {"call": one["id"], "answer": "approve"}
            for other in told
        )
        strictest = max((STRICT[answer] for answer in said.values()), default=0)
        unasked = len(said) < len(watching) and (did_run or says == "ask")
        milder = STRICT[says] < strictest
        forced = did_run and (strictest == 2 or (strictest == 1 and not approved))
        if watching and (unasked or milder or forced):
            broken.append(one["id"])
    return broken


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(calls())
def test_calls_are_judged_as_the_prose_has_it(told: list[Record]) -> None:
    found = judged_by(workload(*GATES), *told)[1]
    assert sorted({finding.chain[-1].id for finding in found.findings}) == gone_past(told)
    assert len(found.findings) == len(gone_past(told))


def test_those_histories_break_and_hold_in_many_ways() -> None:
    """Or the two above would compare nothing."""
    broken: list[int] = []

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(causes())
    def count(told: list[Record]) -> None:
        broken.append(len(self_triggered(told)))

    count()
    assert 20 < sum(1 for number in broken if number) < len(broken) - 20


OF_FRAMEWORK = (
    "workload",
    "policies",
    "core.begin",
    "core.rules",
    "event",
    "judged",
    "verdict",
    "ran",
    "action",
    "unseen",
)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(some_record().filter(lambda record: record.kind in OF_FRAMEWORK), max_size=12))
def test_no_history_that_fits_the_schema_makes_a_check_raise(told: list[Record]) -> None:
    middle = sorted(told, key=lambda record: record.t)
    records = [run_record(), workload(gate("a", "*")), *middle, end(2**62)]
    found = judge(records)
    assert [verdict.reason for verdict in found.verdicts if "raised" in verdict.reason] == []
    assert decide({}, found, records).exit_code in (1, 3)
