"""All means at work in one run of an engine: the kernel's refusals, strace, kills, small disks, on foreign agents.

What each agent's post came to is what its fault makes of it and nothing else's; every fault was planned, fired, was
observed and removed; and an agent in the middle of them that has no fault has no trouble.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.real.conftest import DockerEngine
from tests.real.means_stage import FOREIGN, SECOND, need, need_root, of_this_machine, scenario_of

from fleetbeat.checks.judge import judge
from fleetbeat.engines import ENGINES
from fleetbeat.engines.real.means.disks import PAGE
from fleetbeat.engines.real.means.mounts import mounts_below
from fleetbeat.engines.real.root import base_directory
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Scenario

pytestmark = pytest.mark.slow
GROUPS = ("read", "unlink", "erofs", "trace", "dies", "crash", "free")
TO = "2500ms"
FAULTS: list[dict[str, Any]] = [
    {"id": "unreadable", "agents": "group:read", "operation": "read", "error": "EACCES", "to": TO},
    {"id": "sticky", "agents": "group:unlink", "operation": "unlink", "error": "EPERM", "to": TO},
    {"id": "readonly", "agents": "group:erofs", "operation": "write", "error": "EROFS", "to": TO},
    {"id": "traced", "agents": "group:trace", "operation": "unlink", "error": "EIO", "occurrence": 1},
    {"id": "dies", "agents": "group:dies", "operation": "unlink", "crash": "after", "occurrence": 1, "restart": "1s"},
]


def _scenario(agent: Path | str = FOREIGN, **more: Any) -> Scenario:
    rollout = {"at": "1s", "uid": 0, "perms": "644"}
    small = {**rollout, "version": "v1", "targets": [f"group:{name}" for name in GROUPS], "body": "Ask first."}
    large = {**rollout, "version": "v2", "targets": "group:full", "body": "x" * 20_000}
    groups = [{"name": name, "count": 1, "hosts": ["roomy"]} for name in GROUPS]
    return scenario_of(
        duration="6s",
        faults=FAULTS,
        rollouts=[small, large],
        fleet={
            "agent": str(agent),
            "groups": [*groups, {"name": "full", "count": 1, "hosts": ["tight"]}],
            "hosts": [{"name": "roomy"}, {"name": "tight", "system_disk": f"{4 * PAGE}B"}],
            "heartbeat": {"interval": "100ms"},
            "start": {"rules": "old"},
            "lifecycle": {"crashes": [{"agents": "group:crash", "at": "2s", "restart": "500ms"}]},
        },
        **more,
    )


def _checked(records: Sequence[Record]) -> None:
    fates = {fate.agent: fate.fate for fate in judge(records).fates}
    assert fates == {
        "read-0": "applied",
        "unlink-0": "applied",
        "erofs-0": "failed",
        "trace-0": "applied",
        "dies-0": "lost",
        "crash-0": "applied",
        "free-0": "applied",
        "full-0": "failed",
    }
    counts = {record["fault"]: record for record in records if record.kind == "fault.count"}
    assert {fault: record["means"] for fault, record in counts.items()} == {
        "unreadable": ["permissions"],
        "sticky": ["permissions"],
        "readonly": ["remount"],
        "traced": ["strace"],
        "dies": ["strace"],
        "crash-0": ["signal"],
        "system_disk:tight": ["tmpfs"],
    }
    for fault, record in counts.items():
        assert (record["fired"], record["observed"], record["removed"]) == (1, 1, True), fault
    loaded = {
        record["agent"]: record.t for record in records if record.kind == "log" and record["event"] == "rules_loaded"
    }
    assert all(loaded[name] > 2.5 * SECOND for name in ("read-0", "unlink-0"))
    assert loaded["free-0"] < 2 * SECOND
    struck = {record["agent"] for record in records if record.kind == "fault"}
    assert "free-0" not in struck


def _is_clean() -> None:
    mine = f"{base_directory()}/run-{os.getpid()}-"
    assert [point for point in mounts_below(base_directory()) if str(point).startswith(mine)] == []


def test_all_means_at_once_on_processes() -> None:
    need_root()
    need(of_this_machine().strace_why or of_this_machine().mount_why)
    _checked(ENGINES.engine("process")(_scenario()))
    _is_clean()


def test_all_means_at_once_in_containers(docker_engine: DockerEngine) -> None:
    """strace attaches from outside to what runs in the container; disks are mounted before it is started."""
    need_root()
    need(of_this_machine().strace_why or of_this_machine().mount_why)
    _checked(ENGINES.engine("docker")(_scenario(), base=docker_engine.base))  # type: ignore[call-arg]
    _is_clean()


def test_the_kernel_s_refusals_come_to_the_same_as_our_driver_s_and_the_simulation_s() -> None:
    need_root()
    need(of_this_machine().mount_why)
    faults = [
        {"id": "unreadable", "agents": "a-0", "operation": "read", "error": "EACCES", "to": "2s"},
        {"id": "readonly", "agents": "a-1", "operation": "write", "error": "EROFS", "to": "2s"},
        {
            "id": "closed",
            "agents": "a-2",
            "operation": "open",
            "path": "system/rules.md",
            "error": "EACCES",
            "to": "2s",
        },
    ]
    rollout = {"version": "v1", "at": "1s", "targets": "all", "body": "Ask first."}
    fleet = {"agents": 4, "start": {"rules": "old"}, "heartbeat": {"interval": "100ms"}}
    scenario = scenario_of(duration="4s", faults=faults, rollouts=[rollout], fleet=fleet)
    run = ENGINES.engine("process")
    histories = [ENGINES.engine("des")(scenario), run(scenario), run(scenario, prefer="real")]  # type: ignore[call-arg]
    fates = [{fate.agent: fate.fate for fate in judge(records).fates} for records in histories]
    assert fates[0] == fates[1] == fates[2]
    assert fates[0] == {"a-0": "applied", "a-1": "failed", "a-2": "failed", "a-3": "applied"}
    means = [{record["means"][0] for record in records if record.kind == "fault.count"} for records in histories]
    assert means == [set(), {"driver"}, {"permissions", "remount"}]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that other users can pass through, as pytest's own cannot be."""
    with tempfile.TemporaryDirectory(prefix="fleetbeat-test-") as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


def test_what_a_killed_harness_left_mounted_is_unmounted_by_clean(place: Path) -> None:
    need_root()
    need(of_this_machine().mount_why)
    root, scenario = place / "root", place / "it.yaml"
    scenario.write_text(
        "name: it\nduration: 60s\nfleet: {agents: 2, hosts: [{name: h, system_disk: 1MB}]}\n"
        "rollouts: [{version: v, at: 1s, targets: all, body: x}]\n"
    )
    command = [sys.executable, "-m", "fleetbeat", "run", str(scenario), "--engine", "process", "--root", str(root)]
    harness = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(mounts_below(root)) < 3 or not list(root.glob("control/common/go")):
        assert harness.poll() is None, harness.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)
    harness.kill()
    harness.communicate()
    assert mounts_below(root)
    clean = [sys.executable, "-m", "fleetbeat", "clean", "--root", str(root)]
    done = subprocess.run(clean, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert mounts_below(root) == []


def test_doctor_answers_within_two_seconds() -> None:
    """Measured 0.4 s on a quiet machine; here with room for a busy one."""
    subprocess.run([sys.executable, "-m", "fleetbeat", "doctor"], check=True, capture_output=True, timeout=10)
