"""Case files: choices of a run that are set by name, so that a race can be played again.

    format: 1
    fleetbeat: 0.1.0                                     # who wrote it; from here to `expect` a case alone needs it
    program: {name: reference, digest: 1f0c...}          # the agents' programs, one or several
    scenario: {name: ..., fleet: ..., rollouts: ...}
    expect: {broken: [no-silent-loss], invariant: no-silent-loss, class: gap, cause: protocol, finding: one sentence}
    choices:
      bits:  [{stream: jitter, step: "a-3/beat#0.17:tick", value: 0}]
      ties:  [{step: {actor: a-3/beat, episode: 17, operation: unlink, path: .rules}, value: 5}]
      holds: [{step: "a-3/beat#0.17:unlink .rules", until: "op:v2/a-3#0.1:rename .rules"}]

A step is written as a mapping or as the text that `str(Step)` prints. `run --case` takes the choices and lays them over
the scenario that it is given; `replay` plays the file's own. Where the file holds a scenario, its steps must be of that
scenario's actors and its faults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.scenario.load import load_node
from fleetbeat.scenario.mistakes import Mistake, ScenarioError, listed, quoted
from fleetbeat.scenario.model import Frozen, Scenario
from fleetbeat.scenario.read import kept, place, raise_if, validate
from fleetbeat.scenario.resolve import agents, fault_ids, targets
from fleetbeat.scenario.shapes import OneOrMore
from fleetbeat.scenario.units import Whole, expected
from fleetbeat.scenario.words import INVARIANTS
from fleetbeat.scenario.yaml12 import DEFAULT, Limits, Node, parse, read_text

_STEP = re.compile(r"([^#\s]+)#([0-9]{1,10})\.([0-9]{1,10}):([^\s@]*)(?: (.*?))?(?:@([1-9][0-9]{0,5}))?", re.DOTALL)
_Key = TypeVar("_Key")
_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


#: Values by name: 64 bits by (stream, step), 64 bits by step, and the step that must come first by step.
CaseChoices = Overrides


class StepModel(Frozen):
    """The fields of `fleetbeat.chance.step.Step`."""

    actor: Annotated[str, Field(min_length=1, pattern=r"^[^#\s]+$")]
    life: Annotated[Whole, Field(ge=0, lt=2**16)] = 0
    episode: Annotated[Whole, Field(ge=0, lt=2**32)] = 0
    operation: Annotated[str, Field(pattern=r"^[^\s@]*$")] = ""
    path: str = ""
    nth: Annotated[Whole, Field(ge=0, lt=2**16)] = 0


def parse_step(text: str) -> Step:
    """The step that prints as this text. Raises ValueError if there is none."""
    match = _STEP.fullmatch(text)
    if match is None:
        raise ValueError("a step such as 'a-3/beat#0.17:unlink .rules' (actor#life.episode:operation path@nth)")
    actor, life, episode, operation, path, nth = match.groups()
    return Step(actor, int(life), int(episode), operation, path or "", int(nth or 0))


def _step_fields(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return parse_step(value)._asdict()
        except ValueError as error:
            raise expected(str(error)) from None
    if isinstance(value, Step):
        return value._asdict()
    if not isinstance(value, dict | StepModel):
        raise expected("a step, as text or as a mapping")
    return value


_AnyStep = Annotated[StepModel, BeforeValidator(_step_fields)]
_Bits = Annotated[Whole, Field(ge=0, le=2**64 - 1)]


class _Drawn(Frozen):
    stream: Annotated[str, Field(min_length=1)]
    step: _AnyStep
    value: _Bits


class _Tie(Frozen):
    step: _AnyStep
    value: _Bits


class _Hold(Frozen):
    step: _AnyStep
    until: _AnyStep


class _Choices(Frozen):
    bits: tuple[_Drawn, ...] = ()
    ties: tuple[_Tie, ...] = ()
    holds: tuple[_Hold, ...] = ()


class Program(Frozen):
    """An agent's program as it was when the case was found; `digest` is of its file's bytes."""

    name: Annotated[str, Field(min_length=1)]
    digest: str


class Expected(Frozen):
    """What the case breaks: every invariant, and the one that it is about, with class, cause and the story."""

    broken: Annotated[tuple[str, ...], OneOrMore()] = ()
    invariant: str
    kind: Annotated[Literal["violation", "gap", "hazard"], Field(alias="class")]
    cause: Literal["agent", "protocol", "writer", "environment"]
    finding: str = ""


class _Case(Frozen):
    format: Literal[1]
    fleetbeat: str = ""
    program: Annotated[tuple[Program, ...], OneOrMore()] = ()
    scenario: Any = None
    choices: _Choices = _Choices()
    expect: Expected | None = None


@dataclass(frozen=True, slots=True)
class CaseFile:
    """All that a case file says."""

    fleetbeat: str
    programs: tuple[Program, ...]
    scenario: Scenario
    choices: CaseChoices
    expect: Expected


def load_case(source: Path | str, name: str | None = None, *, limits: Limits = DEFAULT) -> CaseChoices:
    """The choices of a case file (a `Path`) or of a YAML text (a `str`). Raises `ScenarioError` with all mistakes."""
    _, _, choices, mistakes = _read(source, name, limits)
    raise_if(mistakes)
    return choices


def load_case_file(
    source: Path | str, name: str | None = None, *, folder: Path | None = None, limits: Limits = DEFAULT
) -> CaseFile:
    """A whole case: its scenario, choices and expectation. Raises `ScenarioError` with all mistakes.

    `folder` is where relative names of files in the scenario start (default: the case file's folder).
    """
    case, root, choices, mistakes = _read(source, name, limits)
    for part in ("scenario", "expect"):
        if getattr(case, part) is None:
            said = "a value: a case that is replayed holds its scenario and what it breaks"
            mistakes.append(place(root, (part,), said))
    scenario: Scenario | None = None
    node = root.value.get("scenario") if isinstance(root.value, dict) else None
    if node is not None and case.scenario is not None:
        scenario, wrong = load_node(node, folder or (source.parent if isinstance(source, Path) else Path()))
        mistakes += wrong
    if scenario is not None:
        mistakes += _strangers(root, case, scenario)
    expect = case.expect
    for index, invariant in enumerate((expect.broken, (expect.invariant,)) if expect is not None else ()):
        for at, one in enumerate(invariant):
            if one not in INVARIANTS:
                path = ("expect", "invariant") if index else kept(root, ("expect", "broken", at))
                mistakes.append(place(root, path, "an invariant's id", INVARIANTS))
    raise_if(mistakes)
    assert scenario is not None
    assert expect is not None
    return CaseFile(case.fleetbeat, case.program, scenario, choices, expect)


def _strangers(root: Node, case: _Case, scenario: Scenario) -> list[Mistake]:
    """Steps of actors that this scenario does not have, and faults that it does not name."""
    actors = actors_of(scenario)
    faults = {f"fault:{name}" for name in fault_ids(scenario)}
    found = []
    for kind, items in (("bits", case.choices.bits), ("ties", case.choices.ties), ("holds", case.choices.holds)):
        for index, item in enumerate(items):
            for part in ("step", "until"):
                step = getattr(item, part, None)
                if step is not None and step.actor not in actors:
                    said = f"an actor of this scenario: {listed(sorted(actors), 8)}"
                    path = kept(root, ("choices", kind, index, part))
                    found.append(place(root, path, said, got=f"the actor {quoted(step.actor)}"))
            stream = getattr(item, "stream", "")
            if stream.startswith("fault:") and ":".join(stream.split(":")[:2]) not in faults:
                known = listed(sorted(faults)) if faults else "no fault, for this scenario has none"
                found.append(place(root, kept(root, ("choices", kind, index, "stream")), known, faults))
    return found


def actors_of(scenario: Scenario) -> set[str]:
    """Every actor that a step of this scenario can name."""
    fleet = agents(scenario)
    found = {"harness", *(host.name for host in scenario.fleet.hosts)}
    for spec in fleet:
        found |= {spec.name, f"{spec.name}/beat", f"{spec.name}/rebuild"}
        if spec.parent is not None and spec.hand_down != "none":
            found.add(f"{spec.parent}/hand-down")
    for rollout in scenario.rollouts:
        found.add(f"{rollout.operator}:{rollout.version}")
        found |= {f"{rollout.operator}:{rollout.version}/{target}" for target in targets(rollout, fleet)}
    return found


def _read(source: Path | str, name: str | None, limits: Limits) -> tuple[_Case, Node, CaseChoices, list[Mistake]]:
    shown = name or (str(source) if isinstance(source, Path) else "<text>")
    text = read_text(source, shown, limits.size) if isinstance(source, Path) else source
    root, mistakes = parse(text, shown, limits)
    if isinstance(root.value, dict) and "fleet" in root.value and "format" not in root.value:
        said = "a case (format: 1, scenario, choices, expect)"
        raise ScenarioError([Mistake(root.where, "", "a scenario, which `fleetbeat run` plays", said)])
    case, wrong = validate(_Case, root)
    mistakes += wrong
    if case is None:
        raise_if(mistakes)
    assert case is not None
    chosen = case.choices
    gather = _Gatherer(root, mistakes)
    choices = CaseChoices(
        bits=gather.once("bits", chosen.bits, lambda item: (item.stream, _step(item.step)), lambda item: item.value),
        ties=gather.once("ties", chosen.ties, lambda item: _step(item.step), lambda item: item.value),
        holds=gather.once("holds", chosen.holds, lambda item: _step(item.step), lambda item: _step(item.until)),
    )
    return case, root, choices, mistakes


def _step(model: StepModel) -> Step:
    return Step(model.actor, model.life, model.episode, model.operation, model.path, model.nth)


@dataclass(frozen=True, slots=True)
class _Gatherer:
    root: Node
    mistakes: list[Mistake]

    def once(
        self, kind: str, items: Sequence[_Item], key: Callable[[_Item], _Key], value: Callable[[_Item], _Value]
    ) -> dict[_Key, _Value]:
        """Items by their name; a name may be given once."""
        found: dict[_Key, _Value] = {}
        for index, item in enumerate(items):
            name, what = key(item), value(item)
            if name in found:
                self.mistakes.append(
                    place(self.root, ("choices", kind, index), "each choice once", got=f"{quoted(_said(name))} again")
                )
            elif name == what:
                self.mistakes.append(
                    place(self.root, ("choices", kind, index, "until"), "another step than the one that is held")
                )
            found[name] = what
        return found


def _said(name: object) -> str:
    return f"{name[0]} {name[1]}" if isinstance(name, tuple) and len(name) == 2 else str(name)
