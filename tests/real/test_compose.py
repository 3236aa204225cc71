"""The fleet of `compose/` as its README says it comes up: laid out, brought up, rules posted, watched, taken down."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.real.conftest import DockerEngine
from tests.real.containers import UID, until

from fleetbeat.cli import main
from fleetbeat.engines.docker.images import BASE

COMPOSE = Path(__file__).resolve().parents[2] / "compose"
AGENTS = [f"agent-{number:02}" for number in range(12)]


def _tool() -> list[str]:
    """The words of the compose that this machine has; []: none."""
    for words in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(words[0]) is None:
            continue
        if subprocess.run([*words, "version"], capture_output=True, check=False).returncode == 0:
            return words
    return []


@dataclass(frozen=True, slots=True)
class Project:
    """A project of compose with a name and a directory of its own."""

    build: Path
    environment: dict[str, str]
    tool: list[str]

    def prepare(self) -> subprocess.CompletedProcess[str]:
        words = [str(COMPOSE / "prepare"), str(self.build)]
        return subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)

    def __call__(self, *words: str) -> str:
        head = [*self.tool, "-p", f"fleetbeattest{os.getpid()}", "-f", str(COMPOSE / "compose.yaml")]
        done = subprocess.run(
            [*head, *words], env=self.environment, capture_output=True, text=True, check=False, cwd=self.build
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def _project(build: Path, base: str, tool: list[str]) -> Project:
    told = {"FLEETBEAT_BASE": base, "FLEETBEAT_COMPOSE": str(build), "FLEETBEAT_UID": str(UID)}
    return Project(build, {**os.environ, **told, "PYTHON": sys.executable}, tool)


@pytest.fixture
def project(docker_engine: DockerEngine, tmp_path: Path) -> Iterator[Project]:
    tool = _tool()
    if not tool:
        why = "neither `docker compose` nor docker-compose is on this machine"
        if os.environ.get("FLEETBEAT_NEED_DOCKER") == "1":
            pytest.fail(why)
        pytest.skip(why)
    project = _project(tmp_path / "build", docker_engine.base, tool)
    project.build.mkdir()
    yield project
    project("down", "--volumes", "--timeout", "3", "--rmi", "all")


@pytest.mark.slow
def test_twelve_agents_an_operator_and_an_observer_come_up_and_agree(project: Project) -> None:
    assert project.prepare().returncode == 0
    project("up", "--detach", "--build")
    until(lambda: "effective in 12" in project("logs", "--no-color", "observer"), "the observer's last line")
    posted = project("logs", "--no-color", "operator")
    assert [agent for agent in AGENTS if f"{agent}: posted" not in posted] == []
    until(
        lambda: [a for a in AGENTS if f"{a}: effective after" not in project("logs", "--no-color", "operator")] == [],
        "the operator's last line",
    )
    rules = (COMPOSE / "rules.md").read_text().strip()
    for agent in AGENTS:
        assert (project.build / "fleet" / agent / "system/rules.md").read_text().strip() == rules
        assert rules in (project.build / "fleet" / agent / "system/system.md").read_text()


def test_each_agent_stands_in_the_file_with_directories_of_its_own_and_without_a_network() -> None:
    services = yaml.safe_load((COMPOSE / "compose.yaml").read_text())["services"]
    assert sorted(services) == [*AGENTS, "observer", "operator"]
    for name in AGENTS:
        assert services[name]["command"][-1] == f"/control/{name}/plan.json"
        assert [volume.rpartition("}")[2] for volume in services[name]["volumes"][:2]] == [
            f"/fleet/{name}:/fleet/{name}",
            f"/control/{name}:/control/{name}",
        ]
    for service in services.values():
        assert (service["network_mode"], service["cap_drop"], service["read_only"]) == ("none", ["ALL"], True)
        assert service["build"]["args"]["BASE"] == f"${{FLEETBEAT_BASE:-{BASE}}}"
    words = services["operator"]["command"]
    assert words[words.index("/fleet") + 1 :] == AGENTS == services["operator"]["depends_on"]


def test_no_file_names_a_registry_or_a_mirror() -> None:
    named = re.compile(r"\b[a-z0-9-]+\.(?:org|io|com|net|dev)\b|https?://")
    texts = {path.name: path.read_text() for path in sorted(COMPOSE.rglob("*")) if path.is_file()}
    assert {"base-image", "compose.yaml", "prepare", "Dockerfile"} <= set(texts)
    assert [(name, named.findall(text)) for name, text in texts.items() if named.search(text)] == []


def test_preparing_empties_what_it_made_and_nothing_else(tmp_path: Path) -> None:
    project = _project(tmp_path / "build", "any", [])
    assert project.prepare().returncode == 0
    (project.build / "fleet/agent-00/.rules").write_text("from the time before")
    assert project.prepare().returncode == 0
    assert list((project.build / "fleet/agent-00").iterdir()) == []

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/precious").write_text("")
    done = _project(tmp_path / "mine", "any", []).prepare()
    assert done.returncode != 0
    assert "which is not empty and not ours" in done.stderr
    assert (tmp_path / "mine/precious").exists()


def test_the_base_needs_root_and_says_so() -> None:
    words = ["sh", str(COMPOSE / "base-image")]
    if os.getuid() == 0:
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]
        if (
            shutil.which("setpriv") is None
            or subprocess.run([*words[:4], "test", "-r", words[-1]], check=False).returncode
        ):
            pytest.skip("needs setpriv, and a checkout that everybody can read")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert re.search(r"base-image: got user \S+, expected root", done.stderr)


# --- the operator's and the observer's verbs, on directories ---


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / "fleet" / name / "system").mkdir(parents=True)
    (tmp_path / "rules.md").write_text("Be brief.\n")
    return tmp_path / "fleet"


def test_a_post_appears_whole_at_each_agent_that_is_named_and_nowhere_else(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["post", str(fleet), "a", "--body", str(fleet.parent / "rules.md")]) == 0
    assert [path.name for path in (fleet / "a").iterdir() if path.is_file()] == [".rules"]
    assert (fleet / "a/.rules").read_text() == "Be brief.\n"
    assert not (fleet / "b/.rules").exists()
    assert capsys.readouterr().out.startswith("a: posted ")


def test_a_post_that_fails_is_told_and_the_others_are_made(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (fleet / "link").symlink_to(fleet / "b")
    assert main(["post", str(fleet), "none", "link", "a", "--body", str(fleet.parent / "rules.md")]) == 1
    told = capsys.readouterr().out
    assert "none: not posted: No such file or directory" in told
    assert "link: not posted" in told
    assert "a: posted" in told
    assert not (fleet / "b/.rules").exists()


@pytest.mark.parametrize("agent", ["..", "/etc", "a/../../b"])
def test_a_post_out_of_the_fleet_is_refused_before_any_is_made(
    agent: str, fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["post", str(fleet), "a", agent, "--body", str(fleet.parent / "rules.md")]) == 2
    assert not (fleet / "a/.rules").exists()
    capsys.readouterr()


def test_the_observer_tells_pending_from_canonical_from_effective_and_shows_no_escapes(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = fleet.parent / "rules.md"
    (fleet / "a/.rules").write_text("x")
    (fleet / "b/system/rules.md").write_text("Be brief.")
    (fleet / "c\x1b[31m").mkdir()
    assert main(["watch", str(fleet), "--body", str(rules), "--for", "0"]) == 1
    told = capsys.readouterr().out
    assert "a: no beat, canonical none, effective none, a signal is pending" in told
    assert re.search(r"b: no beat, canonical [0-9a-f]{8}, effective none\n", told)
    assert "\x1b" not in told

    for name in ("a", "b", "c\x1b[31m"):
        (fleet / name / "system").mkdir(exist_ok=True)
        (fleet / name / "system/system.md").write_text("# x\n\n<rules>\nBe brief.\n</rules>\n")
        (fleet / name / ".agent.heartbeat").write_text("0")
    assert main(["watch", str(fleet), "--body", str(rules), "--for", "5"]) == 0
    assert "3 agents, 3 beating" in capsys.readouterr().out
