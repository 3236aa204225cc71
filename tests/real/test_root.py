"""Where a run lives: what is refused, what is adopted, what is taken away, and what is never touched."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from tests.real.ground import ground  # noqa: F401

from fleetbeat.engines.real.errors import CannotDo, EngineError
from fleetbeat.engines.real.root import MARK, FleetRoot, Mark, left_behind, make_root, read_mark, start_of

GONE = 2**22 + 1  # above the most that a process id can be


def _left(place: Path) -> FleetRoot:
    """The root of a run that was killed: all is there, its owner is gone."""
    root = make_root(place, "process", "lost")
    mark = replace(root.mark, pid=GONE, run=f"{GONE}-1-0")
    (place / MARK).write_text(json.dumps({name: getattr(mark, name) for name in mark.__dataclass_fields__}))
    return root


def test_a_root_is_laid_out_and_marked_and_goes_without_a_trace(ground: Path) -> None:  # noqa: F811
    root = make_root(ground / "r", "process", "mine")
    assert sorted(path.name for path in root.path.iterdir()) == [MARK, "code", "control", "fleet"]
    assert read_mark(root.path) == root.mark
    assert root.mark.is_alive
    root.go("go", 17)
    assert json.loads((root.common / "go").read_text()) == {"zero": 17}
    root.remove()
    root.remove()
    assert list(ground.iterdir()) == []


def test_an_empty_directory_is_taken_and_stays(ground: Path) -> None:  # noqa: F811
    (ground / "r").mkdir()
    root = make_root(ground / "r", "process", "mine")
    root.remove()
    assert list((ground / "r").iterdir()) == []


@pytest.mark.parametrize("case", ["root", "home", "link", "linked", "full", "file", "nowhere", "inside", "busy"])
def test_a_place_that_is_not_ours_is_refused_and_left_as_it_is(ground: Path, case: str) -> None:  # noqa: F811
    place = ground / "r"
    if case in ("link", "linked"):
        (ground / "true").mkdir()
        place.symlink_to(ground / "true")
    elif case == "full":
        place.mkdir()
        (place / "theirs").write_text("theirs")
    elif case == "file":
        place.write_text("theirs")
    elif case in ("inside", "busy"):
        make_root(place, "process", "first")
    asked, words = {
        "root": (Path("/"), "root of the file system"),
        "home": (Path.home(), "a home directory"),
        "link": (place, "symbolic link"),
        "linked": (place / "deeper", "symbolic link"),
        "full": (place, "not empty and not ours"),
        "file": (place, "no directory"),
        "nowhere": (place / "deeper", "expected its parent to exist"),
        "inside": (place / "fleet" / "deeper", "inside another fleet root"),
        "busy": (place, f"in use by another run (process {os.getpid()}"),
    }[case]
    before = sorted(str(path) for path in ground.rglob("*"))
    with pytest.raises(CannotDo) as refused:
        make_root(asked, "process", "mine")
    assert words in str(refused.value)
    assert sorted(str(path) for path in ground.rglob("*")) == before


def test_a_mark_that_is_a_link_is_no_mark(ground: Path) -> None:  # noqa: F811
    root = make_root(ground / "r", "process", "mine")
    (ground / "theirs").mkdir()
    (ground / "theirs" / "kept").write_text("theirs")
    (ground / "theirs" / MARK).symlink_to(root.path / MARK)
    with pytest.raises(CannotDo, match="not ours"):
        make_root(ground / "theirs", "process", "mine")
    assert (ground / "theirs" / "kept").read_text() == "theirs"


def test_what_a_killed_run_left_is_adopted_and_emptied_without_following_links(ground: Path) -> None:  # noqa: F811
    outside = ground / "outside"
    outside.mkdir()
    (outside / "kept").write_text("theirs")
    left = _left(ground / "r")
    (left.fleet / "a-0").mkdir()
    (left.fleet / "a-0" / "link").symlink_to(outside)
    (left.fleet / "a-0" / "shut").mkdir()
    (left.fleet / "a-0" / "shut" / "file").write_text("ours")
    (left.fleet / "a-0" / "shut").chmod(0)
    root = make_root(ground / "r", "process", "mine")
    assert list(root.fleet.iterdir()) == []
    assert (outside / "kept").read_text() == "theirs"


def test_a_process_that_has_the_same_number_is_not_the_owner(ground: Path) -> None:  # noqa: F811
    root = make_root(ground / "r", "process", "mine")
    assert not replace(root.mark, pid_start=root.mark.pid_start - 1).is_alive


def test_runs_without_a_root_of_their_own_get_one_each_and_are_found_again(ground: Path) -> None:  # noqa: F811
    one, other = (make_root(None, "process", name) for name in ("one", "other"))
    assert one.path != other.path
    assert [(path, mark.scenario) for path, mark in left_behind()] == [(one.path, "one"), (other.path, "other")]
    one.remove()
    other.remove()
    assert left_behind() == []


def test_a_usual_place_that_somebody_else_prepared_is_refused(ground: Path) -> None:  # noqa: F811
    (ground / "trap").mkdir()
    (Path(tempfile.gettempdir()) / f"fleetbeat-{os.getuid()}").symlink_to(ground / "trap")
    with pytest.raises(CannotDo, match="not ours alone"):
        make_root(None, "process", "mine")
    assert list((ground / "trap").iterdir()) == []


def test_a_disk_that_is_full_is_said_in_words(ground: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    def full(path: Path, mark: Mark) -> None:
        raise OSError(28, os.strerror(28), str(path / MARK))

    monkeypatch.setattr("fleetbeat.engines.real.root._write_mark", full)
    with pytest.raises(EngineError, match="No space left on device"):
        make_root(ground / "r", "process", "mine")
    assert list(ground.iterdir()) == []


def test_the_start_of_a_process_that_is_gone_is_unknown() -> None:
    assert start_of(os.getpid()) is not None
    assert start_of(GONE) is None
