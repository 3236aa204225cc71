"""What a gate makes of what the operator has seen, without any engine."""

from __future__ import annotations

from typing import Any

import pytest

from fleetbeat.engines.gates import Board, Sight, why_not
from fleetbeat.scenario.model import Gate

S = 1_000_000_000
HOUR = 3600 * S
NAMES = ["a-0", "a-1", "a-2", "a-3"]
NEW, OLD = Sight("whole", "new"), Sight("whole", "old")


def gate(**conditions: Any) -> Gate:
    return Gate.model_validate(conditions)


def board(*seen: int | None) -> Board:
    """Targets posted to at second 10 that were first seen at these seconds; None: not seen."""
    made = Board("new")
    for name, at in zip(NAMES, seen, strict=False):
        made.before(name, OLD)
        made.post(name, 10 * S, None)
        made.look(name, 11 * S, OLD)
        if at is not None:
            made.look(name, at * S, NEW)
    return made


@pytest.mark.parametrize(("quantile", "lag"), [(0.25, 2), (0.5, 4), (0.51, 6), (0.75, 6), (0.99, None), (1, None)])
def test_a_lag_is_a_nearest_rank_over_all_targets_of_the_wave_seen_or_not(quantile: float, lag: int | None) -> None:
    found = board(12, 14, 16, None).seen(60 * S, NAMES, gate(lag={"quantile": quantile, "below": "1s"}))
    assert found.lag == (None if lag is None else lag * S)


def test_a_lag_is_of_the_waves_own_targets() -> None:
    found = board(12, 14, 16, None).seen(60 * S, NAMES[:2], gate(lag={"quantile": 1, "below": "1s"}))
    assert found.lag == 4 * S


def test_the_first_time_a_version_was_seen_stays_the_first() -> None:
    made = board(12)
    made.look("a-0", 14 * S, OLD)
    made.look("a-0", 16 * S, NEW)
    assert made.seen(60 * S, NAMES[:1], gate(lag={"quantile": 1, "below": "1s"})).lag == 2 * S


def test_what_takes_time_is_asked_of_the_last_look_alone_and_what_is_wrong_at_each() -> None:
    made = board(12, None)
    made.read([("a-0", 13 * S, "agent_error"), ("a-1", 13 * S, "rules_flush_error")])
    slow = gate(effective="90%", lag={"below": "1s"}, errors_per_hour=1)
    seen = made.seen(20 * S, NAMES[:2], slow)
    assert why_not(slow, seen, is_last=False) is None
    said = why_not(slow, seen, is_last=True)
    assert (
        said
        == "effective on 1 of 2, at least 90 %; lag p99 not reached, below 1.00s; 180 errors an hour and target, at most 1"
    )
    at_once = gate(write_errors=0, violations=0)
    assert why_not(at_once, made.seen(20 * S, NAMES[:2], at_once), is_last=False) == "1 write errors, at most 0"


def test_limits_are_the_most_that_passes() -> None:
    made = board(12, 12, 12, None)
    made.read([("a-0", 13 * S, "rules_write_error")])
    made.look("a-3", 20 * S, Sight("torn"))
    fine = gate(effective="75%", violations=1, write_errors=1)
    assert why_not(fine, made.seen(60 * S, NAMES, fine), is_last=True) is None
    for strict in (gate(effective="76%"), gate(violations=0), gate(write_errors=0)):
        assert why_not(strict, made.seen(60 * S, NAMES, strict), is_last=True) is not None


def test_errors_are_counted_from_each_targets_post_and_divided_by_the_time_since() -> None:
    made = Board("new")
    made.post("a-0", 0, None)
    made.post("a-1", HOUR, None)
    made.read([("a-0", 1, "agent_error"), ("a-1", HOUR - 1, "agent_error"), ("b-9", HOUR, "agent_error")])
    made.read([("a-1", HOUR, "agent_error"), ("a-1", HOUR + 1, "rules_loaded")])
    found = made.seen(2 * HOUR, NAMES, gate(errors_per_hour=1))
    assert (found.errors, found.write_errors) == (2, 0)
    assert found.rate == pytest.approx(2 / 3)
    assert Board("new").seen(5, [], gate(errors_per_hour=1)).rate == 0


def test_what_a_target_held_before_is_no_violation_unless_nobody_could_read_it() -> None:
    made = board(None, None, None)
    made.look("a-0", 20 * S, Sight("whole", "other"))
    made.look("a-1", 20 * S, Sight("whole", None))
    made.before("a-2", Sight("unread"))
    made.look("a-2", 20 * S, Sight("whole", "other"))
    found = made.seen(60 * S, NAMES, gate(violations=0))
    assert (found.targets, found.violations) == (3, 2), "rules that are gone are one; a-2's were never known"


def test_nobody_posted_to_is_nobody_to_wait_for() -> None:
    strict = gate(effective="100%", lag={"below": "1s"}, violations=0, errors_per_hour=0)
    assert why_not(strict, Board("new").seen(60 * S, [], strict), is_last=True) is None
