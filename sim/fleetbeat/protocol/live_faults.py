"""Which fault strikes which operation of one agent: the same draws, by name, as the simulation's injector.

Windows are judged at the operation's start. Occurrences are counted within the window, over all lives: the harness hands
the count of earlier lives down, so it is reported whenever it moves. Standard library only.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from fnmatch import fnmatchcase

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.hits import is_hit
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.protocol.faults import Outcome, effects_in_words
from fleetbeat.protocol.live_plan import AgentPlan, FaultPlan


class Strikes:
    """`counted(fault, n)` is called for every occurrence that a fault counts."""

    def __init__(self, agent: AgentPlan, choices: Choices, counted: Callable[[str, int], None]) -> None:
        self._choices = choices
        self._counted = counted
        self._seen = dict(agent.seen)
        self._by_kind: dict[str, list[FaultPlan]] = {}
        for fault in agent.faults:
            self._by_kind.setdefault(fault.operation, []).append(fault)

    def outcome(self, step: Step, now_ns: int) -> Outcome | None:
        """What befalls this operation, which starts now; None for nothing. Counts the occurrence."""
        faults = self._by_kind.get(step.operation)
        if faults is None:
            return None
        fired = [fault for fault in faults if self._strikes(fault, step, now_ns)]
        return self._combine(fired, step) if fired else None

    def _strikes(self, fault: FaultPlan, step: Step, now_ns: int) -> bool:
        if now_ns < fault.begin or (fault.end is not None and now_ns >= fault.end):
            return False
        if fault.pattern is not None and not (step.path == fault.pattern or fnmatchcase(step.path, fault.pattern)):
            return False
        if fault.occurrence:
            return self._count(fault) in fault.occurrence
        return fault.probability is None or is_hit(fault.probability, self._choices, f"fault:{fault.id}", step)

    def _count(self, fault: FaultPlan) -> int:
        count = self._seen[fault.id] = self._seen.get(fault.id, 0) + 1
        if count <= max(fault.occurrence):
            self._counted(fault.id, count)
        return count

    def _combine(self, fired: list[FaultPlan], step: Step) -> Outcome:
        """Several faults on one operation: the first error and the first crash count, delays and pauses add up."""
        delay = pause = 0
        for fault in fired:
            if fault.delay is not None:
                delay += draw(fault.delay, self._choices, f"fault:{fault.id}:delay", step)
            if fault.pause is not None:
                pause += draw(fault.pause, self._choices, f"fault:{fault.id}:pause", step)
        failing = next((fault for fault in fired if fault.error), None)
        dying = next((fault for fault in fired if fault.crash), None)
        return Outcome(
            fired=tuple((fault.id, effects_in_words(fault)) for fault in fired),
            error=None if failing is None else getattr(errno, str(failing.error)),
            effect="before" if failing is None else failing.effect,
            delay_ns=delay,
            crash=None if dying is None else dying.crash,
            pause_ns=pause,
            killer=None if dying is None else dying.id,
        )
