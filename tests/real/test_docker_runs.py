"""Whole runs in containers: fates and verdicts as in the simulation, the numbers that must hold, and what a killed harness
leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.engines.worlds import post, scenario
from tests.real.conftest import DockerEngine
from tests.real.containers import UID, until

from fleetbeat.checks import judge
from fleetbeat.checks.model import Judgement
from fleetbeat.engines import ENGINES
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

pytestmark = pytest.mark.slow

CRASH = ("duration=14s", "rollouts.0.at=3s", "rollouts.0.timeout=8s")
CANARY = (
    "duration=18s",
    "fleet.agents=20",
    "rollouts.0.at=3s",
    "rollouts.0.waves.0.bake=2s",
    "rollouts.0.waves.1.bake=2s",
    "expect.converge.1.within=15s",
)
FLAKY = (
    "duration=32s",
    "fleet.agents=20",
    "rollouts.0.at=2s",
    "rollouts.1.at=14s",
    "rollouts.0.timeout=3s",
    *(f"faults.{number}.to=26s" for number in range(3)),
)


def _loaded(name: str, sets: tuple[str, ...]) -> Scenario:
    return load(find(name), None, [*sets, f"fleet.uid={UID}"])


def _played(engine: str, what: Scenario, **extra: Any) -> list[Record]:
    return ENGINES.engine(engine)(what, None, None, **extra)


def _fates(judgement: Judgement) -> dict[str, str]:
    return {str(fate.post): fate.fate for fate in judgement.fates}


def _broken(judgement: Judgement) -> list[str]:
    """Invariants with a violation or a gap. Hazards depend on what the observer could see of an instant."""
    return sorted(
        verdict.invariant
        for verdict in judgement.verdicts
        if any(finding.kind != "hazard" for finding in verdict.findings)
    )


@pytest.mark.parametrize(("name", "sets"), [("crash-between-unlink-and-write", CRASH), ("canary-rollout", CANARY)])
def test_where_nothing_is_left_to_chance_each_post_meets_the_fate_that_it_meets_in_simulation(
    name: str, sets: tuple[str, ...], docker_engine: DockerEngine
) -> None:
    what = _loaded(name, sets)
    simulated = judge(_played("des", what))
    real = judge(_played("docker", what))
    assert _fates(real) == _fates(simulated)
    assert _broken(real) == _broken(simulated)


def test_where_chance_strikes_it_strikes_alike_and_the_verdicts_are_the_same(docker_engine: DockerEngine) -> None:
    what = _loaded("flaky-disk", FLAKY)
    simulated = judge(_played("des", what))
    records = _played("docker", what)
    real = judge(records)
    assert _broken(real) == _broken(simulated)
    fired = {record["fault"]: record["fired"] for record in records if record.kind == "fault.count"}
    assert sorted(fired) == ["sticky", "unreadable", "unwritable"]
    assert min(fired.values()) > 0
    # a beat that comes later than drawn may meet a post one beat earlier or later: most fates agree, not each
    same = sum(_fates(real).get(post) == fate for post, fate in _fates(simulated).items())
    assert same >= 0.8 * len(simulated.fates)


def test_a_hundred_containers_are_up_within_a_minute_and_gone_within_half(docker_engine: DockerEngine) -> None:
    _holds_for(100, "8s", up_s=60.0, gone_s=30.0)


@pytest.mark.skipif(
    not os.environ.get("FLEETBEAT_MANY"),
    reason="wants the machine to itself for two minutes; FLEETBEAT_MANY=1 asks for it",
)
def test_three_hundred_containers_come_up_beat_and_go(docker_engine: DockerEngine) -> None:
    _holds_for(300, "15s", up_s=180.0, gone_s=90.0)


def _holds_for(count: int, duration: str, up_s: float, gone_s: float) -> None:
    """A fleet of so many comes up, applies one rollout, and is gone."""
    what = scenario(
        post("v1", "2s", verify="effective", timeout="10s"), duration=duration, fleet={"agents": count, "uid": UID}
    )
    began, spent = time.monotonic(), []
    records = ENGINES.engine("docker")(what, None, lambda at: spent.append((time.monotonic(), time.process_time())))
    took = spent[0][0] - began
    first = {record.actor: record.t for record in reversed(records) if record.kind in ("beat", "beats")}
    gone = time.monotonic() - spent[-1][0]
    judged = judge(records)
    assert len(first) == count
    assert took + max(first.values()) / 1e9 < up_s
    assert gone < gone_s
    assert Counter(_fates(judged).values()) == {"applied": count}
    own = (spent[-1][1] - spent[0][1]) / (spent[-1][0] - spent[0][0])
    assert own < 0.1 * count / 100, f"the harness used {own:.0%} of a core"


@contextmanager
def _harness(tmp_path: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A run in containers in a process of its own, which is gone afterwards."""
    path = tmp_path / "long.yaml"
    fleet = {"agents": 3, "uid": UID, "heartbeat": {"interval": "500ms"}}
    rollout = {"version": "v1", "at": "1s", "targets": "all", "body": "Be brief."}
    path.write_text(json.dumps({"name": "long", "seed": 1, "duration": "5m", "fleet": fleet, "rollouts": [rollout]}))
    words = [sys.executable, "-m", "fleetbeat", "run", str(path), "--engine", "docker", *more]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _clean(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fleetbeat", "clean", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _of(engine: DockerEngine, process: subprocess.Popen[str], *, also_ended: bool = False) -> list[Any]:
    label = {"label": f"fleetbeat.pid={process.pid}"}
    return engine.client.containers.list(all=also_ended, filters=label, ignore_removed=True)


def _await_rules(engine: DockerEngine, process: subprocess.Popen[str]) -> Path:
    """Waits until the rules stand in an agent's directory; returns the run's root."""
    (container, *_) = until(lambda: _of(engine, process), "a container of the run")
    root = Path(container.labels["fleetbeat.root"])
    until(lambda: list(root.glob("fleet/*/system/rules.md")), "rules")
    return root


def test_an_agent_that_dies_at_its_start_ends_the_run_with_its_last_lines(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: mine\n")
    (folder / "program.py").write_text("raise RuntimeError('\x1b[31mno such luck')\n")
    told = {"name": "short", "seed": 1, "duration": "5s", "rollouts": []}
    path = tmp_path / "short.yaml"
    path.write_text(json.dumps({**told, "fleet": {"agents": 2, "agent": str(folder), "uid": UID}}))
    words = [sys.executable, "-m", "fleetbeat", "run", str(path), "--engine", "docker"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert "its process died at start (exit code 1)" in done.stderr
    assert "no such luck" in done.stderr
    assert "\x1b" not in done.stderr


def test_ctrl_c_ends_a_run_with_what_was_seen_and_leaves_nothing(docker_engine: DockerEngine, tmp_path: Path) -> None:
    with _harness(tmp_path, "-o", str(tmp_path / "out")) as process:
        root = _await_rules(docker_engine, process)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=30)
        assert (process.returncode, "interrupted" in told) == (130, True)
        assert time.monotonic() - began < 10
        assert _of(docker_engine, process, also_ended=True) == []
        assert not root.exists()
        assert (tmp_path / "out/history.jsonl").stat().st_size > 0


def test_a_harness_that_is_killed_is_cleaned_up_after(docker_engine: DockerEngine, tmp_path: Path) -> None:
    with _harness(tmp_path) as process:
        root = _await_rules(docker_engine, process)
        assert f"{process.pid}-" not in _clean("--dry-run")  # it goes on: it is nobody's to clean
        process.kill()
        process.wait()
        assert len(_of(docker_engine, process)) == 3
        assert root.exists()
        assert f"would remove container a-0 of run {process.pid}-" in _clean("--dry-run")
        assert len(_of(docker_engine, process)) == 3
        assert f"removed container a-0 of run {process.pid}-" in _clean()
        assert _of(docker_engine, process, also_ended=True) == []
        assert not root.exists()
        assert f"{process.pid}-" not in _clean()


def test_containers_of_a_harness_that_is_killed_end_by_themselves_within_a_minute(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    with _harness(tmp_path) as process:
        _await_rules(docker_engine, process)
        process.kill()
        process.wait()
        try:
            until(lambda: not _of(docker_engine, process), "containers to end by themselves", patience_s=60.0)
        finally:
            _clean()
