"""Agents as subprocesses: each crew a session of its own, as its user where we are root, with nothing of ours open."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetbeat.engines.process.code import SYSTEM_PATH, Code, Copies, code_for
from fleetbeat.engines.process.strays import Strays
from fleetbeat.engines.real.crew import MOST, Crew
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.hosting import OUTPUT, Ended, Launch, Seen, Tell, last_lines
from fleetbeat.engines.real.play_files import remove
from fleetbeat.engines.real.root import FleetRoot

#: How long polite stopping may take before it is not polite any more.
STOP_S = 3.0
#: How long a guard may take to start its agent before nobody waits any more.
START_S = 10.0
LEASE_S = 20


@dataclass(slots=True)
class Running:
    launch: Launch
    process: subprocess.Popen[bytes]


class Processes:
    """Implements `engines.real.hosting.Hosting`."""

    engine = "process"
    most = MOST
    lead_ns = 400_000_000
    patience_s = 60.0

    def __init__(self) -> None:
        self._root: FleetRoot | None = None
        self._codes: dict[int, Code] = {}
        self._running: dict[str, Running] = {}
        self._strays: Strays | None = None

    def check(self) -> None:
        return

    def seen(self, root: FleetRoot, crew: Crew) -> Seen:
        return Seen(str(root.fleet), str(root.common), str(root.own(crew.id)))

    def words(self, crew: Crew, home: str) -> tuple[str, ...]:
        first = crew.agents[0]
        return crew.manifest.words(home, first.name, first.heartbeat.interval)

    def program(self, crew: Crew) -> str:
        return str(self._codes[crew.uid].folders[crew.folder] / crew.manifest.program) if crew.driver else ""

    def prepare(self, root: FleetRoot, crews: Sequence[Crew], tell: Tell) -> None:
        self._root = root
        self._strays = Strays()
        copies = Copies(root, list(dict.fromkeys(crew.folder for crew in crews)))
        for uid in dict.fromkeys(crew.uid for crew in crews):
            mine = [crew for crew in crews if crew.uid == uid]
            needed = [crew.folder / (crew.manifest.program if crew.driver else "agent.yaml") for crew in mine]
            who = uid if os.geteuid() == 0 else None
            self._codes[uid] = code_for(root, copies, who, list(dict.fromkeys(needed)))

    def start(self, launches: Sequence[Launch], tell: Tell) -> None:
        for number, launch in enumerate(launches, 1):
            self._start(launch)
            tell("starting processes", number, len(launches))
        for launch in launches:
            if launch.plan is None:
                self._await_agent(self._running[launch.crew.id])

    def _start(self, launch: Launch) -> None:
        assert self._root is not None
        crew, root = launch.crew, self._root
        code = self._codes[crew.uid]
        folder = code.folders[crew.folder]
        if launch.plan is not None:
            words = [*launch.prefix, code.python, "-S", "-m", "fleetbeat.protocol.live", launch.plan]
        else:
            guard = [code.python, "-S", code.guard, str(root.lease), str(LEASE_S)]
            words = [*guard, *launch.prefix, *launch.words]
        who = {"user": crew.uid, "group": crew.uid, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            output = _output(root.own(crew.id) / OUTPUT)
            try:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    cwd=folder if launch.plan is None else "/",
                    env=self._environment(crew, code),
                    start_new_session=True,
                    **who,  # type: ignore[call-overload]
                )
            finally:
                os.close(output)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise EngineError(f"agent {crew.agents[0].name}: its process cannot be started: {error}") from error
        self._running[crew.id] = Running(launch, process)

    def _await_agent(self, running: Running) -> None:
        """Waits until the guard has started the agent, so that `pid` is the agent's; or has ended."""
        end = time.monotonic() + START_S
        while running.process.poll() is None and not _children(running.process.pid) and time.monotonic() < end:
            time.sleep(0.001)

    def _environment(self, crew: Crew, code: Code) -> dict[str, str]:
        """Little of ours: what is in our environment is none of an agent's business."""
        assert self._root is not None
        path = SYSTEM_PATH if os.geteuid() == 0 and crew.uid != 0 else os.environ.get("PATH", SYSTEM_PATH)
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TZ") if name in os.environ}
        driver = {"PYTHONPATH": code.path} if crew.driver else {}
        home = str(self._root.home(crew.agents[0].home))
        return {**kept, "PATH": path, "HOME": home, "FLEETBEAT_RUN": self._root.run, **driver}

    # --- ends ---

    def kill(self, crew: str) -> None:
        running = self._running.pop(crew, None)
        if running is not None:
            _signal(running, signal.SIGKILL)
            running.process.wait()

    def stop(self, crews: Sequence[str]) -> None:
        for crew in crews:
            if crew in self._running:
                _signal(self._running[crew], signal.SIGTERM)
                _signal(self._running[crew], signal.SIGCONT)
        end = time.monotonic() + STOP_S
        for crew in crews:
            running = self._running.get(crew)
            if running is not None:
                try:
                    running.process.wait(max(0.0, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    pass
                self.kill(crew)

    def pause(self, crew: str) -> None:
        if crew in self._running:
            _signal(self._running[crew], signal.SIGSTOP)

    def resume(self, crew: str) -> None:
        if crew in self._running:
            _signal(self._running[crew], signal.SIGCONT)

    def ended(self) -> list[Ended]:
        found = []
        for name, running in list(self._running.items()):
            code = running.process.poll()
            if code is not None:
                del self._running[name]
                _signal(running, signal.SIGKILL)  # children that it left in its group
                found.append(Ended(name, running.launch.life, code))
        return found

    def tail(self, crew: str) -> str:
        return "" if self._root is None else last_lines(self._root.own(crew) / OUTPUT)

    def pid(self, crew: str) -> int | None:
        running = self._running.get(crew)
        if running is None:
            return None
        own = running.process.pid
        if running.launch.plan is not None:
            return own
        children = _children(own)
        return children[0] if children else own

    def close(self) -> None:
        for running in self._running.values():
            _signal(running, signal.SIGKILL)
        for running in self._running.values():
            running.process.wait()
        self._running = {}
        if self._strays is not None:
            self._strays.end()
            self._strays = None


def _output(path: Path) -> int:
    """Opens what a process writes to, in a directory that is the agent's: what it put there instead is taken away."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
            return descriptor
        os.close(descriptor)
    except OSError:
        pass
    remove(path)
    return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _signal(running: Running, number: signal.Signals) -> None:
    """To the whole group; it may be gone."""
    try:
        os.killpg(running.process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
