"""Loading: text in, a frozen `Scenario` out, or every mistake at once with its place.

Steps: YAML to nodes, overrides laid over them, files taken in, shape (pydantic), inheritance, meaning. Mistakes of
shape do not keep the meaning of the rest from being checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fleetbeat.scenario import meaning
from fleetbeat.scenario.include import Includer
from fleetbeat.scenario.inherit import inherit
from fleetbeat.scenario.mistakes import Mistake as Mistake
from fleetbeat.scenario.mistakes import ScenarioError as ScenarioError
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.overrides import override
from fleetbeat.scenario.read import raise_if, validate
from fleetbeat.scenario.yaml12 import DEFAULT, Limits, Node, parse, read_text


def load(
    source: Path | str,
    name: str | None = None,
    overrides: Sequence[str] = (),
    *,
    folder: Path | None = None,
    limits: Limits = DEFAULT,
) -> Scenario:
    """The scenario of a file (a `Path`) or of a YAML text (a `str`), with `path=value` overrides laid over it.

    `name` is what messages call the source; `folder` is where relative file names start (default: the file's folder, or
    the working directory). What comes back needs no file any more: bodies and lists are in it, folders of agents are
    absolute, groups have their sections filled in. Raises `ScenarioError` with all mistakes, sorted by position.
    """
    shown = name or (str(source) if isinstance(source, Path) else "<text>")
    text = read_text(source, shown, limits.size) if isinstance(source, Path) else source
    root, mistakes = parse(text, shown, limits)
    for item in overrides:
        try:
            root = override(root, item, limits)
        except ScenarioError as error:
            mistakes += error.mistakes
    scenario, wrong = load_node(root, folder or (source.parent if isinstance(source, Path) else Path()))
    raise_if(mistakes + wrong)
    assert scenario is not None
    return scenario


def load_node(root: Node, folder: Path) -> tuple[Scenario | None, list[Mistake]]:
    """The scenario that YAML nodes hold, as within another file, and every mistake in it. See `load`."""
    includer = Includer(root, folder)
    root = includer.run()
    mistakes = list(includer.mistakes)
    scenario, wrong = validate(Scenario, root)
    if scenario is None:
        return None, mistakes + wrong + meaning.check_rest(root, wrong)
    scenario = inherit(scenario)
    return scenario, mistakes + meaning.check(scenario, root)
