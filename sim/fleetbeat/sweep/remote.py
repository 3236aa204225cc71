"""`--executor dask://host:port`: workers of a Dask scheduler as an executor; `Client.get_executor()` does the work.

What is added to it: words for a scheduler that cannot be reached, that has no workers, or whose workers are of another
version; a scheduler that goes away, or a worker that dies of the same task again and again, is an executor that broke.
When one of several workers dies, the scheduler gives what it had to the others, and nothing is seen of it here.

The one module that imports `distributed` (extra `dask`). Whoever reaches a scheduler can run any code on its workers:
it belongs on a network of its own.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import lru_cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from fleetbeat import __version__
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.mistakes import ScenarioError
from fleetbeat.sweep.execute import ExecuteError
from fleetbeat.sweep.vary import VaryError

#: How long to wait for the scheduler, try by try, and then for its first worker, seconds.
TRIES_S = (1.0, 2.0, 4.0)
PATIENCE_S = 10.0
_PLACE = re.compile(r"dask://(?P<host>[^\s/:]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})/?")
_EXPECTED = "expected dask://HOST:PORT, the address of a scheduler"


class Remote:
    """A scheduler that was found to be fit. `width`: how many tasks its workers play at a time; `opened` is as
    `execute` wants it. A context: leaving it ends the connection, not the scheduler.

    Raises VaryError for what is no address; ExecuteError: no `distributed`, no scheduler, no workers, or one of another
    version.
    """

    def __init__(self, address: str, agents: Sequence[str] = ()) -> None:
        match = _PLACE.fullmatch(address)
        if match is None or not 0 < int(match["port"]) < 65536:
            raise VaryError(f"--executor: got {address!r}, {_EXPECTED}")
        self.address = address
        self.place = f"tcp://{match['host']}:{match['port']}"
        self.made = made_by(tuple(agents))
        self.agents = tuple(agents)
        self.client: Any = None
        self.width = self._connect()

    def __enter__(self) -> Remote:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def opened(self) -> Executor:
        """An executor; connects again where the connection was lost."""
        if self.client.status != "running":
            self._close()
            self._connect()
        return _Dask(self)

    def _connect(self) -> int:
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise ExecuteError(
                f"--executor: got no module {error.name}, expected the extra dask: pip install 'fleetbeat[dask]'"
            ) from error
        _be_quiet()
        for patience in TRIES_S:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # versions of Python and of libraries, in a table of many lines
                    self.client = Client(self.place, timeout=patience, set_as_default=False, name="fleetbeat")
                break
            except (OSError, TimeoutError, ValueError) as error:
                refused = error
                Event().wait(patience / 2)  # one that is coming up may hang up at once
        else:
            raise ExecuteError(
                f"--executor: {self.address}: got no answer in {len(TRIES_S)} tries, expected a scheduler there"
            ) from refused
        try:
            self.client.wait_for_workers(1, timeout=PATIENCE_S)
        except (OSError, TimeoutError) as error:
            self._close()
            raise ExecuteError(
                f"--executor: {self.address}: got a scheduler without workers, expected one at least (dask worker)"
            ) from error
        try:
            self._agree()
        except BaseException:
            self._close()
            raise
        return sum(self.workers().values())

    def workers(self) -> dict[str, int]:
        """Threads of each worker by its address, as far as is known here."""
        return {name: int(threads) for name, threads in sorted(self.client.nthreads().items())}

    def _agree(self) -> None:
        """Ask every worker what it is. Raises ExecuteError for the first that is another."""
        found: dict[str, Any] = self.client.run(made_by, self.agents, on_error="return")
        for name, made in sorted(found.items()):
            if made != self.made:
                raise ExecuteError(_another(f"worker {name}", made, self.made))

    def _close(self) -> None:
        if self.client is not None:
            self.client.close(timeout=1)
            self.client = None


class _Dask(Executor):
    """`Client.get_executor()`, whose errors are said in the words of `concurrent.futures`."""

    def __init__(self, remote: Remote) -> None:
        self.remote = remote
        self.inner = remote.client.get_executor(pure=False)
        self.theirs: dict[Future[Any], Future[Any]] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        theirs = self.inner.submit(_checked, self.remote.made, self.remote.agents, fn, *args, **kwargs)
        ours: Future[Any] = Future()
        ours.set_running_or_notify_cancel()
        self.theirs[ours] = theirs
        theirs.add_done_callback(lambda done: self._over(done, ours))
        return ours

    def _over(self, theirs: Future[Any], ours: Future[Any]) -> None:
        self.theirs.pop(ours, None)
        try:
            ours.set_result(theirs.result())
        except CancelledError:
            ours.set_exception(BrokenExecutor(f"{self.remote.address} went away"))
        except Exception as error:
            ours.set_exception(self._said(error))

    def _said(self, error: Exception) -> Exception:
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return BrokenExecutor(f"{self.remote.address}: a batch of which every worker died")
        if isinstance(error, ImportError):  # a worker that joined later
            return ExecuteError(_another("a worker", error, self.remote.made))
        return error

    def check(self) -> None:
        """Raises BrokenExecutor if the connection is lost, ExecuteError if it holds and no worker came for a while."""
        if self.remote.client.status != "running":
            raise BrokenExecutor(f"{self.remote.address} went away")
        try:
            self.remote.client.wait_for_workers(1, timeout=3 * PATIENCE_S)
        except (OSError, TimeoutError) as error:
            raise ExecuteError(
                f"--executor: {self.remote.address}: got a scheduler that lost its last worker, expected one at least"
            ) from error

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """What is not over is cancelled; it will be played again."""
        for theirs in list(self.theirs.values()):
            theirs.cancel()


def _checked(made: str, agents: Sequence[str], task: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a worker does: a task, if it is of the same make. Workers may join while a sweep is played."""
    mine = made_by(tuple(agents))
    if mine != made:
        raise ExecuteError(_another("a worker", mine, made))
    return task(*args, **kwargs)


def _another(who: str, got: object, expected: str) -> str:
    told = f"fleetbeat {got}"
    if isinstance(got, Exception):
        why = " ".join(str(got).split())
        told = why if isinstance(got, ExecuteError) else f"no fleetbeat ({why})"
    return f"--executor: {who}: got {told}, expected {expected} as where the sweep was started"


@lru_cache(maxsize=4)
def made_by(agents: tuple[str, ...] = ()) -> str:
    """Version, and a digest of the package's source and of these agents' folders: one of two that differ in a line would
    give other results under the same version."""
    digest = sha256()
    spec = find_spec("fleetbeat")
    package = Path(spec.origin).parent if spec is not None and spec.origin else Path()
    files = [(path.relative_to(package).as_posix(), path) for path in package.rglob("*.py") if "data" not in path.parts]
    for name in agents:
        try:
            folder = find_agent(name)
        except ScenarioError as error:  # it cannot travel between processes
            raise ExecuteError(f"no agent {name!r}") from error
        files += [
            (f"{name}/{path.relative_to(folder).as_posix()}", path) for path in folder.rglob("*") if _counts(path)
        ]
    for name, path in sorted(files):
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return f"{__version__} ({digest.hexdigest()[:12]})"


def _counts(path: Path) -> bool:
    return path.is_file() and path.suffix in (".py", ".yaml") and "__pycache__" not in path.parts


def _be_quiet() -> None:
    """Its log lines about lost connections would stand between ours."""
    import logging

    for name in sorted(logging.root.manager.loggerDict):
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
