"""Exposure: for how long a fleet went on under its old guard while a body with gates was rolled out, and what met it.

An agent is exposed from the rollout's begin until the policies of that body, or of one that was rolled out later, are in
force there. A dangerous call *met the old guard* if the gates that were in force judged it more mildly than those of the new
body would have (allow before ask before deny; no gate allows). State is read as it was at the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetbeat.framework.policies import Gate
from fleetbeat.framework.vocabulary import BEFORE
from fleetbeat.history.records import Record
from fleetbeat.metrics.framework_force import Agent, Force, Told
from fleetbeat.metrics.quantile import nearest_rank


@dataclass(frozen=True, slots=True)
class ExposureRow:
    """One rollout. Times in ns: `agent_ns` of all agents together, then quantiles of the agents' own; `reached`: agents
    on which it ended before the run did. `calls`: dangerous ones that met the old guard, `ran`: that ran then."""

    rollout: str
    version: str
    began: int
    targets: int
    reached: int
    agent_ns: int
    p50: int | None
    p90: int | None
    max: int | None
    calls: int
    ran: int


@dataclass(slots=True)
class _Window:
    record: Record
    norm: str
    began: int
    open: dict[str, None]
    times: list[int] = field(default_factory=list)
    calls: int = 0
    ran: int = 0


class ExposureCount:
    """One pass; what is kept grows with rollouts times agents, and dangerous calls that met an old guard and may yet run."""

    def __init__(self, force: Force) -> None:
        self._force = force
        self._norms: dict[str, str | None] = {}
        self._rollouts: dict[str, Record] = {}
        self._windows: list[_Window] = []
        self._met: dict[str, dict[int, list[_Window]]] = {}

    def feed(self, record: Record) -> None:
        if record.kind == "body":
            self._norms[record["body"]] = record.get("norm")
        elif record.kind == "rollout" and record["write"] != "hand-down":
            self._rollouts[record["rollout"]] = record
        elif record.kind == "wave" and record["event"] == "begin":
            self._begin(self._rollouts.pop(record["rollout"], None), record.t)
        elif record.kind == "post.plan" and self._rollouts:
            waiting = [one for one in self._rollouts.values() if one["version"] == record["version"]]
            for one in waiting:
                self._begin(self._rollouts.pop(one["rollout"]), record.t)

    def _begin(self, rollout: Record | None, t: int) -> None:
        norm = None if rollout is None else self._norms.get(rollout["body"])
        if rollout is None or norm is None:
            return
        body = self._force.bodies.get(norm)
        if body is None:
            return
        here = {name: None for name in rollout["targets"] if self._force.agent(name).norm != norm}
        window = _Window(rollout, norm, t, here)
        window.times.extend(0 for _ in range(len(rollout["targets"]) - len(here)))
        self._windows.append(window)

    def rules(self, agent: str, t: int) -> None:
        """Other policies are in force on this agent: what they end is over."""
        norm = self._force.agent(agent).norm
        later = next((i for i in range(len(self._windows) - 1, -1, -1) if self._windows[i].norm == norm), -1)
        for window in self._windows[: later + 1]:
            if agent in window.open:
                del window.open[agent]
                window.times.append(t - window.began)

    def event(self, record: Record, agent: Agent, told: Told) -> None:
        if told.type != BEFORE or not record.get("dangerous"):
            return
        name, old = record["agent"], agent.strictest(agent.gates, told)
        met = [
            window
            for window in self._windows
            if name in window.open and agent.strictest(self._gates(window), told) > old
        ]
        for window in met:
            window.calls += 1
        if met:
            self._met.setdefault(name, {})[record["id"]] = met

    def _gates(self, window: _Window) -> Mapping[str, Gate]:
        return self._force.gates_with(self._force.bodies[window.norm])

    def ran(self, record: Record) -> None:
        for window in self._met.get(record["agent"], {}).pop(record["call"], ()):
            window.ran += 1

    def table(self, end_ns: int) -> tuple[ExposureRow, ...]:
        """One row for each rollout of a body with gates, in the order in which they began."""
        return tuple(_row(one, end_ns) for one in self._windows if self._force.bodies[one.norm].gates)


def _row(window: _Window, end_ns: int) -> ExposureRow:
    times = sorted([*window.times, *(end_ns - window.began for _ in window.open)])
    p50, p90, most = (nearest_rank(times, percent) for percent in (50, 90, 100))
    record = window.record
    return ExposureRow(
        record["rollout"], record["version"], window.began, len(record["targets"]), len(window.times),
        sum(times), p50, p90, most, window.calls, window.ran,
    )  # fmt: skip
