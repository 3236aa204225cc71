"""How fast the event framework is: events through one core and both checks, which stream, and their memory.

A million events in 20 s of processor time and in memory that does not grow with the ledger's length. The ratio is to draws
of chance in the same process (`Choices.bits`, 2 to 3 µs each on the machines this was made on): an event may cost ten. The
whole form takes half a minute, and is marked slow as well; the short form runs in CI, where its floor leaves room for what
a run costs besides events. Peaks of memory are those of processes of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.bench.million import Passed, passed
from tests.bench.test_speed import NOISE, Say, say

from fleetbeat.chance.choices import Hashed
from fleetbeat.chance.step import Step
from fleetbeat.checks.framework import WINDOW

__all__ = ["say"]

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[2]
#: Draws that an event may cost.
MOST_DRAWS = 10
#: Seconds for a million events.
MOST_SECONDS = 20
#: What a peak may differ by: allocators keep what was freed.
SLACK = 1.15


def draw_s(count: int = 100_000) -> float:
    """Processor seconds of one draw, by name."""
    choices = Hashed(1)
    began = time.process_time()
    for n in range(count):
        choices.bits("bench", Step("a-0/s-0", 0, n, "thought", "", n % 100))
    return (time.process_time() - began) / count


def alone(count: int, window: int) -> Passed:
    """In a process of its own."""
    command = [sys.executable, "-m", "tests.bench.million", str(count), str(window)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    events, records, seconds, peak, one, other = done.stdout.split()
    return Passed(int(events), int(records), float(seconds), int(peak), (one, other))


def test_short_an_event_costs_a_few_draws(say: Say) -> None:
    draw = draw_s()
    found = passed(40_000)
    ratio = found.seconds / found.events / draw
    say(f"framework: {found.events} events in {found.seconds:.2f} s: {ratio:.1f} draws each ({draw * 1e6:.1f} µs)")
    assert found.outcomes == ("held", "held")
    assert ratio <= MOST_DRAWS * NOISE


def test_short_memory_is_that_of_the_window_and_not_of_the_ledger(say: Say) -> None:
    short, long = alone(25_000, 4096), alone(100_000, 4096)
    say(f"framework: {short.peak_kib / 1024:.0f} MiB at 25,000 events, {long.peak_kib / 1024:.0f} MiB at 100,000")
    assert long.peak_kib <= short.peak_kib * SLACK


@pytest.mark.slow
def test_a_million_events_pass_in_twenty_seconds_and_in_memory_that_does_not_grow(say: Say) -> None:
    draw = draw_s()
    short, long = alone(250_000, WINDOW), alone(1_000_000, WINDOW)
    ratio = long.seconds / long.events / draw
    say(
        f"framework: {long.events} events ({long.records} records) in {long.seconds:.1f} s, {ratio:.1f} draws each; "
        f"{short.peak_kib / 1024:.0f} MiB at 250,000 events, {long.peak_kib / 1024:.0f} MiB at 1,000,000"
    )
    assert long.outcomes == ("held", "held")
    assert long.peak_kib <= short.peak_kib * SLACK
    assert ratio <= MOST_DRAWS * NOISE
    assert long.seconds <= MOST_SECONDS * NOISE
