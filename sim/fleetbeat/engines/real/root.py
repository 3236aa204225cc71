"""The directory that a run lives in: made or adopted, marked, and taken away again.

    ROOT/.fleetbeat-root          the mark: whose it is
    ROOT/fleet/<home>...          what agents see; /a-3/.rules of the fleet is ROOT/fleet/a-3/.rules
    ROOT/control/common/lease     rewritten every two seconds; who sees it grow old ends itself
    ROOT/control/common/go*       written once each: JSON {"zero": CLOCK_MONOTONIC ns of time 0}; a process may boot now
    ROOT/control/<crew>/          plan-<life>.json, report.jsonl, out.log: a crew's own
    ROOT/code/                    the programs, where agents of another user could not read them in their place

The harness writes nowhere else. A directory that is not empty and does not carry our mark is never touched, nor one
whose owner is alive. Everything but the homes is the harness's, a crew's own directory is its agents'.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

from fleetbeat.engines.real.errors import CannotDo, EngineError
from fleetbeat.report.plain import safe

MARK = ".fleetbeat-root"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose a root is. `run` is unique on this machine; `started` in seconds since 1970."""

    run: str
    pid: int
    pid_start: int
    engine: str
    scenario: str
    started: float
    format: int = FORMAT

    @property
    def is_well_formed(self) -> bool:
        """Whether it holds what its fields say: somebody else may have written it."""
        texts = (self.run, self.engine, self.scenario)
        return all(type(text) is str for text in texts) and type(self.pid) is int and type(self.pid_start) is int

    @property
    def is_alive(self) -> bool:
        """Whether the harness that wrote it still runs."""
        return start_of(self.pid) == self.pid_start


@dataclass(frozen=True, slots=True)
class FleetRoot:
    """A root of ours. `made`: the directory itself was made for this run, and goes with it."""

    path: Path
    mark: Mark
    made: bool

    @property
    def run(self) -> str:
        return self.mark.run

    @property
    def fleet(self) -> Path:
        return self.path / "fleet"

    @property
    def control(self) -> Path:
        return self.path / "control"

    @property
    def common(self) -> Path:
        return self.control / "common"

    @property
    def code(self) -> Path:
        return self.path / "code"

    @property
    def lease(self) -> Path:
        return self.common / "lease"

    def home(self, home: str) -> Path:
        """The place of a fleet-wide path, such as an agent's home `/a-0/children/b-1`."""
        return self.fleet / home.lstrip("/")

    def own(self, crew: str) -> Path:
        """A crew's own directory."""
        return self.control / crew

    def renew(self) -> None:
        """Renews the lease."""
        self.lease.write_text(f"{time.monotonic_ns()}\n")

    def go(self, name: str, zero_ns: int) -> None:
        """Lets those boot that wait for the file `name` in `common`. It appears whole."""
        partial = self.common / f".{name}.partial"
        partial.write_text(json.dumps({"zero": zero_ns}) + "\n")
        partial.rename(self.common / name)

    def remove(self) -> None:
        """Unmounts and removes all that lies in it, and itself if it was made for this run. May be called twice."""
        empty(self.path)
        if self.made and self.path.is_dir():
            self.path.rmdir()


def make_root(where: Path | None, engine: str, scenario: str) -> FleetRoot:
    """A root for this run: `where`, or a new directory of its own below the system's temporary one.

    Raises `CannotDo` for a place that is refused, `EngineError` for what the system refuses (a full disk).
    """
    try:
        path, made = _own_place() if where is None else _given_place(where)
        numbers = path.name.rpartition("-")[2] if where is None else "root"
        pid, began = os.getpid(), start_of(os.getpid()) or 0
        mark = Mark(f"{pid}-{began}-{numbers}", pid, began, engine, scenario, time.time())
        root = FleetRoot(path, mark, made)
        try:
            _write_mark(path, mark)
            _lay_out(root)
        except OSError:
            if made:
                shutil.rmtree(path, ignore_errors=True)
            raise
    except OSError as error:
        raise EngineError(
            f"fleet root {safe(error.filename or where)}: got {error.strerror or error}, expected to be able to write there"
        ) from error
    return root


def read_mark(path: Path) -> Mark | None:
    """The mark in a directory; None if there is none that reads as ours."""
    try:
        descriptor = os.open(path / MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data: dict[str, Any] = json.loads(file.read(4096))
        mark = Mark(**data)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return mark if mark.format == FORMAT and mark.is_well_formed else None


def is_ours(path: Path) -> bool:
    """Whether a directory is ours to empty: no link, and owned by this user. A mark alone anybody may write."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def is_home(path: Path) -> bool:
    """Whether it is somebody's home directory."""
    return any(str(path) == user.pw_dir.rstrip("/") for user in pwd.getpwall()) or path == Path.home()


def left_behind(more: Path | None = None) -> list[tuple[Path, Mark]]:
    """The marked roots of ours in the usual place, and `more` if it is one, in order; owners may be alive or gone."""
    base = base_directory()
    places = sorted(base.glob("run-*")) if is_ours(base) else []
    places += [more] if more is not None and more not in places else []
    marks = [(place, read_mark(place)) for place in places if is_ours(place)]
    return [(place, mark) for place, mark in marks if mark is not None]


def base_directory() -> Path:
    """Where runs without `--root` make theirs."""
    return Path(tempfile.gettempdir()) / f"fleetbeat-{os.getuid()}"


def start_of(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine's; None if there is no such process, or it is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else int(fields[19])


def empty(path: Path) -> None:
    """Removes all that lies in a directory, mounts first. Follows no link. Raises `EngineError` where that fails."""
    from fleetbeat.engines.real.means import unmount_below

    if not path.is_dir() or path.is_symlink():
        return
    unmount_below(path)
    failed: list[str] = []
    for entry in sorted(path.iterdir(), key=lambda entry: entry.name == MARK):  # the mark goes last
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, onerror=_again(failed))
        else:
            entry.unlink(missing_ok=True)
    if failed:
        raise EngineError(f"fleet root {path}: cannot be removed: {failed[0]}")


def _again(failed: list[str]) -> Callable[..., None]:
    """An agent, or a fault, may have taken our rights to a directory of ours away: take them back, once."""

    def again(call: Callable[[str], Any], name: str, info: tuple[type, BaseException, Any]) -> None:
        if isinstance(info[1], FileNotFoundError):
            return
        try:
            os.chmod(os.path.dirname(name), 0o700)
            if not os.path.islink(name) and os.path.isdir(name):
                os.chmod(name, 0o700)
                shutil.rmtree(name)
            else:
                os.unlink(name)
        except FileNotFoundError:
            return
        except OSError as error:
            failed.append(f"{name}: {error.strerror or error}")

    return again


# --- places ---


def _own_place() -> tuple[Path, bool]:
    base = base_directory()
    mode = 0o711 if os.getuid() == 0 else 0o700  # agents of other users pass through, and see nothing
    try:
        base.mkdir(mode=mode)
    except FileExistsError:
        found = base.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise CannotDo(f"{base}: got something that is not ours alone, expected a directory made by us") from None
    for number in count():
        path = base / f"run-{os.getpid()}-{number}"
        try:
            path.mkdir(mode=mode)
        except FileExistsError:
            continue
        path.chmod(mode)
        return path, True
    raise AssertionError


def _given_place(where: Path) -> tuple[Path, bool]:
    """A place named by somebody. Every reason to refuse it is checked before anything is made."""
    path = Path("/" + os.path.abspath(where).lstrip("/"))
    shown = f"--root: {safe(where)}"
    if path == Path("/"):
        raise CannotDo(f"{shown}: got the root of the file system, expected a directory of its own")
    if os.path.realpath(path) != str(path):
        raise CannotDo(f"{shown}: got a path with a symbolic link in it, expected one without")
    if is_home(path):
        raise CannotDo(f"{shown}: got a home directory, expected a directory of its own")
    for above in path.parents:
        if os.path.lexists(above / MARK):
            raise CannotDo(f"{shown}: got a place inside another fleet root ({safe(above)}), expected one of its own")
    if not os.path.lexists(path):
        if not path.parent.is_dir():
            raise CannotDo(f"{shown}: got a place in no directory, expected its parent to exist")
        path.mkdir(mode=0o755)
        return path, True
    if not path.is_dir():
        raise CannotDo(f"{shown}: got something that is no directory, expected none there or an empty one")
    found = path.stat()
    if found.st_uid != os.getuid():
        raise CannotDo(f"{shown}: got a directory of another user, expected one of ours")
    if found.st_mode & 0o002:
        raise CannotDo(f"{shown}: got a directory that anybody may write to, expected one that is ours alone")
    _adopt(path, shown)
    return path, False


def _adopt(path: Path, shown: str) -> None:
    """Empties what a run that is gone left. Raises `CannotDo` for what is not ours to empty."""
    if not any(path.iterdir()):
        return
    mark = read_mark(path)
    if mark is None:
        raise CannotDo(f"{shown}: got a directory that is not empty and not ours, expected an empty or a marked one")
    if mark.is_alive:
        raise CannotDo(
            f"{shown}: got a fleet root in use by another run (process {mark.pid}, engine {mark.engine}, "
            f"scenario {mark.scenario}), expected one of its own"
        )
    empty(path)


def _write_mark(path: Path, mark: Mark) -> None:
    try:
        descriptor = os.open(path / MARK, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    except FileExistsError:
        raise CannotDo(f"{path}: got a fleet root that another run just took, expected one of its own") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(json.dumps(asdict(mark)) + "\n")


def _lay_out(root: FleetRoot) -> None:
    for directory in (root.fleet, root.control, root.common, root.code):
        directory.mkdir()
        directory.chmod(0o755 if directory != root.control else 0o711)
    root.renew()
