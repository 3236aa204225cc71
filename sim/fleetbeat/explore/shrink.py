"""Shrinking: the smallest scenario and the fewest choices that still break for the same reason.

First the story is cut out: one agent, the stretch of its history that the finding depends on, put on the stage again with
no more than the order held. Then units are taken out of it (posts, rebuilds, faults, crashes), then choices, then what is
left of the scenario is made plain (duration, times, texts, restarts). Every candidate is played on the engine and judged;
it counts only if it breaks for the same reason (`Reason`). A case that cannot be cut out so (it needs several agents) is
made smaller as a scenario (`coarse`). Deterministic: candidates come in one order. Rejected: shrinking draws, as
property tests do, which know nothing of agents and posts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fleetbeat.chance.choices import Overrides
from fleetbeat.explore.case import Case, CaseError, case_of
from fleetbeat.explore.coarse import coarser
from fleetbeat.explore.minimal import minimal
from fleetbeat.explore.plainer import plainer, weight
from fleetbeat.explore.reason import Broken, OutOfRuns, Programs, Trial
from fleetbeat.explore.rehearse import MANNERS, rehearse
from fleetbeat.explore.sketch import BETWEEN, FAULTABLE, Sketch, episode, is_death, of_history
from fleetbeat.explore.windows import windows
from fleetbeat.history.records import Record

#: Runs of the engine that shrinking may take; a small case takes fifty to two hundred, of a few milliseconds each.
BUDGET = 1500
#: Told after each step forward: runs so far, and the smallest so far.
Progress = Callable[[int, Case], None]


def shrink(
    case: Case, progress: Progress | None = None, budget: int = BUDGET, programs: Programs | None = None
) -> Case:
    """The smallest case found that breaks for the same reason.

    `budget`: runs of the engine. `programs` replaces programs by name. Raises `CaseError` if the case does not break.
    """
    trial = Trial(case.reason, programs, max(1, budget))
    best = trial.broken(case.scenario, case.overrides)
    if best is None:
        raise CaseError(
            f"{case.invariant} ({case.kind}, {case.cause}): got a case that does not break so, expected one"
        )
    trial.reason = best.reason
    trial.forget()
    shrinking = _Shrinking(trial, best, progress)
    try:
        shrinking.run()
    except OutOfRuns:
        pass
    return case_of(shrinking.best)


@dataclass(slots=True)
class _Shrinking:
    trial: Trial
    best: Broken
    progress: Progress | None

    def run(self) -> None:
        if not self._cut_out():
            for smaller in coarser(self.trial, self.best):
                self._take(smaller)
            self._cut_out()
        while True:
            before = weight(self.best)
            self._fewer_units()
            self._earlier_deaths()
            self._fewer_choices()
            for smaller in plainer(self.trial, self.best):
                self._take(smaller)
            if weight(self.best) >= before:
                return

    def _take(self, smaller: Broken | None) -> bool:
        """Goes on from a smaller run, if it is one."""
        if smaller is None or weight(smaller) > weight(self.best):
            return False
        self.best = smaller
        if self.progress is not None:
            self.progress(self.trial.runs, case_of(smaller))
        return True

    def _cut_out(self) -> bool:
        """One agent and a stretch of its history, staged anew; says whether that breaks for the same reason."""
        best = self.best
        agent = best.finding.agent
        if agent is None:
            return False
        own = of_agent(best.records, agent)
        for window in windows(own, best.finding):
            sketch = of_history(best.scenario, own, agent, window)
            if sketch is None:
                return False
            staged = rehearse(sketch, self.trial)
            if staged is not None:
                return self._take(staged)
        return False

    def _sketch(self) -> Sketch | None:
        agent = self.best.finding.agent
        return None if agent is None else of_history(self.best.scenario, self.best.records, agent)

    def _fewer_units(self) -> None:
        sketch = self._sketch()
        if sketch is None or not sketch.units:
            return
        units = sketch.units
        found: dict[tuple[object, ...], Broken | None] = {}

        def breaks(kept: tuple[tuple[object, ...], ...]) -> bool:
            gone = [unit for unit in units if unit not in kept]
            found[kept] = rehearse(sketch.without(gone), self.trial, MANNERS)
            return found[kept] is not None

        if rehearse(sketch, self.trial) is not None:
            kept = minimal(units, breaks)
            self._take(found.get(kept))

    def _earlier_deaths(self) -> None:
        """Processes that die do so as early in their episode as serves: less happens, and less is needed for it."""
        sketch = self._sketch()
        for event in sketch.events if sketch is not None else ():
            if sketch is None or not is_death(event) or event.outcome.startswith(BETWEEN):
                continue
            for earlier in sketch.events:
                if episode(earlier) != episode(event) or earlier.step.operation not in FAULTABLE:
                    continue
                if earlier.step == event.step:
                    break
                staged = rehearse(sketch.dying_at(event, earlier), self.trial)
                if staged is not None and weight(staged)[:-1] <= weight(self.best)[:-1]:
                    self.best = staged
                    return

    def _fewer_choices(self) -> None:
        overrides = self.best.overrides
        choices: list[_Choice] = [("hold", step, until) for step, until in sorted(overrides.holds.items())]
        choices += [("tie", step, value) for step, value in sorted(overrides.ties.items())]
        choices += [("bits", name, value) for name, value in sorted(overrides.bits.items())]
        minimal(choices, lambda kept: self._take(self.trial.broken(self.best.scenario, _overrides(kept))))


#: A choice of a case: its kind, what it names, and its value.
_Choice = tuple[str, Any, Any]


def _overrides(kept: Sequence[_Choice]) -> Overrides:
    parts: dict[str, dict[Any, Any]] = {"bits": {}, "tie": {}, "hold": {}}
    for kind, name, value in kept:
        parts[kind][name] = value
    return Overrides(parts["bits"], parts["tie"], parts["hold"])


def of_agent(records: Sequence[Record], agent: str) -> list[Record]:
    """The part of a history that an agent's own checks and sketches need."""
    return [record for record in records if record.get("agent", agent) in (agent, None)]
