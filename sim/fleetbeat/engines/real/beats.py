"""Beats, as the file shows that an agent writes when each begins.

A beat begins when that file is written. Our driver reports the end of each beat that did more than look: it ends when that
report is seen, after all that was seen of it before. Of an agent with a program of its own a beat ends with the last
thing seen of it. Beats in which nothing was seen are idle, and are
joined to spans as far as they are alike: numbers in a row, all runnable or none, all begun on the same side of every
change at `.rules`. Numbers count what was seen, from 0 in each life; a driver's report corrects them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetbeat.engines.real.observe_teller import Voice

#: A heartbeat has stopped when nothing came for so many intervals, and so long; ns.
INTERVALS, LEAST_NS = 5, 5_000_000_000
#: How much longer an agent with a program of its own may take for its first beat, ns.
GRACE_NS = 10_000_000_000
#: An agent of which something was seen so short a time before its death died in that beat, ns.
WARM_NS = 50_000_000


@dataclass(slots=True)
class Beat:
    """A beat under way. `seen`: when the last thing was seen of it, None if nothing was."""

    number: int
    start: int
    generation: int
    runnable: bool
    seen: int | None = None


@dataclass(slots=True)
class Span:
    first: int
    last: int
    start: int
    last_start: int
    generation: int
    runnable: bool


class Heart:
    """The heartbeat of one agent. `interval_ns`: the planned one. `reports`: a driver tells of its beats. `shows`: there
    is a file that shows them."""

    def __init__(self, voice: Voice, agent: str, interval_ns: int, reports: bool, shows: bool) -> None:
        self._voice = voice
        self._agent = agent
        self._limit = max(INTERVALS * interval_ns, LEAST_NS)
        self._reports = reports
        self._shows = shows
        self._life = -1
        self._alive = False
        self._next = 0
        self._beat: Beat | None = None
        self._span: Span | None = None
        self._generation = 0
        self._runnable = True
        self._paused = 0
        self._last: int | None = None
        self._quiet_since: int | None = None
        self._stopped: int | None = None

    # --- what the harness says ---

    def new_life(self, life: int, now_ns: int) -> None:
        self.end_life(now_ns)
        self._life, self._alive, self._next = life, True, 0
        self._last, self._paused = None, 0
        self._quiet_since = None if self._reports else now_ns + GRACE_NS

    def end_life(self, now_ns: int) -> None:
        """The life ended at `now_ns`, and what was under way with it."""
        if self._alive:
            self._finish(now_ns)
            self._close_span()
            self._tell_stopped()
            self._alive, self._quiet_since = False, None

    def runnable(self, runnable: bool) -> None:
        self._runnable = runnable

    def paused(self, paused: bool, now_ns: int) -> None:
        self._paused = max(0, self._paused + (1 if paused else -1))
        if self._quiet_since is not None:
            self._quiet_since = max(self._quiet_since, now_ns)

    def excused(self, length_ns: int) -> None:
        """So long nobody could have seen a beat: the silence does not count."""
        if self._quiet_since is not None:
            self._quiet_since += length_ns

    # --- what is seen ---

    def begin(self, t: int) -> None:
        """The file was written: a beat begins. One before the life that the harness knows of is none of the run's."""
        self._last = t
        if not self._alive:
            return
        self._finish(None)
        self._beat = Beat(self._next, t, self._generation, self._runnable)
        self._next += 1
        self._quiet_since = t
        self._stopped = None

    def seen(self, t: int) -> None:
        """Something was seen of the agent at `t`, maybe told late."""
        beat = self._beat
        if beat is not None and t >= beat.start:
            beat.seen = max(t, beat.seen or 0)

    def signalled(self) -> None:
        self._generation += 1

    def reported(self, line: Mapping[str, Any], now_ns: int) -> None:
        """A driver's line `beat`, `rebuild.end` or `heartbeat.end`; others, and those of another life, say nothing."""
        if line.get("life") != self._life or not self._alive:
            return
        if line["what"] == "rebuild.end":
            self._quiet_since = self._quiet_since or now_ns
        elif line["what"] == "heartbeat.end":
            self._quiet_since, self._stopped = None, None
        elif line["what"] == "beat":
            self._renumber(line.get("beat"))
            if not line.get("idle"):
                self._told(line, now_ns)

    def _renumber(self, number: object) -> None:
        if isinstance(number, int) and number >= self._next - 1:
            self._next = number + 1
            if self._beat is not None:
                self._beat.number = number

    def _told(self, line: Mapping[str, Any], now_ns: int) -> None:
        beat, self._beat = self._beat, None
        if beat is None:
            start, number = line.get("t"), line.get("beat")
            if not isinstance(start, int) or not isinstance(number, int):
                return
            beat = Beat(number, max(0, start), self._generation, self._runnable)
            self._last = beat.start
        self._write(beat, max(beat.start, now_ns), str(line.get("outcome", "done")))

    # --- records ---

    def _finish(self, death_ns: int | None) -> None:
        """The beat that is open is over: another begins, or the process is dead."""
        beat, self._beat = self._beat, None
        if beat is None:
            return
        if beat.seen is None or (self._reports and death_ns is None):
            self._join(beat)
        elif death_ns is not None and (self._reports or death_ns - beat.seen < WARM_NS):
            self._write(beat, max(death_ns, beat.seen), "cut")
        else:
            self._write(beat, beat.seen, "done")

    def _write(self, beat: Beat, end: int, outcome: str) -> None:
        self._close_span()
        self._voice.late(
            beat.start,
            f"{self._agent}/beat",
            "beat",
            agent=self._agent,
            life=self._life,
            beat=beat.number,
            end=end,
            runnable=beat.runnable,
            outcome=outcome,
        )

    def _join(self, beat: Beat) -> None:
        span = self._span
        if (
            span is not None
            and span.last + 1 == beat.number
            and span.generation == beat.generation
            and span.runnable == beat.runnable
        ):
            span.last, span.last_start = beat.number, beat.start
            return
        self._close_span()
        self._span = Span(beat.number, beat.number, beat.start, beat.start, beat.generation, beat.runnable)

    def _close_span(self) -> None:
        span, self._span = self._span, None
        if span is not None:
            self._voice.late(
                span.start,
                f"{self._agent}/beat",
                "beats",
                agent=self._agent,
                life=self._life,
                first=span.first,
                last=span.last,
                last_start=span.last_start,
                end=span.last_start,
                runnable=span.runnable,
                ops={},
            )

    # --- silence ---

    def age(self, now_ns: int) -> int | None:
        return None if self._last is None else now_ns - self._last

    def listen(self, now_ns: int) -> None:
        """Notices that beats have stopped. It is told when that life is over: a slow beat may still end."""
        since = self._quiet_since
        if (
            self._shows
            and self._stopped is None
            and since is not None
            and not self._paused
            and now_ns - since > self._limit
        ):
            self._stopped = since + self._limit

    def _tell_stopped(self) -> None:
        at, self._stopped = self._stopped, None
        if at is not None:
            self._voice.late(
                at,
                f"{self._agent}/beat",
                "heartbeat.end",
                agent=self._agent,
                life=self._life,
                beat=max(0, self._next - 1),
                error=f"no beat for {self._limit / 1e9:g} s",
            )
