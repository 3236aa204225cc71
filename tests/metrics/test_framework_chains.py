from __future__ import annotations

import dataclasses

import pytest
from tests.metrics.framework_by_hand import action, begin, event, log, observer, over, policies, rules, tables

from fleetbeat.checks import judge
from fleetbeat.engines import ENGINES
from fleetbeat.history.records import Record
from fleetbeat.history.strip import without_bodies
from fleetbeat.metrics.framework import Framework, framework
from fleetbeat.metrics.framework_chains import ObserverRow
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load

LOOP = policies("n", observer("notes", ["prompt", "ready"], "prepare"), observer("tell", "ready", "notify"))
START = (LOOP, begin(0), rules(0, "n"))


def rows(found: Framework) -> dict[str, ObserverRow]:
    return {row.policy: row for row in found.chains.observers}


def test_an_observer_that_the_rule_holds_back_is_suppressed() -> None:
    found = tables(
        *START,
        event(1, 1, "prompt"),
        action(1, 2, "prepare", "notes", 1),
        event(9, 3, "ready", 2),
        log(9, "action_suppressed"),
        action(9, 4, "notify", "tell", 3),
        event(10, 5, "prompt"),
    )
    assert (found.chains.suppressed, found.chains.logged, found.chains.quiet) == (1, 1, 1)
    assert rows(found)["notes"] == ObserverRow("notes", "prepare", 3, 1, 0, 1, 1, 0)
    assert rows(found)["tell"] == ObserverRow("tell", "notify", 1, 1, 0, 0, 0, 0)


def test_an_action_on_the_frameworks_own_chain_is_self_triggered_and_not_suppressed() -> None:
    found = tables(
        *START,
        event(1, 1, "prompt"),
        action(1, 2, "prepare", "notes", 1),
        event(9, 3, "ready", 2),
        action(9, 4, "prepare", "notes", 3),
    )
    assert found.chains.self_triggered_actions == (("notify", 0), ("inject", 0), ("prepare", 1))
    assert found.chains.suppressed == 0
    assert found.chains.begun == (("inject", 0), ("prepare", 1), ("emit", 0)), "the second is on the first's chain"


def test_a_notification_that_is_allowed_and_does_not_come_was_quiet() -> None:
    found = tables(*START, event(1, 1, "prompt"), action(1, 2, "prepare", "notes", 1), event(9, 3, "ready", 2))
    assert (rows(found)["tell"].quiet, rows(found)["tell"].suppressed) == (1, 0)


def test_of_two_observers_that_would_notify_on_one_chain_the_later_is_suppressed() -> None:
    """One that stands before the one that notified was quiet: nothing forbade it when its turn came."""
    three = policies(
        "n",
        observer("notes", "prompt", "prepare"),
        *(observer(name, "ready", "notify") for name in ("before", "tell", "after")),
    )
    found = tables(
        three,
        begin(0),
        rules(0, "n"),
        event(1, 1, "prompt"),
        action(1, 2, "prepare", "notes", 1),
        event(9, 3, "ready", 2),
        action(9, 4, "notify", "tell", 3),
    )
    assert (rows(found)["before"].quiet, rows(found)["after"].suppressed) == (1, 1)


def test_depth_is_counted_in_hops_across_tasks_tools_files_and_sessions() -> None:
    found = tables(
        event(1, 1, "prompt"),
        action(1, 2, "prepare", "p", 1),
        event(2, 3, "tool.before", 2, session="s-0/task"),
        event(2, 4, "tool.after", 3, session="s-0/task"),
        event(3, 5, "file.changed", 4, session="s-1"),
        event(8, 6, "ready", 2),
        action(9, 7, "prepare", "p", 1),
    )
    assert (found.chains.p50, found.chains.max) == (0, 3)


def test_only_its_own_ready_event_lets_a_prepares_chain_notify() -> None:
    """The ready event of a second Prepare on the chain, and a call of its task, do not."""
    found = tables(
        policies("n", observer("tell", ["ready", "tool.after"], "notify")),
        begin(0),
        rules(0, "n"),
        event(1, 1, "prompt"),
        action(1, 2, "prepare", "p", 1),
        event(2, 3, "tool.after", 2),
        event(9, 4, "ready", 2),
        action(9, 5, "prepare", "p", 4),
        event(20, 6, "ready", 5),
    )
    assert (rows(found)["tell"].suppressed, rows(found)["tell"].quiet) == (2, 1)


def test_what_an_injected_line_led_to_directly_may_notify_and_what_follows_from_that_may_not() -> None:
    found = tables(
        policies("n", observer("tell", ["reply", "tool.*"], "notify")),
        begin(0),
        rules(0, "n"),
        event(1, 1, "prompt"),
        action(1, 2, "inject", "p", 1),
        event(2, 3, "tool.before", 2),
        event(3, 4, "tool.after", 3),
    )
    assert (rows(found)["tell"].quiet, rows(found)["tell"].suppressed) == (1, 1)


def test_what_a_user_does_next_is_on_no_chain() -> None:
    found = tables(*START, event(1, 1, "prompt"), action(1, 2, "prepare", "notes", 1), event(5, 3, "prompt"))
    assert (found.chains.suppressed, rows(found)["notes"].quiet) == (0, 1)


def test_state_is_what_came_before_the_event() -> None:
    """Folding the event first would let the second prompt count itself, and fit at the first."""
    late = policies("n", observer("late", "prompt", "notify", state={"prompts": [["at_least", 1]]}))
    found = tables(late, begin(0), rules(0, "n"), event(1, 1, "prompt"), event(2, 2, "prompt"), event(3, 3, "prompt"))
    assert rows(found)["late"].fitted == 2


def test_policies_that_were_replaced_hold_nothing_back_and_a_malformed_body_replaces_none() -> None:
    gone = tables(*START, rules(1, None), event(2, 1, "prompt"))
    kept = tables(*START, rules(1, "bad", malformed=True), event(2, 1, "prompt"))
    assert (gone.chains.observers, rows(kept)["notes"].fitted) == ((), 1)


def test_an_event_that_the_core_makes_meanwhile_settles_nothing() -> None:
    """The core is still busy with the first event: what it does after its emission counts."""
    found = tables(
        *START,
        event(1, 1, "prompt"),
        action(1, 2, "emit", "notice", 1),
        event(1, 3, "notice", 2, origin="proactive"),
        action(1, 4, "prepare", "notes", 1),
    )
    assert rows(found)["notes"] == ObserverRow("notes", "prepare", 1, 1, 0, 0, 0, 0)


def test_what_a_crash_cuts_off_was_not_done() -> None:
    found = tables(*START, event(1, 1, "prompt"), over(1), begin(2), action(3, 2, "prepare", "notes", 1))
    assert (rows(found)["notes"].fitted, rows(found)["notes"].quiet) == (1, 1)


def test_a_dismissal_is_laid_to_the_policy_that_notified() -> None:
    found = tables(
        *START, event(1, 1, "prompt"), action(1, 2, "notify", "tell", 1), event(4, 3, "dismissed", notice=2)
    )  # fmt: skip
    assert rows(found)["tell"].dismissed == 1


# --- on runs ---


@pytest.fixture(scope="module", params=["reference", "core-no-guard", "strict"])
def played(request: pytest.FixtureRequest) -> tuple[str, list[Record]]:
    scenario = load(find("core-trial"), overrides=[f"fleet.core.program={request.param}"])
    return request.param, ENGINES.engine("des")(scenario)


def test_the_tables_of_a_run_say_what_the_check_and_the_cores_log_say(played: tuple[str, list[Record]]) -> None:
    core, records = played
    found = framework(records)
    assert found is not None
    verdict = next(one for one in judge(records).verdicts if one.invariant == "no-self-trigger")
    total = sum(count for _, count in found.chains.self_triggered_actions)
    assert total == len(verdict.findings) + verdict.more
    assert (total > 0) == (core == "core-no-guard")
    assert found.chains.suppressed > 100
    if core == "reference":
        assert found.chains.suppressed == found.chains.logged, "two counts of the same thing, by two hands"


def test_no_origin_mark_or_log_of_the_core_changes_a_table(played: tuple[str, list[Record]]) -> None:
    _, records = played
    mine = ("ready", "notice")
    erased = [
        Record(one.t, one.actor, one.kind, {**one.fields, "origin": None, "mark": None})
        if one.kind == "action"
        else Record(one.t, one.actor, one.kind, {**one.fields, "origin": ""})
        if one.kind == "event" and one["type"] in mine
        else one
        for one in records
        if one.kind != "core.log"
    ]
    before, after = framework(records), framework(erased)
    assert before is not None
    assert after is not None
    logged = dataclasses.replace(before.chains, logged=0)
    assert dataclasses.replace(before, chains=logged, silenced=0) == after


def test_a_history_without_the_bodies_texts_has_the_same_tables(played: tuple[str, list[Record]]) -> None:
    _, records = played
    assert framework(without_bodies(records)) == framework(records)
