"""What a driver tells its harness: lines of JSON appended to one file, each written at once and whole.

A line has `what` and `t`, nanoseconds since time 0 of the run. What there is:

ready           imported, waiting for the go
fault           one fault struck: agent, life, fault, step, operation, path, effect, error, on
error           an operation failed by itself (no such file and the like apart): agent, life, step, operation, path, error
seen            occurrences that a fault counted so far: agent, fault, n
rebuild.begin   agent, life, rebuild, cause
rebuild.end     agent, life, rebuild, cause, outcome (done, failed, ended), error, ops
beat            agent, life, beat, end, idle, outcome (done, ended), ops: [kind, begin, end, result] each, the times
                without what a fault delays; of the idle ones only a sample
heartbeat.end   an exception ended it: agent, life, beat, error
program.error   a program does not keep to the vocabulary: agent, life, error
driver.error    the driver itself is at fault: agent, life, error
end             the process ends: reason (asked, lease)

Standard library only.
"""

from __future__ import annotations

import json
import os
from typing import Any

from fleetbeat.protocol.live_clock import Clock


class Reports:
    """Appends to `path`. Threads may share it: a line is one write."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        self._clock = clock

    def tell(self, what: str, at_ns: int | None = None, **fields: Any) -> None:
        """Reports something that happened now, or at `at_ns`."""
        t = self._clock.now() if at_ns is None else at_ns
        os.write(self._file, (json.dumps({"what": what, "t": t, **fields}, separators=(",", ":")) + "\n").encode())
