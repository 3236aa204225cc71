"""What quietens the reference core's observers: cooldown, dismissals in a row, failures in a row. Gates have none of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.framework.fake_host import Agent, S, body

ALERT = "observer: alert, on: prompt, action: {notify: Hm.}"
OTHER = "observer: other, on: prompt, action: {notify: Well.}"
HOMEWORK = "observer: homework, on: prompt, action: {prepare: {cost: 1}}"


def notified(agent: Agent, count: int, dismissed: bool = True) -> Iterator[list[str]]:
    """Prompts, each followed by what came of it; the user waves away what `alert` said."""
    for _ in range(count):
        agent.hand("prompt")
        told = agent.did()
        yield told
        if dismissed and told:
            agent.hand("dismissed", notice=agent.last())


# --- cooldown ---


@pytest.mark.parametrize("core", ["reference", "strict", "plugin"])
@pytest.mark.parametrize("restart", [False, True])
def test_an_observer_rests_for_its_cooldown_also_over_a_restart(core: str, restart: bool) -> None:
    agent = Agent(core, f"{ALERT}, cooldown_s: 10", OTHER)
    found = []
    for at in (0, 9, 10, 19, 20):
        agent.host.now_ns = at * S
        if restart:
            agent.restart()
        agent.hand("prompt")
        found.append(len(agent.did()))
    assert found == [2, 1, 2, 1, 2]


def test_what_was_held_back_starts_no_cooldown() -> None:
    agent = Agent("reference", HOMEWORK, "observer: tell, on: [ready, reply], action: {notify: x}, cooldown_s: 60")
    agent.hand("prompt")
    task = agent.last()
    agent.did()
    agent.hand("reply", task)  # on the chain, and not its result: held back
    agent.hand("ready", task, task=task)
    assert agent.did() == ["notify tell"]


def test_a_cooldown_goes_on_in_the_next_body_and_not_past_one_without_the_observer() -> None:
    agent = Agent("reference", f"{ALERT}, cooldown_s: 60")
    agent.hand("prompt")
    agent.rules(body(f"{ALERT}, cooldown_s: 60", OTHER))
    agent.hand("prompt")
    assert agent.did() == ["notify alert", "notify other"]
    agent.rules(body(OTHER))
    agent.rules(body(f"{ALERT}, cooldown_s: 60"))
    agent.hand("prompt")
    assert agent.did() == ["notify alert"]


# --- silence ---


def test_dismissals_in_a_row_silence_that_observer_alone_and_for_a_time() -> None:
    agent = Agent("reference", ALERT, silence_after=3, silence_for="60s")
    assert list(notified(agent, 5)) == [["notify alert"]] * 3 + [[], []]
    assert [(one["policy"], one["until"]) for one in agent.logs("alert_silenced")] == [("alert", 60 * S)]
    agent.host.now_ns = 60 * S
    assert list(notified(agent, 4)) == [["notify alert"]] * 3 + [[]]


def test_a_notification_that_is_not_dismissed_breaks_the_row() -> None:
    agent = Agent("reference", ALERT, silence_after=3)
    for dismissed in (2, 2, 2):
        assert list(notified(agent, dismissed)) == [["notify alert"]] * 2
        assert list(notified(agent, 1, dismissed=False)) == [["notify alert"]]


def test_silence_and_the_row_survive_a_restart() -> None:
    agent = Agent("reference", ALERT, silence_after=3, silence_for="60s")
    assert list(notified(agent, 2)) == [["notify alert"]] * 2
    agent.restart()
    assert list(notified(agent, 2)) == [["notify alert"], []]
    agent.restart()
    assert list(notified(agent, 1)) == [[]]


def test_nothing_is_silenced_unless_the_scenario_says_so_and_no_dismissal_counts_for_another() -> None:
    assert list(notified(Agent("reference", ALERT), 30)) == [["notify alert"]] * 30
    agent = Agent("reference", ALERT, silence_after=1)
    agent.hand("dismissed", notice=4_711)
    agent.hand("dismissed")
    assert list(notified(agent, 1)) == [["notify alert"]]


def test_the_guard_holds_while_alerts_are_silenced() -> None:
    agent = Agent("reference", ALERT, silence_after=1, answers={"rm-rf": "ask"})
    assert list(notified(agent, 2)) == [["notify alert"], []]
    assert agent.call("rm -rf /srv") == "ask"


# --- breaker ---


def test_failures_in_a_row_stop_an_observer_for_a_time_and_a_success_starts_the_count_anew() -> None:
    agent = Agent("reference", HOMEWORK, ALERT, breaker_after=3, breaker_for="30s")
    tried = []
    for full in (True, True, False, True, True, True, False, False):
        agent.host.full = full
        agent.hand("prompt")
        tried.append([one for one in agent.did() if "homework" in one])
    assert tried == [[], [], ["prepare homework"], [], [], [], [], []]
    assert len(agent.logs("observer_failed")) == 5
    assert [one["until"] for one in agent.logs("observer_stopped")] == [30 * S]
    agent.restart()
    agent.hand("prompt")
    assert agent.did() == ["notify alert"]  # the other observer goes on
    agent.host.now_ns = 30 * S
    agent.hand("prompt")
    assert agent.did() == ["prepare homework", "notify alert"]


def test_after_the_breaker_one_failure_does_not_stop_an_observer_again() -> None:
    agent = Agent("reference", HOMEWORK, breaker_after=2, breaker_for="30s")
    agent.host.full = True
    for at in (0, 0, 30):
        agent.host.now_ns = at * S
        agent.hand("prompt")
    agent.host.full = False
    agent.hand("prompt")
    assert agent.did() == ["prepare homework"]


def test_no_failures_stop_an_observer_unless_the_scenario_says_so() -> None:
    agent = Agent("reference", HOMEWORK)
    agent.host.full = True
    for _ in range(30):
        agent.hand("prompt")
    agent.host.full = False
    agent.hand("prompt")
    assert agent.did() == ["prepare homework"]


def test_an_observer_that_fails_takes_no_verdict_with_it() -> None:
    for core in ("reference", "strict", "plugin"):
        agent = Agent(core, "observer: p, on: tool.before, action: {prepare: {}}", answers={"rm-rf": "deny"})
        agent.host.full = True
        assert agent.call() == "deny"


# --- state ---


@pytest.mark.parametrize("core", ["reference", "strict", "plugin"])
@pytest.mark.parametrize("restart", [False, True])
def test_state_is_what_was_folded_of_this_session_before(core: str, restart: bool) -> None:
    agent = Agent(
        core,
        "observer: third, on: prompt, state: {prompts: {exactly: 2}}, action: {notify: x}",
        "observer: tired, on: prompt, state: {rejections: {at_least: 1}, prompts: {at_most: 3}}, action: {notify: x}",
    )
    found = []
    for session in ("s", "s", "other", "s", "s"):
        if restart:
            agent.restart()
        agent.hand("answer", None, session, call=1, answer="reject")
        agent.hand("prompt", None, session)
        found.append(agent.did())
    tired = ["notify tired"]
    assert found == [tired, tired, tired, ["notify third", *tired], tired]
