"""Somebody who is not root plays real agents too: all users of a scenario are that one."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from tests.real.ground import ground  # noqa: F401

from fleetbeat.engines.process.code import PACKAGE

SOMEBODY = 61234
PYTHON = "/usr/bin/python3"
TEXT = """
duration: 3s
fleet: {agents: 4, heartbeat: {interval: 200ms}}
faults: [{id: dies, operation: unlink, agents: a-1, occurrence: 1, crash: after, restart: 200ms}]
rollouts: [{version: v1, at: 500ms, targets: all, body: Be kind., verify: effective, timeout: 1s}]
expect: {broken: [no-silent-loss], fates: {applied: 3, lost: 1}}
"""


def _as_somebody(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    path = f"{PACKAGE.parent}:{sysconfig.get_path('purelib')}"
    who = {"user": SOMEBODY, "group": SOMEBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [PYTHON if who else sys.executable, *words],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "TMPDIR": str(place), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        **who,  # type: ignore[call-overload]
    )
    return done


@pytest.mark.slow
def test_a_run_needs_no_root(ground: Path) -> None:  # noqa: F811
    probe = _as_somebody(ground, "-c", "import fleetbeat.engines.process, fleetbeat.cli.pipeline")
    if probe.returncode:
        pytest.skip(f"needs a Python that another user can run: {probe.stderr.strip().splitlines()[-1]}")
    (ground / "s.yaml").write_text(TEXT)
    ground.chmod(0o777)
    done = _as_somebody(ground, "-m", "fleetbeat", "run", str(ground / "s.yaml"), "--engine", "process", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("broken-as-expected · applied 3, lost 1 ")
    assert [list(left.iterdir()) for left in ground.glob("fleetbeat-*")] == [[]]
    two = TEXT.replace("agents: 4,", "agents: 4, uid: 7,")
    (ground / "s.yaml").write_text(two)
    done = _as_somebody(ground, "-m", "fleetbeat", "run", str(ground / "s.yaml"), "--engine", "process", "-q")
    assert done.returncode == 4
    assert "users 7, 1000: got user" in done.stderr
