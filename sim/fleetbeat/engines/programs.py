"""Loads an agent's program from its folder."""

from __future__ import annotations

from pathlib import Path

from fleetbeat.protocol.folders import load_module
from fleetbeat.protocol.vocabulary import Program
from fleetbeat.scenario.manifest import Manifest


class ProgramError(Exception):
    """An agent's program cannot be loaded; the message is one line."""


def load_program(folder: Path, manifest: Manifest) -> Program:
    """The object PROGRAM of the folder's program file. Raises `ProgramError`."""
    path = folder / manifest.program
    if not path.is_file():
        raise ProgramError(f"{path}: got no Python file, expected the agent's program")
    try:
        module = load_module(path)
    except (Exception, SystemExit) as error:
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise ProgramError(f"{path}: cannot be loaded: {what}") from error
    program: Program | None = getattr(module, "PROGRAM", None)
    missing = [part for part in ("start", "boot", "beat", "rebuild") if not hasattr(program, part)]
    if program is None or missing:
        got = "no PROGRAM" if program is None else f"PROGRAM without {', '.join(missing)}"
        raise ProgramError(f"{path}: got {got}, expected PROGRAM with start, boot, beat and rebuild")
    return program
