"""Which events and actions of an agent follow from an act of its framework, by the causes that the harness recorded.

A framework chain begins where the framework acts on its own: at a Prepare or an Inject, or at an event that the core makes
(an emission), unless that is on one already. What follows from it, by cause, is on it: its ready event, a task's calls and
their results, changed files, the model's turn after an injected line. What follows from nothing (what a user does) is not.
Source: PROTOCOL, "The framework's two invariants". Origins and marks that the core wrote are never read.

Memory: every node of a window of the last `window` nodes (all of them without one). What follows from a node further back,
or from none that was recorded, is `LOST`: nothing is known of its chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleetbeat.checks.model import Link

Id = int | str
#: Actions at which a chain begins.
BEGINS = ("prepare", "inject", "emit")
#: Most links of a chain that a finding keeps; between its beginning and the last ones, those in the middle are left out.
MOST_LINKS = 40


class Chain:
    """One framework chain. `begin`: its first action; `before`: what that followed from; `notified`: its first Notify.

    Its nodes know it, so it has copies that do not: a chain that is let go is gone at once, without a search for cycles.
    """

    __slots__ = ("before", "begin", "notified")

    def __init__(self, begin: Node, before: Node | None) -> None:
        self.begin = begin.apart()
        self.before = before
        self.notified: Node | None = None


class Node:
    """One event or action. `hop`: on a chain, how many causes lie between it and the chain's beginning, which has 0."""

    __slots__ = ("cause", "chain", "hop", "id", "policy", "session", "t", "what")

    def __init__(self, id: Id, cause: Id | None, t: int, what: str, policy: str, session: str) -> None:
        self.id = id
        self.cause = cause
        self.t = t
        self.what = what
        self.policy = policy
        self.session = session
        self.chain: Chain | None = None
        self.hop = 0

    def apart(self) -> Node:
        """The same, without its chain."""
        one = Node(self.id, self.cause, self.t, self.what, self.policy, self.session)
        one.hop = self.hop
        return one


#: In the place of a chain: what led here was not recorded, or is too far back.
LOST = Chain(Node(-1, None, 0, "", "", ""), None)


class Chains:
    """The nodes of all agents, newest first in two generations, so that the older can be let go at once."""

    def __init__(self, window: int | None = None) -> None:
        self.begun = 0
        self._half = None if window is None else max(1, window // 2)
        self._count = 0
        self._young: dict[str, dict[Id, Node]] = {}
        self._old: dict[str, dict[Id, Node]] = {}

    def node(self, agent: str, id: Id) -> Node | None:
        """The node of this id, if it is still known."""
        found = self._young.get(agent, {}).get(id)
        return found if found is not None else self._old.get(agent, {}).get(id)

    def add(self, agent: str, id: Id, t: int, what: str, policy: str, session: str, cause: Id | None) -> Node:
        """A new node on the chain of its cause, if that is on one. `cause` None: it follows from nothing."""
        node = Node(id, cause, t, what, policy, session)
        if self._count == self._half:
            self._old, self._young, self._count = self._young, {}, 0
        self._count += 1
        nodes = self._young.get(agent)
        if nodes is None:
            nodes = self._young[agent] = {}
        if cause is not None:
            up = nodes.get(cause)
            if up is None:
                up = self._old.get(agent, nodes).get(cause)
            if up is None:
                node.chain = LOST
            elif up.chain is not None:
                node.chain = up.chain
                node.hop = up.hop + 1
        nodes[id] = node
        return node

    def begin(self, agent: str, node: Node) -> None:
        """A framework chain begins at this node, which is on none."""
        self.begun += 1
        node.chain = Chain(node, None if node.cause is None else self.node(agent, node.cause))
        node.hop = 0

    def links(self, agent: str, *nodes: Node) -> tuple[Link, ...]:
        """From what their chain's beginning followed from to these nodes of it, each once, causes first."""
        chain = nodes[-1].chain
        if chain is None or chain is LOST:
            return tuple(_link(node, None) for node in nodes)
        found: dict[Id, Link] = {}
        if chain.before is not None:
            found[chain.before.id] = _link(chain.before, None)
        for one in nodes:
            for step in self._way(agent, one, chain):
                found.setdefault(step.id, _link(step, step.hop))
        return tuple(found.values())

    def causes(self, agent: str, id: Id) -> tuple[Link, ...]:
        """From what an event or action goes back to, by causes that are still known, to itself."""
        way: list[Link] = []
        node = self.node(agent, id)
        while node is not None and len(way) < MOST_LINKS:
            is_on_one = node.chain is not None and node.chain is not LOST
            way.append(_link(node, node.hop if is_on_one else None))
            node = None if node.cause is None else self.node(agent, node.cause)
        return tuple(way[::-1])

    def _way(self, agent: str, node: Node, chain: Chain) -> list[Node]:
        way = [node]
        while (cause := way[-1].cause) is not None and way[-1].hop and len(way) < MOST_LINKS:
            up = self.node(agent, cause)
            if up is None:
                break
            way.append(up)
        if way[-1].hop:
            way.append(chain.begin)
        return way[::-1]


def _link(node: Node, hop: int | None) -> Link:
    return Link(node.id, node.cause, node.t, node.what, node.policy, node.session, hop)


# --- drawing ---


def shortest(chains: Sequence[Sequence[Link]]) -> Sequence[Link]:
    """Of several chains that one with the fewest links, the earliest of equal ones; empty if there are none."""
    some = [chain for chain in chains if chain]
    return min(some, key=lambda chain: (len(chain), chain[-1].t, str(chain[-1].id)), default=())


def drawn(chain: Sequence[Link]) -> list[str]:
    """A chain as a tree, a line for each link, what follows from it below it: `prepare warm #7, s-1, at 3.2s`."""
    if not chain:
        return []
    known = {link.id for link in chain}
    begin = next((link.id for link in chain if link.hop == 0), chain[0].id)
    below: dict[Id, list[Link]] = {}
    for link in chain[1:]:
        is_cut = link.cause not in known
        below.setdefault(begin if link.cause is None or is_cut else link.cause, []).append(link)
    return list(_lines(chain[0], below, "", "", known, chain[-1].id))


def _lines(link: Link, below: dict[Id, list[Link]], first: str, rest: str, known: set[Id], last: Id) -> Iterator[str]:
    from fleetbeat.checks.words import at

    name = f" {link.policy}" if link.policy else ""
    session = f", {link.session}" if link.session else ""
    cut = "... " if link.hop and link.cause not in known else ""
    mark = "  <- breaks it" if link.id == last else "  <- the framework's chain begins" if link.hop == 0 else ""
    yield f"{first}{cut}{link.what}{name} #{link.id}{session}, {at(link.t)}{mark}"
    children = below.get(link.id, [])
    for number, child in enumerate(children, 1):
        is_last = number == len(children)
        turn, side = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _lines(child, below, rest + turn, rest + side, known, last)
