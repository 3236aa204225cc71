"""One pass over a history, sorted into what the tables ask for: records by agent and kind, bodies, rollouts, posts.

`op` records are left out here; the cost table alone counts them. Windows in which an agent could not act (down, not
runnable, paused, its heartbeat over) are derived once, for the lag's causes and the next actions alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleetbeat.history.records import Record

_OF_AGENTS = frozenset({"life.begin", "life.end", "heartbeat.end", "runnable", "pause", "prompt", "log", "fault"})


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch in which an agent could not act, half open in ns; `end` None: not over when the run ended."""

    start: int
    end: int | None
    words: str
    kind: str

    def meets(self, start: int, end: int) -> bool:
        return self.start < end and (self.end is None or self.end > start)


@dataclass(frozen=True, slots=True)
class Facts:
    """`agents`: agent -> kind -> records in order. `plans`, `ends`: post id -> record. `end`: the run's last ns.

    `turns`, `gates`, `truths`: records of kinds `plan`, `gate` and `truth`: what operators with gates decided and saw,
    and what they were not told.
    """

    end: int
    run: Record | None
    observed_ops: bool
    agents: Mapping[str, Mapping[str, Sequence[Record]]]
    homes: Mapping[str, Record]
    bodies: Mapping[str, Record]
    rollouts: tuple[Record, ...]
    waves: tuple[Record, ...]
    turns: tuple[Record, ...]
    gates: tuple[Record, ...]
    truths: tuple[Record, ...]
    plans: Mapping[str, Record]
    ends: Mapping[str, Record]
    claims: tuple[Record, ...]

    def of(self, agent: str, kind: str) -> Sequence[Record]:
        return self.agents.get(agent, {}).get(kind, ())

    def norm(self, body: str) -> str | None:
        """The compared text's digest of a body, None if it does not decode or is not known."""
        record = self.bodies.get(body)
        return record.get("norm") if record else None

    def blank(self, body: str) -> bool:
        record = self.bodies.get(body)
        return bool(record and record.get("blank"))


def gather(records: Iterable[Record]) -> Facts:
    """Index a history. Needs records in order; raises nothing for missing kinds."""
    agents: dict[str, dict[str, list[Record]]] = {}
    homes: dict[str, Record] = {}
    bodies: dict[str, Record] = {}
    single: dict[str, list[Record]] = {
        "rollout": [],
        "wave": [],
        "plan": [],
        "gate": [],
        "truth": [],
        "claim": [],
        "run": [],
    }
    plans: dict[str, Record] = {}
    ends: dict[str, Record] = {}
    last, ops = 0, False
    for record in records:
        kind = record.kind
        last = max(last, record.t)
        if kind == "op":
            ops = True
        elif kind in _OF_AGENTS:
            agents.setdefault(record["agent"], {}).setdefault(kind, []).append(record)
        elif kind in single:
            single[kind].append(record)
        elif kind == "agent":
            homes[record["agent"]] = record
        elif kind == "body":
            bodies[record["body"]] = record
        elif kind == "post.plan":
            plans[record["post"]] = record
        elif kind == "post.end":
            ends[record["post"]] = record
    run = single["run"][0] if single["run"] else None
    told = {kind: tuple(found) for kind, found in single.items()}
    return Facts(
        last, run, ops, agents, homes, bodies, told["rollout"], told["wave"], told["plan"], told["gate"], told["truth"],
        plans, ends, told["claim"],
    )  # fmt: skip


def windows(facts: Facts, agent: str) -> list[Window]:
    """When the agent could not act, by start. A process that never began is a window from 0."""
    found = [*_down(facts, agent), *_suspended(facts, agent), *_paused(facts, agent), *_beatless(facts, agent)]
    return sorted(found, key=lambda window: (window.start, window.kind))


def _down(facts: Facts, agent: str) -> Iterator[Window]:
    begins = [record.t for record in facts.of(agent, "life.begin")]
    if not begins or begins[0] > 0:
        yield Window(0, begins[0] if begins else None, "not started yet", "down")
    for record in facts.of(agent, "life.end"):
        if record["cause"] == "end":
            continue
        words = "lost power" if record["cause"] == "power" else "crashed"
        if record.get("fault"):
            words += f" (fault {record['fault']})"
        yield Window(record.t, _next(begins, record.t), words, "down")


def _suspended(facts: Facts, agent: str) -> Iterator[Window]:
    begun: int | None = None
    for record in facts.of(agent, "runnable"):
        if record["runnable"]:
            if begun is not None:
                yield Window(begun, record.t, "not runnable", "suspended")
            begun = None
        elif begun is None:
            begun = record.t
    if begun is not None:
        yield Window(begun, None, "not runnable", "suspended")


def _paused(facts: Facts, agent: str) -> Iterator[Window]:
    for record in facts.of(agent, "pause"):
        words = "beat thread stalled" if record["what"] == "thread" else "process paused"
        if record.get("fault"):
            words += f" (fault {record['fault']})"
        end = record["end"]
        yield Window(record.t, end if end < facts.end else None, words, "paused")


def _beatless(facts: Facts, agent: str) -> Iterator[Window]:
    begins = [record.t for record in facts.of(agent, "life.begin")]
    for record in facts.of(agent, "heartbeat.end"):
        error = str(record["error"]).split(":", 1)[0]
        yield Window(record.t, _next(begins, record.t), f"heartbeat ended by {error}", "beatless")


def _next(instants: Sequence[int], after: int) -> int | None:
    return next((instant for instant in instants if instant > after), None)
