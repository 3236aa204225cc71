"""What `fleetbeat explore` tells and keeps of the event framework: kept cases first, then findings as they come.

Each has its chain of causes as a tree, the moves that lead there, and a case that `fleetbeat replay` plays again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetbeat.cli.output import Unwritable, narrate
from fleetbeat.cli.replay import joined
from fleetbeat.report.plain import safe

if TYPE_CHECKING:
    from fleetbeat.checks.model import Finding
    from fleetbeat.explore.framework.case import Case
    from fleetbeat.explore.framework.plan import Plan
    from fleetbeat.explore.framework.search import Found, Outcome

Key = tuple[str, str, str]


@dataclass(slots=True)
class Broken:
    """One way in which an invariant breaks, as it is told. `tree`: the chain of causes, a line for each link."""

    key: Key
    world: str
    sentence: str
    moves: tuple[str, ...]
    tree: tuple[str, ...] = ()
    case: Path | None = None
    text: str = ""
    again: bool = False
    trouble: str = ""


@dataclass(slots=True)
class Told:
    """The results of a search of the framework, as text and as data."""

    plan: Plan
    outcome: Outcome
    broken: list[Broken]

    def text(self) -> str:
        blocks = [_block(one) for one in self.broken]
        notes = [f"note: {safe(note)}" for note in self.outcome.notes]
        if self.outcome.found:
            notes.append("note: a schedule ends where something breaks: what breaks after that was not looked for")
        return "\n".join([*blocks, self._bounds(), *self._worlds(), *notes, self.last_line(), ""])

    def _bounds(self) -> str:
        told = ", ".join(f"{name} {value}" for name, value in asdict(self.plan.limits).items())
        bodies = ", ".join(one.version for one in (self.plan.start, *self.plan.bodies))
        return f"framework: core {safe(self.plan.core.name)}, bodies {safe(bodies)}\nbounds: {told}"

    def _worlds(self) -> list[str]:
        width = max((len(world.scene) for world in self.outcome.worlds), default=0)
        return [
            f"  {world.scene:<{width}}  {world.states:>7,} states  {world.schedules:>10,} schedules"
            f"{'' if world.complete else '  not complete'}"
            for world in self.outcome.worlds
        ]

    def last_line(self) -> str:
        count = len(self.broken)
        what = "nothing broke" if not count else f"{count} {'way' if count == 1 else 'ways'} to break an invariant"
        vacuous = self.outcome.vacuous
        more = f"; vacuous: {vacuous}" if vacuous and not count else ""
        return f"framework: {what}; {self.outcome.summary}{more}"

    def data(self) -> dict[str, Any]:
        outcome = self.outcome
        return {
            "core": self.plan.core.name,
            "bounds": asdict(self.plan.limits),
            "complete": outcome.complete,
            "interrupted": outcome.interrupted,
            "vacuous": outcome.vacuous or None,
            "states": outcome.states,
            "worlds": [asdict(world) for world in outcome.worlds],
            "summary": outcome.summary,
            "notes": list(outcome.notes),
            "broken": [
                {
                    "invariant": one.key[0],
                    "class": one.key[1],
                    "cause": one.key[2],
                    "sentence": one.sentence,
                    "world": one.world,
                    "moves": list(one.moves),
                    "tree": list(one.tree),
                    "case": None if one.case is None else str(one.case),
                    "kept": one.again,
                    "trouble": one.trouble or None,
                }
                for one in self.broken
            ],
        }

    def files(self) -> list[tuple[str, str]]:
        """For `-o`: name and text of each case."""
        return [(f"framework-{'-'.join(one.key)}.yaml", one.text) for one in self.broken if one.text]


def search(
    plan: Plan,
    cases: Path,
    quiet: bool,
    *,
    invariant: str | None = None,
    stop: Callable[[], bool] | None = None,
    max_states: int | None = None,
) -> Told:
    """Plays kept cases again, searches, and keeps a case for each new finding."""
    from fleetbeat.explore.framework.search import explore

    def tell(found: Found) -> None:
        if not quiet:
            invariant, kind, cause = found.key
            moves = safe(", ".join(map(str, found.schedule)))
            narrate(f"{invariant} breaks ({kind}, {cause}) in the world {found.scene.name!r}: {moves}")

    broken: dict[Key, Broken] = {one.key: one for one in _kept(plan, cases, quiet)}
    outcome = explore(plan, invariant=invariant, on_found=tell, stop=stop, max_states=max_states)
    for found in outcome.found:
        if found.key in broken:
            continue
        try:
            broken[found.key] = _told(found, cases)
        except KeyboardInterrupt:  # what was found is not lost for that
            outcome = replace(outcome, interrupted=True)
            broken[found.key] = _bare(found)
    return Told(plan, outcome, list(broken.values()))


def _told(found: Found, cases: Path) -> Broken:
    from fleetbeat.explore.case import CaseError
    from fleetbeat.explore.framework.case import dump, keep, make_case

    one = _bare(found)
    try:
        case, played = make_case(found)
    except CaseError as error:
        one.trouble = str(error)
        return one
    assert played.finding is not None
    one.sentence, one.text, one.tree = case.sentence, dump(case), _tree(played.finding)
    try:
        one.case = keep(case, cases)
    except OSError as error:
        raise Unwritable.at(safe(cases), error) from error
    return one


def _bare(found: Found) -> Broken:
    """Without a case."""
    moves = tuple(map(str, found.schedule))
    return Broken(found.key, found.scene.name, found.finding.message, moves, _tree(found.finding))


def _kept(plan: Plan, cases: Path, quiet: bool) -> list[Broken]:
    """Failures first: cases of this scenario and core that were kept, played again."""
    from fleetbeat.explore.framework.case import FOLDER, dump, load, replay
    from fleetbeat.scenario.mistakes import ScenarioError

    found = []
    folder = cases / FOLDER
    for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        try:
            case = load(path)
            if not _belongs(case, plan):
                continue
            played = replay(case)
        except ScenarioError as error:
            said = f"unreadable: {str(error).splitlines()[0]}"
        else:
            said = {
                "reproduced": f"still failing: {case.sentence}",
                "differs": "gone",
                "diverged": "its moves are gone",
            }[played.outcome]
            if played.outcome == "reproduced" and played.finding is not None:
                key = (case.invariant, case.kind, case.cause)
                tree = _tree(played.finding)
                found.append(Broken(key, case.world, case.sentence, _moves(case), tree, path, dump(case), again=True))
        if not quiet:
            narrate(f"kept case {safe(path)}: {safe(said)}")
    return found


def _belongs(case: Case, plan: Plan) -> bool:
    """Whether a case is of this scenario and this core."""
    one, other = case.scenario, plan.scenario
    return (one.name, one.fleet.core.program) == (other.name, other.fleet.core.program)


def _moves(case: Case) -> tuple[str, ...]:
    return tuple(map(str, case.schedule))


def _tree(finding: Finding) -> tuple[str, ...]:
    from fleetbeat.checks.chains import drawn

    return tuple(drawn(finding.chain))


def _block(one: Broken) -> str:
    invariant, kind, cause = one.key
    lines = [f"{invariant} ({kind}, {cause}): {safe(one.sentence)}", ""]
    lines += [f"  {safe(line)}" for line in one.tree]
    lines += ["", f"  in the world {one.world!r}: {safe(', '.join(one.moves))}"]
    if one.case is None:
        lines += [f"  no case: {safe(one.trouble)}"]
    else:
        lines += ["", f"  replay: {joined(['fleetbeat', 'replay', str(one.case)])}"]
    return "\n".join([*lines, ""])
