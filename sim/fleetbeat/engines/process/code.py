"""Which interpreter, and which copy of the programs, a user's processes can be run with.

Agents of another user often cannot read the checkout or the interpreter that the harness runs on. Both are tried as that
user would use them; where they cannot be, the programs are copied into the run's root and the system's Python is taken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import fleetbeat
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.root import FleetRoot
from fleetbeat.scenario.library import agents

PACKAGE = Path(fleetbeat.__file__).resolve().parent
#: The parts of the package that our driver needs.
PARTS = ("chance", "cadence", "files", "protocol")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PROBE = """
import sys
assert sys.version_info >= (3, 11), "Python " + sys.version.split()[0]
import fleetbeat.protocol.live
for path in sys.argv[1:]:
    open(path).close()
"""


@dataclass(frozen=True, slots=True)
class Code:
    """`python`: the interpreter; `path`: its PYTHONPATH; `folders`: where each agent's folder lies for these processes."""

    python: str
    path: str
    guard: str
    folders: dict[Path, Path]


class Copies:
    """The programs below a run's root, copied once when first needed."""

    def __init__(self, root: FleetRoot, folders: Sequence[Path]) -> None:
        self._root = root
        self._folders = folders
        self._made: dict[Path, Path] | None = None

    def in_place(self) -> dict[Path, Path]:
        return {folder: folder for folder in self._folders}

    def copied(self) -> dict[Path, Path]:
        """Folders by where they lie; those beside each other stay beside each other: programs build on programs."""
        if self._made is None:
            self._made = {}
            code = self._root.code
            package = code / "fleetbeat"
            package.mkdir()
            shutil.copy(PACKAGE / "__init__.py", package)
            for part in PARTS:
                _copy(PACKAGE / part, package / part)
            tops: dict[Path, Path] = {}
            for folder in self._folders:
                top = _top(folder)
                if top not in tops:
                    tops[top] = code / f"agents-{len(tops)}"
                    _copy(top, tops[top])
                self._made[folder] = tops[top] / folder.relative_to(top)
        return self._made


def _top(folder: Path) -> Path:
    """The folder of folders that one of the library's agents lies in; a user's own folder is taken alone."""
    tops = dict.fromkeys(found.parent.resolve() for found in agents().values())
    return next((top for top in tops if folder.is_relative_to(top)), folder)


def _copy(source: Path, target: Path) -> None:
    """Raises `EngineError`, of all that went wrong with the first thing."""
    try:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    except shutil.Error as error:
        _, place, why = error.args[0][0]
        words = str(why).partition("] ")[2].partition(": ")[0] or str(why)
        raise EngineError(f"{place}: got {words}, expected to be able to copy agents' programs there") from error
    for directory, _, files in os.walk(target):
        os.chmod(directory, 0o755)
        for name in files:
            place = os.path.join(directory, name)
            if not os.path.islink(place):
                os.chmod(place, 0o755 if os.access(place, os.X_OK) else 0o644)


def code_for(root: FleetRoot, copies: Copies, uid: int | None, programs: Sequence[Path]) -> Code:
    """What a user's processes run on; `uid` None: as whom we are. `programs`: files that they must be able to read.

    Raises `EngineError` if there is nothing that works.
    """
    guard = root.code / "guard.py"
    if not guard.exists():
        try:
            shutil.copy(Path(__file__).with_name("guard.py"), guard)
        except OSError as error:
            raise EngineError(f"{guard}: got {error.strerror}, expected to be able to copy a program there") from error
        guard.chmod(0o644)
    why = ""
    system = shutil.which("python3", path=SYSTEM_PATH)
    for python in dict.fromkeys(name for name in (sys.executable, system) if name):
        for copied in (False, True):
            folders = copies.copied() if copied else copies.in_place()
            path = str(root.code if copied else PACKAGE.parent)
            files = [str(_moved(program, folders)) for program in programs]
            why = _probe(python, path, files, uid)
            if not why:
                return Code(python, path, str(guard), folders)
    raise EngineError(f"processes of user {uid}: got no Python 3.11 that can run agents ({why}), expected one")


def _moved(program: Path, folders: dict[Path, Path]) -> Path:
    folder = next(folder for folder in folders if program.is_relative_to(folder))
    return folders[folder] / program.relative_to(folder)


def _probe(python: str, path: str, files: Sequence[str], uid: int | None) -> str:
    """Why it does not work, in one line; "" if it does."""
    who = {} if uid is None else {"user": uid, "group": uid, "extra_groups": []}
    try:
        done = subprocess.run(
            [python, "-S", "-c", _PROBE, *files],
            env={"PATH": SYSTEM_PATH, "PYTHONPATH": path},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **who,  # type: ignore[call-overload]
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it failed"])[-1]
