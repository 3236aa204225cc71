"""No rule, written by anyone, may break the two invariants: right cores under bodies, gates and users of any kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetbeat.chance.choices import Hashed
from fleetbeat.checks.framework import Streamed
from fleetbeat.engines.cores import load_core
from fleetbeat.engines.framework import Turn, head, play
from fleetbeat.framework.policies import Policies, read
from fleetbeat.framework.vocabulary import TYPES
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.workload import CoreSetup

S = 1_000_000_000
END = 90 * S
SCENARIO = """
name: any-rules
duration: 90s
fleet: {agents: 1}
rollouts: []
workload:
  sessions: 2
  prompts: {per_hour: 600, think: 1s}
  turns: {calls: [1, 3], thought: 500ms, tool_time: 200ms}
  subtasks: {share: 20%, calls: 2}
  dangers: {share: 40%}
  files: {count: 2, watchers: 2}
  users: {approve: 40%, reject: 40%, answer: 1s, dismiss: 60%, look: 1s}
  gate_time: 20ms
  adversary:
    at: 10s
    rejects: 4
    every: 1s
    waits: 2s
    flood: 10
    gates: [{gate: g0, from: 10s, to: 50s, raises: true}, {gate: "*", from: 60s, to: 70s, slow: 5s}]
"""


@cache
def _scenario() -> Scenario:
    return load(SCENARIO)


_globs = st.sampled_from([*TYPES, "*", "tool.*", "[r-t]*", "not*"])
_state = st.dictionaries(
    st.sampled_from(["calls", "rejections", "readies", "prompts"]),
    st.dictionaries(st.sampled_from(["at_least", "at_most"]), st.integers(0, 3), min_size=1, max_size=1),
    max_size=1,
)
_cooldown = st.sampled_from([0, 0, 1, 30])
_task = st.fixed_dictionaries(
    {"duration_s": st.sampled_from([1, 3, 20]), "calls": st.integers(0, 2)}, optional={"touches": st.just("notes/0.md")}
)
_action = st.one_of(
    st.just({"notify": "x"}), st.just({"inject": "x"}), st.builds(lambda task: {"prepare": task}, _task)
)
_observer = st.fixed_dictionaries(
    {"on": st.lists(_globs, min_size=1, max_size=2), "action": _action, "state": _state, "cooldown_s": _cooldown}
)
_gate = st.fixed_dictionaries(
    {
        "on": st.just("tool.before"),
        "answer": st.sampled_from(["allow", "ask", "deny"]),
        "when": st.dictionaries(
            st.just("command"), st.sampled_from(["rm *", "drop *", "*", "git*", "curl*"]), max_size=1
        ),
        "state": _state,
        "cooldown_s": _cooldown,
    }
)


def _text(policies: tuple[list[Any], list[Any]]) -> str:
    observers, gates = policies
    named = [{"observer": f"o{n}", **one} for n, one in enumerate(observers)]
    named += [{"gate": "rm-rf" if n == 2 else f"g{n}", **one} for n, one in enumerate(gates)]
    return f"```yaml policies\n{json.dumps({'policies': named})}\n```\n"


_body = st.builds(
    _text, st.tuples(st.lists(_observer, min_size=1, max_size=5), st.lists(_gate, max_size=3))
) | st.sampled_from(["", "```yaml policies\npolicies: [\n```\n"])
_setup = st.fixed_dictionaries({"silence_after": st.sampled_from([0, 2]), "breaker_after": st.sampled_from([0, 2])})


def broken(core: str, bodies: Sequence[str], setup: dict[str, int], seed: int) -> list[str]:
    """What breaks when the bodies come one after another, the last over a restart, and which are vacuous."""
    loaded = load_core(CoreSetup(program=core, gate_timeout="500ms", **setup))
    texts: dict[str, tuple[str, Policies]] = {str(n): (body, read(body)) for n, body in enumerate(bodies)}
    turns = [Turn(0, "up", 0), Turn(1 * S, "rules", "0"), Turn(30 * S, "rules", "1"), Turn(50 * S, "down", "crash")]
    turns += [
        Turn(52 * S, "up", 1),
        Turn(53 * S, "rules", "1"),
        Turn(75 * S, "rules", "2"),
        Turn(80 * S, "rules", None),
    ]
    records: list[Record] = head(loaded, texts)
    records += play(_scenario(), loaded, "a-0", turns, texts, END, Hashed(seed))
    streamed = Streamed(None)
    for record in records:
        streamed.feed(record)
    failed = [str(record["error"]) for record in records if record.kind == "core.failed"]
    return failed + [finding.message for verdict in streamed.verdicts() for finding in verdict.findings]


@pytest.mark.parametrize("core", ["reference", "strict", "plugin"])
def test_no_rules_make_a_right_core_break_anything(core: str) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    @given(st.lists(_body, min_size=3, max_size=3), _setup, st.integers(0, 9))
    def holds(bodies: list[str], setup: dict[str, int], seed: int) -> None:
        assert broken(core, bodies, setup, seed) == []

    holds()


@pytest.mark.parametrize(
    ("core", "bodies"), [("core-no-guard", 8), ("core-failure-cancels-deny", 40), ("core-forgets-at-restart", 40)]
)
def test_such_rules_break_a_wrong_core(core: str, bodies: int) -> None:
    found: list[bool] = []

    @settings(max_examples=bodies, deadline=None, derandomize=True, database=None)
    @given(st.lists(_body, min_size=3, max_size=3), _setup, st.integers(0, 9))
    def count(bodies: list[str], setup: dict[str, int], seed: int) -> None:
        found.append(broken(core, bodies, setup, seed) != [])

    count()
    assert any(found)
