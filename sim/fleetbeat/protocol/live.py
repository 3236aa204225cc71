"""The driver: one process that plays the programs of a crew's agents with real calls, in real time.

    python -S -m fleetbeat.protocol.live PLAN

PLAN is the file of a `LivePlan`. The process loads the programs, says that it is ready, boots when the go appears and goes
on until it is asked to end (SIGTERM, SIGINT), or nobody renews its lease any more: a harness that was killed leaves no
agents behind. What befalls an agent it reports (`live_report`); what a program prints goes where the process's output
goes. Standard library only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from pathlib import Path

from fleetbeat.chance.choices import Hashed
from fleetbeat.protocol.folders import load_module
from fleetbeat.protocol.live_agent import LiveAgent
from fleetbeat.protocol.live_clock import Clock
from fleetbeat.protocol.live_plan import LivePlan, from_json
from fleetbeat.protocol.live_report import Reports
from fleetbeat.protocol.vocabulary import Program

ENDINGS = (signal.SIGTERM, signal.SIGINT)
GO_POLL_S = 0.005
#: Who has waited so long for the go looks less often, until a file `soon` beside it says that it comes: hundreds that look
#: often leave no time to those that are still being started.
OFTEN_S = 2.0
SELDOM_POLL_S = 0.1
SOON = "soon"
LEASE_POLL_S = 1.0
#: Longest that an operation under way may take at the end, all agents together.
STOP_S = 5.0
STACK_BYTES = 512 * 1024


class Lease:
    """A file that the harness rewrites again and again; only that it changes counts, not what any clock says.

    A process that stood still (a pause, a laptop's lid) does not find its lease run out on waking: time is counted in its
    own looks, `LEASE_POLL_S` apart.
    """

    def __init__(self, path: str, lasts_s: float) -> None:
        self._path = path
        self._most = lasts_s / LEASE_POLL_S
        self._seen: object = None
        self._looks = 0

    def is_over(self) -> bool:
        """Whether it did not change for too many looks; to be asked every `LEASE_POLL_S`."""
        try:
            found = os.stat(self._path)
            now: object = (found.st_mtime_ns, found.st_ino, found.st_size)
        except OSError:
            now = None
        self._looks = 0 if now != self._seen else self._looks + 1
        self._seen = now
        return self._looks >= self._most


class Requests:
    """Requests to end, from the moment this is made on.

    Rejected: `signal.sigtimedwait`, which in CPython 3.11 reports a signal that never came when the process was stopped
    for longer than it waits.
    """

    def __init__(self) -> None:
        self._told, teller = os.pipe()
        os.set_blocking(teller, False)
        signal.set_wakeup_fd(teller)
        for ending in ENDINGS:
            signal.signal(ending, lambda number, frame: None)

    def came_within(self, seconds: float) -> bool:
        """Waits so long at most."""
        return bool(select.select([self._told], [], [], seconds)[0])


class Driver:
    def __init__(self, plan: LivePlan) -> None:
        """Raises `ImportError`, `AttributeError` and whatever a program raises while it loads."""
        self._plan = plan
        self._requests = Requests()
        self._clock = Clock()
        self._reports = Reports(plan.report, self._clock)
        self._lease = Lease(plan.lease, plan.lease_s)
        choices = Hashed(plan.seed)
        self._agents = [
            LiveAgent(plan, agent, program_at(agent.program), choices, self._clock, self._reports)
            for agent in plan.agents
        ]

    def run(self) -> None:
        """Ready, go, and on to the end."""
        self._reports.tell("ready")
        reason = self._await_go()
        if reason is None:
            for agent in self._agents:
                agent.start()
            reason = self._await_end()
        for agent in self._agents:
            agent.hands.stop(STOP_S / len(self._agents))
        self._reports.tell("end", reason=reason)

    def _await_go(self) -> str | None:
        """Waits for the go; why there will be none, if so."""
        soon = Path(self._plan.go).with_name(SOON)
        waited = asked = 0.0
        while True:
            try:
                self._clock.zero = int(json.loads(Path(self._plan.go).read_text())["zero"])
                return None
            except (OSError, ValueError):
                pass
            pause = GO_POLL_S if waited < OFTEN_S or soon.exists() else SELDOM_POLL_S
            if self._requests.came_within(pause):
                return "asked"
            waited += pause
            if waited >= asked:
                asked = waited + LEASE_POLL_S
                if self._lease.is_over():
                    return "lease"

    def _await_end(self) -> str:
        while not self._requests.came_within(LEASE_POLL_S):
            if self._lease.is_over():
                return "lease"
        return "asked"


def program_at(path: str) -> Program:
    """The PROGRAM of a program's file. Raises as loading it does."""
    program: Program = load_module(Path(path)).PROGRAM
    return program


def main(arguments: list[str]) -> None:
    """Plays the plan in the one file that is named; when it returns the process ends, and threads of agents with it."""
    if len(arguments) != 1:
        raise SystemExit(f"fleetbeat.protocol.live: got {len(arguments)} arguments, expected one: the file of a plan")
    threading.stack_size(STACK_BYTES)
    Driver(from_json(Path(arguments[0]).read_text(encoding="utf-8"))).run()


if __name__ == "__main__":
    main(sys.argv[1:])
