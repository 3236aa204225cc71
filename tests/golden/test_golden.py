"""Every scenario of the library prints the report that lies here. To renew them: FLEETBEAT_RENEW=1 pytest tests/golden."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetbeat.cli import main
from fleetbeat.scenario.library import scenarios

HERE = Path(__file__).parent
#: Takes several seconds.
SLOW = ("rebuild-storm",)
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in sorted(scenarios())]

#: What each scenario is there to show: its exit code.
CODES = {"lost-update": 1}


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_prints_the_report_that_lies_here(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", name])
    printed = capsys.readouterr().out
    golden = HERE / f"{name}.txt"
    if os.environ.get("FLEETBEAT_RENEW"):
        golden.write_text(printed, encoding="utf-8")
    assert printed == golden.read_text(encoding="utf-8")
    assert code == CODES.get(name, 0)


def test_the_readme_shows_a_report_as_it_is_printed() -> None:
    readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    assert (HERE / "lost-update.txt").read_text(encoding="utf-8").rstrip() in readme


def test_no_report_lies_here_without_its_scenario() -> None:
    assert sorted(path.stem for path in HERE.glob("*.txt")) == sorted(scenarios())
