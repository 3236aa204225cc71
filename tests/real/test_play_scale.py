"""What real runs cost: the harness itself, and a thousand agents in ten processes. Figures of CPU time, which a busy
machine does not change."""

from __future__ import annotations

import os
import resource
from collections import Counter
from pathlib import Path

import pytest
from tests.real.ground import ground, scenario  # noqa: F401

from fleetbeat.checks import judge
from fleetbeat.engines.process import run
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.means.mounts import mount_disk, unmount

TEXT = """
duration: {duration}s
fleet: {{agents: {agents}, heartbeat: {{interval: 1s, jitter: {{kind: normal, sd: 50ms}}}}}}
rollouts: [{{version: v1, at: 4s, targets: all, body: Be kind., verify: effective, timeout: 5s}}]
"""


def _played(place: Path, agents: int, duration: int) -> tuple[Counter[str], float, float]:
    """Fates, and the share of one core that the harness and its agents took, starts included."""
    plan = scenario(place, TEXT.format(agents=agents, duration=duration))
    before = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    records = run(plan)
    after = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    spent = [b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime for a, b in zip(before, after, strict=True)]
    fates = Counter(fate.fate for fate in judge(records).fates)
    beats = sum(record["last"] - record["first"] + 1 for record in records if record.kind == "beats")
    assert beats >= agents * (duration - 4)
    return fates, spent[0] / duration, spent[1] / duration


@pytest.mark.slow
def test_the_harness_takes_less_than_a_tenth_of_a_core_for_a_hundred_agents(ground: Path) -> None:  # noqa: F811
    fates, harness, _ = _played(ground, 100, 15)
    assert fates == {"applied": 100}
    assert harness < 0.1


@pytest.mark.slow
def test_a_thousand_agents_in_ten_processes_take_less_than_one_core(ground: Path) -> None:  # noqa: F811
    fates, harness, agents = _played(ground, 1000, 15)
    assert fates == {"applied": 1000}
    assert harness + agents < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("size", [16 << 10, 128 << 10])
def test_a_disk_that_is_full_stops_a_run_in_words(ground: Path, size: int) -> None:  # noqa: F811
    """Full before anything is laid out, and full once the fleet is: what is too small for it is told, nothing stays."""
    if os.geteuid() != 0:
        (pytest.fail if os.environ.get("FLEETBEAT_NEED_ROOT") == "1" else pytest.skip)("needs root to mount a disk")
    (ground / "r").mkdir(mode=0o755)
    mount_disk(ground / "r", size, 0)
    with pytest.raises(EngineError, match="got No space left on device, expected to be able to"):
        run(scenario(ground, TEXT.format(agents=300, duration=8)), root=ground / "r")
    assert list((ground / "r").iterdir()) == []
    unmount(ground / "r")
