"""How fast: ratios and times that the project promises, measured and printed in one run.

Ratios are of processor time (`time.process_time`), which another process on the machine disturbs less than it does the
clock on the wall; both sides run in this process, on the same scenario, and must give the same history. Times that a
person waits for are on the wall, the best of a few, with room for a busy machine. Nothing outside `bench` asserts a time.

The whole form (1,000 agents) takes over a minute, nearly all of it the per-beat loop; it is marked slow as well. The
short form (200 agents) runs in CI. Its floor is lower: with fewer agents the parts of a run that do not depend on
beats (making the world, imports of what is first used, one operator a target) weigh more, and the measurement is shorter, so
noise weighs more.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.engines.oracle import every_beat

from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

pytestmark = pytest.mark.bench

Say = Callable[[str], None]

#: What a busy machine may add to a time on the wall before a bench fails: half as much again.
NOISE = 1.5


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Prints a figure past pytest's capture: a bench that tells no figure tells nothing."""

    def tell(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", flush=True)

    return tell


def _fleet(agents: int) -> Scenario:
    """Ten minutes at a beat a second with jitter, three rollouts, one of them verified by its effect."""
    rollouts: list[dict[str, Any]] = [
        {"version": "v1", "at": "60s", "targets": "all", "body": "be kind", "verify": "effective"},
        {"version": "v2", "at": "200s", "targets": "all", "body": "be kinder"},
        {"version": "v3", "at": "400s", "targets": "all", "body": "be kinder still"},
    ]
    heartbeat = {"interval": "1s", "jitter": {"kind": "normal", "sd": "50ms"}}
    fleet = {"agents": agents, "heartbeat": heartbeat}
    return load(json.dumps({"seed": 3, "duration": "10m", "fleet": fleet, "rollouts": rollouts}))


def _timed(play: Callable[[Scenario], list[Record]], scenario: Scenario) -> tuple[float, list[Record]]:
    start = time.process_time()
    records = play(scenario)
    return time.process_time() - start, records


def _against_every_beat(agents: int, say: Say) -> float:
    """How many times the engine is faster than the loop that plays every beat; fails if they disagree."""
    scenario = _fleet(agents)
    run(_fleet(20))  # imports, caches of the code
    runs = [_timed(run, scenario) for _ in range(3)]
    engine = statistics.median(seconds for seconds, _ in runs)
    loop, walked = _timed(every_beat, scenario)
    assert all(records == walked for _, records in runs)
    ratio = loop / engine
    say(f"{agents} agents, 10 minutes: engine {engine:.2f} s, per-beat SimPy loop {loop:.1f} s: {ratio:.1f} times")
    return ratio


@pytest.mark.slow
def test_skipping_beats_is_20_times_as_fast_as_playing_them_at_1000_agents(say: Say) -> None:
    assert _against_every_beat(1_000, say) >= 20


def test_skipping_beats_is_12_times_as_fast_as_playing_them_at_200_agents(say: Say) -> None:
    assert _against_every_beat(200, say) >= 12


def _on_the_wall(times: int, *arguments: str, cwd: Path) -> float:
    """Seconds of the quickest of a few runs of the command line in fresh processes, the first one not counted."""
    command = [sys.executable, "-c", "import sys; from fleetbeat.cli import main; sys.exit(main())", *arguments]
    found = []
    for _ in range(times + 1):
        start = time.perf_counter()
        done = subprocess.run(command, cwd=cwd, env=os.environ, capture_output=True, text=True, check=False)
        found.append(time.perf_counter() - start)
        assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
    return min(found[1:])


def test_canary_rollout_goes_from_yaml_to_report_in_2_s(say: Say, tmp_path: Path) -> None:
    seconds = _on_the_wall(3, "run", "canary-rollout", cwd=tmp_path)
    say(f"fleetbeat run canary-rollout: {seconds:.2f} s")
    assert seconds < 2 * NOISE


def test_help_comes_in_300_ms(say: Say, tmp_path: Path) -> None:
    seconds = _on_the_wall(7, "--help", cwd=tmp_path)
    say(f"fleetbeat --help: {seconds * 1000:.0f} ms")
    assert seconds < 0.3 * NOISE
