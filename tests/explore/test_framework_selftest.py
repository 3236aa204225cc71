"""The framework's checks see what they are for: each wrong core dies by the check that is meant for it, in a run and in the
search, and the right ones live."""

from __future__ import annotations

import json

import pytest

from fleetbeat.cli import main
from fleetbeat.explore.framework import selftest
from fleetbeat.explore.framework.selftest import MEANT, RIGHT, judged_core, wrong_cores
from fleetbeat.explore.model import ExploreError

QUICK = ("core-no-guard", "core-raise-allows")


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in MEANT if n not in QUICK)])
def test_a_wrong_core_dies_by_the_check_that_is_meant_for_it(name: str) -> None:
    row = judged_core(name)
    assert row.passed, row
    assert MEANT[name] in row.in_run
    assert row.killed == (MEANT[name], "violation", "agent")
    assert row.tree[-1].endswith("<- breaks it")
    assert row.moves


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_core_lives(name: str) -> None:
    row = judged_core(name)
    assert row.passed, row
    assert row.in_run == ()
    assert row.ended.startswith("complete within these bounds")


def test_every_wrong_core_of_the_library_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(wrong_cores()) == 13
    monkeypatch.delitem(selftest.MEANT, "core-no-guard")
    with pytest.raises(ExploreError, match=r"got \['core-no-guard'\] besides those expected"):
        wrong_cores()


def test_a_core_that_lives_is_said_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """core-no-guard asks its gates: taken for one that does not, it lives."""
    monkeypatch.setattr(selftest, "wrong_cores", lambda: ["core-no-guard"])
    monkeypatch.setattr(selftest, "RIGHT", ())
    assert main(["selftest", "--only", "cores", "-q"]) == 0
    assert capsys.readouterr().out == "1 of 1 wrong cores killed; the right cores live\n"
    monkeypatch.setitem(selftest.MEANT, "core-no-guard", "guard-not-silenced")
    monkeypatch.setattr(selftest, "LONG", selftest.Limits(tasks=0, calls=1, troubles=0))
    assert main(["selftest", "--only", "cores", "--json"]) == 1
    ends = capsys.readouterr()
    (row,) = json.loads(ends.out)["cores"]
    assert not row["passed"]
    assert "core-no-guard: LIVES, expected to die by guard-not-silenced" in ends.err
