"""no-self-trigger: what the framework began leads to one Notify, one hop from its ready event, and to nothing else.

Where PROTOCOL is silent, on chains that begin at an Inject or an emission, the milder reading holds: one Notify, by an
event that the beginning brought about itself. An emission on a chain breaks nothing; what follows from it is on the chain.
A core that does less passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleetbeat.checks.chains import BEGINS, LOST, Chain, Chains, Id, Node
from fleetbeat.checks.kept import Kept
from fleetbeat.checks.model import Finding, Invariant, Unknown
from fleetbeat.checks.put_off import PutOff
from fleetbeat.checks.words import at, several, whose

if TYPE_CHECKING:
    from fleetbeat.checks.world import World

INVARIANT = Invariant(
    "no-self-trigger",
    "What the framework began itself leads to one Notify, one hop from its ready event, and to no Prepare and no Inject.",
)


class SelfTrigger:
    """One pass. `lost`: actions of which it is not known whether they were on a chain; `put_off`: those whose rule watches
    no such event as the core had in hand."""

    def __init__(self, window: int | None = None) -> None:
        self.chains = Chains(window)
        self.kept = Kept()
        self.lost = 0
        self.put_off = PutOff()
        self._window = window

    def event(self, agent: str, id: Id, t: int, type: str, session: str, cause: Id | None) -> Node:
        return self.chains.add(agent, id, t, type, "", session, cause)

    def action(self, agent: str, id: Id, t: int, action: str, policy: str, session: str, cause: Id | None) -> Node:
        """`action`: notify, inject, prepare, or emit."""
        node = self.chains.add(agent, id, t, action, policy, session, cause)
        chain = node.chain
        if action != "emit":
            up = None if cause is None else self.chains.node(agent, cause)
            if cause is None or up is not None:
                self.put_off.action(agent, action, policy, t, "" if up is None else up.what)
        if chain is LOST:
            if action == "emit":
                return node
            self.lost += 1
            chain = node.chain = None  # what follows breaks it, or not, whichever chain this is on
        if chain is None:
            if action in BEGINS:
                self.chains.begin(agent, node)
        elif action == "notify":
            self._notified(agent, chain, node)
        elif action != "emit":
            self._broken(agent, chain, f"no {action} may follow on it", node)
        return node

    def _notified(self, agent: str, chain: Chain, node: Node) -> None:
        if chain.notified is not None:
            self._broken(agent, chain, f"the second notify, after #{chain.notified.id}", chain.notified, node)
            return
        chain.notified = node.apart()
        if not self._is_one_hop_away(agent, chain, node):
            where = "its own ready event" if chain.begin.what == "prepare" else "what it brought about itself"
            self._broken(agent, chain, f"more than one hop from {where}", node)

    def _is_one_hop_away(self, agent: str, chain: Chain, node: Node) -> bool:
        if chain.begin.what != "prepare":
            return node.hop <= 2
        cause = None if node.cause is None else self.chains.node(agent, node.cause)
        return cause is not None and cause.what == "ready" and cause.cause == chain.begin.id

    def _broken(self, agent: str, chain: Chain, why: str, *nodes: Node) -> None:
        """The last of the nodes breaks it."""
        node, begin = nodes[-1], chain.begin
        if not self.kept.wants(node.hop):
            return
        message = (
            f"{whose(agent)}{_named(node)} {at(node.t)} is on the chain that the framework began with "
            f"{_named(begin)} {at(begin.t)}: {why}"
        )
        links = self.chains.links(agent, *nodes)
        finding = Finding(INVARIANT.id, "violation", "agent", node.t, message, agent or None, (), links)
        self.kept.add(finding, node.hop)

    def missing(self) -> str | None:
        """Why it cannot be said that the invariant held; None: it can."""
        if not self.lost:
            return self.put_off.missing()
        back = "that is not recorded" if self._window is None else f"not among the last {self._window} or not recorded"
        return f"{several(self.lost, 'action')} followed from something {back}"


def _named(node: Node) -> str:
    return f"{node.what} #{node.id}" + (f" ({node.policy})" if node.policy else "")


def check(world: World) -> Iterator[Finding]:
    framework = world.framework
    if framework is None:
        return
    found = framework.self_trigger
    world.examined(found.chains.begun)
    world.found_more(found.kept.more)
    yield from found.kept.findings()
    if (reason := found.missing()) is not None and not found.kept.total:
        raise Unknown(reason)
