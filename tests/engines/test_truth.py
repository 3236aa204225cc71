"""The checks, which see what an observer outside sees, against an oracle that knows every operation, on random histories.

A fate or a verdict has to be the true one, or one that fits just as well all that can be seen from outside (see `truth`);
how often there is more than one such is bounded, so that the exception cannot swallow the rule.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from tests.engines.truth import Truth, random_world
from tests.engines.wrong_agents import AppliesUnconsumed, DiesOfPoison, LogsTwice, SilentWriteFailure

from fleetbeat.checks import judge
from fleetbeat.checks.model import FATES, Judgement
from fleetbeat.engines.des import run
from fleetbeat.history.records import Record
from fleetbeat.history.strip import without_ops
from fleetbeat.scenario.load import load

#: Shares of posts: those with more than one admissible fate, and those judged by another one than the true one.
MOST_OPEN, MOST_OTHER = 0.03, 0.01
UNSEEN = {"run", "host", "rollout", "fault.plan", "wave", "polls", "claim"}


def _history(number: int, agent: Any = None) -> list[Record]:
    scenario = load(json.dumps(random_world(number)), name="wild")
    return run(scenario, programs=None if agent is None else {"reference": agent})


def _words(history: Iterable[Record], agent: str) -> str:
    """What happened to one agent, a line each."""
    lines = []
    for r in history:
        if r.kind not in UNSEEN and (r.kind == "body" or r.get("agent") == agent):
            told = {
                name: value for name, value in r.fields.items() if value is not None and name not in ("agent", "base64")
            }
            lines.append(f"{r.t / 1e9:9.4f}s {r.actor} {r.kind} " + " ".join(f"{k}={v}" for k, v in told.items()))
    return "\n".join(lines)


def _is_alike(one: Judgement, other: Judgement) -> bool:
    verdicts = zip(one.verdicts, other.verdicts, strict=True)
    return [fate.fate for fate in one.fates] == [fate.fate for fate in other.fates] and all(
        after.outcome in (before.outcome, "unknown") for before, after in verdicts
    )


def _compare(number: int, counts: Counter[str]) -> None:
    """Fails with the number of the world, what was judged and what is true, and the history."""
    history = _history(number)
    judgement = judge(history)
    truths = {r["agent"]: Truth(history, r["agent"]) for r in history if r.kind == "agent"}
    strange = sum(truth.strange for truth in truths.values())
    assert not strange or "power" in str(random_world(number)), (
        f"world {number}: the oracle holds other bytes than were read"
    )
    assert _is_alike(judgement, judge(without_ops(history))), f"world {number}: operation records change what is judged"
    _compare_fates(number, history, judgement, truths, counts)
    _compare_verdicts(number, history, judgement, truths)


def _compare_fates(
    number: int, history: list[Record], judgement: Judgement, truths: dict[str, Truth], counts: Counter[str]
) -> None:
    admissible = {name: truth.admissible() for name, truth in truths.items()}
    for judged in judgement.fates:
        true, fits = truths[judged.agent].fate(judged.post), admissible[judged.agent][judged.post]
        counts[true] += 1
        counts["open"] += len(fits) > 1
        counts["other"] += judged.fate != true
        assert judged.fate in fits, (
            f"world {number}: {judged.post} is judged {judged.fate} ({judged.note}), and is {true} "
            f"(fitting: {', '.join(sorted(fits))})\n{_words(history, judged.agent)}"
        )


def _compare_verdicts(number: int, history: list[Record], judgement: Judgement, truths: dict[str, Truth]) -> None:
    broken = [truth.broken() for truth in truths.values()]
    for verdict in judgement.verdicts:
        name = verdict.invariant
        everything = "\n".join(_words(history, agent) for agent in truths)
        assert verdict.outcome != "unknown", f"world {number}: {name}: {verdict.reason}"
        for finding in verdict.findings:
            assert (finding.kind, finding.cause) != ("violation", "agent"), f"world {number}: {finding}\n{everything}"
        if name in broken[0] and any(one[name] for one in broken) != (verdict.outcome == "broken"):
            possible = [truth.possible()[name] for truth in truths.values()]
            fits = (
                any(True in some for some in possible)
                if verdict.outcome == "broken"
                else all(False in some for some in possible)
            )
            assert fits, (
                f"world {number}: {name} is judged {verdict.outcome}, and is not: {verdict.findings}\n{everything}"
            )


def _compare_all(numbers: range) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number in numbers:
        _compare(number, counts)
    posts = sum(counts[fate] for fate in FATES)
    assert counts["open"] <= MOST_OPEN * posts, counts
    assert counts["other"] <= MOST_OTHER * posts, counts
    return counts


def test_fates_and_verdicts_are_the_true_ones_in_random_worlds() -> None:
    counts = _compare_all(range(200))
    assert all(counts[fate] for fate in FATES if fate not in ("rejected", "poisoned")), counts


@pytest.mark.slow
@pytest.mark.parametrize("thousand", range(10))
def test_fates_and_verdicts_are_the_true_ones_in_a_thousand_random_worlds(thousand: int) -> None:
    _compare_all(range(1000 * thousand, 1000 * thousand + 1000))


WRONG = (
    (AppliesUnconsumed(), "consume-before-apply"),
    (LogsTwice(), "one-log-each"),
    (SilentWriteFailure(), "one-log-each"),
    (DiesOfPoison(), "beats-go-on"),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "invariant"), WRONG, ids=lambda value: value if isinstance(value, str) else type(value).__name__
)
def test_what_a_wrong_agent_breaks_is_judged_broken_exactly_where_it_broke_it(agent: Any, invariant: str) -> None:
    outcomes: Counter[bool] = Counter()
    for number in range(300):
        history = _history(number, agent)
        truths = [Truth(history, r["agent"]) for r in history if r.kind == "agent"]
        true = any(truth.broken()[invariant] for truth in truths)
        verdict = next(one for one in judge(history).verdicts if one.invariant == invariant)
        outcomes[true] += 1
        assert verdict.outcome == ("broken" if true else "held"), f"world {number}: {verdict}\n" + "\n".join(
            _words(history, truth.agent) for truth in truths
        )
    assert set(outcomes) == {True, False}, outcomes
