"""What a search has found so far: observable pasts, judged once each, and the first schedule for each way to break."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fleetbeat.checks.model import Check
from fleetbeat.explore.model import Event, Found
from fleetbeat.explore.observe import Past, broken, history_of_past, judged, outcome_of
from fleetbeat.explore.space import Space

#: Judgements after which the garbage that they leave is looked for.
SWEEP = 64


@contextmanager
def few_collections() -> Iterator[None]:
    """A search keeps nearly all that it makes, and looking through all of that for garbage took most of the time.

    Only judging leaves cycles behind; `Tally.end` collects those while they are young.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Tally:
    """`invariant`: look for this one alone. `on_found` is told each distinct finding at once. `keep_outcomes` collects
    what `outcome_of` says of every past, to compare searches by.
    """

    def __init__(
        self,
        space: Space,
        invariant: str | None = None,
        checks: Sequence[Check] | None = None,
        extra: Sequence[Check] = (),
        on_found: Callable[[Found], None] | None = None,
        keep_outcomes: bool = False,
    ) -> None:
        self.space = space
        self.invariant = invariant
        self.checks = checks
        self.extra = extra
        self.on_found = on_found
        self.keep_outcomes = keep_outcomes
        self.found: dict[tuple[str, str, str], Found] = {}
        self.outcomes: set[object] = set()
        self.ends: set[bytes] = set()

    def end(self, past: Past, schedule: Callable[[], tuple[Event, ...]]) -> None:
        """A schedule ended with this past; `schedule` tells it, if it is wanted."""
        if past.digest in self.ends:
            return
        self.ends.add(past.digest)
        if not len(self.ends) % SWEEP:
            gc.collect(0)
        plan = self.space.plan
        judgement = judged(history_of_past(plan, self.space.worlds.known, past), self.extra, self.checks)
        if self.keep_outcomes:
            self.outcomes.add(outcome_of(judgement))
        told: tuple[Event, ...] | None = None
        for finding in broken(judgement):
            key = (finding.invariant, finding.kind, finding.cause)
            if key in self.found or (self.invariant is not None and finding.invariant != self.invariant):
                continue
            if told is None:
                told = schedule()
            found = self.found[key] = Found(*key, told, plan, finding)
            if self.on_found is not None:
                self.on_found(found)

    def join(self, found: Sequence[Found], ends: frozenset[bytes], outcomes: frozenset[object]) -> None:
        """Takes over what another process found, later in the order of the search than what is here."""
        self.ends |= ends
        self.outcomes |= outcomes
        for one in found:
            if one.key not in self.found:
                self.found[one.key] = one
                if self.on_found is not None:
                    self.on_found(one)
