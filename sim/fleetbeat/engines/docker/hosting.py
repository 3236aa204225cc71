"""Containers as the harness's `Hosting`: one for each life of an agent, started and removed several at a time.

A start takes a third of a second, and the harness's one thread has better things to do once agents live: later lives are
started aside, and one that fails is told as an end.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container

from fleetbeat.engines.docker.client import PARALLEL, Facts, connect, failure
from fleetbeat.engines.docker.containers import COMMON, CONTROL, FLEET, SUPERVISE, SUPERVISOR, code_of, options
from fleetbeat.engines.docker.context import Context, context_of
from fleetbeat.engines.docker.images import base_image, built_image, ready_image
from fleetbeat.engines.real.crew import Crew
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.hosting import Ended, Launch, Seen, Tell
from fleetbeat.engines.real.root import FleetRoot

TAIL = 20
#: How long a container has to end when it is asked to, seconds, before it is killed.
POLITE_S = 3
#: How long a container that was killed may take to be gone, seconds.
KILL_S = 10
#: The exit code of what could not be started, as the engine's own command line has it.
NO_START = 125


@dataclass(frozen=True, slots=True)
class Built:
    """What containers of one folder are made of. `code`: our driver on this machine, for an image that has none."""

    image: str
    program: str
    code: Path | None


@dataclass(frozen=True, slots=True)
class Running:
    life: int
    container: Container
    pid: int


class DockerHosting:
    """Implements `fleetbeat.engines.real.hosting.Hosting`. `host`: an engine named by somebody, None: this machine's."""

    engine = "docker"
    most = 1
    lead_ns = 4_000_000_000
    patience_s = 120.0

    def __init__(self, host: str | None = None, base: str | None = None) -> None:
        self._host = host
        self._base = base_image(base)
        self._client: docker.DockerClient | None = None
        self._facts: Facts | None = None
        self._root: FleetRoot | None = None
        self._built: dict[Path, Built] = {}
        self._running: dict[str, Running] = {}
        self._of: dict[str, tuple[str, int]] = {}
        self._deaths: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
        self._events: Any = None
        self._aside = ThreadPoolExecutor(PARALLEL)
        self._starting: dict[str, tuple[int, Future[None]]] = {}
        self._failed: dict[str, str] = {}

    # --- before the start ---

    def check(self) -> None:
        if self._client is None:
            self._client, self._facts = connect(self._host)

    def seen(self, root: FleetRoot, crew: Crew) -> Seen:
        return Seen(FLEET, COMMON, f"{CONTROL}/{crew.id}")

    def words(self, crew: Crew, home: str) -> tuple[str, ...]:
        if crew.driver:
            return ()
        (agent,) = crew.agents
        return crew.manifest.words(home, agent.name, agent.heartbeat.interval)

    def program(self, crew: Crew) -> str:
        return "" if not crew.driver else self._built[crew.folder].program

    def prepare(self, root: FleetRoot, crews: Sequence[Crew], tell: Tell) -> None:
        self.check()
        self._root = root
        (root.common / SUPERVISOR).write_text(SUPERVISE)
        folders = {crew.folder: crew for crew in crews}
        for done, (folder, crew) in enumerate(folders.items()):
            tell("building images", done, len(folders))
            self._built[folder] = self._build(root, crew, done)
        tell("building images", len(folders), len(folders))
        self._listen(root.run)

    def _build(self, root: FleetRoot, crew: Crew, number: int) -> Built:
        context = context_of(crew.folder, crew.manifest)
        if crew.manifest.image is None:
            return Built(
                built_image(self._engine, crew.manifest, crew.folder, context, self._base), context.program, None
            )
        return Built(ready_image(self._engine, crew.manifest), context.program, _laid_out(root, crew, context, number))

    # --- lives ---

    def start(self, launches: Sequence[Launch], tell: Tell) -> None:
        begun = {launch.crew.id: self._aside.submit(self._start, launch) for launch in launches}
        if all(launch.life > 0 or launch.crew.spawn_at is not None for launch in launches):
            self._starting |= {launch.crew.id: (launch.life, begun[launch.crew.id]) for launch in launches}
            return
        tell("starting containers", 0, len(begun))
        try:
            for done, one in enumerate(as_completed(begun.values()), 1):
                one.result()
                tell("starting containers", done, len(begun))
        except BaseException:
            for one in begun.values():
                one.cancel()
            raise

    def _start(self, launch: Launch) -> None:
        root, facts, crew = self._root, self._facts, launch.crew
        assert root is not None
        assert facts is not None
        built = self._built[crew.folder]
        told = options(launch, root, built.image, built.code, facts)
        before = self._running.pop(crew.id, None)
        try:
            container = self._engine.containers.create(**told)
            self._of[str(container.id)] = (crew.id, launch.life)
            self._running[crew.id] = Running(launch.life, container, 0)
            container.start()
            container.reload()
            state: dict[str, Any] = container.attrs["State"]
            self._running[crew.id] = Running(launch.life, container, int(state.get("Pid") or 0))
            if before is not None:
                _remove(before.container)
        except (DockerException, OSError) as error:
            raise failure(f"container of {crew.id} (image {built.image})", error, "it to start") from error

    def kill(self, crew: str) -> None:
        running = self._forget(crew)
        if running is None:
            return
        try:
            running.container.kill()
            running.container.wait(timeout=KILL_S)
        except (DockerException, OSError):
            _remove(running.container)  # it ended by itself, or is paused, or hangs: this ends it for certain
        else:
            self._aside.submit(_remove, running.container)

    def stop(self, crews: Sequence[str]) -> None:
        forgotten = [self._forget(crew) for crew in crews]
        containers = [running.container for running in forgotten if running is not None]
        _all(containers, _stop)

    def pause(self, crew: str) -> None:
        self._on(crew, "pause")

    def resume(self, crew: str) -> None:
        self._on(crew, "unpause")

    def _on(self, crew: str, call: str) -> None:
        self._settle(crew)
        running = self._running.get(crew)
        if running is None:
            return
        try:
            getattr(running.container, call)()
        except APIError as error:
            if error.status_code not in (404, 409, 500):
                raise failure(f"container of {crew}", error, f"to be able to {call} it") from error
            running.container.reload()
            state = running.container.attrs["State"]
            if state["Running"] and bool(state["Paused"]) != (call == "pause"):
                raise failure(f"container of {crew}", error, f"to be able to {call} it") from error

    def ended(self) -> list[Ended]:
        found: list[Ended] = []
        for crew, (life, start) in list(self._starting.items()):
            if start.done():
                del self._starting[crew]
                problem = start.exception()
                if problem is not None:
                    self._failed[crew] = str(problem)
                    found.append(Ended(crew, life, NO_START))
        while True:
            try:
                identity, code = self._deaths.get_nowait()
            except queue.Empty:
                return found
            crew, life = self._of.get(identity, ("", 0))
            running = self._running.get(crew)
            if running is not None and running.life == life:
                found.append(Ended(crew, life, code_of(code)))

    def tail(self, crew: str) -> str:
        running = self._running.get(crew)
        if crew in self._failed or running is None:
            return self._failed.get(crew, "")
        try:
            told: bytes = running.container.logs(tail=TAIL)
        except (DockerException, OSError):
            return ""
        return told.decode("utf-8", "replace").rstrip()

    def pid(self, crew: str) -> int | None:
        """The agent's process, not the init above it."""
        running = self._running.get(crew)
        if running is None or not running.pid:
            return None
        try:
            below = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
        except OSError:
            return None
        return int(below[0]) if below else None

    # --- the end ---

    def close(self) -> None:
        client, self._client = self._client, None
        if client is None:
            return
        if self._events is not None:
            self._events.close()
        self._aside.shutdown(cancel_futures=True)
        try:
            if self._root is not None:
                found = client.containers.list(
                    all=True, filters={"label": f"fleetbeat.run={self._root.run}"}, ignore_removed=True
                )
                _all(found, _remove)
        except (DockerException, OSError) as error:
            raise failure("containers of this run", error, "to be able to remove them (fleetbeat clean)") from error
        finally:
            self._running.clear()
            client.close()

    # --- parts ---

    @property
    def _engine(self) -> docker.DockerClient:
        if self._client is None:
            self.check()
        assert self._client is not None
        return self._client

    def _settle(self, crew: str) -> None:
        """Waits until a start that was begun aside is over; what failed is told by `ended`."""
        if crew in self._starting:
            self._starting[crew][1].exception()

    def _forget(self, crew: str) -> Running | None:
        self._settle(crew)
        self._starting.pop(crew, None)
        running = self._running.pop(crew, None)
        if running is not None:
            self._of.pop(str(running.container.id), None)
        return running

    def _listen(self, run: str) -> None:
        """Hears of containers that end, from before the first is started."""
        self._events = self._engine.events(decode=True, filters={"label": f"fleetbeat.run={run}"})
        threading.Thread(target=_hear, args=(self._events, self._deaths), daemon=True).start()


def _hear(events: Iterable[dict[str, Any]], deaths: queue.SimpleQueue[tuple[str, int]]) -> None:
    """Until the stream is closed, which ends it in whatever exception the SDK's libraries have for that.

    Podman, asked for the event `die` alone, says nothing: all are asked for.
    """
    try:
        for event in events:
            if event.get("Action") not in ("die", "died"):
                continue
            actor = event.get("Actor") or {}
            deaths.put((str(actor.get("ID", "")), int((actor.get("Attributes") or {}).get("exitCode", 0))))
    except Exception:
        return


def _laid_out(root: FleetRoot, crew: Crew, context: Context, number: int) -> Path | None:
    """Our driver and the program in a directory of the run, for an image that somebody made without them."""
    if not crew.driver:
        return None
    place = root.code / f"driver.{number}"
    context.write(place)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return place / ".fleetbeat"


def _stop(container: Container) -> None:
    try:
        container.stop(timeout=POLITE_S)
    except NotFound:
        return
    except APIError as error:
        if error.status_code not in (304, 409, 500):  # a paused one cannot be stopped by Docker: it is killed below
            raise
    _remove(container)


def _remove(container: Container) -> None:
    try:
        container.remove(force=True, v=True)
    except NotFound:
        return
    except APIError as error:
        if error.status_code != 409:  # somebody else is removing it
            raise


def _all(containers: Sequence[Container], act: Callable[[Container], None]) -> None:
    """Does it to all, several at a time. Raises the first failure, once all were tried."""
    pool = ThreadPoolExecutor(2 * PARALLEL)
    try:
        tried = [pool.submit(act, container) for container in containers]
        problems = [problem for one in tried if (problem := one.exception()) is not None]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # a second Ctrl-C does not wait for the rest
    if problems:
        raise EngineError(f"containers: {len(problems)} could not be ended: {problems[0]}") from problems[0]
