"""What an image is built from: the agent's folder, and the little of `fleetbeat` that our driver needs to play it.

    ./...                          the agent's folder as it is, its Dockerfile included; a Dockerfile of ours if it has none
    ./.fleetbeat/python/fleetbeat  the driver and what it imports (standard library only)
    ./.fleetbeat/agents/...        the program, and those of other folders that it builds on, laid out alike

Everything about it is decided by the bytes of these files: times, owners and the order of a directory leave no trace, so
that equal folders are equal images.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import fleetbeat
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.scenario.manifest import Manifest

#: Where an image holds what lies in `.fleetbeat`.
PLACE = "/opt/fleetbeat"
PACKAGES = ("chance", "cadence", "files", "protocol")
IGNORED = ("__pycache__", ".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache")
#: Most bytes of a folder that is sent to be built, all files together.
MOST_BYTES = 256 << 20

DOCKERFILE = """\
ARG BASE=python:3.12-slim
FROM ${BASE}
COPY .fleetbeat /opt/fleetbeat
RUN python3 -S -m compileall -q --invalidation-mode unchecked-hash /opt/fleetbeat || true
COPY . /opt/agent
WORKDIR /opt/agent
"""


@dataclass(frozen=True, slots=True)
class Context:
    """`files` by their path in it: bytes, and whether it is executable; in order. `program`: its path in a container,
    "" for an agent that has none."""

    files: Mapping[str, tuple[bytes, bool]]
    program: str

    def tar(self) -> bytes:
        """As the engine takes it; the same bytes for the same files."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, (data, is_executable) in self.files.items():
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode = len(data), 0o755 if is_executable else 0o644
                archive.addfile(entry, io.BytesIO(data))
        return packed.getvalue()

    def write(self, directory: Path) -> None:
        """Lays it out in a directory. What else lies there stays."""
        for name, (data, is_executable) in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o755 if is_executable else 0o644)


def context_of(folder: Path, manifest: Manifest) -> Context:
    """The context of an agent's image. Raises `EngineError` for a folder that cannot be read, or is too big."""
    files = dict(_under(folder, ""))
    files.setdefault("Dockerfile", (DOCKERFILE.encode(), False))
    package = Path(fleetbeat.__file__).parent
    files[".fleetbeat/python/fleetbeat/__init__.py"] = ((package / "__init__.py").read_bytes(), False)
    for name in PACKAGES:
        below = _under(package / name, f".fleetbeat/python/fleetbeat/{name}/")
        files.update({inside: file for inside, file in below if inside.endswith(".py")})
    program = ""
    if not manifest.is_foreign or (folder / manifest.program).is_file():
        first = (folder / manifest.program).resolve()
        programs = _programs(first)
        top = Path(os.path.commonpath([path.parent.parent for path in programs]))
        for path in programs:
            files[f".fleetbeat/agents/{path.relative_to(top).as_posix()}"] = (path.read_bytes(), False)
        program = f"{PLACE}/agents/{first.relative_to(top).as_posix()}"
    return Context(dict(sorted(files.items())), program)


def digest_of(*parts: bytes) -> str:
    """Sixteen hexadecimal digits of parts together."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part)
    return whole.hexdigest()[:16]


def _under(folder: Path, prefix: str) -> list[tuple[str, tuple[bytes, bool]]]:
    """The regular files below a folder, links left out: what they lead to may be anywhere."""
    found, size = [], 0

    def refused(error: OSError) -> None:
        raise error

    try:
        for directory, below, names in os.walk(folder, onerror=refused):
            below[:] = sorted(name for name in below if name not in IGNORED)
            for name in sorted(names):
                path = Path(directory, name)
                status = path.lstat()
                if not stat.S_ISREG(status.st_mode) or name.endswith(".pyc"):
                    continue
                size += status.st_size
                if size > MOST_BYTES:
                    raise EngineError(
                        f"{folder}: got an agent's folder of over {MOST_BYTES >> 20} MiB, expected one that can be "
                        "built into an image"
                    )
                inside = PurePosixPath(path.relative_to(folder).as_posix())
                found.append((f"{prefix}{inside}", (path.read_bytes(), bool(status.st_mode & 0o100))))
    except OSError as error:
        raise EngineError(
            f"{error.filename or folder}: got {error.strerror or error}, expected a file that can be read into an image"
        ) from error
    return found


def _programs(first: Path) -> list[Path]:
    """A program's file and those that it builds on (`program_of("../claim", __file__)`), theirs included."""
    found = [first]
    for path in found:
        for call in ast.walk(ast.parse(path.read_bytes())):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id != "program_of":
                continue
            if call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
                other = (path.parent / call.args[0].value / "program.py").resolve()
                if other.is_file() and other not in found:
                    found.append(other)
    return found
