"""How fast sweeps are: what two jobs gain, what the machinery costs besides the runs, and runs a second.

Judged by processor time, as in `test_speed`: on a machine with other work the clock on the wall says little. Two jobs take
as long as the one that works longest, if each has a core; so the gain is the processor time of one job over that of the
busiest of three: both workers, and the parent, which keeps rows meanwhile. Times on the wall are printed beside it.
The whole form (500 agents, ten minutes) is marked slow; the short form (100 agents) runs in CI.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.bench.test_speed import Say, say

from fleetbeat.scenario.load import load
from fleetbeat.sweep.execute import Batch, Row, execute, local, work
from fleetbeat.sweep.ledger import Ledger
from fleetbeat.sweep.one import play
from fleetbeat.sweep.run import batches, estimates, planned, play_all, write_tables

__all__ = ["say"]
pytestmark = pytest.mark.bench
MINUTES = 10


def _text(agents: int) -> str:
    """Ten minutes at a beat a second with jitter, one rollout to all."""
    rollouts = [{"version": "v1", "at": "60s", "targets": "all", "body": "be kind"}]
    heartbeat = {"interval": "1s", "jitter": {"kind": "normal", "sd": "50ms"}}
    fleet = {"agents": agents, "heartbeat": heartbeat}
    return json.dumps({"seed": 3, "duration": f"{MINUTES}m", "fleet": fleet, "rollouts": rollouts})


@dataclass(frozen=True, slots=True)
class Spent:
    """One batch: who played it, the processor seconds of that process so far, and its rows."""

    process: int
    seconds: float
    rows: list[Row]


def measured(batch: Batch) -> Spent:
    """As a worker does; the time includes what the worker took to start."""
    rows = work(batch)
    return Spent(os.getpid(), time.process_time(), rows)


def _gain(agents: int, seeds: int, tmp_path: Path, say: Say) -> float:
    path = tmp_path / "s.yaml"
    path.write_text(_text(agents))
    plan = planned(path, (), (), [()], seeds)
    work(Batch(0, plan.texts[0], plan.seeds[:1]))  # what is first used
    tasks = batches(plan, [(0, seed) for seed in plan.seeds], 2)
    alone: list[Spent] = []
    start, wall = time.process_time(), time.perf_counter()
    execute(tasks, local(1), 1, alone.append, measured)
    one, one_wall = time.process_time() - start, time.perf_counter() - wall
    both: list[Spent] = []
    start, wall = time.process_time(), time.perf_counter()
    execute(tasks, local(2), 2, both.append, measured)
    parent, two_wall = time.process_time() - start, time.perf_counter() - wall
    workers = {spent.process: 0.0 for spent in both}
    for spent in both:
        workers[spent.process] = max(workers[spent.process], spent.seconds)
    assert len(workers) == 2
    two = max(parent, *workers.values())
    rows = [sorted((row for spent in some for row in spent.rows), key=lambda row: row.seed) for some in (alone, both)]
    assert rows[0] == rows[1]
    say(
        f"{agents} agents, {MINUTES} minutes, {seeds} runs: one job {one:.2f} s of processor ({one_wall:.2f} s on the wall,"
        f" {seeds / one:.2f} runs a second), the busiest of two {two:.2f} s ({two_wall:.2f} s on the wall,"
        f" {seeds / two:.2f} runs a second): {one / two:.2f} times"
    )
    return one / two


@pytest.mark.slow
def test_two_jobs_are_1_7_times_as_fast_as_one_at_500_agents(say: Say, tmp_path: Path) -> None:
    assert _gain(500, 40, tmp_path, say) >= 1.7


def test_two_jobs_are_1_5_times_as_fast_as_one_with_100_agents(say: Say, tmp_path: Path) -> None:
    """A worker's start, half a second, weighs more where runs are short and few."""
    assert _gain(100, 60, tmp_path, say) >= 1.5


def _overhead(agents: int, seeds: int, tmp_path: Path, say: Say) -> float:
    """What a sweep takes besides its runs (loading, ledger, estimates, tables), as a share of the runs' own time."""
    path = tmp_path / "s.yaml"
    path.write_text(_text(agents))
    scenario = load(path)
    play(scenario, (), 1)
    found = []
    for turn in range(3):
        folder = tmp_path / str(turn)
        folder.mkdir()
        start = time.process_time()
        plain = [play(scenario, (), scenario.seed + index).metrics for index in range(seeds)]
        runs = time.process_time() - start
        start = time.process_time()
        plan = planned(path, (), (), [()], seeds)
        with Ledger(folder, plan.words()) as ledger:
            rows = play_all(plan, ledger, 1, lambda done, total: None)
            write_tables(
                folder, plan, rows, estimates(plan, rows, ("lag_p99", "at_end", "failed", "ops_per_s")), ledger
            )
        found.append((time.process_time() - start, runs))
        assert [row.metrics for row in rows] == plain
    sweep, runs = min(sweep for sweep, _ in found), min(runs for _, runs in found)
    say(f"{agents} agents, {seeds} runs: {runs:.2f} s, as a sweep {sweep:.2f} s: {(sweep / runs - 1) * 100:.1f} % more")
    return sweep / runs - 1


@pytest.mark.slow
def test_the_machinery_costs_less_than_a_tenth_of_the_runs_at_500_agents(say: Say, tmp_path: Path) -> None:
    assert _overhead(500, 12, tmp_path, say) < 0.1


def test_the_machinery_costs_less_than_a_tenth_of_the_runs_with_100_agents(say: Say, tmp_path: Path) -> None:
    assert _overhead(100, 30, tmp_path, say) < 0.1
