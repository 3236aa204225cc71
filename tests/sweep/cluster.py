"""A Dask scheduler and its workers on loopback, for tests: real processes, ended whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

PATIENCE_S = 60
Process = subprocess.Popen[bytes]


def need_dask() -> None:
    """Skips the test where the extra is not installed; CI says FLEETBEAT_NEED_DASK=1, and there it fails."""
    if find_spec("distributed") is None:
        words = "got no module distributed, expected the extra dask"
        (pytest.fail if os.environ.get("FLEETBEAT_NEED_DASK") == "1" else pytest.skip)(words)


@contextmanager
def _running(folder: Path, name: str, *arguments: str, source: Path | None = None) -> Iterator[Process]:
    env = {**os.environ, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    if source is not None:
        env["PYTHONPATH"] = str(source)
    command = [sys.executable, "-m", f"distributed.cli.dask_{name.partition('-')[0]}", *arguments]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE_S)


@contextmanager
def scheduler(folder: Path) -> Iterator[tuple[Process, str]]:
    """The process and its address, as `--executor` takes it."""
    file = folder / "scheduler.json"
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    with _running(folder, "scheduler", *options) as process:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and process.poll() is None:
            try:
                address: str = json.loads(file.read_text())["address"]
                break
            except (OSError, ValueError):
                time.sleep(0.05)
        else:
            pytest.fail((folder / "scheduler.log").read_text())
        yield process, address.replace("tcp://", "dask://")


@contextmanager
def workers(folder: Path, address: str, count: int, source: Path | None = None) -> Iterator[list[Process]]:
    """So many processes with one thread each; they come up while the test goes on."""
    place = address.replace("dask://", "tcp://")
    options = (place, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", str(PATIENCE_S))
    with ExitStack() as stack:
        named = [f"worker-{number}-{'other' if source else 'same'}" for number in range(count)]
        runs = [_running(folder, name, *options, "--local-directory", str(folder), source=source) for name in named]
        yield [stack.enter_context(one) for one in runs]
