"""What is shipped works without the checkout: wheel and sdist carry the agents, the scenarios and the compose files.

Needs the `dev` extra (`build` and `hatchling`). Nothing is fetched: builds run without isolation, and the wheel is
unpacked and put in front of this environment's libraries instead of being installed. CI installs one for real.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import fleetbeat

pytestmark = pytest.mark.slow

TOP = Path(__file__).resolve().parents[1]
#: Folder of the checkout -> where it lies in a wheel.
CARRIED = {
    "agents": "fleetbeat/data/agents",
    "scenarios": "fleetbeat/data/scenarios",
    "compose": "fleetbeat/data/compose",
}


def _run(*command: str, cwd: Path, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command in `cwd`; `path` comes before every installed library."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FLEETBEAT"))}
    if path is not None:
        env["PYTHONPATH"] = str(path)
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def _built(source: Path, out: Path, *what: str) -> Path:
    """Builds `source` into `out` and returns the one file that is new there."""
    before = set(out.iterdir()) if out.is_dir() else set()
    done = _run(
        sys.executable, "-m", "build", "--no-isolation", *what, "--outdir", str(out), str(source), cwd=out.parent
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = set(out.iterdir()) - before
    return made


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, with what Python left behind in it: somebody may be at work in the real one."""
    copy = tmp_path_factory.mktemp("tree") / "fleetbeat"
    shutil.copytree(TOP, copy, ignore=lambda folder, names: [name for name in names if _stays(name)])
    return copy


def _stays(name: str) -> bool:
    return name.startswith(".") and name != ".gitignore"


@pytest.fixture(scope="module")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tree, tmp_path_factory.mktemp("build") / "wheel", "--wheel")


@pytest.fixture(scope="module")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _built(tree, tmp_path_factory.mktemp("build") / "sdist", "--sdist")


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def _files(folder: Path) -> list[str]:
    """What of a folder is shipped: everything but what Python and editors leave behind."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(str(path) for path in paths if "__pycache__" not in path.parts)


def _contents(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, without the list of them that it holds."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}


def test_a_wheel_carries_agents_scenarios_and_compose_files_and_nothing_else_beside_the_package(
    tree: Path, unpacked: Path
) -> None:
    for folder, place in CARRIED.items():
        assert _files(unpacked / place) == _files(tree / folder) != []
    package = [name for name in _files(unpacked / "fleetbeat") if not name.startswith("data/")]
    assert package == _files(tree / "sim" / "fleetbeat")
    version = fleetbeat.__version__
    assert sorted(path.name for path in unpacked.iterdir()) == ["fleetbeat", f"fleetbeat-{version}.dist-info"]
    assert [path for path in unpacked.rglob("*") if path.name == "__pycache__" or path.suffix == ".pyc"] == []


def test_a_wheel_says_what_it_is(tree: Path, unpacked: Path) -> None:
    info = next(unpacked.glob("*.dist-info"))
    about = message_from_string((info / "METADATA").read_text(encoding="utf-8"))
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    assert (about["Name"], about["Version"]) == ("fleetbeat", fleetbeat.__version__)
    assert (about["License-Expression"], about["Requires-Python"]) == ("Apache-2.0", ">=3.11")
    core = [item for item in about.get_all("Requires-Dist", []) if "extra ==" not in item]
    assert len(core) == len(project["dependencies"])
    assert (info / "licenses" / "LICENSE").read_bytes() == (tree / "LICENSE").read_bytes()
    assert "fleetbeat = fleetbeat.cli:main" in (info / "entry_points.txt").read_text()


def _fleetbeat(path: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line as installed, from the package under `path`; fails if another one is imported."""
    code = (
        "import sys, fleetbeat; from fleetbeat.cli import main\n"
        f"assert fleetbeat.__file__.startswith({str(path)!r}), fleetbeat.__file__\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    return _run(sys.executable, "-c", code, *arguments, cwd=cwd, path=path)


def test_a_wheel_runs_a_scenario_by_name_with_no_checkout(tree: Path, unpacked: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    listed = _fleetbeat(unpacked, empty, "scenarios")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert all(path.stem in listed.stdout for path in (tree / "scenarios").glob("*.yaml"))
    done = _fleetbeat(unpacked, empty, "run", "canary-rollout", "-o", str(tmp_path / "shipped"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert list(empty.iterdir()) == []
    here = _fleetbeat(tree / "sim", empty, "run", "canary-rollout", "-o", str(tmp_path / "checkout"))
    assert (here.stdout, here.returncode) == (done.stdout, 0)
    histories = [(tmp_path / name / "history.jsonl").read_bytes() for name in ("shipped", "checkout")]
    assert histories[0] == histories[1] != b""


def test_a_wheel_does_not_find_what_lies_in_a_folder_called_like_its_data(unpacked: Path, tmp_path: Path) -> None:
    """The checkout's folders count for a checkout alone: a stranger's `scenarios/` in the working directory does not."""
    (tmp_path / "scenarios").mkdir()
    (tmp_path / "scenarios" / "canary-rollout.yaml").write_text("nonsense")
    done = _fleetbeat(unpacked, tmp_path, "validate", "canary-rollout")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_sdist_holds_the_sources_and_builds_the_same_wheel_again(
    tree: Path, sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(
            tarfile, "data_filter", lambda member, _: member
        )  # Debian's 3.11.2 has none
        archive.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    for folder in ("sim", "agents", "scenarios", "compose", "tests"):
        assert _files(source / folder) == _files(tree / folder)
    assert sorted(path.name for path in source.iterdir() if path.name.startswith(".")) == [".gitignore"]
    again = _built(source, tmp_path / "again", "--wheel")
    assert again.name == wheel.name
    assert _contents(again) == _contents(wheel)
