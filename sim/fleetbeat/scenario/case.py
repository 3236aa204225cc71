"""Case files: choices of a run that are set by name, so that a race can be played again.

    format: 1
    choices:
      bits:  [{stream: jitter, step: "a-3/beat#0.17:tick", value: 0}]
      ties:  [{step: {actor: a-3/beat, episode: 17, operation: unlink, path: .rules}, value: 5}]
      holds: [{step: "a-3/beat#0.17:unlink .rules", until: "op:v2/a-3#0.1:rename .rules"}]

A step is written as a mapping or as the text that `str(Step)` prints.
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
from fleetbeat.scenario.mistakes import Mistake, quoted
from fleetbeat.scenario.model import Frozen
from fleetbeat.scenario.read import place, raise_if, validate
from fleetbeat.scenario.units import Whole, expected
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


class _Case(Frozen):
    format: Literal[1]
    choices: _Choices = _Choices()


def load_case(source: Path | str, name: str | None = None, *, limits: Limits = DEFAULT) -> CaseChoices:
    """The choices of a case file (a `Path`) or of a YAML text (a `str`). Raises `ScenarioError` with all mistakes."""
    shown = name or (str(source) if isinstance(source, Path) else "<text>")
    text = read_text(source, shown, limits.size) if isinstance(source, Path) else source
    root, mistakes = parse(text, shown, limits)
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
    raise_if(mistakes)
    return choices


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
