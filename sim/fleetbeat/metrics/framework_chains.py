"""Chains that the framework began: how deep they went, what came of them that must not, and what was held back.

Which action breaks the rule is the check's to say (`checks.no_self_trigger`); this counts. What was held back is the
harness's own count: an observer in force was about an event, and did nothing. That is *suppressed* where the rule forbids
the action, whatever the observer's cooldown; else it was *quiet*: cooling down, silenced, stopped, or the core is stricter.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fleetbeat.checks.chains import LOST, Chain, Node
from fleetbeat.checks.no_self_trigger import SelfTrigger
from fleetbeat.framework.vocabulary import READY
from fleetbeat.history.records import Record
from fleetbeat.metrics.framework_force import Agent, Told
from fleetbeat.metrics.quantile import nearest_rank

ACTIONS = ("notify", "inject", "prepare", "emit")


@dataclass(frozen=True, slots=True)
class ObserverRow:
    """One policy, as cores named it, by what it does. `fitted`: events that it was about while it was in force."""

    policy: str
    action: str
    fitted: int
    taken: int
    self_triggered: int
    suppressed: int
    quiet: int
    dismissed: int


@dataclass(frozen=True, slots=True)
class Chained:
    """`begun`: by what they began with. Depths in hops from a chain's beginning, None if there is no chain.

    `suppressed`: the harness's count, all policies; `logged`: the entries `action_suppressed` that cores wrote.
    """

    begun: tuple[tuple[str, int], ...]
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None
    self_triggered_actions: tuple[tuple[str, int], ...]
    suppressed: int
    quiet: int
    logged: int
    observers: tuple[ObserverRow, ...]


Key = tuple[str, str]


@dataclass(slots=True)
class _Fitting:
    """An observer that is about an event, and whether it has acted on it."""

    key: Key
    acted: bool = False


class ChainCount:
    """One pass. Keeps the nodes of the whole history, as the check does for a history in memory."""

    def __init__(self) -> None:
        self._check = SelfTrigger()
        self._begun: Counter[str] = Counter()
        self._depths: dict[tuple[str, object], int] = {}
        self._waiting: dict[str, dict[int, list[_Fitting]]] = {}
        self._emitted: dict[str, int] = {}
        self._counts: dict[str, Counter[Key]] = {
            name: Counter() for name in ("fitted", "taken", "self_triggered", "suppressed", "quiet", "dismissed")
        }
        self._logged = 0

    def event(self, record: Record, agent: Agent, told: Told) -> None:
        fields = record.fields
        name, id, cause = fields["agent"], fields["id"], fields.get("cause")
        if name in self._waiting and (cause is None or self._emitted.get(name) != cause):
            self.settle(name)
        self._check.event(name, id, record.t, told.type, told.session, cause)
        if cause is not None:
            self._deepen(name, id)
        if fitting := agent.fitting(told):
            self._waiting.setdefault(name, {})[id] = [_Fitting((one.id, one.action)) for one in fitting]
        if told.type == "dismissed":
            self._dismissed(name, told.fields.get("notice"))

    def action(self, record: Record) -> bool:
        """Whether this action breaks the rule."""
        name, id, action, policy = record["agent"], record["id"], record["action"], record["policy"]
        cause = record.get("cause")
        begun, broken = self._check.chains.begun, self._check.kept.total
        self._check.action(name, id, record.t, action, policy, record["session"], cause)
        self._begun[action] += self._check.chains.begun - begun
        is_broken = self._check.kept.total > broken
        self._deepen(name, id)
        if action == "emit":
            self._emitted[name] = id
            return False
        self._counts["taken"][policy, action] += 1
        self._counts["self_triggered"][policy, action] += is_broken
        waiting = self._waiting.get(name, {}).get(cause, ()) if cause is not None else ()
        one = next((one for one in waiting if one.key == (policy, action) and not one.acted), None)
        if one is not None:
            one.acted = True
        return is_broken

    def log(self, record: Record) -> None:
        self._logged += record["event"] == "action_suppressed"

    def settle(self, agent: str) -> None:
        """The core is done with all events so far: what observers did not do by now was held back."""
        for id, fitting in self._waiting.pop(agent, {}).items():
            node = self._check.chains.node(agent, id)
            chain = None if node is None or node.chain is LOST else node.chain
            notified = chain is not None and chain.notified is not None and chain.notified.cause != id
            for one in fitting:
                self._counts["fitted"][one.key] += 1
                if one.acted:
                    notified = notified or one.key[1] == "notify"
                    continue
                is_forbidden = (
                    node is not None and chain is not None and _is_forbidden(node, chain, one.key[1], notified)
                )
                self._counts["suppressed" if is_forbidden else "quiet"][one.key] += 1

    def _deepen(self, agent: str, id: int) -> None:
        node = self._check.chains.node(agent, id)
        if node is None or node.chain is None or node.chain is LOST:
            return
        key = (agent, node.chain.begin.id)
        if node.hop >= self._depths.get(key, 0):
            self._depths[key] = node.hop

    def _dismissed(self, agent: str, notice: object) -> None:
        node = self._check.chains.node(agent, notice) if isinstance(notice, int) else None
        if node is not None:
            self._counts["dismissed"][node.policy, node.what] += 1

    def table(self) -> Chained:
        for agent in list(self._waiting):
            self.settle(agent)
        depths = sorted(self._depths.values())
        p50, p90, p99, most = (nearest_rank(depths, percent) for percent in (50, 90, 99, 100))
        counts = self._counts
        keys = sorted({key for counter in counts.values() for key in counter})
        broken: Counter[str] = Counter()
        for (_, action), count in counts["self_triggered"].items():
            broken[action] += count
        return Chained(
            tuple((name, self._begun[name]) for name in ACTIONS if name != "notify"),
            p50,
            p90,
            p99,
            most,
            tuple((name, broken[name]) for name in ACTIONS if name != "emit"),
            sum(counts["suppressed"].values()),
            sum(counts["quiet"].values()),
            self._logged,
            tuple(ObserverRow(*key, *(counter[key] for counter in counts.values())) for key in keys),
        )


def _is_forbidden(event: Node, chain: Chain, action: str, notified: bool) -> bool:
    """Whether the rule forbids this action of an observer that acts on this event of a chain. `notified`: others were
    first, on this chain."""
    if action != "notify" or notified:
        return True
    if chain.begin.what == "prepare":
        return event.what != READY or event.cause != chain.begin.id
    return event.hop > 1
