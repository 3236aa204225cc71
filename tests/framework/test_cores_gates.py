"""No core may silence a guard: every gate in force is asked about every call, and the strictest answer holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.framework.fake_host import Agent, S, body

RIGHT = ("reference", "plugin", "strict")
DROP = "gate: drop, on: tool.before, when: {command: 'drop *'}, answer: ask, cooldown_s: 60"
PUSH = "gate: push, on: tool.before, answer: deny"

Play = Callable[[str], list[str | None]]


def _agent(core: str, *policies: str, **answers: str) -> Agent:
    answers = {name.replace("_", "-"): answer for name, answer in answers.items()}
    return Agent(core, *policies, answers=answers, silence_after=3, breaker_after=3)


def cooldown(core: str) -> list[str | None]:
    agent = _agent(core, DROP, drop="ask")
    first = agent.call("drop table t")
    agent.host.now_ns += S
    return [first, agent.call("drop table t")]


def rejections(core: str) -> list[str | None]:
    """Confirmations are provoked and rejected, and then the command is run."""
    agent = _agent(core, rm_rf="ask")
    for _ in range(6):
        agent.call("rm -rf /srv")
        agent.hand("answer", call=agent.last(), answer="reject")
    return [agent.call("rm -rf /srv")]


def failures(core: str) -> list[str | None]:
    agent = _agent(core, rm_rf="raised")
    for _ in range(6):
        agent.call("rm -rf /srv")
    agent.host.answers["rm-rf"] = "deny"
    return [agent.call("rm -rf /srv")]


def one_raises(core: str) -> list[str | None]:
    return [_agent(core, rm_rf="raised").call()]


def one_is_slow(core: str) -> list[str | None]:
    return [_agent(core, rm_rf="slow").call()]


def one_denies_and_one_fails(core: str) -> list[str | None]:
    first = _agent(core, PUSH, DROP, push="deny", drop="raised").call()
    return [first, _agent(core, PUSH, DROP, rm_rf="slow", push="deny").call()]


def a_body_with_gates(core: str) -> list[str | None]:
    return [_agent(core, PUSH, rm_rf="ask").call("rm -rf /srv")]


def a_body_that_names_the_guard(core: str) -> list[str | None]:
    agent = _agent(core, "gate: rm-rf, on: tool.before, answer: allow", PUSH, rm_rf="ask", push="allow")
    return [agent.call("rm -rf /srv"), str(agent.host.asked.count("rm-rf"))]


#: What is played -> (what right cores answer at least, the wrong cores that are milder).
PLAYS: dict[Play, tuple[list[str], list[str]]] = {
    cooldown: (["ask", "ask"], ["core-cools-gates"]),
    rejections: (["ask"], ["core-silences-gates"]),
    failures: (["deny"], ["core-breaks-gates"]),
    one_raises: (["ask"], ["core-raise-allows"]),
    one_is_slow: (["ask"], ["core-slow-allows"]),
    one_denies_and_one_fails: (["deny", "deny"], ["core-failure-cancels-deny"]),
    a_body_with_gates: (["ask"], ["core-body-removes-guard"]),
    a_body_that_names_the_guard: (["ask", "1"], []),
}
STRICTNESS = {"allow": 0, "ask": 1, "deny": 2}


@pytest.mark.parametrize("play", [pytest.param(play, id=play.__name__) for play in PLAYS])
@pytest.mark.parametrize("core", RIGHT)
def test_a_right_core_is_never_milder_than_its_strictest_gate(core: str, play: Play) -> None:
    least, answers = PLAYS[play][0], play(core)
    if core == "strict":  # a gate that fails denies there
        assert all(STRICTNESS.get(str(a), 9) >= STRICTNESS.get(b, 0) for a, b in zip(answers, least, strict=True))
    else:
        assert answers == least


@pytest.mark.parametrize(("play", "core"), [(play, core) for play, (_, wrong) in PLAYS.items() for core in wrong])
def test_a_wrong_core_is_milder(play: Play, core: str) -> None:
    answers = play(core)
    assert any(STRICTNESS[str(a)] < STRICTNESS[b] for a, b in zip(answers, PLAYS[play][0], strict=True)), answers


@pytest.mark.parametrize("core", ["reference", "plugin"])
def test_all_gates_in_force_are_asked_about_a_call_of_anybody(core: str) -> None:
    """Also where the first denies, and when a task or a subtask calls."""
    agent = _agent(core, PUSH, DROP, rm_rf="deny")
    agent.call()
    agent.hand("tool.before", 4_711, "sub", subtask=True)
    assert agent.host.asked == ["rm-rf", "push", "drop"] * 2


@pytest.mark.parametrize("core", RIGHT)
def test_gates_are_asked_about_calls_alone(core: str) -> None:
    agent = _agent(core, PUSH)
    for type in ("prompt", "tool.after", "reply", "ready"):
        agent.hand(type)
    assert agent.host.asked == []


# --- bodies come and go ---


@pytest.mark.parametrize("core", RIGHT)
def test_gates_of_a_body_go_with_it_and_the_cores_own_never_do(core: str) -> None:
    agent = _agent(core, PUSH)
    for text, asked in ((body(DROP), ["rm-rf", "drop"]), ("no block", ["rm-rf"]), (body(PUSH), ["rm-rf", "push"])):
        agent.rules(text)
        agent.call()
        assert agent.host.asked == asked
        agent.host.asked.clear()
    agent.rules(None)
    agent.restart()
    agent.call()
    assert agent.host.asked == ["rm-rf"]


@pytest.mark.parametrize("core", RIGHT)
@pytest.mark.parametrize("restart", [False, True])
def test_a_malformed_body_is_named_in_the_log_and_leaves_what_was_in_force(core: str, restart: bool) -> None:
    agent = _agent(core, PUSH, "observer: see, on: prompt, action: {notify: Seen.}")
    agent.rules(body("gate: push, on: tool.before, answer: perhaps"))
    if restart:  # the new process is given the malformed body, and has the one before from its ledger
        agent.restart()
    agent.call()
    agent.hand("prompt")
    assert agent.host.asked == ["rm-rf", "push"]
    assert agent.did() == ["notify see"]
    reasons = [one["reason"] for one in agent.logs("policies_malformed")]
    assert len(reasons) == 1 + restart
    assert "answer: got 'perhaps', expected allow, ask, deny" in reasons[0]


def test_a_rebuild_with_the_same_text_starts_no_cooldown_anew() -> None:
    agent = _agent("reference", "observer: see, on: prompt, action: {notify: Seen.}, cooldown_s: 60")
    agent.hand("prompt")
    agent.rules(agent.body)
    agent.hand("prompt")
    assert agent.did() == ["notify see"]


def test_a_gate_of_a_body_that_takes_the_id_of_a_guard_is_named_in_the_log() -> None:
    agent = _agent("reference", "gate: rm-rf, on: tool.before, answer: allow", PUSH)
    assert [one["gate"] for one in agent.logs("gate_passed_over")] == ["rm-rf"]
    agent.restart()
    assert len(agent.logs("gate_passed_over")) == 1


def test_a_gate_that_fails_is_named_in_the_log() -> None:
    agent = _agent("reference", PUSH, push="slow")
    agent.call()
    assert [(one["gate"], one["why"]) for one in agent.logs("gate_unanswered")] == [("push", "slow")]
