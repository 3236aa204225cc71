"""The event framework of a fleet, played over the history of its signal: whatever engine recorded that, simulated or real.

Nothing that happens in a session changes what becomes of a post, so the two halves are played one after the other: an
agent's core has the rules that the agent's flushed prompt was seen to hold, from the instant at which it was seen, and dies
and boots with the agent's lives. What the sessions do is virtual time on the same axis. Rejected: cores inside SimPy (or
inside real agents' processes), where the same sessions could not be laid over a fleet of real directories, and every
event would go through one queue for the fleet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from heapq import merge
from typing import Any, NamedTuple

from fleetbeat.chance.choices import Choices, Hashed, Overrides
from fleetbeat.checks.judge import no_collections
from fleetbeat.engines.cores import Loaded
from fleetbeat.framework.agenda import Timed
from fleetbeat.framework.hosting import Hosting
from fleetbeat.framework.policies import Gate, Observer, Policies, read
from fleetbeat.framework.sessions import Sessions
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents, select


class Turn(NamedTuple):
    """A change in an agent's process or rules, from the history of its signal. `what`: up, down, rules."""

    t: int
    what: str
    value: Any


def weave(
    scenario: Scenario, records: Sequence[Record], core: Loaded, overrides: Overrides | None = None
) -> list[Record]:
    """The history with the framework's records in it, by time. The scenario has a workload; `core` runs on every agent.

    On KeyboardInterrupt the history as far as it was played is returned, its `end` record says "interrupted".
    """
    texts = texts_of(records)
    end = records[-1]
    turns = turns_of(records)
    choices = Hashed(scenario.seed, overrides)
    attacked = attacked_of(scenario)
    played = [play(scenario, core, name, turns[name], texts, end.t, choices, name in attacked) for name in turns]
    opening = head(core, texts)
    start = next((index for index, record in enumerate(records) if record.kind == "agent"), len(records) - 1)
    first, rest = list(records[:start]), records[start:-1]
    woven = [*first, *opening]
    with no_collections():
        try:
            woven.extend(merge(rest, *played, key=lambda record: record.t))
        except KeyboardInterrupt:
            end = Record(woven[-1].t, end.actor, end.kind, {"reason": "interrupted"})
    met = {
        f"bits of {stream} at {step}" for stream, step in choices.used.bits
    }  # the signal's engine asked for none of them
    return [*(record for record in woven if record.kind != "choice.unmet" or record["choice"] not in met), end]


def attacked_of(scenario: Scenario) -> frozenset[str]:
    """The agents that the workload's adversary means."""
    adversary = None if scenario.workload is None else scenario.workload.adversary
    if adversary is None:
        return frozenset()
    return frozenset(select(adversary.agents, agents(scenario), "adversary"))


def texts_of(records: Iterable[Record]) -> dict[str, tuple[str, Policies]]:
    """Every body that decodes, by the digest of its compared text: the text, and what policies it holds."""
    found: dict[str, tuple[str, Policies]] = {}
    for record in records:
        if record.kind == "body" and record.get("text") is not None:
            norm = record["norm"]
            if norm not in found:
                text = record["text"].replace("\r\n", "\n").replace("\r", "\n")  # as agents read it
                found[norm] = (text, read(text))
    return found


def turns_of(records: Iterable[Record]) -> dict[str, list[Turn]]:
    """For each agent, as they appear, when its process began and ended, and which rules came into effect."""
    turns: dict[str, list[Turn]] = {}
    for record in records:
        if record.kind == "life.begin":
            turns.setdefault(record["agent"], []).append(Turn(record.t, "up", record["life"]))
        elif record.kind == "life.end":
            turns.setdefault(record["agent"], []).append(Turn(record.t, "down", record["cause"]))
        elif record.kind == "prompt":
            norm = record["norm"] if record["state"] == "whole" and not record["blank"] else None
            if record["state"] != "torn":
                turns.setdefault(record["agent"], []).append(Turn(record.t, "rules", norm))
    return turns


def play(
    scenario: Scenario,
    core: Loaded,
    agent: str,
    turns: Sequence[Turn],
    texts: Mapping[str, tuple[str, Policies]],
    end_ns: int,
    choices: Choices,
    attacked: bool = True,
) -> Iterator[Record]:
    """The framework's records of one agent, in order, made as they are asked for: memory does not grow with the run.

    What a core is still busy with at `end_ns` is cut there.
    """
    for told in _played(scenario, core, agent, turns, texts, end_ns, choices, attacked):
        if told and told[-1].t > end_ns:
            yield from (record for record in told if record.t <= end_ns)
            return
        yield from told


def _played(
    scenario: Scenario,
    core: Loaded,
    agent: str,
    turns: Sequence[Turn],
    texts: Mapping[str, tuple[str, Policies]],
    end_ns: int,
    choices: Choices,
    attacked: bool = True,
) -> Iterator[list[Record]]:
    """The same, by what one thing brought about; each list is emptied when the next is asked for."""
    assert scenario.workload is not None
    told: list[Record] = []
    restarts = sum(turn.what == "up" for turn in turns)
    agenda = Timed()
    hosting = Hosting(agent, core.make, told.append, core.guards)
    sessions = Sessions(scenario.workload, hosting, agenda, choices, end_ns, attacked)
    hosting.around = sessions
    for turn in [*turns, Turn(end_ns, "end", None)]:
        while hosting.busy_until < turn.t and (found := agenda.next(turn.t)) is not None:
            due, act = found
            hosting.now = max(hosting.now, due, hosting.busy_until)  # when the core is done with what came before
            act()
            yield told
            told.clear()
        if turn.what == "up":
            restarts -= 1
            hosting.keeps = restarts > 0
            hosting.up(turn.t, turn.value)
            sessions.up(turn.t)
        elif turn.what == "down":
            hosting.down(turn.t, turn.value)
            sessions.down(turn.t)
        elif turn.what == "rules":
            _rules(hosting, turn, texts)
        yield told
        told.clear()


def _rules(hosting: Hosting, turn: Turn, texts: Mapping[str, tuple[str, Policies]]) -> None:
    if turn.value is None:
        hosting.rules(turn.t, None, None, Policies())
        return
    found = texts.get(turn.value)
    if found is None:  # nobody recorded that text: what is in force cannot be known
        hosting.tell(Record(turn.t, "harness", "unseen", _unseen(hosting.agent, turn.t)))
        return
    hosting.rules(turn.t, turn.value, found[0], found[1])


def _unseen(agent: str, at_ns: int) -> dict[str, Any]:
    return {"agent": agent, "from": at_ns, "to": at_ns, "missing": "the text of its rules: which policies are in force"}


def head(core: Loaded, texts: Mapping[str, tuple[str, Policies]]) -> list[Record]:
    """What stands before the rest of the framework's history: the core with its guards, and the policies of every body."""
    guards = [policy_fields(gate) for gate in core.guards.values()]
    options = asdict(core.options)
    records = [Record(0, "harness", "workload", {"core": core.name, "guards": guards, "options": options})]
    for norm, (_, policies) in texts.items():
        fields = {
            "norm": norm,
            "gates": [policy_fields(gate) for gate in policies.gates],
            "observers": [policy_fields(observer) for observer in policies.observers],
            "error": policies.error,
        }
        records.append(Record(0, "harness", "policies", fields))
    return records


def policy_fields(policy: Gate | Observer) -> dict[str, Any]:
    """A policy as its record holds it."""
    fields: dict[str, Any] = {
        "id": policy.id,
        "on": list(policy.on),
        "when": {name: list(values) for name, values in policy.when.items()},
        "state": {name: [list(bound) for bound in bounds] for name, bounds in policy.state.items()},
        "cooldown_s": policy.cooldown_s,
    }
    if isinstance(policy, Gate):
        return {**fields, "answer": policy.answer}
    return {**fields, "action": policy.action, "argument": policy.argument}
