"""What is in force on each agent while a history is read: its gates and observers, the state they read, how long it is up.

Read from `workload`, `policies` and `core.*` records, never from what a core wrote. A malformed body leaves the policies
before it in force; a gate that is built into the core is in force whatever a body says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fleetbeat.framework.fold import Fold
from fleetbeat.framework.match import fits, watches
from fleetbeat.framework.policies import Gate, Observer
from fleetbeat.framework.vocabulary import ANSWERS
from fleetbeat.history.records import Record

RANK: Mapping[str, int] = {answer: rank for rank, answer in enumerate(ANSWERS)}


class Told(NamedTuple):
    """An event, as conditions read it."""

    type: str
    origin: str
    session: str
    fields: Mapping[str, Any]


class Body(NamedTuple):
    """The policies of one body; none if they are malformed."""

    gates: Mapping[str, Gate]
    observers: tuple[Observer, ...]


NO_BODY = Body({}, ())


@dataclass(slots=True)
class Agent:
    """`norm`: of the body whose policies are in force; `users`: notifications by the session of each user seen so far;
    `up_since`: ns, None while no process runs."""

    gates: Mapping[str, Gate]
    norm: str | None = None
    observers: tuple[Observer, ...] = ()
    by_type: dict[str, tuple[Observer, ...]] = field(default_factory=dict)
    folds: dict[str, Fold] = field(default_factory=dict)
    sessions: dict[str, None] = field(default_factory=dict)
    users: dict[str, int] = field(default_factory=dict)
    up_since: int | None = None
    up_ns: int = 0

    def fitting(self, told: Told) -> list[Observer]:
        """The observers in force that are about this event, which is not folded yet."""
        some = self.by_type.get(told.type)
        if some is None:
            bare = [Observer(one.id, one.on, one.action, None, {}, {}) for one in self.observers]
            some = tuple(one for one, any_ in zip(self.observers, bare, strict=True) if watches(any_, told))
            self.by_type[told.type] = some
        if not some:
            return []
        fold = self.folds.get(told.session)
        return [one for one in some if (not one.when and not one.state) or fits(one, told, fold)]

    def strictest(self, gates: Mapping[str, Gate], told: Told) -> int:
        """The rank of the strictest answer that these gates give to a call; that of allow if none is about it."""
        fold = self.folds.get(told.session)
        return max((RANK[gate.answer] for gate in gates.values() if fits(gate, told, fold)), default=0)

    def fold(self, told: Told) -> None:
        found = self.folds.get(told.session)
        if found is None:
            found = self.folds[told.session] = Fold()
        found.add(told.type, told.fields)


class Force:
    """All agents. `feed` takes the records that change what is in force."""

    def __init__(self) -> None:
        self.guards: dict[str, Gate] = {}
        self.bodies: dict[str, Body] = {}
        self.agents: dict[str, Agent] = {}

    def agent(self, name: str) -> Agent:
        found = self.agents.get(name)
        if found is None:
            found = self.agents[name] = Agent(self.guards)
        return found

    def gates_with(self, body: Body) -> Mapping[str, Gate]:
        """What would be in force with this body: no body takes a guard's place."""
        return {**body.gates, **self.guards}

    def feed(self, record: Record) -> None:
        kind = record.kind
        if kind == "workload":
            self.guards = {fields["id"]: _gate(fields) for fields in record["guards"]}
        elif kind == "policies":
            gates = {fields["id"]: _gate(fields) for fields in record["gates"]}
            observers = tuple(_observer(fields) for fields in record["observers"])
            self.bodies[record["norm"]] = Body(gates, observers)
        elif kind == "core.rules":
            self._rules(self.agent(record["agent"]), record)
        elif kind == "core.begin":
            self.agent(record["agent"]).up_since = record.t
        elif kind == "core.end":
            self.down(self.agent(record["agent"]), record.t)

    def down(self, agent: Agent, t: int) -> None:
        if agent.up_since is not None:
            agent.up_ns += t - agent.up_since
            agent.up_since = None

    def _rules(self, agent: Agent, record: Record) -> None:
        if record["malformed"]:
            return
        norm = record.get("norm")
        body = NO_BODY if norm is None else self.bodies.get(norm, NO_BODY)
        agent.norm, agent.observers, agent.by_type = norm, body.observers, {}
        agent.gates = self.gates_with(body)


def _conditions(fields: Mapping[str, Any]) -> tuple[Mapping[str, tuple[Any, ...]], Mapping[str, tuple[Any, ...]]]:
    when = {name: tuple(values) for name, values in fields["when"].items()}
    state = {name: tuple((how, number) for how, number in bounds) for name, bounds in fields["state"].items()}
    return when, state


def _gate(fields: Mapping[str, Any]) -> Gate:
    return Gate(fields["id"], tuple(fields["on"]), fields["answer"], *_conditions(fields), fields["cooldown_s"])


def _observer(fields: Mapping[str, Any]) -> Observer:
    argument = fields.get("argument")
    return Observer(
        fields["id"], tuple(fields["on"]), fields["action"], argument, *_conditions(fields), fields["cooldown_s"]
    )
