"""A storm: what the framework did to itself, minute by minute, what it cost, and which wave should have been stopped.

Counted are Prepares on framework chains, which the first invariant forbids. They are laid to the rollout whose body brought
their policy to that agent. A wave should have been stopped if one of its agents was seen to trigger itself before the next
wave began: what agents of later waves spent was spent for nothing. Costs are whole millionths of the unit of money.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from fleetbeat.history.records import Record
from fleetbeat.metrics.framework_force import Force

MINUTE_NS = 60_000_000_000


@dataclass(frozen=True, slots=True)
class MinuteRow:
    """One minute of virtual time, from 0: background tasks that should not have been, their cost, on how many agents."""

    minute: int
    runs: int
    cost: int
    agents: int


@dataclass(frozen=True, slots=True)
class WaveRow:
    """One wave. `began`, `first`: ns; when it began, when its agents first triggered themselves (None: never).

    `triggered`: how many of them did; `runs`, `cost`: theirs; `later_runs`, `later_cost`: those of later waves' agents.
    """

    rollout: str
    version: str
    wave: int
    began: int | None
    agents: int
    triggered: int
    first: int | None
    runs: int
    cost: int
    later_runs: int
    later_cost: int


@dataclass(frozen=True, slots=True)
class Stop:
    """The wave that should have been stopped: seen at `seen` ns, while the next one began at `next_began`; what stopping
    would have saved."""

    rollout: str
    version: str
    wave: int
    seen: int
    next_began: int
    runs: int
    cost: int


@dataclass(frozen=True, slots=True)
class Storm:
    """`self_triggered`: all actions that break the rule, notifications and lines among them."""

    self_triggered: int
    runs: int
    cost: int
    minutes: tuple[MinuteRow, ...]
    waves: tuple[WaveRow, ...]
    stops: tuple[Stop, ...]


@dataclass(slots=True)
class _Spent:
    first: dict[str, int] = field(default_factory=dict)
    runs: Counter[str] = field(default_factory=Counter)
    cost: Counter[str] = field(default_factory=Counter)


class StormCount:
    """One pass; what is kept grows with minutes and agents."""

    def __init__(self, force: Force) -> None:
        self._force = force
        self._norms: dict[str, str | None] = {}
        self._rollouts: list[Record] = []
        self._began: dict[tuple[str, int], int] = {}
        self._posted: dict[str, int] = {}
        self._spent: dict[str, _Spent] = {}
        self._known: dict[tuple[str, str], str | None] = {}
        self._total = 0
        self._runs: Counter[int] = Counter()
        self._cost: Counter[int] = Counter()
        self._agents: dict[int, dict[str, None]] = {}

    def feed(self, record: Record) -> None:
        """What says which body came from where."""
        if record.kind == "body":
            self._norms[record["body"]] = record.get("norm")
        elif record.kind == "rollout":
            self._rollouts.append(record)
            self._known.clear()
        elif record.kind == "wave" and record["event"] == "begin":
            self._began.setdefault((record["rollout"], record["wave"]), record.t)
        elif record.kind == "post.plan":
            self._posted.setdefault(record["version"], record.t)

    def broken(self, record: Record, cost: int) -> None:
        """An action that breaks the rule."""
        self._total += 1
        name, is_run = record["agent"], record["action"] == "prepare"
        if is_run:
            minute = record.t // MINUTE_NS
            self._runs[minute] += 1
            self._cost[minute] += cost
            self._agents.setdefault(minute, {})[name] = None
        rollout = self._brought(name, record["policy"])
        if rollout is None:
            return
        spent = self._spent.setdefault(rollout, _Spent())
        spent.first.setdefault(name, record.t)
        if is_run:
            spent.runs[name] += 1
            spent.cost[name] += cost

    def _brought(self, agent: str, policy: str) -> str | None:
        """The last rollout that meant this agent and whose body, in force there, has the policy."""
        here = self._force.agent(agent)
        if here.norm is None or not any(one.id == policy for one in here.observers):
            return None
        key = (agent, here.norm)
        if key not in self._known:
            mine = [one for one in self._rollouts if self._norms.get(one["body"]) == here.norm]
            self._known[key] = next((one["rollout"] for one in reversed(mine) if agent in one["targets"]), None)
        return self._known[key]

    def table(self) -> Storm | None:
        """None if no action broke the rule."""
        if not self._total:
            return None
        minutes = range(min(self._runs), max(self._runs) + 1) if self._runs else ()
        rows = [row for rollout in self._rollouts for row in self._waves(rollout)]
        return Storm(
            self._total,
            sum(self._runs.values()),
            sum(self._cost.values()),
            tuple(MinuteRow(one, self._runs[one], self._cost[one], len(self._agents.get(one, ()))) for one in minutes),
            tuple(rows),
            tuple(_stops(rows)),
        )

    def _waves(self, rollout: Record) -> list[WaveRow]:
        name = rollout["rollout"]
        spent = self._spent.get(name)
        if spent is None:
            return []
        rows: list[WaveRow] = []
        later_runs = later_cost = 0
        for number in range(len(rollout["waves"]), 0, -1):
            agents = rollout["waves"][number - 1]
            runs, cost = (sum(counter[agent] for agent in agents) for counter in (spent.runs, spent.cost))
            firsts = [spent.first[agent] for agent in agents if agent in spent.first]
            began = self._began.get((name, number), self._posted.get(rollout["version"]) if number == 1 else None)
            rows.append(
                WaveRow(
                    name, rollout["version"], number, began, len(agents), len(firsts), min(firsts, default=None),
                    runs, cost, later_runs, later_cost,
                )
            )  # fmt: skip
            later_runs, later_cost = later_runs + runs, later_cost + cost
        return rows[::-1]


def _stops(rows: list[WaveRow]) -> list[Stop]:
    """For each rollout the first wave that gave itself away before the next one began."""
    found: dict[str, Stop] = {}
    for row, after in pairwise(rows):
        if row.rollout != after.rollout or row.rollout in found or row.first is None or after.began is None:
            continue
        if row.first < after.began:
            found[row.rollout] = Stop(
                row.rollout, row.version, row.wave, row.first, after.began, row.later_runs, row.later_cost
            )
    return list(found.values())
