"""Rates of rare fates in a sweep: the explorer's own estimate, cell by cell, kept and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.sweep.test_run import tables

from fleetbeat.cli import main
from fleetbeat.explore.rate import rate_of
from fleetbeat.scenario.load import load
from fleetbeat.sweep import rates
from fleetbeat.sweep.stats import Estimate

#: The second post of a version comes within a beat now and then, and is unlinked unread.
TEXT = """\
name: close
seed: 3
duration: 12s
fleet: {agents: 3, heartbeat: {interval: 1s}}
rollouts:
  - {version: v1, at: 5s, targets: all, body: be kind}
  - {version: v2, at: 5.2s, targets: all, body: be kinder}
"""
VARY = ["--vary", "fleet.latency.read=1ms,50ms"]
RATES = ["--rate-of", "lost", "--rate-runs", "200", "--seeds", "2"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def _sweep(*arguments: str) -> int:
    return main(["sweep", "s.yaml", *VARY, "--jobs", "1", *arguments])


def test_a_cells_rate_is_what_the_explorer_says_and_the_best_is_the_lowest(capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep(*RATES, "--json") == 0
    rows = [row for row in json.loads(capsys.readouterr().out)["cells"] if row["metric"] == "rate_lost"]
    for row, value in zip(rows, ("1ms", "50ms"), strict=True):
        alone = rate_of(load(TEXT, overrides=[f"fleet.latency.read={value}"]), "lost", 200)
        found = row["estimate"]
        assert (found["value"], found["low"], found["high"]) == (alone.rate, alone.low, alone.high)
        assert row["statistic"] == "rate"
    low, high = rows
    assert 0 < low["estimate"]["value"] < high["estimate"]["value"]
    assert (low["best"], high["best"]) == (True, False)
    assert high["difference"]["value"] == high["estimate"]["value"] - low["estimate"]["value"]


def test_rates_are_asked_for_as_metrics_too_and_the_text_says_what_they_assume(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _sweep("--metric", "rate_lost", "--metric", "at_end", "--rate-runs", "100", "--seeds", "2") == 0
    out = capsys.readouterr().out
    assert "rate_lost: share of posts that meet the fate lost" in out
    assert "Wilson 1927; Kish 1965; Zou and Donner 2008" in out
    assert "rate_lost: posts come at a time unrelated to the beats" in out


def test_rates_are_kept_and_not_estimated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _sweep(*RATES, "-o", "d") == 0
    before = tables("d")

    def never(*_: object) -> None:
        raise AssertionError("estimated again")

    monkeypatch.setattr(rates, "rate_of", never)
    assert _sweep(*RATES, "--resume", "d") == 0
    assert tables("d") == before


def test_ctrl_c_in_a_rate_keeps_those_that_were_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[int] = []
    real = rates.rate_of

    def stopped(*given: object) -> object:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(rates, "rate_of", stopped)
    assert _sweep(*RATES, "-o", "d", "--json") == 130
    found = json.loads(capsys.readouterr().out)
    assert [row["cell"] for row in found["cells"] if row["metric"] == "rate_lost"] == [0]
    assert _sweep(*RATES, "--resume", "d") == 0
    assert len(calls) == 3


def test_a_difference_is_as_uncertain_as_both_together() -> None:
    this, that = Estimate(0.5, 0.2, 0.9, 10, "", ""), Estimate(0.1, 0.1, 0.4, 10, "", "")
    found = rates.difference(this, that)
    assert found.value == 0.4
    assert found.low == pytest.approx(0.4 - (0.3**2 + 0.3**2) ** 0.5)
    assert found.high == pytest.approx(0.4 + 0.4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate-of", "lots"], "--rate-of: got 'lots', expected one of unposted"),
        (["--rate-of", "lots"], "(did you mean 'lost'?)"),
        (["--metric", "rate_looost"], "(did you mean 'lost'?)"),
        (["--rate-of", "lost", "--rate-runs", "99", "--seeds", "1"], "--rate-runs: got 99, expected at least 100"),
        (["--rate-of", "lost", "--set", "rollouts=[]", "--seeds", "1"], "--rate-of lost: "),
    ],
)
def test_what_has_no_rate_is_told_and_exits_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _sweep(*arguments, "-o", "d") == 2
    assert not Path("d").exists()
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
