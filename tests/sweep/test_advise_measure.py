"""One run in the advice's numbers: deliveries by hand-made fates, costs and herds by hand-made histories."""

from __future__ import annotations

from math import inf

import pytest
from scipy import stats as scipy_stats

from fleetbeat.chance.choices import Hashed, unit
from fleetbeat.chance.step import Step
from fleetbeat.checks import judge
from fleetbeat.checks.model import Judgement, PostFate
from fleetbeat.engines import ENGINES
from fleetbeat.history.records import Record
from fleetbeat.metrics.cost import cost
from fleetbeat.scenario.load import load
from fleetbeat.sweep.advise_measure import (
    Ask,
    Delivery,
    _costs,
    _steady,
    deliveries,
    measures,
    most_within,
    run_of,
    shifted,
    tail,
    work,
)
from fleetbeat.sweep.advise_slo import parse_slo
from fleetbeat.sweep.execute import Batch, ExecuteError
from fleetbeat.sweep.one import outcome

SECOND = 1_000_000_000
TEXT = """\
name: small
duration: 40s
fleet: {agents: 12, heartbeat: {interval: 1s}, hosts: [{name: big}, {name: small}]}
faults: [{id: bad, operation: read, probability: 20%, error: EIO}]
rollouts: [{version: v1, at: 5s, targets: all, body: be kind}]
"""


def post(
    fate: str, landed: int | None, effective: int | None = None, version: str = "v1", agent: str = "a"
) -> PostFate:
    return PostFate(f"{version}/{agent}#1", version, agent, "op", fate, completed=landed, effective=effective)


def of(*fates: PostFate) -> list[Delivery]:
    return deliveries(Judgement(fates, ()))


def test_posting_again_does_not_make_the_wait_shorter() -> None:
    """Judged post by post the second attempt would have waited 1 instead of 10."""
    assert of(post("superseded", 5), post("applied", 14, 15)) == [Delivery("v1", 5, 15)]


@pytest.mark.parametrize("fate", ["lost", "failed", "stuck", "pending", "poisoned", "persisted"])
def test_what_never_takes_effect_waits_for_ever(fate: str) -> None:
    assert of(post(fate, 5)) == [Delivery("v1", 5, None)]


def test_a_version_posted_again_after_another_is_a_delivery_of_its_own() -> None:
    """A rollback: judged as one, it would have taken effect before it was posted."""
    posts = (post("applied", 5, 6), post("applied", 20, 21, "v2"), post("applied", 40, 45))
    assert of(*posts) == [Delivery("v1", 5, 6, 20), Delivery("v2", 20, 21, 40), Delivery("v1", 40, 45)]


def test_what_another_version_replaced_was_late_if_it_had_long_enough() -> None:
    """Left out as superseded, the slowest deliveries would make a cadence look quick."""
    replaced, _ = of(post("superseded", 5), post("applied", 40, 41, "v2"))
    assert replaced == Delivery("v1", 5, None, 40)
    assert replaced.watched(35, 100)
    assert not replaced.watched(36, 100)
    assert Delivery("v1", 5, None).watched(95, 100)
    assert not Delivery("v1", 5, 6).watched(96, 100)


@pytest.mark.parametrize("fate", ["superseded", "unchanged", "empty", "rejected"])
def test_what_nobody_waits_for_does_not_count(fate: str) -> None:
    assert of(post(fate, 5)) == []


def test_a_post_that_never_landed_is_no_delivery_and_one_read_while_written_waited_for_nothing() -> None:
    assert of(post("unposted", None)) == []
    assert of(post("applied", 5, 4)) == [Delivery("v1", 5, 5)]


def test_a_lag_is_what_the_metrics_call_lag_where_all_were_applied_once() -> None:
    scenario = load(TEXT)
    records = ENGINES.engine("des")(scenario)
    plain = outcome(records, scenario.duration)
    slos = [parse_slo(f"{name} lag < 9s") for name in ("p50", "p90", "p99", "max")]
    found = measures(slos, records, scenario.duration)
    for one, name in zip(slos, ("lag_p50", "lag_p90", "lag_p99", "lag_max"), strict=True):
        assert found[one.text] == plain.metrics[name]
        assert found[f"{one.text} of"] == 12


def test_a_run_in_which_one_never_applies_has_an_endless_tail_and_a_pending_share() -> None:
    late, half = parse_slo("p99 lag < 9s"), parse_slo("p50 lag < 9s")
    pending = parse_slo("pending < 1% after 5s")
    text = TEXT.replace("probability: 20%", "agents: [a-0], occurrence: [" + ", ".join(map(str, range(1, 80))) + "]")
    found = run_of(Ask((late, half, pending)), text, 3)
    assert found[late.text] == inf
    assert found[half.text] is not None
    assert found[half.text] < 2  # type: ignore[operator]
    assert found[pending.text] == pytest.approx(1 / 12)


def test_what_landed_too_late_to_tell_is_left_out_whether_it_was_applied_or_not() -> None:
    watched, all_of_it = parse_slo("p99 lag < 9s"), parse_slo("pending < 1% after 1s")
    text = TEXT.replace("at: 5s", "at: 35s")
    found = run_of(Ask((watched, all_of_it)), text, 3)
    assert found[watched.text] is None
    assert found[f"{watched.text} of"] == 0
    assert found[f"{all_of_it.text} of"] == 12


def test_costs_are_of_the_host_that_pays_most_and_add_up() -> None:
    scenario = load(
        TEXT.replace("agents: 12,", "groups: [{name: a, count: 8, hosts: big}, {name: b, count: 4, hosts: small}],")
    )
    records = ENGINES.engine("des")(scenario)
    found = measures((), records, scenario.duration)
    spent = cost(records)
    ops = sum(row.agents for row in spent.operations)
    assert found["beats/s"] == pytest.approx(spent.beats * 8 / 12 / 40, rel=0.01)
    assert ops * 0.6 < found["ops/s"] * 40 < ops * 0.75  # type: ignore[operator]
    assert found["wakes/s"] == pytest.approx(found["beats/s"] + 8 / 40)  # type: ignore[operator]
    assert found["faults"] == sum(record.kind == "fault" for record in records) > 0
    assert judge(records).fates


@pytest.mark.parametrize(("phase", "least", "most"), [("aligned", 200, 200), ("random", 10, 100)])
def test_aligned_beats_peak_and_spread_ones_do_not(phase: str, least: float, most: float) -> None:
    text = f"""\
name: s
duration: 20s
fleet: {{agents: 20, heartbeat: {{mode: fixed-rate, interval: 2s, phase: {phase}}}}}
rollouts: [{{version: v1, at: 5s, targets: all, body: x}}]
"""
    found = run_of(Ask(()), text, 1)
    assert least <= (found["peak/s"] or 0) <= most
    assert (found["herd"] == 1.0) == (phase == "aligned")
    assert ((found["herd_odds"] or 0) < 1e-9) == (phase == "aligned")


def test_jitter_parts_a_herd_in_time() -> None:
    text = """\
name: s
duration: {duration}
fleet: {{agents: 40, heartbeat: {{interval: 1s, phase: aligned, jitter: {{kind: normal, sd: 50ms}}}}}}
"""
    soon, late = (run_of(Ask(()), text.format(duration=duration), 1) for duration in ("4s", "5m"))
    assert soon["herd_odds"] < 1e-3 < 0.01 < late["herd_odds"]  # type: ignore[operator]
    assert soon["peak/s"] == late["peak/s"] == 400


def test_a_herd_that_straddles_the_turn_of_the_interval_is_one() -> None:
    homes = {f"a-{n}": ("h", SECOND) for n in range(10)}
    last = {name: 10 * SECOND + (n % 2) * 990_000_000 for n, name in enumerate(homes)}
    assert _steady(homes, last, 11 * SECOND)[:2] == (100.0, 1.0)


def test_intervals_apart_are_counted_apart_and_added() -> None:
    homes = {"a": ("h", SECOND), "b": ("h", 3 * SECOND), "c": ("other", SECOND)}
    last = {"a": 10 * SECOND, "b": 9_500_000_000, "c": 10 * SECOND}
    assert _steady(homes, last, 11 * SECOND)[0] == 20.0
    assert _steady(homes, {**last, "b": SECOND}, 11 * SECOND)[0] == 10.0  # long down


def test_even_beats_are_seldom_called_a_herd() -> None:
    """The odds are a bound: of 2,000 fleets of uniform phases no more than 5 % come below 0.05."""
    homes = {f"a-{n}": ("h", SECOND) for n in range(30)}
    below = 0
    for seed in range(2000):
        choices = Hashed(seed)
        last = {name: 10 * SECOND + int(unit(choices.bits("herd", Step(name))) * SECOND) for name in homes}
        below += _steady(homes, last, 11 * SECOND)[2] < 0.05
    assert 0 < below < 100


def test_windows_are_half_open_and_the_tail_is_the_binomial_law_s() -> None:
    assert most_within([0, 5, 9, 10], 10) == 3
    assert most_within([], 10) == 0
    for count, share, least in ((20, 0.1, 5), (7, 0.5, 0), (40, 0.02, 40), (3, 0.2, 4)):
        assert tail(count, share, least) == pytest.approx(
            float(scipy_stats.binom.sf(least - 1, count, share)), abs=1e-12
        )


def test_a_shift_is_one_draw_a_seed_for_all_rollouts() -> None:
    scenario = load(TEXT.replace("rollouts: [", "rollouts: [{version: v0, at: 1s, targets: all, body: be},"))
    some = [shifted(scenario, 4 * SECOND, seed) for seed in range(20)]
    later = [one.rollouts[0].at - SECOND for one in some]
    assert [one.rollouts[1].at - 5 * SECOND for one in some] == later
    assert all(0 <= ns < 4 * SECOND for ns in later)
    assert len(dict.fromkeys(later)) == 20
    assert shifted(scenario, 0, 7) == scenario.model_copy(update={"seed": 7})


def test_a_worker_of_another_version_refuses() -> None:
    with pytest.raises(ExecuteError, match=r"got fleetbeat .*, expected 0\.0\.0"):
        work(Ask(()), Batch(0, TEXT, (1,), "0.0.0"))


def test_a_record_of_an_operator_costs_agents_nothing() -> None:
    records = [
        Record(0, "harness", "agent", {"agent": "a", "host": "h", "interval": SECOND}),
        Record(1, "op:v1/a", "op", {"agent": "a", "role": "post", "operation": "open"}),
        Record(2, "a/beat", "op", {"agent": "a", "role": "beat", "operation": "stat"}),
    ]
    assert _costs(records, SECOND)["ops/s"] == 1.0
