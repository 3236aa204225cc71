"""The reference core of the event framework: the two invariants, whatever the policies of the rules say.

Every event is put on a chain: the one of what it followed from. A chain that began at a Prepare or an Inject was started by
the framework, and `allow_action` lets one Notify through on it and nothing else. Every gate in force is asked about every
call; nothing that quietens observers (cooldown, silence, breaker) knows of gates.

Everything that must outlive the process is appended to the ledger, and `boot` folds it again. Memory is bounded: marks of
old events are forgotten. A cause that is not known counts as the framework's own doing, since the other way round a flood
of events, or a lost ledger, would wash a mark off a chain. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetbeat.framework.vocabulary import (
    ANSWERS,
    BEFORE,
    READY,
    Answer,
    Event,
    GateFailed,
    GateSlow,
    Host,
    Options,
)
from fleetbeat.protocol.folders import load_module

policies: Any = load_module(Path(__file__).resolve().parent / "policies.py")
NOTIFY, INJECT, PREPARE = policies.NOTIFY, policies.INJECT, policies.PREPARE
PROACTIVE = "proactive"
#: The gates that are built in, as the manifest defines them.
GUARDS = ("rm-rf",)
RANK = {answer: rank for rank, answer in enumerate(ANSWERS)}
#: How many of the latest events and actions, notifications and sessions are kept in mind, up to twice as many.
MOST_MARKS, MOST_NOTICES, MOST_SESSIONS, MOST_TYPES = 16_384, 4_096, 4_096, 256
NOTHING: Mapping[str, int] = {}


class Chain:
    """What follows from one beginning. `start`: the id of the event or action; `origin`: the root's; `notified`: whether
    its one notification was sent. `kind`: "" for what users and others began; else the framework did, by a prepare or
    an inject, or (unknown) by something that is forgotten.
    """

    __slots__ = ("kind", "notified", "origin", "start")

    def __init__(self, start: int, origin: str, kind: str = "") -> None:
        self.start, self.origin, self.kind, self.notified = start, origin, kind, False


#: An event's place: its chain, and how many hops it is from the beginning.
Link = tuple[Chain, int]


class Recent:
    """A mapping that forgets what was not used for long: it holds at least the latest `most`, at most twice as many."""

    __slots__ = ("most", "new", "old")

    def __init__(self, most: int) -> None:
        self.most = most
        self.new: dict[Any, Any] = {}
        self.old: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        found = self.new.get(key)
        if found is None and (found := self.old.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: Any, value: Any) -> None:
        if len(self.new) >= self.most:
            self.old, self.new = self.new, {}
        self.new[key] = value


class Standing:
    """What an observer did lately, and whether it is quiet: gates have none of this. Times in ns.

    `last`: when it acted; `sent`: how many notifications; `row` of them dismissed without one in between that was not,
    the newest being number `dismissed`; `failures` in a row.
    """

    __slots__ = ("broken_until", "dismissed", "failures", "last", "row", "sent", "silenced_until")

    def __init__(self) -> None:
        self.last: int | None = None
        self.sent = self.dismissed = self.row = self.failures = 0
        self.silenced_until = self.broken_until = 0

    def is_quiet(self, now_ns: int, cooldown_ns: int) -> bool:
        cooling = self.last is not None and now_ns - self.last < cooldown_ns
        return cooling or now_ns < self.silenced_until or now_ns < self.broken_until


class Reference:
    """Small methods, so that a variant overrides one of them."""

    def __init__(self, host: Host, options: Options) -> None:
        self.host = host
        self.options = options
        self.text: str | None = None
        self.gates: tuple[str, ...] = GUARDS
        self.observers: tuple[Any, ...] = ()
        self.watching: dict[str, tuple[Any, ...]] = {}
        self.standing: dict[str, Standing] = {}
        self.marks = Recent(MOST_MARKS)
        self.notices = Recent(MOST_NOTICES)
        self.sessions = Recent(MOST_SESSIONS)

    # --- a life begins ---

    def boot(self, ledger: Sequence[Mapping[str, Any]]) -> None:
        chains: dict[int, Chain] = {}
        for entry in ledger:
            self.replay(entry, chains)

    def replay(self, entry: Mapping[str, Any], chains: dict[int, Chain]) -> None:
        """Folds one entry of a former life."""
        what = entry["what"]
        if what == "policies":
            self.take(entry["text"])
        elif what == "failed":
            self.count_failure(entry["policy"], entry["t"])
        else:
            start = entry["start"]
            chain = chains.get(start)
            if chain is None:
                chain = chains[start] = Chain(start, entry["origin"], entry.get("kind", ""))
            self.marks.put(entry["id"], (chain, entry["hops"]))
            if what == "event":
                self.count_event(entry["session"], entry["type"], entry.get("told"), entry["t"])
            else:
                self.count_action(what, entry["policy"], entry["id"], chain, entry["t"])

    # --- rules ---

    def rules(self, text: str | None) -> None:
        """Malformed policies leave those before in force. The same text again, after a rebuild, changes nothing."""
        if text == self.text:
            return
        try:
            gates = self.take(text)
        except policies.Malformed as error:
            self.host.log("policies_malformed", reason=str(error))
            return
        self.host.append({"what": "policies", "text": text})
        for gate in gates:
            if gate.id in GUARDS:
                self.host.log("gate_passed_over", gate=gate.id, why="it has the id of a gate that is built in")

    def take(self, text: str | None) -> Sequence[Any]:
        """Puts a body's policies in place of those before; returns its gates. Raises `Malformed`: nothing is changed."""
        gates, observers = policies.read(text, self.host.yaml)
        self.text = text
        self.gates = self.in_force(gates)
        self.observers = observers
        self.watching = {}
        kept = {observer.id for observer in observers}
        self.standing = {name: standing for name, standing in self.standing.items() if name in kept}
        return tuple(gates)

    def in_force(self, gates: Sequence[Any]) -> tuple[str, ...]:
        """The ids of all gates: those built in come first, and no body takes one away or its place."""
        return (*GUARDS, *(gate.id for gate in gates if gate.id not in GUARDS))

    # --- events ---

    def handle(self, event: Event) -> Answer | None:
        link = self.link(event)
        self.marks.put(event.id, link)
        self.write_event(event, link)
        answer = self.judge(event) if event.type == BEFORE else None
        watching = self.watching.get(event.type)
        if watching is None:
            watching = self.watch(event.type)
        if watching:
            counts = self.sessions.get(event.session) or NOTHING
            for observer in watching:
                if observer.condition.fits(event, counts):
                    self.run(observer, event)
        silenced = self.count_event(event.session, event.type, _told(event), event.t)
        if silenced is not None:
            self.host.log("alert_silenced", policy=silenced, until=self.standing[silenced].silenced_until)
        return answer

    def link(self, event: Event) -> Link:
        """Which chain an event is on: its cause's. What a user does has no cause, and starts a fresh one."""
        cause = event.cause
        if cause is None:
            return Chain(event.id, event.origin, "unknown" if event.origin == PROACTIVE else ""), 0
        found: Link | None = self.marks.get(cause)
        if found is None or (event.origin == PROACTIVE and not found[0].kind):
            return self.unknown(event), 1
        return found[0], found[1] + 1

    def unknown(self, event: Event) -> Chain:
        return Chain(event.id, PROACTIVE, "unknown")

    def watch(self, type: str) -> tuple[Any, ...]:
        if len(self.watching) >= MOST_TYPES:
            self.watching = {}
        found = tuple(observer for observer in self.observers if observer.condition.watches(type))
        self.watching[type] = found
        return found

    # --- gates ---

    def judge(self, event: Event) -> Answer:
        """The strictest of what all gates in force say, whatever became of the others."""
        strictest = ANSWERS[0]
        for gate in self.gates:
            answer = self.ask(gate, event)
            if RANK[answer] > RANK[strictest]:
                strictest = answer
        return strictest

    def ask(self, gate: str, event: Event) -> Answer:
        try:
            return self.host.judge(gate, event, self.options.gate_timeout_ns)
        except GateSlow:
            return self.unanswered(gate, event, "slow")
        except GateFailed:
            return self.unanswered(gate, event, "raised")

    def unanswered(self, gate: str, event: Event, why: str) -> Answer:
        self.host.log("gate_unanswered", gate=gate, event=event.id, why=why)
        return "ask"

    # --- observers ---

    def allow_action(self, event: Event, action: str) -> bool:
        """Whether a rule may act on this event: on the framework's own chain only one Notify, within one hop."""
        chain, hops = self.marks.get(event.id)
        if chain.kind:
            return action == NOTIFY and not chain.notified and self.within_one_hop(event, chain, hops)
        return True

    def within_one_hop(self, event: Event, chain: Chain, hops: int) -> bool:
        """A Prepare's chain may notify from its own result alone, an Inject's from what the line led to directly."""
        if chain.kind == PREPARE:
            return event.type == READY and event.cause == chain.start
        return chain.kind == INJECT and hops == 1

    def run(self, observer: Any, event: Event) -> None:
        """One observer that is about this event acts, if it may and is not quiet."""
        if not self.allow_action(event, observer.action):
            start = self.marks.get(event.id)[0].start
            self.host.log("action_suppressed", policy=observer.id, action=observer.action, event=event.id, chain=start)
            return
        now = self.host.now_ns
        standing = self.standing.get(observer.id)
        if standing is not None and standing.is_quiet(now, observer.cooldown_ns):
            return
        try:
            self.act(observer, event, now)
        except Exception as error:
            self.host.append({"what": "failed", "policy": observer.id, "t": now})
            self.host.log("observer_failed", policy=observer.id, event=event.id, error=str(error))
            if self.count_failure(observer.id, now):
                self.host.log("observer_stopped", policy=observer.id, until=self.standing[observer.id].broken_until)

    def act(self, observer: Any, event: Event, now: int) -> None:
        chain, hops = self.marks.get(event.id)
        mark = {"chain": chain.start, "root": chain.origin, "by": chain.kind, "hops": hops}
        number = getattr(self.host, observer.action)(observer.id, observer.argument, mark=mark)
        if observer.action == NOTIFY:
            link: Link = (chain, hops + 1)
        else:
            link = (self.begin(number, observer.action, chain), 0)
        self.marks.put(number, link)
        self.count_action(observer.action, observer.id, number, link[0], now)
        self.write(observer.action, number, link, {"t": now, "policy": observer.id, "cause": event.id})

    def begin(self, number: int, action: str, chain: Chain) -> Chain:
        """The chain that a Prepare or an Inject begins."""
        return Chain(number, PROACTIVE, action)

    # --- what is counted, live and at boot ---

    def count_event(self, session: str, type: str, told: Any, t: int) -> str | None:
        """Folds an event once it is handled. Returns the observer that it silenced, if it did."""
        name = policies.COUNTED.get(type) or (policies.ANSWERED.get(told) if type == "answer" else None)
        if name is None:
            return None
        counts = self.sessions.get(session)
        if counts is None:
            counts = {}
            self.sessions.put(session, counts)
        counts[name] = counts.get(name, 0) + 1
        return self.count_dismissal(told, t) if type == "dismissed" else None

    def count_dismissal(self, notice: Any, t: int) -> str | None:
        """Notifications alone are counted, and so observers alone silenced."""
        policy, number = self.notices.get(notice) or (None, 0)
        standing = None if policy is None else self.standing.get(policy)
        if standing is None:
            return None
        standing.row = standing.row + 1 if number == standing.dismissed + 1 else 1
        standing.dismissed = number
        if not self.options.silence_after or standing.row < self.options.silence_after:
            return None
        standing.row, standing.silenced_until = 0, t + self.options.silence_for_ns
        return str(policy)

    def count_action(self, action: str, policy: str, number: int, chain: Chain, t: int) -> None:
        standing = self.standing_of(policy)
        standing.last, standing.failures = t, 0
        if action == NOTIFY:
            chain.notified = True
            standing.sent += 1
            self.notices.put(number, (policy, standing.sent))

    def count_failure(self, policy: str, t: int) -> bool:
        """Returns whether the observer is stopped by it."""
        standing = self.standing_of(policy)
        standing.failures += 1
        if not self.options.breaker_after or standing.failures < self.options.breaker_after:
            return False
        standing.failures, standing.broken_until = 0, t + self.options.breaker_for_ns
        return True

    def standing_of(self, policy: str) -> Standing:
        found = self.standing.get(policy)
        if found is None:
            found = self.standing[policy] = Standing()
        return found

    # --- the ledger ---

    def write_event(self, event: Event, link: Link) -> None:
        """What most events have not is left out: a ledger is long."""
        chain, hops = link
        entry = {
            "what": "event", "id": event.id, "t": event.t, "type": event.type, "session": event.session,
            "cause": event.cause, "start": chain.start, "origin": chain.origin, "hops": hops,
        }  # fmt: skip
        if chain.kind:
            entry["kind"] = chain.kind
        told = _told(event)
        if told is not None:
            entry["told"] = told
        self.host.append(entry)

    def write(self, what: str, number: int, link: Link, more: Mapping[str, Any]) -> None:
        chain, hops = link
        entry = {"what": what, "id": number, "start": chain.start, "origin": chain.origin, "kind": chain.kind}
        self.host.append({**entry, "hops": hops, **more})


def _told(event: Event) -> Any:
    """What is counted of an event's fields: what was answered, or which notification was dismissed."""
    if event.type == "answer":
        return event.fields.get("answer")
    return event.fields.get("notice") if event.type == "dismissed" else None


CORE = Reference
