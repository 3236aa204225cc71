"""Rounds until it is narrow enough: what is asked for, when it ends, and how often the interval holds the truth then."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import inf, log
from pathlib import Path

import numpy as np
import pytest
from tests.sweep.test_one import TEXT
from tests.sweep.test_run import tables
from tests.sweep.test_stats import Floats, drawn, exponential, holds, normal

from fleetbeat.cli import main
from fleetbeat.sweep.execute import Row
from fleetbeat.sweep.run import Plan, estimated
from fleetbeat.sweep.stats import Estimate
from fleetbeat.sweep.until import Goal, Round, larger, parse_goal, play_until
from fleetbeat.sweep.vary import VaryError


def _plan(cells: int = 1) -> Plan:
    axes = tuple((str(cell),) for cell in range(cells))
    return Plan("x", (), axes, ("",) * cells, (0,)).with_seeds(30)


def _played(values: list[list[float]], wanted: Goal, statistic: str = "mean", most: int = 1000) -> tuple[Plan, Round]:
    """As if each cell's runs came to these values, seed by seed."""

    def play(plan: Plan) -> list[Row]:
        return [
            Row(cell, seed, "held", {"lag_p50": some[seed]}) for cell, some in enumerate(values) for seed in plan.seeds
        ]

    plan, rows, end = play_until(_plan(len(values)), wanted, statistic, most, play)
    assert len(rows) == plan.runs == len(values) * end.seeds
    return plan, end


@pytest.mark.parametrize(
    ("text", "metric", "half", "is_relative"),
    [
        ("p99 lag ± 5%", "lag_p99", 0.05, True),
        ("lag_p99 +- 5 %", "lag_p99", 0.05, True),
        ("Lag P90+/-100ms", "lag_p90", 0.1, False),
        ("time p50 ± 2", "time_p50", 2.0, False),
        ("ops/s±1e-1", "ops_per_s", 0.1, False),
        ("lost ± 0.5", "fate_lost", 0.5, False),
        ("failed ± 0.02", "failed", 0.02, False),  # the verdict's share, not the fate of that name
        ("fate failed ± 1", "fate_failed", 1.0, False),
    ],
)
def test_a_metric_is_known_by_name_or_in_words(text: str, metric: str, half: float, is_relative: bool) -> None:
    assert parse_goal(text) == Goal(text, metric, half, is_relative)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("p99 lag", "expected METRIC ± WIDTH, as in 'p99 lag ± 5%'"),
        ("p98 lag ± 5%", "got 'p98 lag', expected one of lag_p50"),
        ("lag_p98 ± 5%", "(did you mean 'lag_p90'?)"),
        ("lag ± 5%", "got 'lag', expected one of"),
        ("p99 lag ± 0", "got the width '0', expected a percent or a duration above 0"),
        ("p99 lag ± -5%", "got the width '-5%'"),
        ("at_end ± 1s", "got the width '1s', expected a percent or a number above 0"),
        ("p99 lag ± wide", "got the width 'wide'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(VaryError) as caught:
        parse_goal(text)
    assert words in str(caught.value)


def test_an_interval_reaches_as_far_as_its_longer_side_and_one_without_an_end_for_ever() -> None:
    def one(value: float | None, low: float | None, high: float | None) -> Estimate:
        return Estimate(value, low, high, 40, "", "")

    absolute, relative = (Goal("", "lag_p50", 0.1, is_relative) for is_relative in (False, True))
    assert absolute.reach(one(4.0, 3.0, 6.0)) == 2.0
    assert relative.reach(one(4.0, 3.0, 6.0)) == 0.5
    assert relative.reach(one(-4.0, -5.0, -3.0)) == 0.25
    assert relative.reach(one(0.0, 0.0, 0.0)) == 0.0
    assert {relative.reach(one(*ends)) for ends in ((0.0, -1.0, 1.0), (1.0, None, 2.0), (None, None, None))} == {inf}


def test_rounds_grow_by_a_quarter_at_least_and_double_at_most() -> None:
    assert [larger(40, times) for times in (1.01, 1.3, 5.0, inf)] == [50, 68, 80, 80]


def test_it_goes_on_until_the_widest_cell_is_narrow_enough_and_all_get_the_same_seeds() -> None:
    calm, wild = (3 + scale * (normal(drawn("wild", 1000))[0] - 3) for scale in (0.01, 1.0))
    alone, _ = _played([calm.tolist()], parse_goal("p50 lag ± 5%"))
    assert len(alone.seeds) == 30
    plan, end = _played([calm.tolist(), wild.tolist()], parse_goal("p50 lag ± 5%"))
    assert len(plan.seeds) > 400
    assert end.is_reached
    assert end.words().startswith("--until p50 lag ± 5%: every cell is narrow enough with ")


def test_it_stops_at_the_limit_and_says_how_wide_the_widest_is() -> None:
    wild = normal(drawn("wild", 1000))[0]
    plan, end = _played([[3.0] * 1000, wild.tolist()], parse_goal("p50 lag ± 1%"), most=100)
    assert len(plan.seeds) == 100
    assert not end.is_reached
    assert "stopped at --max-seeds 100: 1 of 2 cells are wider, the widest has ± 1" in end.words()


def test_a_quantile_without_an_interval_yet_goes_on() -> None:
    values = exponential(drawn("quantile", 1000))[0].tolist()
    plan, _ = _played([values], parse_goal("p50 lag ± 1000%"), "p95")
    assert len(plan.seeds) == 120  # 73 give one: 30, 60, 120


@pytest.mark.parametrize(
    ("law", "statistic", "truth", "width"), [(normal, "mean", 3.0, "20%"), (exponential, "p50", log(2), "15%")]
)
def test_an_interval_at_which_it_stopped_holds_the_truth_in_92_of_100(
    law: Callable[[Floats], Floats], statistic: str, truth: float, width: str
) -> None:
    wanted, held = parse_goal(f"p50 lag ± {width}"), 0
    rows = law(drawn(f"until {law.__name__}", 1000))[:250]
    for values in rows.tolist():
        plan, _ = _played([values], wanted, statistic)
        held += holds(estimated("lag_p50", statistic, values[: len(plan.seeds)])[1], truth)
    assert 0.92 <= held / len(rows) <= 0.98, held


def test_looking_after_every_single_run_would_not_pass() -> None:
    """The wrong variant: the normal interval of all so far, looked at after each run from the eighth on."""
    rows = exponential(drawn("until exponential", 1000))
    counts = np.arange(1, 1001)
    means = np.cumsum(rows, axis=1) / counts
    spreads = np.sqrt(np.maximum(np.cumsum(rows**2, axis=1) / counts - means**2, 0))
    halves = 1.96 * spreads / np.sqrt(counts)
    ends = 7 + np.argmax((halves <= 0.3 * means)[:, 7:], axis=1)
    at = np.arange(len(rows))
    held = np.mean(np.abs(means[at, ends] - 1) <= halves[at, ends])
    assert held < 0.92


# --- as a command ---


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def _sweep(*arguments: str) -> int:
    return main(["sweep", "s.yaml", "--vary", "fleet.heartbeat.interval=1s,4s", "--jobs", "1", *arguments])


@pytest.mark.usefixtures("_here")
def test_a_sweep_says_that_it_is_narrow_enough_and_one_that_was_stopped_ends_where_a_whole_one_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    until = ["--seeds", "10", "--until", "p50 lag ± 20%"]
    assert _sweep(*until, "--json", "-o", "whole") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["until"]["reached"]
    assert found["until"]["seeds"] == len(found["seeds"]) > 10
    assert max(found["until"]["cells"]) <= 0.2
    assert err == ""
    assert {row["metric"] for row in found["cells"]} >= {"lag_p50"}
    assert _sweep("--seeds", "13", "-o", "part") == 0
    assert _sweep(*until, "--resume", "part") == 0
    out = capsys.readouterr().out
    assert f"--until p50 lag ± 20%: every cell is narrow enough with {found['until']['seeds']} seeds" in out
    assert "a little too seldom (Chow and Robbins 1965)" in out
    assert tables("part") == tables("whole")


@pytest.mark.usefixtures("_here")
def test_a_sweep_that_is_not_narrow_enough_at_the_limit_exits_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--seeds", "8", "--until", "p50 lag +- 1ms", "--max-seeds", "12") == 3
    assert "stopped at --max-seeds 12: 2 of 2 cells are wider" in capsys.readouterr().err
    assert _sweep("--until", "p98 lag ± 1%") == 2
    assert _sweep("--until", "p50 lag ± 1%", "--max-seeds", "29") == 2
    assert "got 29, expected at least --seeds (30), the first round" in capsys.readouterr().err


@pytest.mark.usefixtures("_here")
def test_the_limit_counts_as_what_may_be_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert _sweep("--until", "p50 lag ± 1%", "--max-seeds", "6000") == 2
    assert "2 cells x 6,000 seeds = 12,000 runs, expected at most 10,000" in capsys.readouterr().err
