"""Two sides of a scenario compared: by hand, and as the simulation plays them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from fleetbeat.conform import compare_words
from fleetbeat.conform.bench import Laid, lay
from fleetbeat.conform.compare import Comparison, compare
from fleetbeat.conform.sides import Fate, Run, Side, Verdict, run_of
from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

MS = 1_000_000


def _run(seed: int, fates: Sequence[str], lags: Sequence[int] = (), outcome: str = "held", **more: object) -> Run:
    """Posts p0, p1, ... of version v; the applied ones take their lags (ms) in turn."""
    left = list(lags)
    rows = tuple(
        Fate(f"p{n}", "v", fate, left.pop(0) * MS if fate == "applied" and left else None)
        for n, fate in enumerate(fates)
    )
    made = Run(seed, rows, (Verdict("drains", outcome, ""),), "held", "duration")
    return replace(made, **more)  # type: ignore[arg-type]


def _compare(base: Sequence[Run], other: Sequence[Run]) -> Comparison:
    return compare(Side("des", tuple(base)), Side("process", tuple(other)))


def _simulated(fates: Sequence[str], count: int = 20, outcome: str = "held") -> list[Run]:
    return [_run(seed, fates, range(0, 400, 20), outcome) for seed in range(count)]


SURE = ["applied"] * 16 + ["lost", "torn"]


def test_runs_that_are_alike_are_told_to_be() -> None:
    found = _compare(_simulated(SURE), _simulated(SURE, 1))
    assert (found.word, found.different, found.fates[0].certain) == ("alike", (), True)


def test_one_other_fate_differs_where_the_simulation_leaves_no_chance() -> None:
    found = _compare(_simulated(SURE), _simulated([*SURE[:-1], "applied"], 1))
    assert found.word == "differs"
    (post,) = found.different
    assert (post.post, post.expected, post.got, post.seed) == ("p17", "torn", "applied", 0)
    assert compare_words.differences(found)[0] == "p17 (seed 0): torn in every simulated run, applied in process"


def test_a_post_that_was_never_made_differs() -> None:
    found = _compare(_simulated(SURE), _simulated(SURE[:-1], 1))
    assert [(one.post, one.got) for one in found.different] == [("p17", "no such post")]


def test_a_fate_that_is_chance_is_judged_by_how_often_it_came_up() -> None:
    """Each of 40 posts is lost in one simulated run of four."""
    posts = range(40)
    base = [_run(seed, ["lost" if (seed + n) % 4 == 0 else "applied" for n in posts]) for seed in range(20)]
    rare = _run(0, ["lost" if n % 4 == 1 else "applied" for n in posts])
    often = _run(0, ["lost" if n % 4 != 1 else "applied" for n in posts])
    alike, apart = _compare(base, [rare]), _compare(base, [often])
    assert (alike.fates[0].word, apart.fates[0].word) == ("alike", "differs")
    assert (alike.fates[0].certain, alike.different) == (False, ())
    assert "lost 25% against 75%" in compare_words.differences(apart)[0]


def test_verdicts_differ_only_where_no_simulated_run_came_to_them() -> None:
    mixed = [*_simulated(SURE, 10), *_simulated(SURE, 10, outcome="broken")]
    broken = _simulated(SURE, 1, outcome="broken")
    assert _compare(_simulated(SURE), broken).word == "differs"
    assert _compare(mixed, broken).word == "alike"


def test_a_verdict_that_is_unknown_cannot_differ() -> None:
    found = _compare(_simulated(SURE), _simulated(SURE, 1, outcome="unknown"))
    assert (found.word, found.verdicts[0].word) == ("alike", "inconclusive")


@pytest.mark.parametrize(
    "other",
    [
        [_run(0, [])],
        [_run(0, ["applied"] * 2 + ["lost"] * 14 + ["lost", "torn"], [1, 2])],
        [_run(0, SURE, range(0, 400, 20), ended="interrupted")],
    ],
    ids=["no posts", "two lags", "cut short"],
)
def test_too_little_is_inconclusive_and_not_alike(other: list[Run]) -> None:
    fates = [one.fate for one in other[0].fates]
    base = [_run(seed, fates, range(0, 400, 20)) for seed in range(3)]
    assert _compare(base, other).word == "inconclusive"


def test_lags_may_be_apart_by_twice_the_error_of_observation() -> None:
    base = [_run(seed, ["applied"] * 50, range(100, 150)) for seed in range(20)]
    late = [value + 30 for value in range(100, 150)]
    clear = _compare(base, [_run(0, ["applied"] * 50, late)])
    blurred = _compare(base, [_run(0, ["applied"] * 50, late, error_ns=15 * MS)])
    assert (clear.word, clear.room, blurred.word, blurred.room) == ("differs", 10 * MS, "alike", 30 * MS)


def test_an_error_of_observation_that_hides_everything_is_inconclusive_and_not_alike() -> None:
    found = _compare(_simulated(SURE), [_run(0, SURE, range(0, 400, 20), error_ns=500 * MS)])
    assert (found.lags[0].word, found.word) == ("inconclusive", "inconclusive")


def test_the_size_of_all_tests_together_is_alpha() -> None:
    found = _compare(_simulated(SURE), _simulated(SURE, 1))
    assert (found.alpha, found.size) == (0.01, 0.01)  # one version whose lags are tested, and whose fates are certain
    base = [
        _run(seed, ["lost" if (seed + n) % 4 == 0 else "applied" for n in range(8)], range(8)) for seed in range(20)
    ]
    assert _compare(base, [base[3]]).size == pytest.approx(0.01 / 3)  # two fates and the lags


def test_run_of_takes_a_whole_history() -> None:
    with pytest.raises(ValueError, match="expected a whole history"):
        run_of([Record(0, "harness", "end", {"reason": "duration"})])


# --- as the simulation plays it, with another simulation in the place of the real run ---


def _side_by_side(*sets: str) -> Scenario:
    return load(find("side-by-side"), overrides=sets)


def _laid(played: Scenario, simulations: int = 6) -> Laid:
    """The scenario beside a run of `played`, which stands for the real one."""

    def real(scenario: Scenario) -> list[Record]:
        return run(played.model_copy(update={"seed": scenario.seed + 1000}))

    return lay(_side_by_side(), "process", real, run, simulations=simulations)


def test_the_scenario_reaches_every_fate_that_it_is_made_for() -> None:
    found = run_of(run(_side_by_side()))
    assert {fate.fate for fate in found.fates} == {"applied", "lost", "failed", "stuck", "torn"}
    assert found.word == "broken-as-expected"


def test_a_scenario_is_like_itself_and_its_fates_leave_no_chance() -> None:
    found = _laid(_side_by_side()).comparison
    assert (found.word, [row.certain for row in found.fates]) == ("alike", [True] * 10)


def test_a_doubled_latency_differs_in_the_lags_of_the_agents_that_it_hits() -> None:
    found = _laid(_side_by_side("faults.0.delay=600ms"))
    assert found.comparison.word == "differs"
    assert {row.version for row in found.comparison.lags if row.word == "differs"} == {"v1-slow", "v2-slow", "v3-slow"}
    text = compare_words.render(_side_by_side(), [found])
    assert "lags of v2-slow are of another distribution: half within" in text
    assert text.endswith("process differs from des\n")
    told = json.loads(compare_words.document(_side_by_side(), [found]))
    assert told["engines"][0]["word"] == "differs"


@pytest.mark.parametrize(
    ("change", "post"),
    [
        ("faults.2.error=EIO", None),
        ("faults.2.occurrence=1", "v-full/full-0#1"),
        ("faults.3.occurrence=1", "v-sticky/sticky-0#1"),
        ("faults.1.crash=before", "v-dies/dies-0#1"),
    ],
)
def test_a_fault_that_is_carried_out_otherwise_is_noticed_if_it_changes_a_fate(change: str, post: str | None) -> None:
    sets = [change]
    if change.endswith("occurrence=1"):
        number = change[:8]
        sets = [f"{number}.probability=null", f"{number}.occurrence=[1]", f"{number}.from=15s"]
    found = _laid(_side_by_side(*sets), 2).comparison
    assert (found.word == "differs") == (post is not None)
    assert (post in [one.post for one in found.different]) == (post is not None)
