from __future__ import annotations

from collections.abc import Sequence

from tests.history.hand import S, applied, beat, end, fault, rec, run_record

from fleetbeat.checks.model import Judgement, PostFate
from fleetbeat.history.records import Record
from fleetbeat.metrics.facts import gather
from fleetbeat.metrics.lag import Lag, cause, lag


def lag_of(fates: Sequence[PostFate]) -> Lag:
    return lag(gather([run_record(), end()]), Judgement(tuple(fates), ()))


def why(*events: Record, start: int = 10 * S, end_: int = 20 * S) -> str:
    begins = (
        [] if any(record.kind == "life.begin" for record in events) else [rec(0, "life.begin", agent="a-0", life=0)]
    )
    return cause(gather([run_record(), *begins, *events, end()]), "a-0", start, end_)


def test_the_total_and_its_four_parts_have_their_own_quantiles() -> None:
    table = lag_of([applied(f"p{i}", "a", 0, 10 * i, read=i, unlinked=3 * i, persisted=6 * i) for i in range(1, 101)])
    assert [(row.part, row.observed, row.p50, row.p90, row.p99, row.max) for row in table.rows] == [
        ("total", 100, 500, 900, 990, 1000),
        ("landed > read", 100, 50, 90, 99, 100),
        ("read > unlinked", 100, 100, 180, 198, 200),
        ("unlinked > persisted", 100, 150, 270, 297, 300),
        ("persisted > effective", 100, 200, 360, 396, 400),
    ]


def test_parts_that_were_not_observed_have_no_numbers_and_the_total_stays() -> None:
    table = lag_of([applied("p", "a", 5, 25)])
    assert [(row.observed, row.max) for row in table.rows] == [(1, 20), (0, None), (0, None), (0, None), (1, 10)]


def test_posts_that_were_not_applied_have_no_lag() -> None:
    fates = [
        applied("p", "a", 0, 5),
        applied("q", "a", 0, 500, fate="unchanged"),
        applied("r", "a", 0, 500, fate="torn"),
    ]
    assert lag_of(fates).applied == 1
    assert lag_of(fates).rows[0].max == 5


def test_each_version_has_its_total() -> None:
    table = lag_of([applied("p", "a", 0, 5), applied("q", "a", 0, 7, version="v3")])
    assert [(row.part, row.max) for row in table.versions] == [("v2", 5), ("v3", 7)]


def test_the_slowest_come_first_and_equals_by_name() -> None:
    table = lag_of([applied(f"p{i}", f"a-{i}", 0, 10) for i in (3, 1, 2)] + [applied("q", "a-9", 0, 11)])
    assert [slow.post for slow in table.slowest] == ["q", "p1", "p2", "p3"]


def test_without_anything_in_the_way_it_was_the_cadence() -> None:
    assert why(beat(12 * S, "a-0", 1)) == "just its cadence"


def test_faults_between_landing_and_effect_are_named_and_counted() -> None:
    hits = [fault(t * S, "a-0", "flaky", "read") for t in (10, 12, 20)]
    assert why(*hits) == "3 x EIO on read (fault flaky)"


def test_faults_outside_of_other_agents_and_of_writers_are_no_cause() -> None:
    others = [
        fault(9 * S, "a-0", "flaky", "read"),
        fault(21 * S, "a-0", "flaky", "read"),
        fault(12 * S, "a-1", "flaky", "read"),
        fault(12 * S, "a-0", "flaky", "write", on="operators"),
    ]
    assert why(*sorted(others, key=lambda record: record.t)) == "just its cadence"


def test_a_window_that_began_before_counts_for_the_time_it_took() -> None:
    off, on = (rec(t * S, "runnable", agent="a-0", runnable=flag) for t, flag in ((3, False), (14, True)))
    assert why(off, on) == "not runnable for 4.00s"
    assert why(off) == "not runnable for 10.0s"
    assert why(off, on, start=14 * S) == "just its cadence"


def test_a_crash_is_told_with_its_fault_and_the_time_down() -> None:
    events = [
        rec(0, "life.begin", agent="a-0", life=0),
        rec(12 * S, "life.end", agent="a-0", life=0, cause="crash", fault="kill"),
        rec(15 * S, "life.begin", agent="a-0", life=1),
    ]
    assert why(*events) == "crashed (fault kill) for 3.00s"


def test_a_power_failure_is_no_crash_and_an_orderly_end_is_neither() -> None:
    power = rec(12 * S, "life.end", agent="a-0", life=0, cause="power", fault=None)
    assert why(power) == "lost power for 8.00s"
    assert why(rec(12 * S, "life.end", agent="a-0", life=0, cause="end", fault=None)) == "just its cadence"


def test_stalls_and_pauses_are_told_apart_and_summed() -> None:
    stalls = [rec(t * S, "pause", agent="a-0", what="thread", end=(t + 1) * S, fault=None) for t in (11, 13)]
    pause = rec(15 * S, "pause", agent="a-0", what="process", end=16 * S, fault="p")
    assert why(*stalls, pause) == "beat thread stalled for 2.00s, process paused (fault p) for 1.00s"


def test_a_heartbeat_that_ended_is_a_cause_until_the_next_life() -> None:
    events = [
        rec(0, "life.begin", agent="a-0", life=0),
        rec(11 * S, "heartbeat.end", agent="a-0", life=0, beat=3, error="UnicodeDecodeError: bad byte"),
        rec(13 * S, "life.begin", agent="a-0", life=1),
    ]
    assert why(*events) == "heartbeat ended by UnicodeDecodeError for 2.00s"


def test_an_agent_that_started_late_was_not_there_yet() -> None:
    assert why(rec(15 * S, "life.begin", agent="a-0", life=0)) == "not started yet for 5.00s"


def test_a_body_that_was_read_while_it_was_being_written_has_no_negative_lag() -> None:
    table = lag_of([applied("p", "a", 100, 90, read=50)])
    assert [(row.part, row.max) for row in table.rows[:2]] == [("total", 0), ("landed > read", 0)]
    assert table.slowest[0].lag_ns == 0
