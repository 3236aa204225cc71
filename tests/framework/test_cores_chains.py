"""No core may trigger itself: what right cores do on the framework's own chains, and how wrong ones show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.framework.fake_host import Agent

from fleetbeat.framework.vocabulary import Event, Options
from fleetbeat.protocol.folders import load_module
from fleetbeat.scenario.library import find_core

reference: Any = load_module(find_core("reference") / "core.py")
HOMEWORK = "observer: homework, on: prompt, action: {prepare: {cost: 1}}"
AGAIN = "observer: again, on: ready, action: {prepare: {cost: 1}}"
NUDGE = "observer: nudge, on: [ready, file.changed], action: {inject: Look.}"
TELL = "observer: tell, on: ready, action: {notify: Ready.}"
TOO = "observer: too, on: ready, action: {notify: Ready too.}"
FOLLOW = "observer: follow, on: [tool.*, file.changed], action: {prepare: {cost: 1}}"

Play = Callable[[str], list[str]]


def ready(agent: Agent, task: int, type: str = "ready") -> int:
    return agent.hand(type, task, task=task, policy="homework", result="")


def result_of_a_prepare(core: str) -> list[str]:
    agent = Agent(core, HOMEWORK, AGAIN, NUDGE, TELL, TOO)
    agent.hand("prompt", text="")
    task = agent.last()
    assert agent.did() == ["prepare homework"]
    ready(agent, task)
    return agent.did()


def calls_of_a_task(core: str) -> list[str]:
    """The task's own call, its result, and a file that it touched, in another session."""
    agent = Agent(core, HOMEWORK, FOLLOW, NUDGE)
    agent.hand("prompt", text="")
    task = agent.last()
    agent.did()
    call = agent.hand("tool.before", task, tool="read")
    after = agent.hand("tool.after", call, tool="read", call=call)
    changed = agent.hand("file.changed", after, "other", path="notes/0.md")
    agent.hand("reply", changed, "other", text="")
    return agent.did()


def across_a_restart(core: str) -> list[str]:
    agent = Agent(core, HOMEWORK, AGAIN, TELL, TOO)
    agent.hand("prompt", text="")
    task = agent.last()
    agent.did()
    agent.restart()
    ready(agent, task)
    return agent.did()


def a_notification(core: str) -> list[str]:
    agent = Agent(
        core,
        "observer: alert, on: reply, action: {notify: Hm.}",
        "observer: notices, on: 'not*', action: {prepare: {cost: 1}}",
    )
    agent.hand("reply", text="")
    return [done for done in agent.did() if not done.startswith("emit")]


#: what is played -> (what right cores do, what a strict one does, the wrong cores that do something else).
PLAYS: dict[Play, tuple[list[str], list[str], list[str]]] = {
    result_of_a_prepare: (
        ["notify tell"], [], ["core-no-guard", "core-forgets-across-tasks", "core-two-notifies"],
    ),
    calls_of_a_task: ([], [], ["core-no-guard", "core-origin-only", "core-forgets-across-tasks"]),
    across_a_restart: (["notify tell"], [], ["core-no-guard", "core-forgets-at-restart"]),
    a_notification: (["notify alert"], ["notify alert"], ["core-notify-as-event"]),
}  # fmt: skip
NAMED = [pytest.param(play, id=play.__name__) for play in PLAYS]


@pytest.mark.parametrize("play", NAMED)
@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
def test_a_right_core_lets_one_notify_through_and_nothing_else(core: str, play: Play) -> None:
    right, strict, _ = PLAYS[play]
    assert play(core) == (strict if core == "strict" else right)


@pytest.mark.parametrize(("play", "core"), [(play, core) for play, (_, _, wrong) in PLAYS.items() for core in wrong])
def test_a_wrong_core_shows(play: Play, core: str) -> None:
    assert play(core) not in PLAYS[play][:2]


@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
def test_what_a_user_does_next_starts_afresh(core: str) -> None:
    agent = Agent(core, HOMEWORK, TELL)
    agent.hand("prompt", text="")
    ready(agent, agent.last())
    agent.did()
    agent.hand("prompt", text="")
    assert agent.did() == ["prepare homework"]


@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
def test_a_model_that_was_given_a_line_acts_for_the_framework(core: str) -> None:
    """Calls after an injected line are on its chain, and so is what another session makes of the files they write."""
    agent = Agent(core, "observer: nudge, on: [prompt, file.changed], action: {inject: Look.}", FOLLOW)
    agent.hand("prompt", text="")
    line = agent.last()
    assert agent.did() == ["inject nudge"]
    call = agent.hand("tool.before", line)
    changed = agent.hand("file.changed", call, "other", path="notes/0.md")
    agent.hand("tool.before", changed, "other")
    assert agent.did() == []


def test_a_line_that_was_injected_may_lead_to_one_notify_one_hop_away() -> None:
    agent = Agent(
        "reference",
        "observer: nudge, on: prompt, action: {inject: Look.}",
        "observer: tell, on: [tool.before, reply], action: {notify: Hm.}",
    )
    agent.hand("prompt", text="")
    line = agent.last()
    agent.did()
    call = agent.hand("tool.before", line)
    assert agent.did() == ["notify tell"]
    agent.restart()
    agent.hand("reply", line, text="")  # one hop as well, and the one was sent before the restart
    agent.hand("reply", call, text="")
    assert agent.did() == []


@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
@pytest.mark.parametrize("restart", [False, True])
def test_nothing_two_hops_from_an_injected_line_notifies(core: str, restart: bool) -> None:
    agent = Agent(
        core,
        "observer: nudge, on: prompt, action: {inject: Look.}",
        "observer: tell, on: file.changed, action: {notify: Hm.}",
    )
    agent.hand("prompt", text="")
    call = agent.hand("tool.before", agent.last())
    assert agent.did() == ["inject nudge"]
    if restart:
        agent.restart()
    agent.hand("file.changed", call, path="notes/0.md")
    assert agent.did() == []


@pytest.mark.parametrize("core", ["reference", "plugin"])
def test_the_notify_of_a_prepare_waits_for_its_own_result(core: str) -> None:
    agent = Agent(core, HOMEWORK, "observer: tell, on: [ready, tool.before], action: {notify: Ready.}")
    agent.hand("prompt", text="")
    task = agent.last()
    agent.did()
    call = agent.hand("tool.before", task)
    agent.hand("ready", call, task=task)
    assert agent.did() == []
    ready(agent, task)
    assert agent.did() == ["notify tell"]


@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
def test_a_cooldown_lets_nobody_past_the_guard(core: str) -> None:
    agent = Agent(core, HOMEWORK, f"{AGAIN}, cooldown_s: 1", f"{TOO}, cooldown_s: 1", TELL)
    agent.hand("prompt", text="")
    task = agent.last()
    agent.did()
    ready(agent, task)
    assert agent.did() == ([] if core == "strict" else ["notify too"])


def test_actions_that_are_held_back_are_logged_with_their_chain() -> None:
    agent = Agent("reference", HOMEWORK, AGAIN, TELL, TOO)
    agent.hand("prompt", text="")
    task = agent.last()
    event = ready(agent, task)
    told = [(one["policy"], one["action"], one["event"], one["chain"]) for one in agent.logs("action_suppressed")]
    assert told == [("again", "prepare", event, task), ("too", "notify", event, task)]


# --- what is not known ---


@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
def test_an_event_of_unknown_cause_counts_as_the_frameworks_own(core: str) -> None:
    agent = Agent(core, HOMEWORK, FOLLOW, TELL)
    call = agent.hand("tool.before", 4_711)
    agent.hand("tool.after", call)
    ready(agent, 4_712)
    assert agent.did() == []


@pytest.mark.parametrize("core", ["reference", "strict"])
@pytest.mark.parametrize("is_caused", [False, True])
def test_an_event_that_says_it_is_proactive_is_taken_at_its_word(core: str, is_caused: bool) -> None:
    """The specification marks what the framework makes so; nobody lies in this direction."""
    agent = Agent(core, AGAIN, TELL)
    agent.hand("ready", agent.hand("prompt", text="") if is_caused else None, task=0)
    assert agent.did() == []


def test_what_is_in_use_is_not_forgotten() -> None:
    recent = reference.Recent(4)
    recent.put("used", 1)
    for number in range(100):
        recent.put(number, number)
        assert recent.get("used") == 1
    assert recent.get(1) is None


def test_a_core_that_takes_the_unknown_for_a_users_shows() -> None:
    agent = Agent("core-forgets-at-restart", FOLLOW)
    agent.hand("tool.before", 4_711)
    assert agent.did() == ["prepare follow"]


def after_a_flood(core: str) -> list[str]:
    agent = Agent(core, HOMEWORK, AGAIN, NUDGE)
    agent.hand("prompt", text="")
    task = agent.last()
    agent.did()
    agent.rules(agent.body.replace("on: prompt", "on: never") if agent.body else None)
    for _ in range(40_000):
        agent.hand("prompt", None, text="")
    ready(agent, task)
    return agent.did()


@pytest.mark.parametrize("core", ["reference", "plugin", "strict"])
def test_a_flood_of_events_washes_no_mark_off(core: str) -> None:
    """The mark of the task is forgotten meanwhile, and then its result may do less and not more."""
    assert after_a_flood(core) == []
    assert after_a_flood("core-forgets-at-restart") == ["prepare again", "inject nudge"]


def test_what_the_reference_core_keeps_in_mind_is_bounded() -> None:
    agent = Agent("reference", TELL, "observer: alert, on: prompt, action: {notify: Hm.}")
    core: Any = agent.core
    agent.host.ledger.clear()
    for number in range(40_000):
        agent.hand("prompt", None, f"s-{number}", text="")
        agent.hand(f"type-{number % 1000}", None, "s")
        agent.host.ledger.clear()
    for mapping, most in (
        (core.marks, reference.MOST_MARKS),
        (core.notices, reference.MOST_NOTICES),
        (core.sessions, reference.MOST_SESSIONS),
    ):
        assert most <= len(mapping.new) + len(mapping.old) <= 2 * most
    assert len(core.watching) <= reference.MOST_TYPES


# --- the seed's few lines ---


@pytest.mark.parametrize("action", ["notify", "inject", "prepare"])
@pytest.mark.parametrize(
    ("cause", "type", "allowed"),
    [
        (None, "prompt", {"notify", "inject", "prepare"}),  # normal event, act freely
        ("event", "tool.before", {"notify", "inject", "prepare"}),
        ("prepare", "ready", {"notify"}),  # the framework started the chain: only Notify, within one hop
        ("prepare", "tool.before", set()),
        ("two hops", "ready", set()),
        ("inject", "reply", {"notify"}),
        ("unknown", "ready", set()),
    ],
)
def test_allow_action_is_as_the_specification_says(
    cause: str | None, type: str, allowed: set[str], action: str
) -> None:
    core = reference.Reference(Agent("reference").host, Options())
    task = reference.Chain(7, "proactive", "prepare")
    links = {"event": (reference.Chain(1, "user"), 0), "prepare": (task, 0), "two hops": (task, 1)}
    links["inject"] = (reference.Chain(7, "proactive", "inject"), 0)
    if cause in links:
        core.marks.put(7, links[cause])
    event = Event(8, 0, type, "agent", "s", None if cause is None else 7, {})
    if cause == "two hops":
        core.marks.put(9, links[cause])
        event = Event(10, 0, type, "proactive", "s", 9, {})
    core.marks.put(event.id, core.link(event))
    assert core.allow_action(event, action) == (action in allowed)
