from __future__ import annotations

import pytest
from tests.history.hand import agent, end, run_record
from tests.metrics.framework_by_hand import (
    action,
    begin,
    event,
    log,
    observer,
    over,
    policies,
    rules,
    tables,
    workload,
)

from fleetbeat.metrics.framework import Notified, framework


def test_a_history_without_a_workload_has_no_framework() -> None:
    assert framework([run_record(), agent("a"), end()]) is None
    assert framework([run_record(), workload(), agent("a"), end()]) is not None


def test_events_are_counted_by_type_and_actions_by_kind() -> None:
    found = tables(
        event(1, 1, "prompt"), event(2, 2, "prompt"), event(3, 3, "notice"), action(3, 4, "inject", "p", 3)
    )  # fmt: skip
    assert found.events == (("notice", 1), ("prompt", 2))
    assert found.actions == (("notify", 0), ("inject", 1), ("prepare", 0), ("emit", 0))


def test_a_user_has_notifications_per_hour_in_which_their_agent_was_up() -> None:
    """Half an hour up out of an hour: one notification is two an hour. Counting the hour as a whole would say one."""
    found = tables(begin(0), event(1, 1, "prompt"), action(1, 2, "notify", "p", 1), over(1800), end=3600)
    assert found.notified == Notified(1, 1, 1_800_000_000_000, 2000, 1, "a/s-0")


def test_time_is_counted_for_each_user_and_over_all_lives() -> None:
    """Two users on an agent that was up for 600 s and again for 1,200 s: an hour, in all."""
    found = tables(
        begin(0), event(1, 1, "prompt"), event(1, 2, "prompt", session="s-1"), over(600), begin(2400), end=3600
    )  # fmt: skip
    assert found.notified == Notified(0, 2, 3_600_000_000_000, 0, 0, None)


def test_a_subtask_is_no_user_of_its_own() -> None:
    found = tables(
        begin(0),
        event(1, 1, "prompt"),
        event(2, 2, "tool.after", 1, session="s-0/sub"),
        action(2, 3, "notify", "p", 2, session="s-0/sub"),
        event(3, 4, "prompt", session="s-1"),
    )
    assert (found.notified.users, found.notified.most, found.notified.whose) == (2, 1, "a/s-0")


def test_costs_are_added_as_whole_millionths() -> None:
    ten = [action(1, i, "prepare", "p", None, cost=0.1) for i in range(10)]
    assert tables(*ten).cost == 1_000_000


@pytest.mark.parametrize("cost", [float("nan"), float("inf")])
def test_a_cost_that_is_none_counts_as_nothing(cost: float) -> None:
    assert tables(action(1, 1, "prepare", "p", None, cost=cost)).cost == 0


def test_what_is_noted_is_counted_by_what_it_is() -> None:
    found = tables(
        policies("n", observer("p", "prompt", "notify"), error="no"),
        rules(1, "n", malformed=True),
        log(2, "alert_silenced"),
        log(2, "something_else"),
    )
    assert (found.malformed, found.silenced, found.failed, found.limits) == (1, 1, 0, 0)
