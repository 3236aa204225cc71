"""What this machine can do, found out by doing it once: a mount, a traced process. Takes some 50 ms."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from fleetbeat.engines.real.means.model import Machine
from fleetbeat.engines.real.means.mounts import mount_disk, unmount

INOTIFY = Path("/proc/sys/fs/inotify")
LIMITS = ("max_user_watches", "max_user_instances", "max_queued_events")
PATIENCE_S = 5.0
#: Options of strace that a plan uses. Versions before 5.15 lack some of them: the probe says so.
PROBE = ("-f", "-qq", "-ttt", "-e", "signal=none", "-e", "trace=unlink,unlinkat", "-P", "/nowhere")


def machine() -> Machine:
    """Probes this machine."""
    version, why = _strace()
    return Machine(
        uid=os.geteuid(),
        kernel=platform.release(),
        strace=version,
        strace_why=why,
        mount_why=_mount(),
        inotify=_inotify(),
        ptrace_scope=_number(Path("/proc/sys/kernel/yama/ptrace_scope")) or 0,
    )


def _strace() -> tuple[str | None, str | None]:
    found = shutil.which("strace")
    if found is None:
        return None, "strace is not installed"
    version = None
    try:
        said = subprocess.run([found, "-V"], capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
        version = (said.split("\n")[0].split() or ["unknown"])[-1]
        probe = subprocess.run(
            [found, *PROBE, "-e", "inject=unlink,unlinkat:error=EIO:delay_exit=1:when=1+2", "/bin/true"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return version, f"strace did not answer within {PATIENCE_S:g} s"
    except (OSError, subprocess.CalledProcessError) as error:
        return version, f"strace does not run: {error}"
    if probe.returncode != 0:
        lines = probe.stderr.strip().splitlines() or ["no word"]
        return version, f"strace cannot trace here: {lines[-1][:200]}"
    return version, None


def _mount() -> str | None:
    if os.geteuid() != 0:
        return "mounting needs root"
    with tempfile.TemporaryDirectory(prefix="fleetbeat-probe-") as directory:
        try:
            mount_disk(Path(directory), 4096, 0)
        except OSError as error:
            return f"mounting is not allowed here: {error.strerror}"
        unmount(Path(directory))
    return None


def _inotify() -> dict[str, int]:
    found = {name: _number(INOTIFY / name) for name in LIMITS}
    return {name: limit for name, limit in found.items() if limit is not None}


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
