"""A case: one way to break an invariant, as a small scenario and the few choices under which the engine plays it.

Made from what a search found (`make_case`), written as YAML (`dump`), read back with every mistake at its place (`load`),
and played again anywhere (`replay`). A replay says whether the case still breaks as it did, breaks otherwise, or met a step
that it names no more, and which operations are made there now. The file's format is `fleetbeat.scenario.case`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fleetbeat import __version__
from fleetbeat.chance.choices import Overrides
from fleetbeat.checks.judge import judge
from fleetbeat.checks.model import Finding, Judgement
from fleetbeat.explore.divergence import divergence
from fleetbeat.explore.model import Found
from fleetbeat.explore.reason import Broken, Programs, Reason, Trial, findings_for, unmet
from fleetbeat.explore.rehearse import rehearse
from fleetbeat.explore.sentence import tell
from fleetbeat.explore.sketch import of_schedule
from fleetbeat.history.records import Record, digest
from fleetbeat.scenario.case import load_case_file
from fleetbeat.scenario.dump import OnOneLine, brief, written
from fleetbeat.scenario.dump import dump as dump_scenario
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.load import ScenarioError
from fleetbeat.scenario.load import load as load_scenario
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents
from fleetbeat.scenario.yaml12 import DEFAULT, Limits


class CaseError(Exception):
    """A finding that could not be made into a case, or a case that does not break. The message is one line."""


@dataclass(frozen=True, slots=True)
class Case:
    """`kind` and `cause` as in `Finding`; `broken`: every invariant that breaks in it; `programs`: (name, digest of its
    file) of the agents' programs; `version`: of the fleetbeat that made it."""

    scenario: Scenario
    overrides: Overrides
    invariant: str
    kind: str
    cause: str
    sentence: str = ""
    broken: tuple[str, ...] = ()
    programs: tuple[tuple[str, str], ...] = ()
    version: str = __version__

    @property
    def size(self) -> int:
        """How many choices it sets."""
        return len(self.overrides.bits) + len(self.overrides.ties) + len(self.overrides.holds)

    @property
    def reason(self) -> Reason:
        """Invariant, class and cause; whatever became of the posts."""
        return Reason(self.invariant, self.kind, self.cause)


# --- making ---


def make_case(found: Found, programs: Programs | None = None) -> Case:
    """The case of a finding, verified on the engine.

    `programs`: other programs than the plan's by name. Raises `CaseError` if the engine cannot be made to break for the
    same reason.
    """
    plan = found.plan
    own = {agent.spec.agent: agent.program for agent in plan.agents} if programs is None else programs
    trial = Trial(Reason(found.invariant, found.kind, found.cause), own)
    names = [agent.name for agent in plan.agents]
    if found.finding.agent in names:
        names = [str(found.finding.agent)]
    for name in names:
        broken = rehearse(of_schedule(plan.scenario, found.schedule, name), trial)
        if broken is not None:
            return case_of(broken)
    what = f"{found.invariant} ({found.kind}, {found.cause})"
    raise CaseError(
        f"{what} was found in {len(found.schedule)} steps, and the engine did not break it in {trial.runs} runs: "
        "what it depends on is not in the schedule of one agent"
    )


def case_of(broken: Broken) -> Case:
    """The case of a run that breaks, told by its sentence."""
    finding = broken.finding
    return Case(
        broken.scenario,
        broken.overrides,
        finding.invariant,
        finding.kind,
        finding.cause,
        tell(broken.records, finding),
        broken.broken,
        programs_of(broken.scenario),
    )


def programs_of(scenario: Scenario) -> tuple[tuple[str, str], ...]:
    """Name and digest of each program that the scenario's agents run. Raises `ScenarioError` for one that is not there."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(spec.agent for spec in agents(scenario)):
        folder = find_agent(name)
        manifest = load_manifest(folder)
        found[manifest.name] = digest((folder / manifest.program).read_bytes())
    return tuple(found.items())


# --- the file ---


def dump(case: Case) -> str:
    """The case as YAML, the same bytes for the same case."""
    return written(
        {
            "format": 1,
            "fleetbeat": case.version,
            "program": _one_or_more([OnOneLine(name=name, digest=value) for name, value in case.programs]),
            "expect": {
                "broken": list(case.broken),
                "invariant": case.invariant,
                "class": case.kind,
                "cause": case.cause,
                "finding": case.sentence,
            },
            "scenario": scenario_of(case.scenario),
            "choices": choices_of(case.overrides),
        }
    )


def choices_of(overrides: Overrides) -> dict[str, list[OnOneLine]]:
    """Choices as a case file has them, each kind in the order of its steps; kinds without any are left out."""
    kinds = {
        "bits": [
            OnOneLine(stream=stream, step=str(step), value=value)
            for (stream, step), value in sorted(overrides.bits.items(), key=lambda item: (item[0][1], item[0][0]))
        ],
        "ties": [OnOneLine(step=str(step), value=value) for step, value in sorted(overrides.ties.items())],
        "holds": [OnOneLine(step=str(step), until=str(until)) for step, until in sorted(overrides.holds.items())],
    }
    return {kind: items for kind, items in kinds.items() if items}


def _one_or_more(items: Sequence[OnOneLine]) -> object:
    return items[0] if len(items) == 1 else list(items)


def scenario_of(scenario: Scenario) -> object:
    """A scenario as a case holds it: without what is left at its default, where that loads to the same; else everything."""
    data = brief(scenario)
    try:
        if load_scenario(written(data)) == scenario:
            return data
    except ScenarioError:
        pass
    from fleetbeat.scenario.yaml12 import parse

    return parse(dump_scenario(scenario), "<scenario>")[0].plain()


def load(source: Path | str, name: str | None = None, *, limits: Limits = DEFAULT) -> Case:
    """The case of a file (a `Path`) or of a YAML text (a `str`). Raises `ScenarioError` with all mistakes and places."""
    found = load_case_file(source, name, limits=limits)
    expect = found.expect
    programs = tuple((program.name, program.digest) for program in found.programs)
    return Case(
        found.scenario,
        found.choices,
        expect.invariant,
        expect.kind,
        expect.cause,
        expect.finding,
        expect.broken,
        programs,
        found.fleetbeat,
    )


# --- playing it again ---


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of playing a case again. `outcome`: reproduced, differs (another verdict), diverged (a choice names a
    step that does not come, or draws nothing there, any more); `notes` say what is worth knowing in either case."""

    outcome: Literal["reproduced", "differs", "diverged"]
    records: Sequence[Record]
    judgement: Judgement
    finding: Finding | None = None
    broken: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())


def replay(case: Case, programs: Programs | None = None) -> Replay:
    """Plays a case on the engine and compares. Raises `ScenarioError` for a program that is not there."""
    from fleetbeat.engines.des import run

    records = run(case.scenario, case.overrides, programs=None if programs is None else dict(programs))
    judgement = judge(records)
    broken = tuple(verdict.invariant for verdict in judgement.verdicts if verdict.outcome == "broken")
    found = findings_for(case.reason, judgement)
    notes = tuple(_notes(case))
    if unmet(records):
        said = tuple(divergence(case.overrides, records))
        return Replay("diverged", records, judgement, found[0] if found else None, broken, said, notes)
    same = bool(found) and sorted(case.broken) == sorted(broken)
    return Replay(
        "reproduced" if same else "differs", records, judgement, found[0] if found else None, broken, (), notes
    )


def _notes(case: Case) -> Sequence[str]:
    """What has changed since the case was made, in words."""
    said = []
    if case.version and case.version != __version__:
        said.append(f"made by fleetbeat {case.version}, this is {__version__}")
    now: Mapping[str, str] = dict(programs_of(case.scenario))
    for name, value in case.programs:
        if name not in now:
            said.append(f"made with the program {name}, its scenario runs {', '.join(now)}")
        elif now[name] != value:
            said.append(f"the program {name} has changed since (its file was {value}, it is {now[name]})")
    return said
