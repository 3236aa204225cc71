"""The scheduler and workers of `compose/sweep.yaml` as its README says they come up, and a sweep that is played there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.real.conftest import DockerEngine, docker_engine
from tests.real.containers import until
from tests.real.test_compose import COMPOSE, Project, _tool
from tests.sweep.cluster import need_dask
from tests.sweep.test_one import TEXT
from tests.sweep.test_run import tables

from fleetbeat.engines.docker.images import BASE

__all__ = ["docker_engine"]
FILE = COMPOSE / "sweep.yaml"


class Sweepers(Project):
    """The same for the other file."""

    def __call__(self, *words: str) -> str:
        head = [*self.tool, "-p", f"fleetbeattest{os.getpid()}sweep", "-f", str(FILE)]
        done = subprocess.run(
            [*head, *words], env=self.environment, capture_output=True, text=True, check=False, cwd=self.build
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def sweepers(docker_engine: DockerEngine, tmp_path: Path) -> Iterator[Sweepers]:
    need_dask()
    tool = _tool()
    if not tool:
        why = "neither `docker compose` nor docker-compose is on this machine"
        (pytest.fail if os.environ.get("FLEETBEAT_NEED_DOCKER") == "1" else pytest.skip)(why)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    build = tmp_path / "build"
    build.mkdir()
    told = {"FLEETBEAT_BASE": docker_engine.base, "FLEETBEAT_COMPOSE_SWEEP": str(build), "FLEETBEAT_SCHEDULER": place}
    project = Sweepers(build, {**os.environ, **told, "PYTHON": sys.executable}, tool)
    yield project
    project("down", "--volumes", "--timeout", "3", "--rmi", "all")


@pytest.mark.slow
def test_a_scheduler_and_two_workers_come_up_and_play_a_sweep_to_the_same_bytes(
    sweepers: Sweepers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)
    words = [str(COMPOSE / "prepare-sweep"), str(sweepers.build)]
    subprocess.run(words, env=sweepers.environment, capture_output=True, text=True, check=True)
    sweepers("up", "--detach", "--build", "--scale", "worker=2")
    until(lambda: sweepers("logs", "--no-color").count("Registered to") == 2, "two workers")
    address = f"dask://{sweepers.environment['FLEETBEAT_SCHEDULER']}"
    call = [sys.executable, "-m", "fleetbeat", "sweep", "s.yaml", "--seeds", "20"]
    for where in (["--jobs", "1", "-o", "here"], ["--executor", address, "-o", "there"]):
        done = subprocess.run([*call, *where], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), sweepers("logs", "--no-color")
    assert tables("here") == tables("there")


def test_the_scheduler_is_reached_from_this_machine_alone_and_nothing_is_writable() -> None:
    """Whoever reaches it can run any code on the workers."""
    services = yaml.safe_load(FILE.read_text())["services"]
    assert sorted(services) == ["scheduler", "worker"]
    assert services["scheduler"]["ports"] == ["${FLEETBEAT_SCHEDULER:-127.0.0.1:8786}:8786"]
    assert "ports" not in services["worker"]
    assert "--death-timeout" in services["worker"]["command"]
    for service in services.values():
        assert (service["cap_drop"], service["read_only"], service["tmpfs"]) == (["ALL"], True, ["/tmp"])
        assert service["build"]["args"]["BASE"] == f"${{FLEETBEAT_BASE:-{BASE}}}"


def test_preparing_touches_nothing_that_it_did_not_make(tmp_path: Path) -> None:
    need_dask()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").write_text("")
    words = [str(COMPOSE / "prepare-sweep"), str(mine)]
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not ours, expected a new or empty directory" in done.stderr
    assert (mine / "precious").exists()
