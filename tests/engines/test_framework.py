"""The framework played over a history of the signal: rules reach a core when they are effective on its agent, a core lives
and dies with its agent, and nothing else of a run is touched.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.engines import ENGINES
from fleetbeat.engines.des import run
from fleetbeat.engines.framework import turns_of
from fleetbeat.history.records import KINDS, Record
from fleetbeat.history.shape import problem
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load

OURS = ("workload", "policies", "ran", "verdict", "judged", "event", "action", "task.end", "limit")
BODY = """\
|
      Be careful.
      ```yaml policies
      policies:
        - {{gate: {gate}, on: tool.before, when: {{command: "drop *"}}, answer: deny}}
        - {{observer: homework, on: [prompt, ready], action: {{prepare: {{duration_s: 3, calls: 1}}}}}}
      ```
"""
FLEET = f"""
name: both-halves
duration: 60s
seed: 5
fleet:
  agents: 3
  heartbeat: {{interval: 5s}}
  lifecycle: {{crashes: [{{agents: a-1, at: 30s, restart: 4s}}], rebuilds: [{{agents: a-2, at: 40s}}]}}
rollouts:
  - version: v1
    at: 4s
    targets: all
    body: {BODY.format(gate="first")}
  - version: v2
    at: 20s
    targets: all
    body: {BODY.format(gate="second")}
workload: {{sessions: 2, prompts: {{per_hour: 600, think: 1s}}, dangers: {{share: 30%}}}}
"""


def play(text: str = FLEET, sets: Iterable[str] = ()) -> list[Record]:
    return ENGINES.engine("des")(load(text, overrides=list(sets)))


@pytest.fixture(scope="module")
def both() -> list[Record]:
    return play()


def is_ours(record: Record) -> bool:
    return record.kind in OURS or record.kind.startswith("core.")


def of(records: Iterable[Record], agent: str) -> list[tuple[int, str, object]]:
    return [(record.t, record.kind, record.fields) for record in records if record.get("agent") == agent]


def test_every_record_fits_the_schema_and_the_history_is_in_order(both: list[Record]) -> None:
    assert {record.kind for record in both} <= set(KINDS)
    assert [problem(record.kind, record.fields) for record in both if is_ours(record)].count(None) == sum(
        map(is_ours, both)
    )
    assert {"event", "action", "judged", "verdict", "ran", "task.end"} <= {record.kind for record in both}
    times = [record.t for record in both]
    assert times == sorted(times)
    assert [record.kind for record in both].index("end") == len(both) - 1


def test_the_signal_s_records_are_those_of_a_run_without_a_workload(both: list[Record]) -> None:
    assert [record for record in both if not is_ours(record)] == run(load(FLEET))


def test_policies_come_into_force_on_each_agent_at_its_own_lag(both: list[Record]) -> None:
    effective = [(r["agent"], r.t, r["norm"]) for r in both if r.kind == "prompt" and r["norm"] is not None]
    in_force = [(r["agent"], r.t, r["norm"]) for r in both if r.kind == "core.rules" and r["norm"] is not None]
    assert in_force == effective
    first = {agent: at_ns for agent, at_ns, _ in reversed(in_force)}
    assert len(set(first.values())) == 3  # each agent's beat is another
    asked = {}
    for record in both:
        if record.kind == "judged" and record["gate"] == "second":
            asked.setdefault(record["agent"], record.t)
    newest = {agent: at_ns for agent, at_ns, norm in reversed(in_force) if norm == in_force[-1][2]}
    assert asked.keys() == newest.keys()
    assert all(asked[agent] >= newest[agent] for agent in asked)


def test_a_gate_is_asked_no_more_once_its_body_is_replaced(both: list[Record]) -> None:
    last: dict[str, int] = {}
    for record in both:
        if record.kind == "judged" and record["gate"] == "first":
            last[record["agent"]] = record.t
    replaced = {
        r["agent"]: r.t for r in both if r.kind == "core.rules" and r["norm"] is not None and r.t > 20_000_000_000
    }
    assert last.keys() == replaced.keys()
    assert all(last[agent] <= replaced[agent] for agent in last)


def test_a_core_dies_and_boots_with_its_agent_and_keeps_its_policies(both: list[Record]) -> None:
    lives = [(r.t, r.kind.split(".")[1], r["life"]) for r in both if r.kind.startswith("life.") and r["agent"] == "a-1"]
    cores = [
        (r.t, r.kind.split(".")[1], r["life"])
        for r in both
        if r.kind in ("core.begin", "core.end") and r["agent"] == "a-1"
    ]
    assert cores == lives
    down, up = 30_000_000_000, 34_000_000_000
    handed = [r.t for r in both if r.kind == "event" and r["agent"] == "a-1"]
    assert not any(down < at_ns < up for at_ns in handed)
    assert any(at_ns > up for at_ns in handed)
    boot_flush = next(r.t for r in both if r.kind == "core.rules" and r["agent"] == "a-1" and r.t > up)
    judged = [(r.t, r["gate"]) for r in both if r.kind == "judged" and r["agent"] == "a-1" and r.t > up]
    assert {"second", "rm-rf"} <= {gate for _, gate in judged}
    assert boot_flush >= up


def test_another_agent_moves_nothing_on_the_others() -> None:
    few, more = play(), play(sets=["fleet.agents=4"])
    for agent in ("a-0", "a-1", "a-2"):
        assert of(filter(is_ours, few), agent) == of(filter(is_ours, more), agent)


def test_what_users_ask_for_does_not_know_the_core() -> None:
    texts = {}
    for core in ("reference", "core-no-guard", "strict"):
        records = play(sets=[f"fleet.core={core}", "fleet.lifecycle.crashes=[]"])
        prompts: dict[tuple[str, str], list[str]] = {}
        for record in records:
            if record.kind == "event" and record["type"] == "prompt":
                prompts.setdefault((record["agent"], record["session"]), []).append(record["fields"]["text"])
        texts[core] = prompts
    for core in ("core-no-guard", "strict"):
        for session, asked in texts["reference"].items():
            others = texts[core][session]
            shared = min(len(asked), len(others))
            assert shared > 1
            assert asked[:shared] == others[:shared]


def test_a_case_may_choose_for_the_workload_and_is_told_only_of_choices_that_nobody_made() -> None:
    prompt, never = Step("a-0/s-0", 0, 0, "prompt"), Step("a-0/s-9", 0, 0, "prompt")
    overrides = Overrides(bits={("workload", prompt): 1, ("workload", never): 1})
    records = ENGINES.engine("des")(load(FLEET), overrides)
    texts = [
        r["fields"]["text"] for r in records if r.kind == "event" and r["type"] == "prompt" and r["agent"] == "a-0"
    ]
    assert "tidy the notes 0" in texts
    assert [record["choice"] for record in records if record.kind == "choice.unmet"] == [f"bits of workload at {never}"]


def test_a_torn_prompt_leaves_what_was_in_force() -> None:
    def prompt(t: int, state: str, norm: str | None) -> Record:
        return Record(t, "harness", "prompt", {"agent": "a", "state": state, "norm": norm, "blank": False})

    records = [prompt(1, "whole", "x"), prompt(2, "torn", None), prompt(3, "missing", None), prompt(4, "whole", None)]
    assert [(turn.t, turn.value) for turn in turns_of(records)["a"]] == [(1, "x"), (3, None), (4, None)]


def test_rules_whose_text_nobody_recorded_are_unseen_not_guessed() -> None:
    from fleetbeat.engines.cores import load_core
    from fleetbeat.engines.framework import weave

    scenario = load(FLEET)
    records = [
        Record(r.t, r.actor, r.kind, {**r.fields, "text": None}) if r.kind == "body" and r["version"] == "v2" else r
        for r in run(scenario)
    ]
    woven = weave(scenario, records, load_core(scenario.fleet.core))
    unseen = [record for record in woven if record.kind == "unseen"]
    assert sorted({record["agent"] for record in unseen}) == ["a-0", "a-1", "a-2"]
    from fleetbeat.checks import judge

    outcomes = {verdict.invariant: verdict.outcome for verdict in judge(woven).verdicts}
    assert outcomes["guard-not-silenced"] == "unknown"


def test_the_trial_reaches_what_a_wrong_core_stumbles_over() -> None:
    records = ENGINES.engine("des")(load(find("core-trial")))
    answers = {record["answer"] for record in records if record.kind == "judged"}
    assert answers == {"allow", "ask", "deny", "raised", "slow"}
    assert {record["type"] for record in records if record.kind == "event"} >= {
        "prompt", "reply", "tool.before", "tool.after", "file.changed", "ready", "answer", "dismissed",
    }  # fmt: skip
    assert {record["action"] for record in records if record.kind == "action"} == {"notify", "inject", "prepare"}
    assert any(record.kind == "core.rules" and record["malformed"] for record in records)
