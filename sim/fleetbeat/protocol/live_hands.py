"""One agent's hands: its operations as real calls, with what its faults do to them. Twin of `engines.effects`.

Threads of an agent take turns, one operation at a time; the memory of its prompt and its locks need no other care, and
whoever holds the turn (`stop`) knows that no operation is under way and none will begin. Standard library only.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
from typing import Any

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.step import Step
from fleetbeat.files.real import RealFiles
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.live_clock import Clock
from fleetbeat.protocol.live_faults import Strikes
from fleetbeat.protocol.live_plan import AgentPlan
from fleetbeat.protocol.live_report import Reports
from fleetbeat.protocol.process import LOG_PATH, Process, WouldBlock
from fleetbeat.protocol.vocabulary import (
    Close,
    Emit,
    List,
    Lock,
    MakeDir,
    Op,
    Open,
    ReadChunk,
    Rename,
    Sleep,
    Stat,
    Sync,
    Truncate,
    Unlink,
    WriteChunk,
)

#: Errors that say what stands in a directory, not that something is wrong with it.
ORDINARY = (errno.ENOENT, errno.EEXIST)


class Hands:
    def __init__(
        self, agent: AgentPlan, life: int, files: RealFiles, choices: Choices, clock: Clock, reports: Reports
    ) -> None:
        self.agent = agent
        self.life = life
        self.clock = clock
        self.reports = reports
        self.process = Process(agent.name, agent.home, files)
        self._strikes = Strikes(agent, choices, self._counted)
        self._turn = threading.Condition(threading.Lock())
        self._paths: dict[int, str] = {}
        self._still_until = 0

    def relative_path(self, op: Op) -> str:
        """What the operation is about: a path relative to home if it lies there, a lock's name, or "" for nothing."""
        path = LOG_PATH if isinstance(op, Emit) else op.name if isinstance(op, Lock) else self._path(op)
        return path.removeprefix(self.agent.home + "/")

    def perform(self, op: Op, step: Step, holder: str) -> tuple[Any, int, int]:
        """Carries out `op`, whose step is `step`, for the thread `holder`: its result, when the call began and ended.

        Waits as long as a fault delays it, the process stands still, or somebody else holds the lock that it takes. Does
        not return where a fault ends the process. Raises `OSError` as the call or a fault has it.
        """
        clock = self.clock
        with self._turn:
            outcome = self._strikes.outcome(step, clock.now())
        self._wait(op, outcome)
        with self._turn:
            if outcome is not None:
                self._report(outcome, step)
                if outcome.crash == "before":
                    die()
            begun = clock.now()
            try:
                answer = self._under_faults(op, step, holder, outcome)
            except OSError as error:
                if outcome is None and error.errno not in ORDINARY:
                    self._tell("error", step=str(step), operation=step.operation, path=step.path, error=name_of(error))
                raise
            finally:
                if outcome is not None and outcome.crash == "after":
                    die()
            return answer, begun, clock.now()

    def stop(self, within_s: float) -> None:
        """Lets the operation that is under way end, for so long at most; none begins afterwards."""
        self._turn.acquire(timeout=within_s)

    # --- inside ---

    def _path(self, op: Op) -> str:
        if isinstance(op, (Stat, Open, Unlink, MakeDir, List)):
            return op.path
        if isinstance(op, (ReadChunk, WriteChunk, Truncate, Close, Sync)):
            return self._paths.get(op.handle, "")
        return op.source if isinstance(op, Rename) else ""

    def _wait(self, op: Op, outcome: Outcome | None) -> None:
        clock = self.clock
        late = op.duration_ns if isinstance(op, Sleep) else 0
        if outcome is not None:
            late += outcome.delay_ns + outcome.pause_ns
            if outcome.pause_ns:
                self._still_until = max(self._still_until, clock.now() + outcome.pause_ns)
        if late:
            clock.sleep_until(clock.now() + late)
        while self._still_until > clock.now():
            clock.sleep_until(self._still_until)

    def _under_faults(self, op: Op, step: Step, holder: str, outcome: Outcome | None) -> Any:
        if outcome is None or outcome.error is None:
            return self._apply(op, holder)
        failure = OSError(outcome.error, os.strerror(outcome.error), step.path)
        if isinstance(op, Close):
            self._apply(op, holder)  # close(2) gives the handle back even where it reports an error
        elif outcome.effect == "partial":
            self._half(op, holder)
        elif outcome.effect == "after":
            answer = self._apply(op, holder)
            if isinstance(op, Open):
                self._apply(Close(answer), holder)
        raise failure

    def _half(self, op: Op, holder: str) -> None:
        """Half of an operation, where halves exist: half the bytes of a write or a log entry, an open that truncates."""
        if isinstance(op, WriteChunk) and len(op.data) > 1:
            self._apply(WriteChunk(op.handle, op.data[: len(op.data) // 2]), holder)
        elif isinstance(op, Open) and op.mode in ("w", "x"):
            self._apply(Close(self._apply(op, holder)), holder)
        elif isinstance(op, Emit):
            self.process.emit(op.event, dict(op.fields), self._wall_s(), share=0.5)

    def _apply(self, op: Op, holder: str) -> Any:
        now_s = self._wall_s() if isinstance(op, Emit) else 0.0
        while True:
            try:
                answer = self.process.perform(op, holder, now_s)
                break
            except WouldBlock:
                self._turn.wait()
        if isinstance(op, Open):
            self._paths[answer] = op.path
        elif isinstance(op, Close):
            self._paths.pop(op.handle, None)
        elif isinstance(op, Lock) and not op.hold:
            self._turn.notify_all()
        return answer

    def _wall_s(self) -> float:
        return self.clock.wall_s(self.agent.clock_offset, self.agent.clock_ppm)

    # --- reports ---

    def _tell(self, what: str, **fields: Any) -> None:
        self.reports.tell(what, agent=self.agent.name, life=self.life, **fields)

    def _counted(self, fault: str, count: int) -> None:
        self._tell("seen", fault=fault, n=count)

    def _report(self, outcome: Outcome, step: Step) -> None:
        error = None if outcome.error is None else errno.errorcode[outcome.error]
        for fault, effect in outcome.fired:
            fails = any(word in ("error", "partial", "after") for word in effect.split())
            self._tell(
                "fault",
                fault=fault,
                step=str(step),
                operation=step.operation,
                path=step.path,
                effect=effect,
                error=error if fails else None,
                on="agents",
            )


def name_of(error: OSError) -> str:
    """The errno's name of a failed call."""
    return errno.errorcode.get(error.errno or 0, str(error.errno))


def die() -> None:
    """The process dies, as by a crash. The first process of a container cannot kill itself: it exits, as suddenly."""
    os.kill(os.getpid(), signal.SIGKILL)
    os._exit(128 + signal.SIGKILL)
