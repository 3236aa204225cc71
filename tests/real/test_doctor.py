"""`fleetbeat doctor`: what it says of this machine is so, it answers soon whatever the container engine does, and its exit
code says whether a scenario can be carried out."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.real.means_stage import FOREIGN, able

from fleetbeat.cli import main
from fleetbeat.engines.real.means import MEANS
from fleetbeat.engines.real.means.table import KINDS, answers

DEAD = "unix:///nonexistent/docker.sock"


@dataclass
class Desk:
    """`fleetbeat doctor`, called in this process; without a container engine unless one is named."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def doctor(self, *words: str, docker_host: str = DEAD) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self.monkeypatch.setenv("DOCKER_HOST", docker_host)
        code = main(["doctor", *words])
        return code, *self.capsys.readouterr()

    def json(self, *words: str, docker_host: str = DEAD) -> dict[str, Any]:
        code, out, said = self.doctor("--json", *words, docker_host=docker_host)
        assert code in (0, 4), said
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(monkeypatch, capsys)


def _scenario(place: Path, faults: str, agent: Path | str = "reference") -> str:
    path = place / "it.yaml"
    path.write_text(f"name: it\nfleet: {{agents: 2, agent: {agent}}}\nfaults: [{faults}]\n")
    return str(path)


def test_the_machine_s_facts_are_this_machine_s(desk: Desk) -> None:
    machine = desk.json()["machine"]
    assert machine["kernel"] == platform.release()
    assert machine["root"] == (os.geteuid() == 0)
    assert (machine["strace"]["version"] is None) == (shutil.which("strace") is None)
    limit = Path("/proc/sys/fs/inotify/max_user_watches")
    assert machine["inotify"]["max_user_watches"] == int(limit.read_text())


def test_every_kind_has_an_answer_for_both_engines_and_every_no_its_reason(desk: Desk) -> None:
    engines = desk.json()["engines"]
    assert list(engines) == ["process", "docker"]
    for engine in engines.values():
        assert [row["kind"] for row in engine["faults"]] == [*KINDS, "a limit of memory"]
        for row in engine["faults"]:
            for who in ("driver", "command"):
                assert (row[who]["means"] is None) != (row[who]["why_not"] is None)


def test_the_table_is_for_people_and_its_numbers_lead_to_reasons(desk: Desk) -> None:
    code, out, _ = desk.doctor("--engine", "process")
    assert code == 0
    assert "a loss of power" in out
    assert "(1) " in out
    assert "has not synced" in out
    assert "docker" not in out


def test_a_machine_that_can_do_everything_says_by_which_means() -> None:
    means = {answer.kind: (answer.ours, answer.theirs) for answer in answers("process", able())}
    assert means["an error at a call, by occurrence"] == ("driver", "strace")
    assert means["system/ read-only"] == ("driver", "remount")
    assert means["a small disk"] == ("tmpfs", "tmpfs")
    assert means["a loss of power"] == (None, None)
    assert all(name is None or name in MEANS for pair in means.values() for name in pair)


def test_a_machine_without_rights_says_what_is_missing() -> None:
    poor = able(uid=1000, strace=None, strace_why="strace is not installed", mount_why="mounting needs root")
    told = {answer.kind: answer for answer in answers("process", poor)}
    assert told["a small disk"].ours_why is not None
    assert "mounting needs root" in told["a small disk"].ours_why
    why = told["an error at a call, by occurrence"].theirs_why
    assert why == "strace: strace is not installed"
    assert told["an error at a call, by occurrence"].ours == "driver"


def test_a_scenario_is_told_fault_by_fault(desk: Desk, tmp_path: Path) -> None:
    path = _scenario(tmp_path, "{id: f, operation: unlink, error: EIO, probability: 0.5}, {crash: before, per_hour: 2}")
    code, out, _ = desk.doctor(path, "--engine", "process")
    assert code == 0
    assert "it can be carried out by process here" in out
    [first, second] = desk.json(path, "--engine", "process")["engines"]["process"]["faults"]
    assert (first["fault"], first["means"], first["agents"]) == ("f", "driver", 2)
    assert second["means"] == "signal"


def test_a_scenario_that_cannot_be_carried_out_is_exit_4_with_a_line_for_each_fault(desk: Desk, tmp_path: Path) -> None:
    chance, power = "error: EIO, probability: 0.5", "crash: after, power: true"
    path = _scenario(
        tmp_path, f"{{id: f, operation: unlink, {chance}}}, {{id: g, operation: unlink, {power}}}", FOREIGN
    )
    code, out, _ = desk.doctor(path, "--engine", "process")
    assert code == 4
    assert "fault f (EIO on unlink .rules, probability 0.5) on a-0, a-1: " in out
    assert "fault g (power loss after on unlink .rules) on a-0, a-1: " in out


def test_one_engine_that_can_is_enough_unless_the_other_is_asked_for(desk: Desk) -> None:
    assert desk.doctor("flaky-disk")[0] == 0
    assert desk.doctor("flaky-disk", "--engine", "docker")[0] == 4


def test_fields_of_the_scenario_can_be_overridden(desk: Desk, tmp_path: Path) -> None:
    path = _scenario(tmp_path, "{id: f, operation: unlink, error: EIO}")
    assert desk.json(path, "--set", "fleet.agents=5")["engines"]["process"]["faults"][0]["agents"] == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such-scenario",), "no-such-scenario"),
        (("--engine", "des"), "--engine"),
        (("--set", "seed=1"), "SCENARIO"),
        (("flaky-disk", "--set", "seed=x"), "seed"),
    ],
)
def test_bad_input_is_exit_2_in_words(desk: Desk, words: tuple[str, ...], said: str) -> None:
    code, out, told = desk.doctor(*words)
    assert (code, out) == (2, "")
    assert said in told
    assert "Traceback" not in told


@pytest.fixture
def deaf(tmp_path: Path) -> Iterator[str]:
    """A socket at which somebody listens who never answers."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen(5)
        yield f"unix://{tmp_path / 's'}"


def test_a_container_engine_that_is_silent_does_not_hold_it_up(deaf: str) -> None:
    """In a process of its own, which must end although the question is still open."""
    command = [sys.executable, "-m", "fleetbeat", "doctor", "--engine", "docker", "--json"]
    environment = {**os.environ, "DOCKER_HOST": deaf}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=50, env=environment
    )  # the SDK would wait 60 s
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "no answer within 1 s" in found["docker"]["why_not"]
    assert found["engines"]["docker"]["can"] is False


def test_no_container_engine_is_said_with_its_place(desk: Desk) -> None:
    assert "/nonexistent/docker.sock" in desk.json("--engine", "docker")["docker"]["why_not"]


def test_a_remote_engine_is_not_talked_to_unless_it_is_named(desk: Desk) -> None:
    assert "--docker-host" in desk.json("--engine", "docker", docker_host="tcp://127.0.0.1:1")["docker"]["why_not"]
