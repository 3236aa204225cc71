"""Agents as subprocesses: whose they are, what they can see of us, and that none is left, however they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.real.ground import ground, until  # noqa: F401

from fleetbeat.engines.process import guard
from fleetbeat.engines.process.hosting import Processes
from fleetbeat.engines.real.crew import Crew, crews_of
from fleetbeat.engines.real.hosting import Ended, Launch, last_lines, quiet
from fleetbeat.engines.real.root import FleetRoot, make_root, start_of
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec, agents

OTHER = 1000


def specs(*groups: dict[str, object]) -> tuple[AgentSpec, ...]:
    return agents(Scenario.model_validate({"fleet": {"groups": list(groups)}}))


class Host:
    """Processes of one foreign agent, started with whatever words a test wants."""

    def __init__(self, place: Path, uid: int) -> None:
        self.root: FleetRoot = make_root(place / "r", "process", "test")
        self.folder = place / "mine"
        self.folder.mkdir(mode=0o755)
        (self.folder / "agent.yaml").write_text("name: mine\n")
        (spec,) = specs({"name": "a", "count": 1, "uid": uid})
        manifest = Manifest(name="mine", command=("true",))
        (self.crew,) = crews_of([spec], {"reference": manifest}, {"reference": self.folder})
        self.root.home(spec.home).mkdir()
        self.root.own(self.crew.id).mkdir()
        if os.geteuid() == 0:
            os.chown(self.root.own(self.crew.id), uid, uid)
        self.hosting = Processes()
        self.hosting.prepare(self.root, [self.crew], quiet)

    def start(self, *words: str, life: int = 0) -> None:
        self.hosting.start([Launch(self.crew, life, None, words)], quiet)

    def said(self, *words: str) -> str:
        """Starts words, waits for their end, and returns their output."""
        self.start(*words)
        assert until(lambda: bool(self.hosting.ended()))
        return self.hosting.tail(self.crew.id)


@pytest.fixture
def host(ground: Path) -> Iterator[Host]:  # noqa: F811
    made = Host(ground, OTHER if os.geteuid() == 0 else os.getuid())
    yield made
    made.hosting.close()
    made.root.remove()


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_process_is_its_user_with_no_other_group_and_runs_in_its_folder(host: Host) -> None:
    """Its folder, or a copy of it where its user may not look into the checkout."""
    uid, groups, mask, folder = host.said("sh", "-c", "id -u; id -G; umask; pwd").split()
    assert (uid, groups, mask) == ("1000", "1000", "0022")
    assert (Path(folder) / "agent.yaml").read_bytes() == (host.folder / "agent.yaml").read_bytes()
    assert Path(folder) == host.folder or Path(folder).is_relative_to(host.root.path)


def test_a_process_sees_nothing_of_our_environment_nor_of_our_files(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMEBODYS_TOKEN", "secret")
    with (host.folder / "open").open("w") as kept:
        number = str(kept.fileno())
        os.set_inheritable(kept.fileno(), True)
        told = host.said("sh", "-c", "env; ls /proc/self/fd")
    assert "secret" not in told
    assert f"FLEETBEAT_RUN={host.root.run}" in told
    assert number not in told.split()


def test_an_end_is_told_once_with_its_code_and_its_last_lines(host: Host) -> None:
    host.start("sh", "-c", "seq 1 30; exit 7", life=3)
    found: list[Ended] = []
    assert until(lambda: found.__iadd__(host.hosting.ended()))
    assert [(one.crew, one.life, one.code) for one in found] == [("a-0", 3, 7)]
    assert host.hosting.ended() == []
    assert host.hosting.tail("a-0").split() == [str(number) for number in range(11, 31)]
    host.start("sh", "-c", "kill -9 $$")
    found = []
    assert until(lambda: found.__iadd__(host.hosting.ended()))
    assert found[0].code == -signal.SIGKILL


def test_a_command_that_does_not_exist_is_an_end_with_words(host: Host) -> None:
    assert "no-such-agent" in host.said("no-such-agent")


def test_killing_takes_the_children_too_and_is_no_end_of_its_own(host: Host) -> None:
    host.start("sh", "-c", "sleep 1000 & sleep 1000")
    pid = host.hosting.pid("a-0")
    assert pid is not None
    assert until(lambda: len(children_of(pid)) == 2)
    below = children_of(pid)
    host.hosting.kill("a-0")
    assert until(lambda: [start_of(child) for child in (pid, *below)] == [None, None, None])
    assert host.hosting.ended() == []
    assert host.hosting.pid("a-0") is None


def test_a_paused_process_stands_still_until_it_is_resumed_and_can_be_ended(host: Host) -> None:
    def state() -> str:
        return Path(f"/proc/{host.hosting.pid('a-0')}/stat").read_text().rpartition(")")[2].split()[0]

    host.start("sleep", "1000")
    assert until(lambda: state() == "S")
    host.hosting.pause("a-0")
    assert until(lambda: state() == "T")
    host.hosting.resume("a-0")
    assert until(lambda: state() == "S")
    host.hosting.pause("a-0")
    host.hosting.stop(["a-0"])
    assert host.hosting.pid("a-0") is None


def test_stopping_asks_first(host: Host) -> None:
    host.start("sh", "-c", "trap 'echo asked; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    assert until(lambda: "up" in host.hosting.tail("a-0"))
    host.hosting.stop(["a-0"])
    assert host.hosting.tail("a-0").split()[-1] == "asked"


@pytest.mark.slow
def test_a_process_whose_lease_runs_out_is_ended_with_all_its_children(
    ground: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lease = ground / "lease"
    lease.write_text("1")
    words = ["sh", "-c", "sleep 1000 & echo $! > child; sleep 1000"]
    command = [sys.executable, "-S", guard.__file__, str(lease), "1", *words]
    started = subprocess.Popen(command, cwd=ground, start_new_session=True)
    child = ground / "child"
    assert until(lambda: child.is_file() and child.read_text().strip())
    for renewed in range(4):
        time.sleep(0.5)
        lease.write_text(str(renewed))
        assert started.poll() is None
    assert started.wait(timeout=20) == -signal.SIGKILL
    assert until(lambda: start_of(int(child.read_text())) is None)


def test_output_that_is_a_link_is_neither_written_nor_read(host: Host, ground: Path) -> None:  # noqa: F811
    (ground / "theirs").write_text("theirs")
    (host.root.own("a-0") / "out.log").symlink_to(ground / "theirs")
    assert last_lines(host.root.own("a-0") / "out.log") == ""
    host.start("echo", "ours")
    assert (ground / "theirs").read_text() == "theirs"
    assert until(lambda: last_lines(host.root.own("a-0") / "out.log") == "ours")


def test_crews_are_shared_by_program_and_user_and_nobody_shares_who_must_be_alone() -> None:
    found = specs(
        {"name": "a", "count": 150},
        {"name": "b", "count": 2, "uid": 7},
        {"name": "c", "count": 2, "agent": "own"},
        {"name": "d", "count": 1, "agent": "claim"},
    )
    manifests = {name: Manifest(name=name) for name in ("reference", "claim")} | {
        "own": Manifest(name="own", command=("true",))
    }
    crews = crews_of(found, manifests, dict.fromkeys(manifests, Path("/x")), alone=("a-3",))
    assert [(crew.id, len(crew.agents), crew.uid, crew.driver) for crew in crews] == [
        ("crew.0", 100, 1000, True),
        ("a-3", 1, 1000, True),
        ("crew.2", 49, 1000, True),
        ("crew.3", 2, 7, True),
        ("c-0", 1, 1000, False),
        ("c-1", 1, 1000, False),
        ("d-0", 1, 1000, True),
    ]
    everyone: list[str] = [spec.name for crew in crews for spec in crew.agents]
    assert sorted(everyone) == sorted(spec.name for spec in found)
    alone: tuple[Crew, ...] = crews_of(found, manifests, dict.fromkeys(manifests, Path("/x")), most=1)
    assert {len(crew.agents) for crew in alone} == {1}
