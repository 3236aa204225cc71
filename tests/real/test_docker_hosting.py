"""Agents in containers, one by one: started, paused, killed, asked, and what is said of those that fail."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from tests.real.conftest import DockerEngine
from tests.real.containers import REFERENCE, TOP, Stage, quiet, staged, until

from fleetbeat.engines.real.crew import Crew
from fleetbeat.engines.real.errors import EngineError

pytestmark = pytest.mark.slow

FOREIGN = Path(__file__).parent / "foreign"


def _lines(stage: Stage, crew: Crew) -> list[str]:
    lines = (stage.root.own(crew.id) / "report.jsonl").read_text().splitlines()
    return [json.loads(line)["what"] for line in lines]


def test_an_agent_in_a_container_lives_and_dies_as_it_is_told(docker_engine: DockerEngine) -> None:
    with staged(docker_engine.base, count=2) as stage:
        first, second = stage.crews
        stage.start()
        stage.await_beat(first)
        (stage.home(first) / ".new").write_text("Be brief.")
        (stage.home(first) / ".new").rename(stage.home(first) / ".rules")
        prompt = stage.home(first) / "system/system.md"
        until(lambda: "Be brief." in prompt.read_text(), "the rules in the prompt")

        stage.hosting.pause(first.id)
        stage.hosting.pause(first.id)
        stood = stage.beats(first)
        stage.await_beat(second)
        stage.await_beat(second)
        assert stage.beats(first) == stood
        stage.hosting.resume(first.id)
        stage.hosting.resume(first.id)
        stage.await_beat(first)

        stage.hosting.kill(first.id)
        assert stage.hosting.pid(first.id) is None
        stage.hosting.start([stage.launch(first, 1)], quiet)
        stage.await_beat(first)
        pid = stage.hosting.pid(first.id)
        assert pid is not None
        assert b"fleetbeat.protocol.live" in Path(f"/proc/{pid}/cmdline").read_bytes()
        if os.getuid() == 0:
            os.kill(pid, 9)  # neither of the two that were asked for is told as an end
            ended = stage.await_end()
            assert (ended.crew, ended.life, ended.code) == (first.id, 1, -9)

        stage.hosting.stop([second.id])
        assert _lines(stage, second)[-1] == "end"
        assert stage.hosting.ended() == []


def test_a_container_may_do_nothing_that_an_agent_does_not_need(docker_engine: DockerEngine) -> None:
    with staged(docker_engine.base) as stage:
        stage.start()
        (container,) = docker_engine.client.containers.list(filters={"label": f"fleetbeat.run={stage.root.run}"})
        told, labels = container.attrs["HostConfig"], container.labels
        assert told["NetworkMode"] == "none"
        assert told["SecurityOpt"] == ["no-new-privileges"]
        assert told["CapDrop"] == ["ALL"]
        assert not told["CapAdd"]
        assert told["ReadonlyRootfs"] is True
        assert (told["Memory"], told["MemorySwap"], told["PidsLimit"]) == (256 << 20, 256 << 20, 256)
        assert container.attrs["Config"]["User"].split(":")[0] not in ("", "0", "root")
        writable = {mount["Destination"] for mount in container.attrs["Mounts"] if mount["RW"]}
        assert writable == {"/fleet/a-0", "/control/a-0"}
        mark = stage.root.mark
        assert labels["fleetbeat.root"] == str(stage.root.path)
        assert (labels["fleetbeat.pid"], labels["fleetbeat.pid_start"]) == (str(mark.pid), str(mark.pid_start))
        (crew,) = stage.crews
        status = Path(f"/proc/{stage.hosting.pid(crew.id)}/status").read_text()
        assert "CapEff:\t0000000000000000" in status
        assert "NoNewPrivs:\t1" in status


def test_an_image_is_built_once_for_its_content(docker_engine: DockerEngine, tmp_path: Path) -> None:
    shutil.copytree(REFERENCE, tmp_path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    tags = []
    for extra in ("", "", "other"):
        (tmp_path / "mine/notes").write_text(extra)
        with staged(docker_engine.base, tmp_path / "mine") as stage:
            built = next(iter(stage.hosting._built.values()))
            tags.append((built.image, docker_engine.client.images.get(built.image).attrs["Created"]))
    try:
        assert tags[0] == tags[1]
        assert tags[2][0] != tags[0][0]
    finally:
        for tag in dict.fromkeys(tag for tag, _ in tags):
            docker_engine.client.images.remove(tag)


def test_an_image_that_does_not_build_shows_its_last_lines(docker_engine: DockerEngine, tmp_path: Path) -> None:
    folder = _folder(tmp_path, "RUN echo first && echo what it said last >&2 && exit 7\n")
    with pytest.raises(EngineError) as caught, staged(docker_engine.base, folder):
        pass
    assert f"image of {folder}: got a build on {docker_engine.base} that fails, expected one that works" in str(
        caught.value
    )
    assert "what it said last" in str(caught.value)
    assert "returned a non-zero code: 7" in str(caught.value)


def test_a_base_that_is_nowhere_names_the_way_to_make_one(docker_engine: DockerEngine, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"localhost/none/such.*compose/base-image"), staged("localhost/none/such:1"):
        pass


def test_an_image_that_is_not_there_is_not_fetched(docker_engine: DockerEngine, tmp_path: Path) -> None:
    folder = _folder(tmp_path, None)
    with (folder / "agent.yaml").open("a") as manifest:
        manifest.write("image: none.invalid/such:1\n")
    with pytest.raises(EngineError, match=r"got 'none.invalid/such:1', which is not"), staged("", folder):
        pass


def test_a_ready_image_gets_the_driver_by_a_mount(docker_engine: DockerEngine, tmp_path: Path) -> None:
    folder = _folder(tmp_path, None)
    with (folder / "agent.yaml").open("a") as manifest:
        manifest.write(f"image: {docker_engine.base}\n")
    (folder / "program.py").write_text((REFERENCE / "program.py").read_text())
    with staged(docker_engine.base, folder) as stage:
        stage.start()
        stage.await_beat(stage.crews[0])


def test_a_container_that_dies_at_its_start_is_told_with_its_last_lines(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    folder = _folder(tmp_path, None)
    (folder / "program.py").write_text("raise RuntimeError('\\x1b[31mno such luck')\n")
    with staged(docker_engine.base, folder) as stage:
        stage.start()
        ended = stage.await_end()
        assert (ended.crew, ended.code) == (stage.crews[0].id, 1)
        assert "no such luck" in until(lambda: stage.hosting.tail(ended.crew), "its output")


def test_a_command_that_is_not_in_the_image_is_an_error_at_the_start(
    docker_engine: DockerEngine, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "agent.yaml").write_text("name: mine\ncommand: [no-such-command]\n")
    with staged(docker_engine.base, folder) as stage:
        stage.start()
        ended = stage.await_end()
        assert ended.code == 127
        assert "no-such-command" in until(lambda: stage.hosting.tail(ended.crew), "its output")


def test_an_agent_of_somebody_else_runs_under_the_supervisor(docker_engine: DockerEngine) -> None:
    with staged(docker_engine.base, FOREIGN) as stage:
        (crew,) = stage.crews
        stage.start()
        stage.await_beat(crew)
        (stage.home(crew) / ".new").write_text("Be brief.")
        (stage.home(crew) / ".new").rename(stage.home(crew) / ".rules")
        canonical = stage.home(crew) / "system/rules.md"
        until(lambda: canonical.exists() and "Be brief." in canonical.read_text(), "the rules")
        stage.hosting.stop([crew.id])
        assert stage.hosting.ended() == []


def test_a_lease_that_nobody_renews_ends_a_container(docker_engine: DockerEngine) -> None:
    with staged(docker_engine.base, lease_s=2.0) as stage:
        stage.start()
        ended = stage.await_end()
        assert ended.code == 0
        last = (stage.root.own(ended.crew) / "report.jsonl").read_text().splitlines()[-1]
        assert json.loads(last)["reason"] == "lease"


def test_a_lease_that_nobody_renews_ends_an_agent_of_somebody_else(docker_engine: DockerEngine) -> None:
    with staged(docker_engine.base, FOREIGN) as stage:
        stage.start()
        stage.await_beat(stage.crews[0])
        until(stage.hosting.ended, "the end of a container whose lease is over")


def _folder(top: Path, more: str | None) -> Path:
    """The reference agent's folder under another name; `more` is added to its Dockerfile, None: it has none."""
    folder = top / "mine"
    shutil.copytree(TOP / "agents" / "reference", folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = (folder / "agent.yaml").read_text()
    (folder / "agent.yaml").write_text(manifest.replace("name: reference", "name: mine"))
    if more is None:
        (folder / "Dockerfile").unlink()
    else:
        with (folder / "Dockerfile").open("a") as file:
            file.write(more)
    return folder
