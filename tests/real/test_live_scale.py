"""What a large fleet costs: a thousand agent directories in ten processes, one beat a second each."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.real.live_crews import Crew, S, agent, crew, until

from fleetbeat.protocol.live_plan import Amount, HeartbeatPlan

PROCESSES = 10
EACH = 100
MEASURED_S = 8
EVERY_SECOND = HeartbeatPlan(interval=S, jitter=Amount("normal", sd=S // 50))


def _used_s(crews: list[Crew]) -> float:
    """Processor time of all processes so far, user and system."""
    used = 0
    for one in crews:
        assert one.process is not None
        fields = Path(f"/proc/{one.process.pid}/stat").read_text().rpartition(")")[2].split()
        used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc to measure processor time")
def test_a_thousand_agents_in_ten_processes_beat_every_second_on_less_than_one_core(tmp_path: Path) -> None:
    with ExitStack() as stack:
        crews = []
        for number in range(PROCESSES):
            top = tmp_path / str(number)
            top.mkdir()
            names = [f"a-{number * EACH + i}" for i in range(EACH)]
            crews.append(stack.enter_context(crew(top, *(agent(name, heartbeat=EVERY_SECOND) for name in names))))
        for one in crews:
            one.start(go=False)
        for one in crews:
            one.wait_for("ready")
        for one in crews:
            one.go()
        for one in crews:
            until(lambda one=one: len(list(one.root.glob("*/.agent.heartbeat"))) == EACH, "the first beat of all")  # type: ignore[misc]
        begun, before = time.monotonic(), _used_s(crews)
        until(lambda: time.monotonic() > begun + MEASURED_S, "a while")
        cores = (_used_s(crews) - before) / (time.monotonic() - begun)
        late = [time.time() - float(text) for one in crews for text in _beats(one)]
        print(f"{cores:.3f} cores for {PROCESSES * EACH} beats a second")
        assert cores < 1.0
        assert len(late) > 0.95 * PROCESSES * EACH  # one or the other file is read in the middle of being written
        assert sorted(late)[len(late) * 99 // 100] < 1.5
        assert [one.stop() for one in crews] == [0] * PROCESSES


def _beats(one: Crew) -> list[str]:
    texts = (path.read_text() for path in one.root.glob("*/.agent.heartbeat"))
    return [text for text in texts if text]
