"""Gates and calls: what each gate was asked and how long it took, what cores decided, what became of dangerous calls.

Times are virtual. A dangerous call is *let through* if it ran and no gate in force watched it: no core is at fault, the
rules are. What became of a call is told once it is known; one that was cut by a crash, or not over at the end, is open.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass

from fleetbeat.framework.match import watches
from fleetbeat.framework.vocabulary import BEFORE
from fleetbeat.history.records import Record
from fleetbeat.metrics.framework_force import Agent, Force, Told
from fleetbeat.metrics.quantile import nearest_rank

#: What may become of a dangerous call. `allowed`: it ran and nobody was asked.
BECAME = ("denied", "rejected", "ignored", "approved", "allowed", "not decided", "open")
#: Type of the event by which a user answers.
ANSWER = "answer"
_ANSWERED = {"reject": "rejected", "ignore": "ignored"}


@dataclass(frozen=True, slots=True)
class GateRow:
    """One gate, all agents. `built_in`: it belongs to the core; the times in ns, None where it never answered."""

    gate: str
    built_in: bool
    asked: int
    allow: int
    ask: int
    deny: int
    raised: int
    slow: int
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class DangerRow:
    """Dangerous calls that some gate in force watched, or none did; `became` adds up to `made`."""

    watched: bool
    made: int
    became: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Delay:
    """How long all gates together held a call up, ns, over the calls about which one was asked."""

    calls: int
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Calls:
    """`decided`: by what the core said, "none" if it said nothing. `let_through`: dangerous, ran, watched by no gate."""

    made: int
    ran: int
    decided: tuple[tuple[str, int], ...]
    answers: tuple[tuple[str, int], ...]
    dangerous: tuple[DangerRow, ...]
    let_through: int
    delay: Delay
    gates: tuple[GateRow, ...]


@dataclass(slots=True)
class _Open:
    watched: bool
    verdict: str | None = None
    answer: str | None = None


class CallCount:
    """One pass; what is kept grows with the dangerous calls that are open, and one number for each judgement."""

    def __init__(self, force: Force) -> None:
        self._force = force
        self._made = self._ran = 0
        self._verdicts: Counter[str] = Counter()
        self._answers: Counter[str] = Counter()
        self._said: dict[str, Counter[str]] = {}
        self._took: dict[str, array[int]] = {}
        self._taking: dict[str, int] = {}
        self._delays: array[int] = array("q")
        self._became: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        self._open: dict[str, dict[int, _Open]] = {}

    def event(self, record: Record, agent: Agent, told: Told) -> None:
        if told.type == BEFORE:
            self._made += 1
            if record.get("dangerous"):
                watched = any(watches(gate, told) for gate in agent.gates.values())
                self._open.setdefault(record["agent"], {})[record["id"]] = _Open(watched)
        elif told.type == ANSWER:
            said = str(told.fields.get("answer"))
            self._answers[said] += 1
            self._answered(record["agent"], told.fields.get("call"), said)

    def judged(self, record: Record) -> None:
        fields = record.fields
        gate, agent, took = fields["gate"], fields["agent"], fields["took"]
        said = self._said.get(gate)
        if said is None:
            said = self._said[gate] = Counter()
            self._took[gate] = array("q")
        said[fields["answer"]] += 1
        self._took[gate].append(took)
        self._taking[agent] = self._taking.get(agent, 0) + took

    def verdict(self, record: Record) -> None:
        verdict = record.get("verdict")
        if (took := self._taking.pop(record["agent"], None)) is not None:
            self._delays.append(took)
        self._verdicts[verdict or "none"] += 1
        one = self._open.get(record["agent"], {}).get(record["call"])
        if one is None:
            return
        one.verdict = verdict
        if verdict not in ("allow", "ask"):
            self._close(record["agent"], record["call"], "denied" if verdict == "deny" else "not decided")

    def ran(self, record: Record) -> None:
        self._ran += 1
        one = self._open.get(record["agent"], {}).get(record["call"])
        if one is not None:
            self._close(record["agent"], record["call"], "approved" if one.answer == "approve" else "allowed")

    def down(self, agent: str) -> None:
        """What was open on this agent stays so for ever."""
        self._taking.pop(agent, None)
        for call in list(self._open.get(agent, ())):
            self._close(agent, call, "open")

    def _answered(self, agent: str, call: object, said: str) -> None:
        one = self._open.get(agent, {}).get(call) if isinstance(call, int) else None
        if one is None or not isinstance(call, int):
            return
        one.answer = said
        if said in _ANSWERED:
            self._close(agent, call, _ANSWERED[said])

    def _close(self, agent: str, call: int, became: str) -> None:
        one = self._open[agent].pop(call)
        self._became[one.watched][became] += 1

    def table(self) -> Calls:
        for agent in self._open:
            self.down(agent)
        rows = tuple(
            DangerRow(watched, sum(counts.values()), tuple((name, counts[name]) for name in BECAME))
            for watched, counts in self._became.items()
        )
        unwatched = self._became[False]
        guards = self._force.guards
        order = sorted(self._said, key=lambda gate: (gate not in guards, gate))
        return Calls(
            made=self._made,
            ran=self._ran,
            decided=tuple((name, self._verdicts[name]) for name in ("allow", "ask", "deny", "none")),
            answers=tuple((name, self._answers[name]) for name in ("approve", "reject", "ignore")),
            dangerous=rows,
            let_through=unwatched["approved"] + unwatched["allowed"],
            delay=Delay(len(self._delays), *_quantiles(self._delays)),
            gates=tuple(self._gate(gate, gate in guards) for gate in order),
        )

    def _gate(self, gate: str, built_in: bool) -> GateRow:
        said, took = self._said[gate], self._took[gate]
        counts = (said["allow"], said["ask"], said["deny"], said["raised"], said["slow"])
        return GateRow(gate, built_in, len(took), *counts, *_quantiles(took))


def _quantiles(values: array[int]) -> tuple[int | None, int | None, int | None, int | None]:
    ordered = sorted(values)
    p50, p90, p99, most = (nearest_rank(ordered, percent) for percent in (50, 90, 99, 100))
    return p50, p90, p99, most
