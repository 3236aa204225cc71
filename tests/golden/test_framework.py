"""The framework's scenarios against cores that are wrong: what each is there to show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleetbeat.cli import main

HERE = Path(__file__).parent


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code = main(["run", *words, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, found


def test_a_bad_rule_meets_a_right_core_and_what_it_wanted_is_counted() -> None:
    shown = (HERE / "bad-rule-rollout.txt").read_text(encoding="utf-8")
    assert "\nStorm\n" not in shown
    assert "Suppressed: 593 actions" in shown
    assert "core's log has 593" in shown


def test_a_bad_rule_meets_a_wrong_core_and_the_report_shows_the_storm(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys, "bad-rule-rollout", "--set", "fleet.core=core-no-guard")
    storm = found["metrics"]["framework"]["storm"]
    assert code == 1
    assert sum(row["runs"] for row in storm["minutes"]) == storm["runs"] > 3000
    runs = [row["runs"] for row in storm["minutes"]]
    assert runs == sorted(runs), "it grows from minute to minute"
    assert [row["wave"] for row in storm["waves"]] == [1, 2, 3]
    (stop,) = storm["stops"]
    assert (stop["rollout"], stop["wave"]) == ("v2", 1)
    assert stop["runs"] == sum(row["runs"] for row in storm["waves"][1:])
    assert [link["what"] for link in found["verdicts"][-2]["chain"]] == ["prompt", "prepare", "ready", "prepare"]


@pytest.mark.parametrize("name", ["guard-fatigue", "alert-silencing"])
def test_a_core_whose_guard_tires_is_caught(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = run(capsys, name, "--set", "fleet.core.program=core-silences-gates")
    broken = [row["invariant"] for row in found["verdicts"] if row["fails"]]
    assert (code, broken) == (1, ["guard-not-silenced"])


def test_silencing_quietens_the_alerts_and_not_the_gates(capsys: pytest.CaptureFixture[str]) -> None:
    """Against a core that is set up to silence nothing: fewer notifications, and every call judged by every gate."""
    _, silencing = run(capsys, "alert-silencing")
    _, patient = run(capsys, "alert-silencing", "--set", "fleet.core.silence_after=0")
    loud, quiet = (one["metrics"]["framework"] for one in (patient, silencing))
    assert quiet["silenced"] > 0 == loud["silenced"]
    assert quiet["notified"]["count"] < loud["notified"]["count"] / 2
    for found in (loud, quiet):
        gates = {row["gate"]: row["asked"] for row in found["calls"]["gates"]}
        assert set(gates.values()) == {found["calls"]["made"]}


def test_a_shorter_heartbeat_shortens_the_exposure(capsys: pytest.CaptureFixture[str]) -> None:
    few = ("mixed-versions", "--set", "fleet.groups.0.count=5")
    _, slow = run(capsys, *few)
    quick_sets = ("--set", "fleet.groups.1.heartbeat.interval=10s", "--set", "fleet.groups.1.heartbeat.splay=10s")
    _, quick = run(capsys, *few, *quick_sets)
    long, short = (one["metrics"]["framework"]["exposure"][0] for one in (slow, quick))
    assert long["calls"] >= long["ran"] > 0
    assert short["agent_ns"] * 5 < long["agent_ns"]
    assert short["calls"] < long["calls"]


def test_the_readme_shows_the_storm_as_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["run", "bad-rule-rollout", "--set", "fleet.core=core-no-guard"])
    printed = capsys.readouterr().out
    readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
    for first, after in (("  no-self-trigger: What", "\nFramework\n"), ("\nStorm\n", "\nExposure\n")):
        shown = printed[printed.index(first) : printed.index(after)]
        assert shown.strip() in readme
