"""A case of the event framework: one way to break an invariant, as a scenario and the moves of one of its small worlds.

    format: 1
    fleetbeat: 0.1.0
    program: {name: core-no-guard, digest: 1f0c...}     # the core
    expect: {broken: [no-self-trigger], invariant: no-self-trigger, class: violation, cause: agent, finding: one sentence}
    scenario: {name: ..., fleet: ..., workload: ...}
    framework:
      world: chains
      limits: {prompts: 1, calls: 4, ...}
      schedule: [{move: prompt, of: s-0}, {move: task, of: s-0, nth: 1}]

Moves are named, so that a replay says which one cannot be made any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from fleetbeat import __version__
from fleetbeat.checks.chains import shortest
from fleetbeat.checks.model import Finding
from fleetbeat.explore.case import CaseError, scenario_of
from fleetbeat.explore.framework.plan import MOST, Limits, Plan, Scene, plan_of
from fleetbeat.explore.framework.search import Found, head_of
from fleetbeat.explore.framework.world import Move, World
from fleetbeat.explore.keep import keep_text
from fleetbeat.explore.model import ExploreError
from fleetbeat.history.records import SCHEMA, Record, digest
from fleetbeat.scenario.case import Expected, Program
from fleetbeat.scenario.dump import OnOneLine, written
from fleetbeat.scenario.library import find_core
from fleetbeat.scenario.load import load_node
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.mistakes import Mistake, ScenarioError, Where
from fleetbeat.scenario.model import Frozen, Scenario
from fleetbeat.scenario.read import place, raise_if, validate
from fleetbeat.scenario.shapes import OneOrMore
from fleetbeat.scenario.units import Whole
from fleetbeat.scenario.words import OF_FRAMEWORK
from fleetbeat.scenario.yaml12 import DEFAULT, Node, parse, read_text

#: Where the framework's cases are kept, beside those of the signal.
FOLDER = "framework"


@dataclass(frozen=True, slots=True)
class Case:
    """`limits`: those that the world was made with; `broken`: every invariant that breaks in it; `core`: name and digest of
    the core's file."""

    scenario: Scenario
    limits: Limits
    world: str
    schedule: tuple[Move, ...]
    invariant: str
    kind: str
    cause: str
    sentence: str = ""
    broken: tuple[str, ...] = ()
    core: tuple[str, str] = ("", "")
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of playing a case again. `outcome`: reproduced, differs (another verdict), diverged (a move cannot be made
    any more). `finding`: what broke for the case's reason, with the shortest chain of causes."""

    outcome: Literal["reproduced", "differs", "diverged"]
    records: Sequence[Record]
    finding: Finding | None = None
    broken: tuple[str, ...] = ()
    diverged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# --- making ---


def make_case(found: Found) -> tuple[Case, Replay]:
    """The case of a finding, and how it plays. Raises `CaseError` if it does not break when it is played again."""
    plan, finding = found.plan, found.finding
    case = Case(
        plan.scenario,
        plan.limits,
        found.scene.name,
        found.schedule,
        finding.invariant,
        finding.kind,
        finding.cause,
        core=core_of(plan.scenario),
    )
    played = _played(plan, found.scene, case)
    if played.finding is None:
        raise CaseError(
            f"{finding.invariant} ({finding.kind}, {finding.cause}) was found in {len(found.schedule)} moves, and does not "
            "break when they are told with a millisecond between them: it depends on all of them at one instant"
        )
    told = Case(
        case.scenario,
        case.limits,
        case.world,
        case.schedule,
        case.invariant,
        case.kind,
        case.cause,
        played.finding.message,
        played.broken,
        case.core,
    )
    return told, played


def core_of(scenario: Scenario) -> tuple[str, str]:
    """Name of the scenario's core, and the digest of its file."""
    folder = find_core(scenario.fleet.core.program)
    manifest = load_manifest(folder)
    return manifest.name, digest((folder / (manifest.core or "")).read_bytes()) if manifest.core else ""


# --- the file ---


class _MoveModel(Frozen):
    move: Annotated[str, Field(min_length=1)]
    of: str = ""
    number: Annotated[Whole, Field(ge=0)] = 0
    nth: Annotated[Whole, Field(ge=0)] = 0
    answer: Literal["", "approve", "reject", "ignore"] = ""


_Bound = Annotated[Whole, Field(ge=0, le=MOST)]


class _LimitsModel(Frozen):
    prompts: Annotated[Whole, Field(ge=1, le=MOST)] = 1
    calls: Annotated[Whole, Field(ge=1, le=MOST)] = 4
    tasks: _Bound = 3
    bodies: _Bound | None = None
    rebuilds: _Bound = 1
    crashes: _Bound = 1
    waits: _Bound = 1
    dismissals: _Bound = 1
    failures: _Bound | None = None
    troubles: _Bound = 1


class _Framework(Frozen):
    world: str
    limits: _LimitsModel = _LimitsModel()
    schedule: tuple[_MoveModel, ...]


class _File(Frozen):
    format: Literal[1]
    fleetbeat: str = ""
    program: Annotated[tuple[Program, ...], OneOrMore()] = ()
    scenario: Any
    expect: Expected
    framework: _Framework


def dump(case: Case) -> str:
    """The case as YAML, the same bytes for the same case."""
    name, value = case.core
    return written(
        {
            "format": 1,
            "fleetbeat": case.version,
            "program": OnOneLine(name=name, digest=value),
            "expect": {
                "broken": list(case.broken),
                "invariant": case.invariant,
                "class": case.kind,
                "cause": case.cause,
                "finding": case.sentence,
            },
            "scenario": scenario_of(case.scenario),
            "framework": {
                "world": case.world,
                "limits": OnOneLine(**{k: v for k, v in asdict(case.limits).items() if v is not None}),
                "schedule": [OnOneLine(**_move(move)) for move in case.schedule],
            },
        }
    )


def _move(move: Move) -> dict[str, object]:
    told = {"move": move.what, "of": move.whose, "number": move.number, "nth": move.nth, "answer": move.answer}
    return {name: value for name, value in told.items() if value or name == "move"}


def keep(case: Case, directory: Path) -> Path:
    """Writes a case below the directory of cases; returns its file. Raises OSError."""
    name = digest(dump(case).encode())[:10]
    return keep_text(directory / FOLDER, f"{case.invariant}-{case.kind}-{case.cause}-{name}.yaml", dump(case))


def is_case(path: Path) -> bool:
    """Whether the file looks like a case of the framework; False for one that cannot be read, which others will say."""
    try:
        root, _ = parse(read_text(path, str(path), DEFAULT.size), str(path), DEFAULT)
    except ScenarioError:
        return False
    return isinstance(root.value, dict) and "framework" in root.value


def load(source: Path | str, name: str | None = None) -> Case:
    """The case of a file (a `Path`) or of a YAML text (a `str`). Raises `ScenarioError` with all mistakes and places."""
    shown = name or (str(source) if isinstance(source, Path) else "<text>")
    text = read_text(source, shown, DEFAULT.size) if isinstance(source, Path) else source
    root, mistakes = parse(text, shown, DEFAULT)
    file, wrong = validate(_File, root)
    mistakes += wrong
    if file is None:
        raise_if(mistakes)
    assert file is not None
    assert isinstance(root.value, dict)
    node: Node = root.value["scenario"]
    scenario, wrong = load_node(node, source.parent if isinstance(source, Path) else Path())
    mistakes += wrong
    expect = file.expect
    if expect.invariant not in OF_FRAMEWORK:
        said = f"an invariant of the framework ({', '.join(OF_FRAMEWORK)})"
        mistakes.append(place(root, ("expect", "invariant"), said, OF_FRAMEWORK))
    raise_if(mistakes)
    assert scenario is not None
    limits = Limits(**file.framework.limits.model_dump())
    schedule = tuple(Move(one.move, one.of, one.number, one.nth, one.answer) for one in file.framework.schedule)
    core = (file.program[0].name, file.program[0].digest) if file.program else ("", "")
    return Case(
        scenario,
        limits,
        file.framework.world,
        schedule,
        expect.invariant,
        expect.kind,
        expect.cause,
        expect.finding,
        expect.broken,
        core,
        file.fleetbeat,
    )


# --- playing it again ---


def replay(case: Case) -> Replay:
    """Plays a case and compares.

    Raises `ScenarioError` for a world that the scenario does not have, or a core that is not there; `ProgramError` for a
    core that does not load.
    """
    try:
        plan = plan_of(case.scenario, case.limits)
    except ExploreError as error:
        raise ScenarioError([Mistake(_where(case), "", str(error), "a scenario with a workload")]) from error
    scene = next((one for one in plan.scenes if one.name == case.world), None)
    if scene is None:
        known = ", ".join(repr(one.name) for one in plan.scenes)
        raise ScenarioError([Mistake(_where(case), "", f"the world {case.world!r}", f"one of {known}")])
    return _played(plan, scene, case)


def _where(case: Case) -> Where:
    return Where(f"case of {case.scenario.name}")


def _played(plan: Plan, scene: Scene, case: Case) -> Replay:
    world = World(plan, scene, head_of(plan), {}, told=True)
    diverged: list[str] = []
    for number, move in enumerate(case.schedule, 1):
        try:
            world.play(move, strict=True)
        except KeyError:
            known = ", ".join(str(one) for one in world.moves()) or "nothing"
            diverged.append(f"move {number}, {move}: cannot be made; what can: {known}")
            break
    findings = world.findings()
    broken = tuple(sorted({finding.invariant for finding in findings}))
    same = [one for one in findings if (one.invariant, one.kind, one.cause) == (case.invariant, case.kind, case.cause)]
    best = _best(same)
    is_same = best is not None and (not case.broken or tuple(sorted(case.broken)) == broken)
    outcome: Literal["reproduced", "differs", "diverged"] = "reproduced" if is_same else "differs"
    records = history_of(plan, world)
    return Replay("diverged" if diverged else outcome, records, best, broken, tuple(diverged), _notes(case))


def _best(findings: Sequence[Finding]) -> Finding | None:
    """The one with the shortest chain of causes."""
    chain = shortest([one.chain for one in findings])
    return next((one for one in findings if one.chain == tuple(chain)), findings[0] if findings else None)


def history_of(plan: Plan, world: World) -> list[Record]:
    """A whole history, as `fleetbeat check` reads one: what the framework's records stand in."""
    scenario, now = plan.scenario, world.hosting.now
    run = {
        "schema": SCHEMA,
        "fleetbeat": __version__,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "engine": "explore",
        "duration": now,
        "observed": [],
        "expect": {},
        "bound": 2,
    }
    return [
        Record(0, "harness", "run", run),
        *head_of(plan),
        *world.records,
        Record(now, "harness", "end", {"reason": "duration"}),
    ]


def _notes(case: Case) -> tuple[str, ...]:
    """What has changed since the case was made, in words."""
    said = []
    if case.version and case.version != __version__:
        said.append(f"made by fleetbeat {case.version}, this is {__version__}")
    now = core_of(case.scenario)
    if case.core[0] and case.core != now:
        changed = f"the core {now[0]} has changed since (its file was {case.core[1]}, it is {now[1]})"
        said.append(
            changed if case.core[0] == now[0] else f"made with the core {case.core[0]}, its scenario runs {now[0]}"
        )
    return tuple(said)
