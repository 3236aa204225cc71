"""The injector: which fault strikes which operation.

The fault model, in words. An operation of an agent or of an operator can fail before it has any effect, after half of
it (half the bytes of a write; a file truncated by an open that then fails), or after all of it; it can be late; the
process can die before or after it, alone or with its host's power, and start again after a time or never; the process
can stand still. What was synced survives a power failure; what was not is lost, kept, or drawn piece by piece, as the
fault says. Errors are honest: a read never returns other bytes than the file's. Not in the model: bytes that rot,
fsync that lies, a clock that runs backwards, two processes for one agent.

A fault's draws live in a stream named by its id (given, or derived from where it strikes), so that adding another fault
or turning this one's probability moves no draw elsewhere. Windows are judged at the operation's start. Occurrences are
counted on each agent (for operators: each target) within the fault's window.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.hits import is_hit, next_hit
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.protocol.faults import Outcome, effects_in_words
from fleetbeat.scenario.model import Fault, Scenario
from fleetbeat.scenario.resolve import AgentSpec, default_path, fault_id, select
from fleetbeat.scenario.units import format_duration


@dataclass(slots=True)
class Rule:
    """One fault, compiled. `targets` are the agents hit; `kind` is the vocabulary's (flush is a write)."""

    id: str
    fault: Fault
    kind: str | None
    pattern: str | None
    targets: frozenset[str]
    ordered: tuple[str, ...]
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def stream(self) -> str:
        return f"fault:{self.id}"

    def in_window(self, now: int) -> bool:
        return self.fault.from_ <= now and (self.fault.to is None or now < self.fault.to)

    def is_at(self, path: str) -> bool:
        return self.pattern is None or path == self.pattern or fnmatchcase(path, self.pattern)


@dataclass(frozen=True, slots=True)
class Looked:
    """One operation that every idle beat makes: what a sleeping agent must ask the injector about."""

    kind: str
    path: str
    nth: int


class Injector:
    """Answers for each operation what happens to it, and for each sleeper when a fault next could."""

    def __init__(
        self, scenario: Scenario, specs: Sequence[AgentSpec], choices: Choices, prompt_path: Callable[[str], str]
    ) -> None:
        self.choices = choices
        self.rules = [_compile(fault, index, scenario, specs) for index, fault in enumerate(scenario.faults)]
        self._prompt_path = prompt_path
        self._by_kind: dict[tuple[str, str], list[Rule]] = {}
        for rule in self.rules:
            if rule.kind is not None:
                self._by_kind.setdefault((rule.fault.on, rule.kind), []).append(rule)

    def outcome(self, on: str, agent: str, operator: str, step: Step, now: int) -> Outcome | None:
        """What befalls this operation, which starts now; None for nothing. Counts the occurrence."""
        rules = self._by_kind.get((on, step.operation))
        if rules is None:
            return None
        fired = [rule for rule in rules if self._strikes(rule, agent, operator, step, now)]
        return self._combine(fired, step) if fired else None

    def concerns(self, on: str, looked: Iterable[Looked]) -> bool:
        """Whether any fault names one of these operations."""
        return any((on, look.kind) in self._by_kind for look in looked)

    def next_hit(
        self, on: str, agent: str, looked: Iterable[Looked], step: Step, first_after: Callable[[int], int], limit: int
    ) -> int | None:
        """The first episode above the step's own, up to `limit`, in which a fault could strike an idle episode.

        `first_after(t)` is the first episode above the step's own that starts at t or later. Never too late; where an
        answer is too early the episode runs and turns out idle.
        """
        found: int | None = None
        for look in looked:
            for rule in self._by_kind.get((on, look.kind), ()):
                if agent in rule.targets and self._is_at(rule, agent, look.path):
                    hit = self._next(
                        rule,
                        agent,
                        step._replace(operation=look.kind, path=look.path, nth=look.nth),
                        first_after,
                        limit,
                    )
                    if hit is not None and (found is None or hit < found):
                        found = limit_to(hit, found)
        return found

    def arrivals(self) -> list[Rule]:
        """Faults that strike by themselves: at a rate, on a process or host."""
        return [rule for rule in self.rules if rule.kind is None]

    # --- inside ---

    def _is_at(self, rule: Rule, agent: str, path: str) -> bool:
        if rule.fault.operation == "flush" and rule.fault.path is None:
            return path == self._prompt_path(agent)
        return rule.is_at(path)

    def _strikes(self, rule: Rule, agent: str, operator: str, step: Step, now: int) -> bool:
        fault = rule.fault
        if agent not in rule.targets or not rule.in_window(now) or not self._is_at(rule, agent, step.path):
            return False
        if fault.operators and operator not in fault.operators:
            return False
        if fault.occurrence:
            count = rule.seen[agent] = rule.seen.get(agent, 0) + 1
            return count in fault.occurrence
        return fault.probability is None or is_hit(fault.probability, self.choices, rule.stream, step)

    def _next(self, rule: Rule, agent: str, step: Step, first_after: Callable[[int], int], limit: int) -> int | None:
        fault = rule.fault
        start = max(step.episode + 1, first_after(fault.from_)) if fault.from_ else step.episode + 1
        if fault.to is not None:
            limit = min(limit, first_after(fault.to))
        if start > limit:
            return None
        if fault.occurrence:
            return start if rule.seen.get(agent, 0) < max(fault.occurrence) else None
        if fault.probability is None:
            return start
        return next_hit(fault.probability, self.choices, rule.stream, step._replace(episode=start - 1), limit)

    def _combine(self, fired: list[Rule], step: Step) -> Outcome:
        """Several faults on one operation: the first error and the first crash count, delays and pauses add up."""
        delay = pause = 0
        failing: Fault | None = None
        dying: Rule | None = None
        for rule in fired:
            fault = rule.fault
            if fault.delay is not None:
                delay += draw(fault.delay, self.choices, f"{rule.stream}:delay", step)
            if fault.pause is not None:
                pause += draw(fault.pause, self.choices, f"{rule.stream}:pause", step)
            failing = failing or (fault if fault.error else None)
            dying = dying or (rule if fault.crash else None)
        return Outcome(
            fired=tuple((rule.id, effects_in_words(rule.fault, power=rule.fault.power)) for rule in fired),
            error=None if failing is None else number_of(str(failing.error)),
            effect="before" if failing is None else failing.effect,
            delay_ns=delay,
            crash=None if dying is None else dying.fault.crash,
            power=dying is not None and dying.fault.power,
            unsynced="lost" if dying is None else dying.fault.unsynced,
            restart_ns=None if dying is None else dying.fault.restart,
            pause_ns=pause,
            killer=None if dying is None else dying.id,
        )


def limit_to(hit: int, found: int | None) -> int:
    return hit if found is None else min(hit, found)


def number_of(name: str) -> int:
    """The errno of a name such as EIO. Raises AttributeError for no errno; the scenario's loader has refused those."""
    value: int = getattr(errno, name)
    return value


def _compile(fault: Fault, index: int, scenario: Scenario, specs: Sequence[AgentSpec]) -> Rule:
    name = fault_id(scenario, index)
    targets = select(fault.agents, specs, salt=name)
    kind: str | None = fault.operation
    pattern = fault.path
    if kind == "flush":
        kind = "write"
    elif kind is not None and pattern is None and fault.on == "agents":
        pattern = default_path(kind)
    return Rule(name, fault, kind, pattern, frozenset(targets), targets)


def plan_fields(rule: Rule) -> dict[str, Any]:
    """The `fault.plan` record of a fault."""
    fault = rule.fault
    return {
        "fault": rule.id,
        "means": _words(rule),
        "on": fault.on,
        "operation": fault.operation,
        "probability": fault.probability,
        "targets": list(rule.ordered),
        "from": fault.from_,
        "to": fault.to,
    }


def _words(rule: Rule) -> str:
    fault = rule.fault
    what = []
    if fault.error:
        what.append(f"{fault.error} {'' if fault.effect == 'before' else fault.effect + ' the effect of '}".strip())
    if fault.delay is not None:
        what.append("a delay")
    if fault.crash:
        what.append(f"{'power loss' if fault.power else 'a crash'} {fault.crash}")
    if fault.pause is not None:
        what.append("a pause")
    where = ""
    if fault.operation:
        where = f" on {fault.operation}" + (f" {rule.pattern}" if rule.pattern else "")
    when = ""
    if fault.occurrence:
        when = ", occurrence " + ", ".join(map(str, fault.occurrence))
    elif fault.probability is not None:
        when = f", probability {fault.probability:g}"
    elif fault.per_hour is not None:
        when = f", {fault.per_hour:g} an hour"
    if fault.from_ or fault.to is not None:
        when += f", from {format_duration(fault.from_)}" + (
            "" if fault.to is None else f" to {format_duration(fault.to)}"
        )
    who = "" if fault.on == "agents" else " (operators)"
    return f"{' and '.join(what)}{where}{when}{who}"
