"""`fleetbeat cadence`: the cells that are laid, the advice as a whole, and what is refused in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from fleetbeat.cli import main
from fleetbeat.scenario.load import ScenarioError, load
from fleetbeat.sweep.advise_measure import Ask
from fleetbeat.sweep.advise_slo import AdviseError
from fleetbeat.sweep.cadence import Laid, Numbers, Wanted, at_level, lay

TEXT = """\
name: small
seed: 3
duration: 40s
fleet: {agents: 12, heartbeat: {mode: fixed-rate, interval: 1s}}
faults:
  - {id: bad, operation: read, probability: 20%, error: EIO}
rollouts: [{version: v1, at: 12s, targets: all, body: be kind}]
expect: {sometimes: [{fault: bad}]}
"""
SLO = ["--slo", "p50 lag < 2s"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(TEXT)


def cadence(*arguments: str) -> int:
    return main(["cadence", "s.yaml", "--seeds", "8", "--jobs", "1", *arguments])


# --- cells ---


def test_every_cadence_is_laid_at_every_level() -> None:
    laid = lay(Path("s.yaml"), [], Wanted(("1s", "2s"), ("none", "10%"), ("random", "splay:3s"), ("0", "2")), 8)
    assert len(laid.cadences) == 8
    assert len(laid.cells) == 16
    assert laid.cadences[7].words == "every 2s, jitter ±200ms, phase splay 3s"
    assert [cell.level for cell in laid.cells[:2]] == [0.0, 2.0]
    assert [cell.cadence for cell in laid.cells[:4]] == [0, 0, 1, 1]
    assert load(laid.cells[1].text) == laid.cells[1].scenario
    assert laid.seeds == tuple(range(3, 11))
    assert laid.fresh() == tuple(range(11, 19))
    assert laid.runs == 16 * 8


def test_without_axes_there_are_four_intervals_with_and_without_faults() -> None:
    laid = lay(Path("s.yaml"), ["fleet.heartbeat.interval=4s"], Wanted(), 8)
    assert [cadence.interval for cadence in laid.cadences] == ["2s", "4s", "8s", "20s"]
    assert laid.levels == (0.0, 1.0)
    assert lay(Path("s.yaml"), ["faults=[]", "expect={}"], Wanted(), 8).levels == (1.0,)


def test_a_usual_interval_that_does_not_fit_the_jitter_is_left_out_and_an_asked_one_refused() -> None:
    wide = "fleet.heartbeat.jitter={kind: uniform, low: -600ms, high: 600ms}"
    laid = lay(Path("s.yaml"), [wide, "fleet.heartbeat.mode=fixed-delay"], Wanted(), 8)
    assert [cadence.interval for cadence in laid.cadences] == ["1s", "2s", "5s"]
    assert laid.notes == ("left out, for the scenario's jitter leaves no wait: every 500ms",)
    with pytest.raises(ScenarioError, match="above -500ms"):
        lay(Path("s.yaml"), [wide, "fleet.heartbeat.mode=fixed-delay"], Wanted(("500ms", "1s")), 8)


def test_a_level_multiplies_chances_and_rates_and_at_0_nothing_strikes() -> None:
    more = "faults.+={pause: 1s, per_hour: 2000}"
    scenario = load(TEXT, overrides=[more])
    assert at_level(scenario, 1) is scenario
    assert [fault.probability for fault in at_level(scenario, 3).faults] == [pytest.approx(0.6), None]
    assert [fault.per_hour for fault in at_level(scenario, 3).faults] == [None, 3600.0]
    assert at_level(scenario, 9).faults[0].probability == 1.0
    calm = at_level(scenario, 0)
    assert calm.faults == ()
    assert calm.expect.sometimes == ()
    assert calm.rollouts == scenario.rollouts


def test_groups_with_an_interval_of_their_own_are_named_or_refused() -> None:
    own = "fleet={groups: [{name: web, count: 2}, {name: slow, count: 2, heartbeat: {interval: 9s}}]}"
    laid = lay(Path("s.yaml"), [own], Wanted(("1s", "2s")), 8)
    assert laid.notes == ("groups with an interval of their own keep it: slow (9s)",)
    alone = "fleet={groups: [{name: slow, count: 2, heartbeat: {interval: 9s}}]}"
    with pytest.raises(AdviseError, match=r"groups that all give an interval of their own \(slow \(9s\)\)"):
        lay(Path("s.yaml"), [alone], Wanted(("1s", "2s")), 8)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted(("1x",)), "--interval: got '1x'"),
        (Wanted(("1s", "1000ms")), "twice"),
        (Wanted(("1s",), ("100%",)), "--jitter: got 100% with an interval of 1s, expected less"),
        (Wanted(("1s",), ("wide",)), "--jitter: got 'wide', expected none, a share"),
        (Wanted(("1s",), (), ("up",)), "--phase: got 'up'"),
        (Wanted(("1s",), (), ("random:3s",)), "--phase: got 'random:3s'"),
        (Wanted(("1s",), (), (), ("-1",)), "--faults: got '-1'"),
        (Wanted(("1s",), (), (), ("1", "1.0")), "--faults: got 1.0 twice"),
    ],
)
def test_an_axis_that_cannot_be_used_is_refused(wanted: Wanted, words: str) -> None:
    with pytest.raises(AdviseError) as raised:
        lay(Path("s.yaml"), [], wanted, 8)
    assert words in str(raised.value)


def test_a_level_without_chances_to_multiply_is_refused() -> None:
    once = "faults=[{id: bad, operation: read, occurrence: 1, error: EIO}]"
    with pytest.raises(AdviseError, match="no fault of the scenario has a chance or a rate"):
        lay(Path("s.yaml"), [once], Wanted(("1s",), (), (), ("2",)), 8)
    with pytest.raises(AdviseError, match="a scenario with faults, and this has none"):
        lay(Path("s.yaml"), ["faults=[]", "expect={}"], Wanted(("1s",), (), (), ("0", "1")), 8)


# --- the whole ---


def test_what_more_runs_would_tell_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """2s meets the objective by its mean, and its interval holds the bound; of 5s not even the mean meets it."""

    def played(
        laid: Laid, places: Sequence[int], seeds: Sequence[int], ask: Ask, *_: object
    ) -> dict[int, list[Numbers]]:
        costs = dict.fromkeys(("beats/s", "wakes/s", "peak/s", "lives", "faults", "herd", "herd_odds"), 1.0)
        middle = (1.0, 1.9, 4.0)
        return {
            place: [{**costs, "ops/s": 9.0 - place, SLO[1]: middle[place] + seed % 8 / 8 - 0.44} for seed in seeds]
            for place in places
        }

    monkeypatch.setattr("fleetbeat.sweep.cadence.play", played)
    assert cadence(*SLO, "--interval", "1s,2s,5s", "--faults", "1") == 0
    out = capsys.readouterr().out
    assert "Recommended: every 1s" in out
    assert "every 2s, jitter none, phase random is cheaper and undecided" in out
    assert "every 5s, jitter none, phase random is cheaper" not in out
    assert cadence(*SLO, "--interval", "2s,5s", "--faults", "1", "--json") == 0


def test_table_front_and_a_recommendation_with_its_margin(capsys: pytest.CaptureFixture[str]) -> None:
    assert cadence(*SLO, "--interval", "0.5s,1s,8s", "--max-cost", "ops/s < 40") == 0
    out = capsys.readouterr().out
    assert "small: 3 cadences x 2 fault levels, 48 runs, seeds 3 to 10 in each" in out
    assert "Recommended: every 1s, jitter none, phase random" in out
    assert "faults as given: p50 lag < 2s: " in out
    assert "met with" in out
    assert "seeds 11 to 18, which did not choose it" in out
    assert out.count("within") >= 3  # the closed form beside the intervals
    assert "Efron" in out
    assert "Wilson" not in out
    front = out.partition("Pareto front")[2].partition("\n\n")[0]
    rows = [line.split() for line in front.splitlines()[3:]]
    assert [(row[0], row[-1] == "recommended") for row in rows] == [("500ms", False), ("1s", True), ("8s", False)]


def test_none_does_the_nearest_is_told_and_the_exit_code_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert cadence("--slo", "p50 lag < 100ms", "--interval", "1s,2s", "--faults", "1") == 3
    out = capsys.readouterr().out
    assert "None meets everything; the nearest is: every 1s, jitter none, phase random" in out
    assert "missed by" in out
    always = ("--set", "faults.0.probability=100%", "--faults", "1", "--interval", "1s")
    assert cadence("--slo", "time_p100 < 3s", *always) == 3
    assert "faults as given: time_p100 < 3s: -: missed (not there in 8 of 8 runs)" in capsys.readouterr().out


def test_what_fresh_seeds_do_not_confirm_is_not_recommended(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the same seeds again, a cadence that was lucky with them would be recommended."""

    def played(
        laid: Laid, places: Sequence[int], seeds: Sequence[int], ask: Ask, *_: object
    ) -> dict[int, list[Numbers]]:
        lucky = list(seeds) == list(laid.seeds)
        costs = dict.fromkeys(("beats/s", "wakes/s", "peak/s", "lives", "faults", "herd", "herd_odds"), 1.0)
        lags = {place: 1.0 if lucky or place else 9.0 for place in places}
        return {
            place: [{**costs, "ops/s": 1.0 + place, SLO[1]: lags[place] + seed / 100} for seed in seeds]
            for place in places
        }

    monkeypatch.setattr("fleetbeat.sweep.cadence.play", played)
    assert cadence(*SLO, "--interval", "2s,1s", "--faults", "1") == 0
    out = capsys.readouterr().out
    assert "Recommended: every 1s" in out
    assert "every 2s, jitter none, phase random met everything at first and not with fresh seeds" in out
    assert cadence(*SLO, "--interval", "2s", "--faults", "1") == 3
    out = capsys.readouterr().out
    assert "None meets everything; the nearest is: every 2s" in out
    assert "missed by" in out.partition("None meets")[2]


def test_json_says_the_same_and_tables_can_be_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert cadence(*SLO, "--interval", "1s,8s", "-o", "kept", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "fleetbeat.cadence/1"
    assert document["cadences"][document["recommended"]]["interval"] == "1s"
    confirmed = document["confirmed"][0]["objectives"][0]
    assert confirmed["met"]
    assert confirmed["margin"] == pytest.approx(2 - confirmed["high"])
    assert sorted(path.name for path in Path("kept").iterdir()) == [
        "advice.json", "advice.txt", "cells.parquet", "runs.parquet",
    ]  # fmt: skip
    asked = duckdb.sql(
        "select interval, avg(\"p50 lag < 2s\") from 'kept/runs.parquet' group by 1 order by 1"
    ).fetchall()
    assert [interval for interval, _ in asked] == ["1s", "8s"]
    assert duckdb.sql("select count(*) from 'kept/cells.parquet' where met").fetchall() == [(2,)]
    assert Path("kept/advice.json").read_text() == json.dumps(document, indent=2) + "\n"


def test_jobs_change_no_byte(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*SLO, "--interval", "1s,2s", "--faults", "1", "--json"]
    assert cadence(*words) == 0
    alone = capsys.readouterr().out
    assert main(["cadence", "s.yaml", "--seeds", "8", "--jobs", "2", *words]) == 0
    assert capsys.readouterr().out == alone


def test_a_level_of_faults_that_never_strikes_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    late = ["--set", "faults=[{id: bad, operation: unlink, probability: 0.0001%, error: EIO}]"]
    assert cadence(*SLO, *late, "--interval", "1s", "--faults", "1") == 0
    assert "faults x1: none struck an agent in any run, so this level shows nothing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--slo: got none, expected an objective"),
        (("--slo", "p99 lag of v9 < 3s"), "not measurable in small: got no version 'v9'"),
        (("--slo", "p99 lag < 3s", "--set", "rollouts=[]"), "got no rollouts"),
        (("--slo", "p98lag < 3s"), "got the metric 'p98lag'"),
        ((*SLO, "--max-cost", "money < 3"), "--max-cost 'money < 3': got 'money'"),
        ((*SLO, "--seeds", "7"), "--seeds: got 7, expected at least 8"),
        ((*SLO, "--statistic", "p95"), "--seeds: got 8, expected at least 72"),
        ((*SLO, "--statistic", "p42"), "--statistic: got 'p42'"),
        ((*SLO, "--interval", "1s,,2s"), "--interval: got '1s,,2s'"),
        ((*SLO, "--shift", "soon"), "--shift: got 'soon'"),
        ((*SLO, "--shift", "30s"), "got 0s from the rollout"),
        ((*SLO, "--seeds", "5000"), "got 8 cells x 5,000 seeds = 40,000 runs, expected at most 10,000 (about "),
        ((*SLO, "--interval", ",".join(f"{n}ms" for n in range(100, 1400))), " h with 1 jobs; --yes plays them)"),
        ((*SLO, "-o", "kept\udcff"), "expected a name in UTF-8"),
        (("--slo", "guard_met < 3"), "not measurable in small: got no workload"),
        (("--slo", "exposure < 3"), "not measurable in small: got no version that is bad"),
        (("--slo", "p99 lag < 3"), "expected a time with its unit such as 3s"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cadence("-o", "kept", *arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert words in told.err
    assert sorted(path.name for path in Path().iterdir()) == ["s.yaml"]


def test_an_interrupted_advice_keeps_and_says_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fleetbeat.sweep.advise_measure.run_of", stopped)
    assert cadence(*SLO, "-o", "kept") == 130
    assert capsys.readouterr().out == ""
    assert not Path("kept").exists()
