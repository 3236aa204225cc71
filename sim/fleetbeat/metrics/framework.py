"""The event framework of a run in numbers: events, actions and their cost, chains, gates, calls, storms and exposure.

One pass over the records of the harness; only `logged` counts are the cores' own words. Whole numbers: times in ns, costs
in millionths of the unit of money, rates in thousandths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from fleetbeat.framework.vocabulary import BEFORE
from fleetbeat.history.records import Record
from fleetbeat.metrics.framework_calls import ANSWER, CallCount, Calls
from fleetbeat.metrics.framework_chains import ACTIONS, ChainCount, Chained
from fleetbeat.metrics.framework_exposure import ExposureCount, ExposureRow
from fleetbeat.metrics.framework_force import Force, Told
from fleetbeat.metrics.framework_storm import Storm, StormCount

HOUR_NS = 3_600_000_000_000
MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Notified:
    """Notifications. `users`: sessions of users that were seen; `user_ns`: how long they had an agent that was up, all
    together; `per_user_hour`: thousandths, None without time; `most`: of the user with the most, whose name is `whose`."""

    count: int
    users: int
    user_ns: int
    per_user_hour: int | None
    most: int
    whose: str | None


@dataclass(frozen=True, slots=True)
class Framework:
    """All tables. `cost`: of Prepares, millionths; `silenced`: entries `alert_silenced` that cores wrote; `failed`: times
    an exception escaped a core; `malformed`: times a body with malformed policies came into effect; `limits`: events over
    which the host refused something; `failure`: the first exception."""

    core: str
    guards: tuple[str, ...]
    events: tuple[tuple[str, int], ...]
    actions: tuple[tuple[str, int], ...]
    cost: int
    notified: Notified
    chains: Chained
    calls: Calls
    silenced: int
    failed: int
    malformed: int
    limits: int
    storm: Storm | None
    exposure: tuple[ExposureRow, ...]
    failure: str | None = None


def framework(records: Sequence[Record]) -> Framework | None:
    """The tables of a history in order; None if no `workload` record stands before its first agent."""
    if not _has_workload(records):
        return None
    count = _Count()
    for record in records:
        count.feed(record)
    return count.table()


def _has_workload(records: Iterable[Record]) -> bool:
    for record in records:
        if record.kind in ("workload", "agent"):
            return record.kind == "workload"
    return False


class _Count:
    def __init__(self) -> None:
        self.core: str | None = None
        self.force = Force()
        self.calls = CallCount(self.force)
        self.chains = ChainCount()
        self.storm = StormCount(self.force)
        self.exposure = ExposureCount(self.force)
        self.events: Counter[str] = Counter()
        self.actions: Counter[str] = Counter()
        self.noted: Counter[str] = Counter()
        self.failure: str | None = None
        self.cost = 0
        self.last = 0

    def feed(self, record: Record) -> None:
        kind = record.kind
        self.last = record.t
        if kind == "event":
            self._event(record)
        elif kind == "judged":
            self.calls.judged(record)
        elif kind == "verdict":
            self.calls.verdict(record)
        elif kind == "ran":
            self.calls.ran(record)
            self.exposure.ran(record)
        elif kind == "action":
            self._action(record)
        elif kind == "core.log":
            self.chains.log(record)
            self.noted[record["event"]] += 1
        elif kind in _OTHERS:
            self._other(record)

    def _event(self, record: Record) -> None:
        fields = record.fields
        told = Told(fields["type"], fields.get("origin") or "", fields["session"], fields["fields"])
        agent = self.force.agent(fields["agent"])
        self.events[told.type] += 1
        if told.session not in agent.sessions:
            agent.sessions[told.session] = None
            if told.session:
                agent.users.setdefault(_user(told.session), 0)
        self.chains.event(record, agent, told)
        if told.type == BEFORE or told.type == ANSWER:
            self.calls.event(record, agent, told)
            self.exposure.event(record, agent, told)
        agent.fold(told)

    def _action(self, record: Record) -> None:
        action, cost = record["action"], _millionths(record["cost"])
        self.actions[action] += 1
        self.cost += cost
        if action == "notify":
            users, user = self.force.agent(record["agent"]).users, _user(record["session"])
            users[user] = users.get(user, 0) + 1
        if self.chains.action(record):
            self.storm.broken(record, cost)

    def _other(self, record: Record) -> None:
        kind = record.kind
        if kind == "workload":
            self.core = record["core"]
        elif kind == "core.failed" or kind == "limit":
            self.noted[f"({kind})"] += 1
            if kind == "core.failed" and self.failure is None:
                self.failure = record["error"]
        elif kind == "core.end":
            self.chains.settle(record["agent"])
            self.calls.down(record["agent"])
        elif kind == "core.rules":
            self.chains.settle(record["agent"])
            self.noted["(malformed)"] += record["malformed"]
        self.force.feed(record)
        self.storm.feed(record)
        self.exposure.feed(record)
        if kind == "core.rules":
            self.exposure.rules(record["agent"], record.t)

    def table(self) -> Framework | None:
        if self.core is None:
            return None
        for agent in self.force.agents.values():
            self.force.down(agent, self.last)
        return Framework(
            core=self.core,
            guards=tuple(self.force.guards),
            events=tuple(sorted(self.events.items())),
            actions=tuple((name, self.actions[name]) for name in ACTIONS),
            cost=self.cost,
            notified=self._notified(),
            chains=self.chains.table(),
            calls=self.calls.table(),
            silenced=self.noted["alert_silenced"],
            failed=self.noted["(core.failed)"],
            malformed=self.noted["(malformed)"],
            limits=self.noted["(limit)"],
            storm=self.storm.table(),
            exposure=self.exposure.table(self.last),
            failure=self.failure,
        )

    def _notified(self) -> Notified:
        agents = self.force.agents
        users = [(count, f"{name}/{user}") for name, agent in agents.items() for user, count in agent.users.items()]
        user_ns = sum(len(agent.users) * agent.up_ns for agent in agents.values())
        count = self.actions["notify"]
        most, whose = max(users, key=lambda one: one[0], default=(0, None))
        rate = count * HOUR_NS * 1000 // user_ns if user_ns else None
        return Notified(count, len(users), user_ns, rate, most, whose if most else None)


_OTHERS = frozenset(
    {
        "workload", "policies", "core.begin", "core.end", "core.rules", "core.failed", "limit",
        "body", "rollout", "wave", "post.plan",
    }
)  # fmt: skip


def _millionths(cost: float) -> int:
    """What a core made of a cost that is none counts as nothing."""
    return round(cost * MILLION) if isfinite(cost) else 0


def _user(session: str) -> str:
    """Whose session it is: subtasks' and background tasks' belong to a user's."""
    return session.partition("/")[0]
