"""What a search is given and what it finds, as frozen data that every part of `explore` shares.

A schedule is a sequence of events: which step took effect, and how it turned out. Steps are named as the engine names
them, so that a schedule can be turned into a case file. Rejected: indices into lists of choices, which mean nothing once
the code has changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleetbeat.chance.step import Step
from fleetbeat.checks.model import Finding

if TYPE_CHECKING:
    from fleetbeat.explore.plan import Plan

OK, CRASH_BEFORE, CRASH_AFTER = "ok", "crash-before", "crash-after"
FAULT, POWER_BEFORE, POWER_AFTER = "fault:", "power-before:", "power-after:"


class ExploreError(Exception):
    """A search that cannot be made: bounds or a scenario that it has no use for. The message is one line."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a search goes. All are "at most".

    `agents` and `posts` are the first of the scenario's (None: one agent; two posts, or what there is). `beats`,
    besides the two that end every schedule, and `rebuilds` (None: one) are for each agent; rebuilds run beside beats
    unless the scenario says otherwise. `faults` (None: one, if the scenario has any) and `crashes` (None: one) may
    strike anywhere. `preemptions`: how often an actor is interrupted in the middle of an episode by another one; None:
    any number. `power`: a crash takes the host's power with it, and every state that unsynced changes may leave is
    tried.
    """

    agents: int | None = None
    posts: int | None = None
    beats: int = 1
    rebuilds: int | None = None
    faults: int | None = None
    crashes: int | None = None
    preemptions: int | None = None
    power: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """One transition of a schedule: a step and its outcome.

    `outcome`: "ok"; "fault:<id>" (the fault struck this step); "crash-before" or "crash-after" (the process of the
    step's actor died before or after the step took effect); "power-before:<pieces>" or "power-after:<pieces>" (its host
    lost power; the unsynced pieces that were kept, joined by ";", each `kind path@nth`). The first event of an episode
    begins it.
    """

    step: Step
    outcome: str = OK

    def __str__(self) -> str:
        return str(self.step) if self.outcome == OK else f"{self.step} [{self.outcome}]"


@dataclass(frozen=True, slots=True)
class Found:
    """One way to break an invariant: the first that the search met with this invariant, class and cause."""

    invariant: str
    kind: str
    cause: str
    schedule: tuple[Event, ...]
    plan: Plan
    finding: Finding

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes findings distinct."""
        return (self.invariant, self.kind, self.cause)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a search came to.

    `complete`: everything within the bounds was searched. `states`: distinct states that were expanded; `schedules`:
    orders that they stand for; `ends`: distinct observable pasts that were judged. `where`: where an incomplete search
    stopped, in words. `interrupted`: by ctrl-C. `notes`: what else a reader must know (a guarantee, a bound).
    `outcomes`: pairs of fates and what broke, if they were asked for.
    """

    found: tuple[Found, ...]
    complete: bool
    states: int
    schedules: int
    where: str = ""
    ends: int = 0
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    outcomes: frozenset[object] = frozenset()

    @property
    def summary(self) -> str:
        """The last line that a reader sees: never alike for a complete search and one that was cut short."""
        if self.complete:
            return f"complete within these bounds: {self.states:,} states, {self.schedules:,} schedules"
        return f"budget ran out at {self.where}" if not self.interrupted else f"interrupted at {self.where}"
