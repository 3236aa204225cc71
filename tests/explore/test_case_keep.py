from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.explore.small_cases import library, lost_in_a_crash, lost_update, two_posts
from tests.explore.test_case import PersistsByRename, ReadsTwice

from fleetbeat.explore.case import Case, load, make_case
from fleetbeat.explore.keep import Kept, belongs, keep, name_of, replay_first


@pytest.fixture(scope="module")
def case() -> Case:
    return make_case(lost_update())


def test_a_case_is_kept_once_however_it_is_told(case: Case, tmp_path: Path) -> None:
    first = keep(case, tmp_path / "a" / "b")
    again = keep(replace(case, sentence="told otherwise", version="9.9", programs=()), tmp_path / "a" / "b")
    assert first == again
    assert [path.name for path in first.parent.iterdir()] == [name_of(case)]
    assert load(first).sentence == "told otherwise"


def test_different_cases_have_different_files(case: Case, tmp_path: Path) -> None:
    later = case.scenario.model_copy(update={"duration": case.scenario.duration + 1})
    other = replace(case, scenario=later)
    assert len({name_of(one) for one in (case, other, make_case(lost_in_a_crash()))}) == 3
    assert name_of(case).startswith("no-silent-loss-gap-protocol-")


def test_a_file_appears_whole_or_not_at_all(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        keep(case, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_rewrite_leaves_the_file_that_was_there(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = keep(case, tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        keep(replace(case, sentence="new"), tmp_path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def states(kept: Any) -> dict[str, str]:
    return {one.path.name.split("-1")[0]: one.state for one in kept}


def test_kept_cases_are_told_as_still_failing_gone_or_diverged(tmp_path: Path) -> None:
    keep(make_case(lost_update()), tmp_path)
    keep(make_case(lost_in_a_crash()), tmp_path)
    now = list(replay_first(tmp_path))
    assert [one.state for one in now] == ["failing", "failing"]
    assert str(now[0]).endswith(f"still failing: {now[0].case.sentence if now[0].case else ''}")
    better = list(replay_first(tmp_path, programs={"reference": ReadsTwice()}))
    assert sorted(one.state for one in better) == ["failing", "gone"]


def test_a_case_whose_steps_are_gone_says_which(tmp_path: Path) -> None:
    cases = Path(__file__).resolve().parents[2] / "scenarios" / "cases"
    keep(load(cases / "empty-canonical.yaml"), tmp_path)
    (one,) = replay_first(tmp_path, programs={"reference": PersistsByRename()})
    assert one.state == "diverged"
    assert "open system/rules.md@1 never comes" in str(one)


def test_a_broken_file_stops_no_other(case: Case, tmp_path: Path) -> None:
    path = keep(case, tmp_path)
    (tmp_path / "a.yaml").write_text("format: 7\n")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "c.yaml").mkdir()
    (tmp_path / ".partial.yaml.partial-1").write_text("half")
    found = list(replay_first(tmp_path))
    assert [(one.path.name, one.state) for one in found] == [
        ("a.yaml", "unreadable"), ("b.yaml", "unreadable"), ("c.yaml", "unreadable"), (path.name, "failing")
    ]  # fmt: skip
    assert "got 7, expected 1" in str(found[0])


def test_only_cases_of_this_scenario_and_program_are_replayed(case: Case, tmp_path: Path) -> None:
    keep(case, tmp_path)
    assert len(list(replay_first(tmp_path, two_posts()))) == 1
    assert list(replay_first(tmp_path, library("lost-update"))) == []
    keep(replace(case, programs=(("another", "0" * 16),)), tmp_path)
    assert list(replay_first(tmp_path, two_posts())) == []
    assert not belongs(replace(case, programs=()), two_posts())


def test_where_nothing_was_kept_nothing_is_replayed(tmp_path: Path) -> None:
    assert list(replay_first(tmp_path / "none")) == []
    assert isinstance(Kept(tmp_path, "gone"), Kept)
    assert str(Kept(Path("x.yaml"), "gone")) == "x.yaml: gone"
