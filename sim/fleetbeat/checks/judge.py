"""The judge: a history in, a fate for each post and a verdict for each invariant out.

A verdict is `broken` if a violation or a gap was found. Hazards alone leave it `held`, with the findings attached: they
are allowed, and only `expect` makes them count (see `expect`). A check that raises yields `unknown` with what it
raised, whatever it had found before that; it never yields `held`.
"""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fleetbeat.checks.model import CLASSES, Check, Finding, Invariant, Judgement, Outcome, Unknown, Verdict
from fleetbeat.checks.world import World
from fleetbeat.history.records import Record


class CheckError(Exception):
    """A folder or file of checks that cannot be used; the message names it and says why."""


def judge(records: Iterable[Record], extra: Sequence[Check] = (), checks: Sequence[Check] | None = None) -> Judgement:
    """Judges a history by the built-in checks (or by `checks` instead) and then by `extra`. The event framework's are
    among the built-in ones where there is a workload.

    Raises nothing for a history that fits the schema: where it shows too little, verdicts are unknown.
    """
    from fleetbeat.checks import CHECKS, FRAMEWORK_CHECKS  # the registry imports this module

    with no_collections():
        world = World(records)
        usual = CHECKS if world.framework is None else (*CHECKS, *FRAMEWORK_CHECKS)
        chosen = [*(usual if checks is None else checks), *extra]
        return Judgement(world.fates, tuple(_verdict(world, check) for check in chosen))


@contextmanager
def no_collections() -> Iterator[None]:
    """Nothing that an index of a history holds is garbage, and looking for some took most of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _verdict(world: World, check: Check) -> Verdict:
    invariant = check.invariant
    found: list[Finding] = []
    world.take_examined()
    try:
        for finding in check.run(world):
            if not isinstance(finding, Finding):
                raise TypeError(f"a check yields Finding, got {type(finding).__name__}")
            if type(finding.t) is not int or finding.kind not in CLASSES or not isinstance(finding.message, str):
                raise TypeError("a Finding has t in whole ns, kind violation, gap or hazard, and a message in text")
            found.append(finding)
    except Unknown as error:
        reason = str(error) or "the history does not show enough"
        return Verdict(invariant.id, invariant.promise, "unknown", tuple(found), world.take_examined(), reason)
    except (Exception, SystemExit) as error:  # a check that fails must never count as held, whatever it raises
        reason = f"the check raised {_words(error)}"
        return Verdict(invariant.id, invariant.promise, "unknown", tuple(found), world.take_examined(), reason)
    found.sort(key=lambda finding: finding.t)
    outcome: Outcome = "broken" if any(finding.kind != "hazard" for finding in found) else "held"
    return Verdict(
        invariant.id, invariant.promise, outcome, tuple(found), world.take_examined(), more=world.take_more()
    )


def _words(error: BaseException) -> str:
    """An exception on one line, even if it cannot say what it is."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:
        return type(error).__name__


def load_checks(folder: Path | str) -> list[Check]:
    """The checks of a folder: each `*.py` in name order, with `INVARIANT` and `check(world)`; names with `_` first are
    skipped.

    Raises `CheckError`: no such folder, no check in it, a file that does not load, or lacks either name, or repeats an
    id.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CheckError(f"{folder}: got {'a file' if folder.exists() else 'nothing'}, expected a folder of checks")
    found = [_load(path) for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
    if not found:
        raise CheckError(f"{folder}: got no *.py, expected at least one check")
    _refuse_doubles(found)
    return found


def _load(path: Path) -> Check:
    spec = importlib.util.spec_from_file_location(f"fleetbeat_user_checks.{path.stem}", path)
    if spec is None or spec.loader is None:
        raise CheckError(f"{path}: got a file that cannot be imported")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CheckError(f"{path}: it does not load: {_words(error)}") from error
    invariant, run = getattr(module, "INVARIANT", None), getattr(module, "check", None)
    if not isinstance(invariant, Invariant):
        raise CheckError(
            f"{path}: INVARIANT: got {_shown(invariant)}, expected fleetbeat.checks.Invariant(id, promise)"
        )
    if not callable(run):
        raise CheckError(f"{path}: check: got {_shown(run)}, expected a function check(world) that yields findings")
    return Check(invariant, run, origin=str(path))


def _refuse_doubles(found: Sequence[Check]) -> None:
    from fleetbeat.checks import CHECKS, FRAMEWORK_CHECKS

    seen = {check.invariant.id: check.origin for check in (*CHECKS, *FRAMEWORK_CHECKS)}
    for check in found:
        name = check.invariant.id
        if name in seen:
            raise CheckError(
                f"{check.origin}: INVARIANT: id {name!r} is taken by {seen[name]}, expected one of its own"
            )
        seen[name] = check.origin


def _shown(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
