"""From runs' numbers to the advice, on hand-made numbers: what is met, by what margin, what is recommended."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import pytest

from fleetbeat.scenario.load import load
from fleetbeat.sweep.advise import Asked, CellAdvice, advise, cell_of, judge, ranked, without
from fleetbeat.sweep.advise_slo import Objective, parse_cost, parse_slo
from fleetbeat.sweep.cadence import Cadence, Cell, Laid, Numbers

LAG, LATE, LOST = parse_slo("p99 lag < 3s"), parse_slo("pending < 1% after 10s"), parse_slo("fate_lost <= 0")
SCENARIO = load("name: s\nfleet: {agents: 1}\n")


def runs(lags: Sequence[float | None], ops: float = 10, peak: float = 5, **more: float) -> list[Numbers]:
    plain = {"beats/s": ops, "ops/s": ops, "wakes/s": ops, "peak/s": peak}
    return [{**plain, **more, LAG.text: lag, f"{LAG.text} of": 20.0} for lag in lags]


def spread(middle: float, width: float = 0.1, count: int = 10) -> list[float | None]:
    return [middle + width * (index / (count - 1) - 0.5) for index in range(count)]


def laid(count: int, levels: Sequence[float] = (1.0,)) -> Laid:
    cadences = tuple(Cadence(f"{n + 1}s", "none", "random", SCENARIO.fleet.heartbeat) for n in range(count))
    cells = tuple(Cell(n, level, SCENARIO, "") for n in range(count) for level in levels)
    return Laid("s", cadences, tuple(levels), cells, tuple(range(10)), ())


def cells(*some: Sequence[Numbers], objectives: tuple[Objective, ...] = (LAG,)) -> list[CellAdvice]:
    return [cell_of(place, numbers, Asked(objectives)) for place, numbers in enumerate(some)]


def test_a_margin_is_from_the_end_of_the_interval_and_not_from_the_mean() -> None:
    one = judge(LAG, runs(spread(2.9, 1.0)), "mean")
    assert one.estimate.value == pytest.approx(2.9)
    assert one.estimate.high is not None
    assert one.estimate.high > 3
    assert not one.met
    assert one.margin == pytest.approx(3 - one.estimate.high)
    close = judge(LAG, runs(spread(2.9)), "mean")
    assert close.met
    assert close.worst == pytest.approx(-(3 - (close.estimate.high or 0)) / 3)


def test_one_run_that_never_gets_there_leaves_no_mean_to_be_met_by() -> None:
    """Left out, it would make the cadence look the better the more often it fails."""
    one = judge(LAG, runs([*spread(1.0), inf]), "mean")
    assert (one.met, one.margin, one.never, one.worst) == (False, None, 1, inf)
    assert "never in 1 of 11 runs" in (one.estimate.why or "")


def test_a_quantile_over_runs_may_be_met_although_one_run_never_gets_there() -> None:
    lags = [*spread(1.0, count=79), inf]
    one = judge(LAG, runs(lags), "p90")
    assert one.met
    assert one.never == 1
    assert not judge(LAG, runs([*spread(1.0, count=70), *[inf] * 10]), "p90").met


def test_runs_that_tell_nothing_are_counted_and_meet_nothing_alone() -> None:
    some = judge(LAG, runs([*spread(1.0), None]), "mean")
    assert (some.met, some.missing) == (True, 1)
    none = judge(LAG, runs([None] * 10), "mean")
    assert (none.met, none.missing, none.estimate.why) == (False, 10, "no values")


def test_no_pending_in_any_run_is_no_proof_of_none() -> None:
    """The interval of ten equal values would be a point, and 0 would meet any bound."""
    few = [{LATE.text: 0.0, f"{LATE.text} of": 20.0} for _ in range(10)]
    one = judge(LATE, few, "mean")
    assert one.estimate.high == pytest.approx(0.0188, abs=1e-3)
    assert not one.met
    assert "Wilson" in one.estimate.method
    assert judge(LATE, [{LATE.text: 0.0, f"{LATE.text} of": 100.0} for _ in range(10)], "mean").met


def test_a_bound_of_nothing_is_met_at_it_where_it_says_so() -> None:
    assert judge(LOST, [{LOST.text: 0.0}] * 10, "mean").met
    assert not judge(parse_slo("fate_lost < 0"), [{"fate_lost < 0": 0.0}] * 10, "mean").met


def test_a_limit_from_below_is_held_by_the_lower_end() -> None:
    one = parse_slo("at_end > 99%")
    assert judge(one, [{one.text: 1.0 - 0.0001 * n} for n in range(10)], "mean").met
    doubtful = judge(one, [{one.text: 1.0 - 0.002 * n} for n in range(10)], "mean")  # 99.1 % in the mean
    assert not doubtful.met
    assert doubtful.margin == pytest.approx((doubtful.estimate.low or 0) - 0.99)


def test_the_cheapest_of_those_that_meet_everything_is_recommended() -> None:
    some = cells(runs(spread(1.0), 40), runs(spread(2.0), 20), runs(spread(4.0), 10))
    found = advise(laid(3), some)
    assert (found.recommended, found.nearest) == (1, None)
    assert found.front == (0, 1, 2)
    assert ranked(laid(3), some) == [1, 0]


def test_a_cost_that_is_less_by_chance_alone_does_not_decide() -> None:
    """The second beats 1 in 4,000 less often and peaks higher: it is dominated, and must not be recommended."""
    some = cells(runs(spread(1.0), 783.3, 100), runs(spread(1.2), 783.1, 106), runs(spread(0.9), 783.2, 100.5))
    assert ranked(laid(3), some) == [2, 0, 1]
    assert advise(laid(3), some).recommended in advise(laid(3), some).front


def test_a_cost_may_forbid_what_the_objective_allows() -> None:
    both = (LAG, parse_cost("ops/s < 30"), parse_cost("peak/s < 6"))
    some = cells(runs(spread(1.0), 40), runs(spread(2.0), 20), runs(spread(2.0), 15, peak=9), objectives=both)
    assert advise(laid(3), some).recommended == 1


def test_it_must_be_met_at_every_level_of_faults() -> None:
    some = cells(runs(spread(1.0), 40), runs(spread(2.0), 40), runs(spread(2.0), 20), runs(spread(4.0), 20))
    assert advise(laid(2, (0.0, 1.0)), some).recommended == 0


def test_where_none_meets_everything_the_nearest_is_the_one_that_misses_least() -> None:
    some = cells(runs(spread(9.0), 40), runs(spread(3.5), 20), runs([*spread(1.0), inf], 10))
    found = advise(laid(3), some)
    assert (found.recommended, found.nearest) == (None, 1)


def test_a_cadence_that_falls_with_fresh_seeds_is_the_nearest_and_not_recommended() -> None:
    some = cells(runs(spread(1.0), 40), runs(spread(2.0), 20))
    found = without(laid(2), advise(laid(2), some))
    assert (found.recommended, found.nearest) == (None, 1)


def test_what_is_dearer_and_slower_is_not_on_the_front() -> None:
    some = cells(runs(spread(1.0), 40), runs(spread(2.0), 50), runs(spread(4.0), 10))
    assert advise(laid(3), some).front == (0, 2)


def test_processor_time_is_beats_times_what_one_was_measured_at() -> None:
    cell = cell_of(0, runs(spread(1.0), 40), Asked((LAG, parse_cost("cpu < 1%")), cpu_s=0.0002))
    assert cell.costs["cpu"].value == pytest.approx(0.008)
    assert cell.met
    assert "cpu" not in cell_of(0, runs(spread(1.0)), Asked((LAG,))).costs
