"""Event ledgers of other systems, as JSON lines, and the two invariants held against them as far as they tell enough.

One JSON object a line, in the order in which things happened. Every line may have `ts` (seconds as a number, or a time as
ISO 8601 text; for messages alone) and `agent` (a name; ids are unique on their agent). What a line is, `action` says:

    no action    an event: id, type; origin, session, cause, fields; of a tool.before: dangerous (true or false)
    notify, inject, prepare, emit
                 something that the framework did: id; session, cause, policy, cost
    gates        the gates in force on this agent from here on, all of them: gates, spelled as in a rules body
                 ({gate: ID, on: tool.before, when: {..}, state: {..}, answer: ..}); null: not known from here on
    judged       a gate was asked about a call: call, gate, answer (allow, deny, ask, raised, slow)
    verdict      what came of it: call, verdict (allow, deny, ask, or null: none)
    answer       what the user said to a call that was put to them: call, answer (approve, reject, ignore)
    ran          the call took effect: call

Ids are whole numbers or texts. `cause` is the id of the event or action from which this one followed, null if it followed
from nothing; a line without it leaves that open. Types that mean something: tool.before (a call is about to run), tool.after
(it has run: its `cause`, or `fields.call`, is the call), ready (a prepare's task has its result), answer (the same as the
action; fields: call, answer). Where an event has no `fields`, its other keys are taken for them. What a user does (origin
`user`) starts afresh, whatever its cause, unless that is an emission. An event of origin `proactive` that is on no chain
begins one: some frameworks do not log their actions.

What is missing makes a verdict unknown, and is said: causes, danger labels, gates in force, which gates were asked, what
users answered. Further keys are passed over; another `action` is refused, and so is an event whose `type` is that of an
action: what the framework did would be hidden by a spelling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NoReturn, TypeGuard

from fleetbeat.checks.calls import Told
from fleetbeat.checks.chains import LOST, Id, Node
from fleetbeat.checks.framework import WINDOW
from fleetbeat.checks.guard_not_silenced import Guarding
from fleetbeat.checks.kept import Kept
from fleetbeat.checks.no_self_trigger import SelfTrigger
from fleetbeat.framework.policies import Gate, policy_of
from fleetbeat.history.shape import shown

ACTIONS = ("notify", "inject", "prepare", "emit")
FACTS: dict[str, tuple[str, ...]] = {
    "judged": ("allow", "deny", "ask", "raised", "slow"),
    "answer": ("approve", "reject", "ignore"),
}
VERDICTS = ("allow", "deny", "ask")
_KEYS = frozenset(("id", "ts", "type", "origin", "session", "cause", "action", "agent", "dangerous"))
#: In the place of a cause that a line does not tell: the id of nothing.
_UNTOLD = ""
#: ns; times further from 0 are times of a calendar.
_CALENDAR = 10**17
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Fail = Callable[[str], NoReturn]


class Ledger:
    """One pass over a ledger's lines. `seen`: lines by action, events by type and by what they lack."""

    def __init__(self, window: int | None = WINDOW) -> None:
        self.window = window
        self.self_trigger = SelfTrigger(window)
        self.guarding = Guarding(self.self_trigger.chains, window, "no line says which gates are in force")
        self.guarding.kept_by = {"judged": Kept(), "answer": Kept()}
        self.seen: Counter[str] = Counter()
        self.agents: dict[str, None] = {}
        self.sessions: dict[tuple[str, str], None] = {}
        self.end = 0
        self._first: int | None = None

    def feed(self, line: Mapping[str, Any], fail: Fail) -> None:
        """Takes one line. Calls `fail` with what was got and expected for one that is none."""
        action = line.get("action")
        t = self._time(line.get("ts"), fail)
        agent = _text(line, "agent", fail)
        self.agents.setdefault(agent)
        self.seen["lines"] += 1
        if action is None:
            self._event(line, agent, t, fail)
        elif action in ACTIONS:
            self._action(line, action, agent, t, fail)
        elif action == "gates":
            self._gates(line, agent, fail)
        elif action in ("judged", "verdict", "answer", "ran"):
            self._fact(line, action, agent, t, fail)
        else:
            expected = ", ".join((*ACTIONS, "gates", "judged", "verdict", "answer", "ran"))
            fail(f"action: got {shown(action)}, expected {expected}, or none for an event")

    # --- events and actions ---

    def _event(self, line: Mapping[str, Any], agent: str, t: int, fail: Fail) -> None:
        id, type, origin = _id(line, "id", fail), _text(line, "type", fail), _text(line, "origin", fail)
        if not type:
            fail("type: got nothing, expected the event's type, or an action")
        if type.lower() in ACTIONS:
            fail(f"type: got {shown(type)} and no action, expected action: {type.lower()} for what the framework did")
        session = self._session(line, agent, fail)
        cause = self._cause(line, agent, id, origin, fail)
        node = self.self_trigger.event(agent, id, t, type, session, cause)
        self._placed(agent, node, cause)
        if origin == "proactive" and node.chain is None:
            self.self_trigger.chains.begin(agent, node)
        self.seen["events"] += 1
        if type in ("tool.before", "tool.after"):
            self.seen[f"type {type}"] += 1
        fields = line.get("fields")
        if not isinstance(fields, dict):
            fields = {name: value for name, value in line.items() if name not in _KEYS}
        if type == "tool.before":
            self._call(line, agent, id, t, Told(type, origin, session, fields), fail)
        elif type == "tool.after":
            call = fields.get("call", cause)
            if _is_id(call):
                self.guarding.ran(agent, call, t)
        elif type == "answer":
            call, answer = fields.get("call", line.get("cause")), fields.get("answer")
            if _is_id(call) and isinstance(answer, str):
                self.seen["answer"] += 1
                self.guarding.answered(agent, call, answer)

    def _action(self, line: Mapping[str, Any], action: str, agent: str, t: int, fail: Fail) -> None:
        id = _id(line, "id", fail)
        session = self._session(line, agent, fail)
        cause = self._cause(line, agent, id, "", fail)
        node = self.self_trigger.action(agent, id, t, action, _text(line, "policy", fail), session, cause)
        self._placed(agent, node, cause)
        self.seen["actions"] += 1
        self.seen[action] += 1

    def _cause(self, line: Mapping[str, Any], agent: str, id: Id, origin: str, fail: Fail) -> Id | None:
        chains = self.self_trigger.chains
        if chains.node(agent, id) is not None:
            fail(f"id: got {shown(id)} again, expected one that no other event or action of its agent has")
        cause = None if line.get("cause") is None else _id(line, "cause", fail)
        if origin == "user":
            before = None if cause is None else chains.node(agent, cause)
            return cause if before is not None and before.what == "emit" else None
        return cause if "cause" in line else _UNTOLD

    def _placed(self, agent: str, node: Node, cause: Id | None) -> None:
        """Counts a line that does not tell its cause, or tells one that is not known."""
        if cause == _UNTOLD:
            self.seen["no cause"] += 1
        elif cause is not None and (node.chain is LOST or node.chain is None or node.hop == 0):
            self.seen["strange cause"] += self.self_trigger.chains.node(agent, cause) is None

    # --- calls ---

    def _call(self, line: Mapping[str, Any], agent: str, id: Id, t: int, told: Told, fail: Fail) -> None:
        dangerous = line.get("dangerous")
        if dangerous is not None and not isinstance(dangerous, bool):
            fail(f"dangerous: got {shown(dangerous)}, expected true or false")
        self.seen["dangerous"] += dangerous is True
        self.seen["unlabelled"] += dangerous is None
        if dangerous is not False:
            self.guarding.before(agent, id, t, told, is_labelled=dangerous is True)

    def _gates(self, line: Mapping[str, Any], agent: str, fail: Fail) -> None:
        gates = line.get("gates")
        if gates is None:
            self.guarding.in_force(agent, {}, "the ledger says that the gates in force are not known")
            return
        if not isinstance(gates, list):
            fail(f"gates: got {shown(gates)}, expected a list of gates, or null")
        found: dict[str, Gate] = {}
        for number, item in enumerate(gates):
            try:
                gate = policy_of(item, f"gates.{number}")
            except ValueError as error:
                fail(str(error))
            if not isinstance(gate, Gate):
                fail(f"gates.{number}: got an observer, expected a gate")
            found[gate.id] = gate
        self.guarding.in_force(agent, found)

    def _fact(self, line: Mapping[str, Any], action: str, agent: str, t: int, fail: Fail) -> None:
        call = _id(line, "call", fail)
        self.seen[action] += 1
        if action == "ran":
            self.seen["strange call"] += self.self_trigger.chains.node(agent, call) is None
            self.guarding.ran(agent, call, t)
        elif action == "verdict":
            verdict = line.get("verdict")
            if verdict is not None and verdict not in VERDICTS:
                fail(f"verdict: got {shown(verdict)}, expected {', '.join(VERDICTS)}, or null")
            self.guarding.verdict(agent, call, t, verdict)
        else:
            answer = line.get("answer")
            if answer not in FACTS[action]:
                fail(f"answer: got {shown(answer)}, expected {', '.join(FACTS[action])}")
            if action == "answer":
                self.guarding.answered(agent, call, answer)
            else:
                gate = _text(line, "gate", fail)
                if not gate:
                    fail("gate: got nothing, expected the id of the gate that was asked")
                self.guarding.judged(agent, call, gate, answer)

    # --- what every line may have ---

    def _session(self, line: Mapping[str, Any], agent: str, fail: Fail) -> str:
        session = _text(line, "session", fail)
        if len(self.sessions) < WINDOW:
            self.sessions.setdefault((agent, session))
        return session

    def _time(self, ts: Any, fail: Fail) -> int:
        """ns since the ledger's beginning; a line without, or before the one above it, is at that one's.

        Times of a calendar count from the first line that has one.
        """
        if ts is None:
            return self.end
        if type(ts) in (int, float) and abs(ts) < 1e12:  # not so for what is no number, or infinite
            ns = round(ts * 1_000_000_000)
        elif isinstance(ts, str):
            try:
                read = datetime.fromisoformat(ts)
            except ValueError:
                fail(f"ts: got {shown(ts)}, expected seconds, or a time as ISO 8601 text")
            past = (read if read.tzinfo is not None else read.replace(tzinfo=UTC)) - _EPOCH
            ns = ((past.days * 86_400 + past.seconds) * 1_000_000 + past.microseconds) * 1000
        else:
            fail(f"ts: got {shown(ts)}, expected seconds, or a time as ISO 8601 text")
        if self._first is None:
            self._first = ns if abs(ns) > _CALENDAR else 0
        self.end = max(self.end, ns - self._first)
        return self.end


def _text(line: Mapping[str, Any], name: str, fail: Fail) -> str:
    value = line.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        fail(f"{name}: got {shown(value)}, expected text")
    return value


def _is_id(value: Any) -> TypeGuard[Id]:
    return type(value) is int or (isinstance(value, str) and value != "")


def _id(line: Mapping[str, Any], name: str, fail: Fail) -> Id:
    value = line.get(name)
    if not _is_id(value):
        fail(f"{name}: got {'nothing' if value is None else shown(value)}, expected a whole number or text")
    return value
