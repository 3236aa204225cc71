"""Agents' programs as modules: loaded by the path of their file, once, so that one program can build on another's.

An agent's folder is no package and lies wherever it lies: in a checkout, beside an installed package, at a user's. Rejected:
putting the folders on the module search path, where two programs of the same name would meet. Standard library only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_module(path: Path) -> ModuleType:
    """The module of one program file; the same object every time. Raises `ImportError`, and whatever the program raises."""
    name = f"fleetbeat_agent_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise ImportError(f"{path}: got no Python file, expected an agent's program")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def program_of(folder: str, beside: str) -> ModuleType:
    """The program of another agent's `folder`, relative to the file `beside`: `program_of("../claim", __file__)`."""
    return load_module(Path(beside).parent / folder / "program.py")


def core_of(folder: str, beside: str) -> ModuleType:
    """The core of the event framework in another agent's `folder`, as `program_of`."""
    return load_module(Path(beside).parent / folder / "core.py")
