"""The history of a run in real time: records in the order in which they were seen, and the clock that times them.

Time is CLOCK_MONOTONIC since time 0: it never goes back, whatever is done to the machine's wall clock. A record that was
seen later than a thing that had happened before it keeps its place; its time is at least that of the record before it.
"""

from __future__ import annotations

import time
from typing import Any

from fleetbeat.engines.bodies import Bodies
from fleetbeat.history.records import Record

#: A wall clock that moves so much against the monotonic one has stepped, ns. Slewing (500 ppm) stays far below it.
STEP_NS = 50_000_000


class Clock:
    """Nanoseconds since time 0, negative before it. `zero` is what CLOCK_MONOTONIC shows at time 0."""

    def __init__(self) -> None:
        self.zero = time.monotonic_ns()
        self._wall = time.time_ns() - time.monotonic_ns()
        self.largest_step_ns = 0

    def now(self) -> int:
        return time.monotonic_ns() - self.zero

    def start_at(self, zero: int) -> None:
        """Sets time 0 to what CLOCK_MONOTONIC shows as `zero`."""
        self.zero = zero
        self._wall = time.time_ns() - time.monotonic_ns()

    def since_wall(self, seconds: float) -> int:
        """A wall time of this machine, in ns since time 0."""
        return int(seconds * 1e9) - self._wall - self.zero

    def stepped(self) -> int:
        """How far the wall clock has stepped since it was last asked, ns; 0 for less than `STEP_NS`."""
        wall = time.time_ns() - time.monotonic_ns()
        step, self._wall = wall - self._wall, wall
        if abs(step) > abs(self.largest_step_ns):
            self.largest_step_ns = step
        return step if abs(step) >= STEP_NS else 0


class Sink:
    """Collects records. `now` for those that are about something seen right now is the caller's."""

    def __init__(self) -> None:
        self.head: list[Record] = []
        self.bodies = Bodies()
        self._records: list[Record] = []
        self._last = 0

    def add(self, t: int, actor: str, kind: str, /, **fields: Any) -> None:
        """Appends a record; its time is never before the last one's, nor before 0."""
        self._last = max(self._last, t)
        self._records.append(Record(self._last, actor, kind, fields))

    def late(self, t: int, actor: str, kind: str, /, **fields: Any) -> None:
        """Puts in a record about something that began at `t`, before what was recorded since."""
        self._records.append(Record(max(0, t), actor, kind, fields))

    def records_from(self, place: int) -> list[Record]:
        """What was recorded after the first `place` records, in the order of recording."""
        return self._records[place:]

    def last_beat(self, agent: str, life: int) -> int:
        """The number of the last beat of a life that is recorded, 0 if none is."""
        for record in reversed(self._records):
            if record.kind in ("beat", "beats") and record["agent"] == agent and record["life"] == life:
                return int(record["last" if record.kind == "beats" else "beat"])
        return 0

    def body(self, data: bytes, t: int, origin: str = "unknown", version: str | None = None) -> str:
        """The digest of a body; its record is written the first time that it is met."""

        def report(fields: dict[str, Any]) -> None:
            self.add(t, "harness", "body", **fields)

        return self.bodies.see(data, origin, report, version)

    def history(self, end_ns: int, reason: str) -> list[Record]:
        """All records in the order of their times, those of one time as they were told, and the `end`."""
        end = Record(max(end_ns, self._last), "harness", "end", {"reason": reason})
        return [*self.head, *sorted(self._records, key=lambda record: record.t), end]
