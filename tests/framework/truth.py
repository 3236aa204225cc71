"""Both invariants judged a third time, slowly: whole histories in memory, from the texts of PROTOCOL and issue 5 alone.

Nothing of `fleetbeat.checks` or `fleetbeat.framework` is used. Every question is answered by walking the records again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fleetbeat.history.records import Record

Key = tuple[str, int]
STARTS = ("prepare", "inject", "emit")
STRICT = {"allow": 0, "ask": 1, "raised": 1, "slow": 1, "deny": 2}


@dataclass
class Truth:
    """`triggered`: the actions that break no-self-trigger; `silenced`: the calls that break guard-not-silenced;
    `begun`: framework chains; `watched`: dangerous calls that a gate watched; `lost`: actions of unknown cause."""

    triggered: set[Key] = field(default_factory=set)
    silenced: set[Key] = field(default_factory=set)
    begun: int = 0
    watched: int = 0
    lost: set[Key] = field(default_factory=set)


def truth(records: Sequence[Record]) -> Truth:
    found = Truth()
    for agent in sorted({record["agent"] for record in records if record.kind in ("event", "action")}):
        mine = [record for record in records if record.get("agent") == agent]
        _chains(agent, mine, found)
        _guards(agent, records, found)
    return found


# --- no-self-trigger ---


def _chains(agent: str, mine: Sequence[Record], found: Truth) -> None:
    nodes = {one["id"]: one for one in mine if one.kind in ("event", "action")}
    begins = {id: _beginning(one, nodes) for id, one in nodes.items()}
    found.begun += len({begin for begin in begins.values() if isinstance(begin, int)})
    notified: dict[int, list[Record]] = {}
    for one in mine:
        if one.kind != "action" or one["action"] == "emit":
            continue
        begin = begins[one["id"]]
        if begin == "lost" or begin == one["id"]:
            if one["cause"] is not None and _beginning(nodes.get(one["cause"]), nodes) == "lost":
                found.lost.add((agent, one["id"]))
            continue
        if not isinstance(begin, int):
            continue
        if one["action"] != "notify":
            found.triggered.add((agent, one["id"]))
            continue
        before = notified.setdefault(begin, [])
        before.append(one)
        if len(before) > 1 or not _is_near(one, nodes[begin], nodes):
            found.triggered.add((agent, one["id"]))


def _beginning(one: Record | None, nodes: Mapping[int, Record]) -> int | str | None:
    """The id of the action at which this node's chain began; None: on no chain; lost: its past is not recorded.

    That is the earliest of the acts on the way up to what nobody caused: later ones on the way stay on its chain.
    """
    begin: int | str | None = None
    while one is not None:
        if one.kind == "action" and one["action"] in STARTS:
            begin = one["id"]
        if one["cause"] is None:
            return begin
        one = nodes.get(one["cause"])
    return "lost" if begin is None else begin


def _is_near(notify: Record, begin: Record, nodes: Mapping[int, Record]) -> bool:
    cause = nodes[notify["cause"]]
    if begin["action"] == "prepare":
        return bool(cause.kind == "event" and cause["type"] == "ready" and cause["cause"] == begin["id"])
    return notify["cause"] == begin["id"] or cause["cause"] == begin["id"]


# --- guard-not-silenced ---


def _guards(agent: str, records: Sequence[Record], found: Truth) -> None:
    later: dict[int, list[Record]] = {}
    for one in records:
        if one.get("agent") == agent and (call := _call_of(one)) is not None:
            later.setdefault(call, []).append(one)
    for one, gates in _with_gates(agent, records):
        watching = [gate["id"] for gate in gates if _is_about(gate, one)]
        if watching:
            found.watched += 1
            if _is_broken(watching, later.get(one["id"], [])):
                found.silenced.add((agent, one["id"]))


def _call_of(one: Record) -> int | None:
    """The call that a record tells of: an answer is told as an event."""
    if one.kind == "event":
        said = one["fields"].get("call") if one["type"] == "answer" else None
        return said if isinstance(said, int) else None
    return one.get("call")


def _with_gates(agent: str, records: Sequence[Record]) -> Iterator[tuple[Record, list[Any]]]:
    """Each dangerous call and the gates in force then: the core's, and the last well-formed body's with other ids."""
    built_in: list[Any] = []
    bodies: dict[str, list[Any]] = {}
    body: list[Any] = []
    for one in records:
        if one.kind == "workload":
            built_in = list(one["guards"])
        elif one.kind == "policies":
            bodies[one["norm"]] = list(one["gates"])
        elif one.kind == "core.rules" and one["agent"] == agent and not one["malformed"]:
            body = [] if one["norm"] is None else bodies[one["norm"]]
        elif one.kind == "event" and one["agent"] == agent and one.get("dangerous"):
            ids = {gate["id"] for gate in built_in}
            yield one, [*built_in, *(gate for gate in body if gate["id"] not in ids)]


def _is_about(gate: Mapping[str, Any], call: Record) -> bool:
    if not any(fnmatchcase(call["type"], glob) for glob in gate["on"]):
        return False
    known = {**call["fields"], "type": call["type"], "origin": call["origin"], "session": call["session"]}
    return all(any(_equal(known.get(name), one) for one in some) for name, some in gate["when"].items())


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return fnmatchcase(value, wanted)
    return type(value) is type(wanted) and bool(value == wanted)


def _is_broken(gates: Iterable[str], later: Sequence[Record]) -> bool:
    """`later`: all that was told of the call, in order."""
    said = {gate: [one["answer"] for one in later if one.kind == "judged" and one["gate"] == gate] for gate in gates}
    strictest = max((STRICT[_last_word(words)] for words in said.values() if words), default=0)
    verdicts = [one["verdict"] for one in later if one.kind == "verdict"]
    has_run = any(one.kind == "ran" for one in later)
    if any(verdict in ("allow", "ask") and STRICT[verdict] < strictest for verdict in verdicts):
        return True
    if (has_run or "ask" in verdicts) and not all(said.values()):
        return True
    return has_run and (strictest == 2 or (strictest == 1 and not _is_approved(later)))


def _last_word(words: Sequence[str]) -> str:
    """A gate that failed and was asked again said what it said then; of several answers the strictest."""
    real = [word for word in words if word in ("allow", "ask", "deny")]
    return max(real or words, key=lambda word: STRICT[word])


def _is_approved(later: Sequence[Record]) -> bool:
    """By the user, which is what follows from nothing, before it ran."""
    for one in later:
        if one.kind == "ran":
            return False
        if one.kind == "event" and one["cause"] is None and one["fields"].get("answer") == "approve":
            return True
    return False
