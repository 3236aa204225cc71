"""Failures first: found cases are kept in a directory and played again before the next search.

A case's file is named by what it breaks and by what it plays, so the same case is kept once however often it is found,
and two different ones never share a file. Files appear whole or not at all. Rejected: one file for all cases, which two
searches would write over each other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fleetbeat.explore.case import Case, Replay, dump, load, programs_of, replay
from fleetbeat.explore.reason import Programs
from fleetbeat.history.records import digest
from fleetbeat.scenario.mistakes import ScenarioError
from fleetbeat.scenario.model import Scenario

DIRECTORY = Path(".fleetbeat/cases")


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept case after it was played again. `state`: failing (it breaks as it did), gone (it does not, any more),
    diverged (steps that it names do not come any more), unreadable (`why` says what is wrong with the file)."""

    path: Path
    state: Literal["failing", "gone", "diverged", "unreadable"]
    case: Case | None = None
    replay: Replay | None = None
    why: str = ""

    def __str__(self) -> str:
        words = {
            "failing": "still failing",
            "gone": "gone",
            "diverged": "its steps are gone",
            "unreadable": "unreadable",
        }
        said = f"{self.path}: {words[self.state]}"
        more = self.why or (self.case.sentence if self.case is not None and self.state == "failing" else "")
        return f"{said}: {more}" if more else said


def name_of(case: Case) -> str:
    """The name of a case's file: what it breaks, and a digest of what it plays (not of how it is told)."""
    played = Case(case.scenario, case.overrides, case.invariant, case.kind, case.cause, version="")
    return f"{case.invariant}-{case.kind}-{case.cause}-{digest(dump(played).encode())[:10]}.yaml"


def keep(case: Case, directory: Path = DIRECTORY) -> Path:
    """Writes a case into the directory, which is made if it is not there; returns its file. Raises OSError."""
    return keep_text(directory, name_of(case), dump(case))


def keep_text(directory: Path, name: str, text: str) -> Path:
    """Writes a file of the directory, whole or not at all; returns its path. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    temporary = directory / f".{path.name}.partial-{os.getpid()}"
    try:
        with temporary.open("wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def replay_first(
    directory: Path = DIRECTORY, scenario: Scenario | None = None, programs: Programs | None = None
) -> Iterator[Kept]:
    """Plays every kept case again, in the order of their names; with a `scenario`, those alone that belong to it.

    A case belongs to a scenario of the same name whose agents run one of its programs. No file stops the others.
    """
    for path in sorted(directory.glob("*.yaml")) if directory.is_dir() else ():
        try:
            case = load(path)
            if scenario is not None and not belongs(case, scenario):
                continue
            played = replay(case, programs)
        except ScenarioError as error:
            yield Kept(path, "unreadable", why=str(error).splitlines()[0])
            continue
        state: Literal["failing", "gone", "diverged"] = "failing"
        if played.outcome != "reproduced":
            state = "diverged" if played.outcome == "diverged" else "gone"
        yield Kept(path, state, case, played, "; ".join(played.diverged))


def belongs(case: Case, scenario: Scenario) -> bool:
    """Whether a case was found in this scenario: its name, and a program that both run."""
    if case.scenario.name != scenario.name:
        return False
    now = {name for name, _ in programs_of(scenario)}
    return any(name in now for name, _ in case.programs)
