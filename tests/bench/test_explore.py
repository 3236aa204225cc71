"""How fast the explorer is: states and schedules a second, pruned and not, and the two times that a person waits for.

Rates are of processor time, on one core. "Schedules" are those that a search covers (see `explore.exhaust`), which is what
pruning and merging buy; "played" are those that the search without either plays one by one.

"Two agents' worth of posts from two writers against one agent with one fault and one crash" is read as: two writers, each
with two posts for this one agent (so as many as two agents would get from them), at any time and in any order; one beat
that may be interrupted, fail and die anywhere, and the two that end every schedule.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.explore.small import bounds, plan, post

from fleetbeat.explore.model import Outcome
from fleetbeat.explore.plan import Plan, plan_of
from fleetbeat.explore.search import explore
from fleetbeat.scenario.load import load

pytestmark = pytest.mark.bench

Say = Callable[[str], None]
#: What a busy machine may add to a time on the wall before a bench fails.
NOISE = 2


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", flush=True)

    return tell


def _timed(world: Plan, **how: Any) -> tuple[float, Outcome]:
    start = time.process_time()
    outcome = explore(world, **how)
    return time.process_time() - start, outcome


def test_states_and_schedules_a_second_pruned_and_unpruned(say: Say) -> None:
    seconds, outcome = _timed(plan(post("v1"), post("v2"), rebuilds=1))
    say(f"pruned, a rebuild beside a beat: {outcome.states / seconds:,.0f} states/s ({outcome.summary})")
    world = plan(post("v1"), post("v2"), crashes=1)
    rates = {}
    for name, how in (
        ("pruned", {}),
        ("merging alone", {"prune": False, "first_look": False}),
        ("unpruned, played one by one", {"prune": False, "merge": False, "max_states": 60_000}),
    ):
        seconds, outcome = _timed(world, **how)
        rates[name] = outcome.schedules / seconds
        say(
            f"{name}: {outcome.states / seconds:,.0f} states/s, {outcome.schedules / seconds:,.0f} schedules/s "
            f"({outcome.summary}; {outcome.ends:,} pasts judged in {seconds:.1f} s)"
        )
    assert rates["merging alone"] > rates["unpruned, played one by one"]


def _two_writers() -> Plan:
    writers = [("alice", "a1"), ("alice", "a2"), ("bob", "b1"), ("bob", "b2")]
    rollouts = [post(version, operator=operator) for operator, version in writers]
    fault = {"operation": "write", "error": "EIO", "effect": "partial"}
    data = {"duration": "20s", "fleet": {"agents": 1, "start": {"rules": "as it was"}}, "faults": [fault]}
    return plan_of(load(json.dumps({**data, "rollouts": rollouts})), bounds(posts=4, faults=1, crashes=1))


def test_two_agents_worth_of_posts_from_two_writers_with_a_fault_and_a_crash_take_30_s(say: Say) -> None:
    seconds, outcome = _timed(_two_writers())
    say(f"two writers, four posts, a fault, a crash: {seconds:.1f} s; {outcome.summary}; {outcome.ends:,} judged")
    assert outcome.complete
    assert seconds < 30 * NOISE


def test_the_lost_update_is_found_within_a_second_of_a_cold_start(say: Say, tmp_path: Path) -> None:
    code = "import sys; from fleetbeat.cli import main; sys.exit(main())"
    best = 99.0
    for number in range(4):
        command = [sys.executable, "-u", "-c", code, "explore", "lost-update", "--cases", f"none{number}"]
        start = time.perf_counter()
        run = subprocess.Popen(command, cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert run.stderr is not None
        line = run.stderr.readline()
        best = min(best, time.perf_counter() - start)
        run.kill()
        run.communicate()
        assert b"no-silent-loss" in line
    say(f"fleetbeat explore lost-update: first finding after {best:.2f} s")
    assert best < 1 * NOISE
