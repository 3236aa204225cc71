"""Wrong cores that nobody built the trial for: scenarios/core-trial catches them too, and says of right ones nothing."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import pytest
from tests.framework.further_cores import CHAINS, DOUBTFUL, GUARD, RIGHT, LosesPoliciesAtRestart, NotifiesOfTaskCalls
from tests.framework.worlds import S, World, workload

from fleetbeat.checks.framework import Streamed
from fleetbeat.engines import MODULES
from fleetbeat.engines.cores import Loaded, load_core
from fleetbeat.engines.framework import weave
from fleetbeat.framework.vocabulary import Event, Host
from fleetbeat.history.records import Record
from fleetbeat.scenario.library import find
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario

FAST = (LosesPoliciesAtRestart, NotifiesOfTaskCalls)


@cache
def _signal() -> tuple[Scenario, list[Record]]:
    scenario = load(find("core-trial"))
    return scenario, import_module(MODULES["des"]).run(scenario)


def _judged(core: Any, outcome: str = "broken") -> list[str]:
    """The invariants that come out so, of those that do not hold."""
    scenario, signal = _signal()
    base = load_core(scenario.fleet.core)
    streamed = Streamed(None)
    for record in weave(
        scenario, signal, Loaded(core.__name__, lambda host: core(host, base.options), base.guards, base.options)
    ):
        streamed.feed(record)
    verdicts = [verdict for verdict in streamed.verdicts() if verdict.outcome != "held"]
    assert all(verdict.outcome == outcome for verdict in verdicts), verdicts
    return [verdict.invariant for verdict in verdicts]


def _marked(cores: tuple[Any, ...]) -> list[Any]:
    return [core if core in FAST else pytest.param(core, marks=pytest.mark.slow) for core in cores]


@pytest.mark.parametrize("core", _marked(CHAINS))
def test_the_trial_catches_further_cores_that_trigger_themselves(core: Any) -> None:
    assert _judged(core) == ["no-self-trigger"]


@pytest.mark.parametrize("core", _marked(GUARD))
def test_the_trial_catches_further_cores_that_silence_a_guard(core: Any) -> None:
    assert _judged(core) == ["guard-not-silenced"]


@pytest.mark.slow
@pytest.mark.parametrize("core", RIGHT)
def test_the_trial_says_nothing_of_odd_cores_that_are_right(core: Any) -> None:
    assert _judged(core) == []


@pytest.mark.parametrize("core", DOUBTFUL)
def test_of_a_core_that_acts_when_its_rules_are_about_something_else_nothing_is_known(core: Any) -> None:
    assert _judged(core, "unknown") == ["no-self-trigger"]


@pytest.mark.parametrize(
    ("when", "policy", "reason"),
    [
        (2, "again", "1 action of rules that do not watch the event at hand, and may have been put off: first the prepare"
                     " of again on a at 0s with a prompt in hand, which watches ready"),
        (None, "again", "1 action of rules that do not watch the event at hand, and may have been put off: first the"
                        " prepare of again on a at 0s with no event in hand, which watches ready"),
        (2, "homework", ""),
        (2, "the core's own", ""),
    ],
)  # fmt: skip
def test_an_action_of_a_rule_that_watches_something_else(when: int | None, policy: str, reason: str) -> None:
    watches = [{"id": "again", "on": ["ready"]}, {"id": "homework", "on": ["note*", "pro*"]}]
    event = {"agent": "a", "id": 2, "type": "prompt", "origin": "user", "session": "s", "cause": None, "fields": {}}
    action = {"agent": "a", "id": 3, "action": "prepare", "policy": policy, "session": "s", "cause": when}
    told: list[tuple[str, dict[str, Any]]] = [
        ("policies", {"norm": "1", "gates": [], "observers": watches, "error": None}),
        ("core.rules", {"agent": "a", "norm": "1", "malformed": False}),
        ("core.rules", {"agent": "a", "norm": "2", "malformed": True}),
        ("event", event),
        ("action", action),
    ]
    streamed = Streamed()
    for kind, fields in told:
        streamed.feed(Record(0, "a", kind, fields))
    verdict = streamed.verdicts()[0]
    assert (verdict.outcome, verdict.reason) == ("unknown" if reason else "held", reason)


def _tells_twice(host: Host, event: Event) -> Any:
    """Two rules that notify whenever a notification is waved away: right by both invariants, since users do that."""
    if event.type in ("prompt", "dismissed"):
        host.notify("p", "look")
        host.notify("q", "look")
    return "allow" if event.type == "tool.before" else None


def test_alerts_about_dismissed_alerts_do_not_stop_the_clock() -> None:
    """Where users look at once, and wave all of it away, time would stand still and alerts double without end."""
    users = {"approve": 1, "reject": 0, "dismiss": 1, "look": "0s"}
    world = World(workload(users=users, prompts={"per_hour": 3600, "think": "1s"}), _tells_twice, 5)
    dismissed = world.events("dismissed")
    assert len(dismissed) > 100
    assert min(dismissed[n + 50].t - dismissed[n].t for n in range(len(dismissed) - 50)) >= S // 10
    assert world.most_waiting <= 60
