"""Loads an agent's program from its folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from fleetbeat.history.records import digest
from fleetbeat.protocol.vocabulary import Program
from fleetbeat.scenario.manifest import Manifest


class ProgramError(Exception):
    """An agent's program cannot be loaded; the message is one line."""


def load_program(folder: Path, manifest: Manifest) -> Program:
    """The object PROGRAM of the folder's program file. Raises `ProgramError`."""
    path = folder / manifest.program
    name = f"fleetbeat_agent_{digest(str(path.resolve()).encode())}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ProgramError(f"{path}: got no Python file, expected the agent's program")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise ProgramError(f"{path}: cannot be loaded: {type(error).__name__}: {error}") from error
    program: Program | None = getattr(sys.modules[name], "PROGRAM", None)
    missing = [part for part in ("start", "boot", "beat", "rebuild") if not hasattr(program, part)]
    if program is None or missing:
        got = "no PROGRAM" if program is None else f"PROGRAM without {', '.join(missing)}"
        raise ProgramError(f"{path}: got {got}, expected PROGRAM with start, boot, beat and rebuild")
    return program
