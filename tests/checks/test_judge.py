"""The judge, the registry, a user's folder of checks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.histories.tell import applied, lost_update

from fleetbeat.checks import CHECKS, Check, CheckError, Finding, Invariant, Unknown, World, judge, load_checks

MINE = Invariant("mine", "my promise")
TABLE = (
    "whole-body no-silent-loss last-write-wins consume-before-apply empty-is-noop identical-is-noop write-failure-aborts "
    "canonical-intact effective-follows survives-rebuild one-log-each beats-go-on drains scope honest-operator coverage"
)


def finding(kind: str = "violation") -> Finding:
    return Finding("mine", kind, "agent", 5, "something")  # type: ignore[arg-type]


def judged(run: object):  # type: ignore[no-untyped-def]
    return judge(applied().history(), extra=[Check(MINE, run)]).verdicts[-1]  # type: ignore[arg-type]


def test_every_invariant_of_the_table_has_a_check_in_its_order() -> None:
    assert [check.invariant.id for check in CHECKS] == TABLE.split()
    assert [one.invariant for one in judge(applied().history()).verdicts] == TABLE.split()


def test_a_check_that_raises_is_unknown_with_what_it_raised_and_never_held() -> None:
    def run(world: World) -> Iterator[Finding]:
        world.examined(3)
        yield finding()
        raise KeyError("norm")

    found = judged(run)
    assert (found.outcome, found.examined, len(found.findings)) == ("unknown", 3, 1)
    assert "KeyError: 'norm'" in found.reason


def test_a_check_that_cannot_know_says_what_is_missing() -> None:
    def run(world: World) -> Iterator[Finding]:
        raise Unknown("no prompt was observed")
        yield

    found = judged(run)
    assert (found.outcome, found.reason) == ("unknown", "no prompt was observed")


@pytest.mark.parametrize("result", [None, 5, ["words"]])
def test_a_check_that_yields_no_findings_but_something_else_is_unknown(result: object) -> None:
    assert judged(lambda world: result).outcome == "unknown"


def test_hazards_alone_leave_a_verdict_held_with_its_findings() -> None:
    found = judged(lambda world: [finding("hazard")])
    assert (found.outcome, len(found.findings)) == ("held", 1)
    assert judged(lambda world: [finding("hazard"), finding("gap")]).outcome == "broken"


def test_findings_are_told_in_order_of_time_and_counts_do_not_leak_between_checks() -> None:
    def run(world: World) -> Iterator[Finding]:
        for t in (3, 1, 2):
            yield Finding("mine", "gap", "agent", t, "x")

    found = judged(run)
    assert [one.t for one in found.findings] == [1, 2, 3]
    assert found.examined == 0


def test_a_user_check_sees_fates_and_posts() -> None:
    def run(world: World) -> Iterator[Finding]:
        for fate in world.fates:
            world.examined()
            if fate.fate == "lost":
                yield Finding("mine", "violation", "agent", 0, fate.post)

    verdict = judge(lost_update().history(), extra=[Check(MINE, run)]).verdicts[-1]
    assert (verdict.examined, [one.message for one in verdict.findings]) == (2, ["v2/a-0#1"])


# --- a folder of checks ---

GOOD = """
from fleetbeat.checks import Finding, Invariant

INVARIANT = Invariant("NAME", "a promise of mine")


def check(world):
    world.examined(len(world.posts))
    yield Finding(INVARIANT.id, "hazard", "agent", 0, "look")
"""


def test_a_folder_of_checks_is_loaded_in_name_order_and_run(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text(GOOD.replace("NAME", "second"))
    (tmp_path / "a.py").write_text(GOOD.replace("NAME", "first"))
    (tmp_path / "_helper.py").write_text("raise RuntimeError")
    (tmp_path / "notes.txt").write_text("no check")
    checks = load_checks(tmp_path)
    assert [check.invariant.id for check in checks] == ["first", "second"]
    assert [check.origin for check in checks] == [str(tmp_path / "a.py"), str(tmp_path / "b.py")]
    verdict = judge(applied().history(), extra=checks).verdicts[-1]
    assert (verdict.invariant, verdict.outcome, verdict.examined, len(verdict.findings)) == ("second", "held", 1, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def check(:", "SyntaxError"),
        ("import nothing_of_that_name", "ModuleNotFoundError"),
        ("check = None", "INVARIANT: got nothing"),
        ("INVARIANT = 'mine'", "INVARIANT: got str"),
        ("from fleetbeat.checks import Invariant\nINVARIANT = Invariant('x', 'y')\ncheck = 5", "check: got int"),
        (GOOD.replace("NAME", "drains"), "'drains' is taken by built-in"),
    ],
)
def test_a_file_that_is_no_check_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(CheckError, match=r"mine\.py") as raised:
        load_checks(tmp_path)
    assert words in str(raised.value)


def test_two_checks_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(GOOD)
    (tmp_path / "b.py").write_text(GOOD)
    with pytest.raises(CheckError, match=r"b\.py.*'NAME' is taken by .*a\.py"):
        load_checks(tmp_path)


def test_a_folder_that_is_missing_a_file_or_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, words in (
        (tmp_path / "gone", "got nothing"),
        (tmp_path / "file", "got a file"),
        (tmp_path, r"no \*\.py"),
    ):
        with pytest.raises(CheckError, match=words):
            load_checks(path)
