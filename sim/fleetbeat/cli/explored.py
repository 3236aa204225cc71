"""What `fleetbeat explore` tells and keeps: kept cases first, findings as they come, cases, the last line.

A finding is made into a case and shrunk once the search is over, since that takes longer than finding it. Where the
engine does not break for the same reason, the schedule itself is told instead, so that no finding is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fleetbeat.cli.output import Unwritable, narrate
from fleetbeat.cli.replay import joined
from fleetbeat.report.plain import safe

if TYPE_CHECKING:
    from fleetbeat.cli.explored_both import Both
    from fleetbeat.cli.staging import Staging
    from fleetbeat.explore.case import Case
    from fleetbeat.explore.model import Event, Found, Outcome
    from fleetbeat.explore.plan import Plan


@dataclass(slots=True)
class Broken:
    """One way in which a promise breaks, as it is told. `case` is the case file's path and text."""

    invariant: str
    kind: str
    cause: str
    sentence: str
    schedule: tuple[Event, ...] = ()
    case: Path | None = None
    text: str = ""
    diagram: str = ""
    svg: str = ""
    again: bool = False
    trouble: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.invariant, self.kind, self.cause)


class Telling:
    """Collects what there is to tell. `name` is the scenario as it was asked for."""

    def __init__(self, plan: Plan, name: str, cases: Path, quiet: bool) -> None:
        self.plan = plan
        self.name = name
        self.cases = cases
        self.quiet = quiet
        self.broken: dict[tuple[str, str, str], Broken] = {}
        self.programs = {agent.spec.agent: agent.program for agent in plan.agents}

    def replay_kept(self) -> None:
        """Failures first: cases of this scenario and its agents that were kept, played again."""
        from fleetbeat.explore.case import dump
        from fleetbeat.explore.keep import replay_first

        for kept in replay_first(self.cases, self.plan.scenario, self.programs):
            self._say(f"kept case {safe(kept)}")
            case = kept.case
            if kept.state == "failing" and case is not None:
                one = Broken(
                    case.invariant, case.kind, case.cause, case.sentence, (), kept.path, dump(case), again=True
                )
                if one.key not in self.broken:
                    self._draw(one, case)
                    self.broken[one.key] = one

    def found(self, found: Found) -> None:
        """Told at once, before anything is made of it."""
        self._say(f"{found.invariant} breaks ({found.kind}, {found.cause}): {safe(found.finding.message)}")

    def told(self, outcome: Outcome) -> Told:
        """Everything, with a case for each new finding. Ctrl-C leaves the rest without a case, and loses none."""
        for one in outcome.found:
            if one.key in self.broken:
                continue
            self.broken[one.key] = Broken(*one.key, one.finding.message, one.schedule)
            try:
                if not outcome.interrupted:
                    self._case(self.broken[one.key], one)
            except KeyboardInterrupt:
                outcome = replace(outcome, interrupted=True)
        return Told(self.plan, self.name, outcome, list(self.broken.values()))

    def _case(self, one: Broken, found: Found) -> None:
        from fleetbeat.explore.case import CaseError, dump, make_case
        from fleetbeat.explore.keep import keep
        from fleetbeat.explore.shrink import shrink

        try:
            case = shrink(make_case(found), programs=self.programs)
        except CaseError as error:
            one.trouble = str(error)
            return
        one.sentence, one.text = case.sentence, dump(case)
        try:
            one.case = keep(case, self.cases)
        except OSError as error:
            raise Unwritable.at(safe(self.cases), error) from error
        self._draw(one, case)

    def _draw(self, one: Broken, case: Case) -> None:
        from fleetbeat.explore.diagram import svg_of, text_of

        one.diagram = text_of(case, self.programs)
        one.svg = svg_of(case, self.programs)

    def _say(self, text: str) -> None:
        if not self.quiet:
            narrate(text)


@dataclass(slots=True)
class Told:
    """The results of a search, as text and as data."""

    plan: Plan
    name: str
    outcome: Outcome
    broken: list[Broken]

    def text(self) -> str:
        blocks = [self._block(one) for one in self.broken]
        notes = [f"note: {note}" for note in self.outcome.notes]
        return "\n".join([*blocks, f"bounds: {self._bounds()}", *notes, self.last_line(), ""])

    def last_line(self) -> str:
        count = len(self.broken)
        what = "nothing broke" if not count else f"{count} {'way' if count == 1 else 'ways'} to break a promise"
        return f"{what}; {self.outcome.summary}"

    def data(self) -> dict[str, Any]:
        outcome = self.outcome
        return {
            "scenario": self.name,
            "bounds": self._numbers(),
            "complete": outcome.complete,
            "interrupted": outcome.interrupted,
            "states": outcome.states,
            "schedules": outcome.schedules,
            "pasts_judged": outcome.ends,
            "stopped_at": outcome.where or None,
            "summary": outcome.summary,
            "notes": list(outcome.notes),
            "broken": [self._data(one) for one in self.broken],
        }

    def files(self) -> list[tuple[str, str]]:
        """For `-o`: name and text of each case and diagram."""
        return [
            (f"{one.invariant}-{one.kind}-{one.cause}.{ending}", text)
            for one in self.broken
            for ending, text in (("yaml", one.text), ("svg", one.svg))
            if text
        ]

    def _data(self, one: Broken) -> dict[str, Any]:
        return {
            "invariant": one.invariant,
            "class": one.kind,
            "cause": one.cause,
            "sentence": one.sentence,
            "case": None if one.case is None else str(one.case),
            "kept": one.again,
            "schedule": [{"step": str(event.step), "outcome": event.outcome} for event in one.schedule],
            "trouble": one.trouble or None,
        }

    def _block(self, one: Broken) -> str:
        lines = [f"{one.invariant} ({one.kind}, {one.cause}): {safe(one.sentence)}"]
        if one.diagram:  # without its own heading, which says the same
            lines += ["", one.diagram.partition("\n\n")[2].rstrip()]
        if one.case is None:
            lines += [f"  no case: {safe(one.trouble)}"] if one.trouble else []
            lines += [f"  {safe(event)}" for event in one.schedule]
        else:
            lines += ["", f"  replay: {joined(['fleetbeat', 'replay', str(one.case)])}"]
        return "\n".join([*lines, ""])

    def _numbers(self) -> dict[str, Any]:
        bounds = self.plan.bounds
        names = ("agents", "posts", "beats", "rebuilds", "faults", "crashes", "preemptions", "power")
        return {name: getattr(bounds, name) for name in names}

    def _bounds(self) -> str:
        numbers = self._numbers()
        told = [f"{name} {value}" for name, value in numbers.items() if name not in ("preemptions", "power")]
        told.append("preemptions any" if numbers["preemptions"] is None else f"preemptions {numbers['preemptions']}")
        return ", ".join([*told, *(["power loss"] if numbers["power"] else [])])


@dataclass(slots=True)
class Results:
    """What `-o` writes: results.json, results.txt, each case, each diagram. Nothing without it."""

    output: str | None
    staging: Staging | None = field(default=None, init=False)

    def __enter__(self) -> Results:
        if self.output is not None:
            from fleetbeat.cli.staging import Staging

            self.staging = Staging(self.output)
            self.staging.claim()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.staging is not None:
            self.staging.__exit__(kind, error, trace)

    def write(self, told: Both) -> None:
        if self.staging is None:
            return
        self.staging.write("results.json", told.json())
        self.staging.write("results.txt", told.text())
        for name, text in told.files():
            self.staging.write(name, text)
        self.staging.commit()
