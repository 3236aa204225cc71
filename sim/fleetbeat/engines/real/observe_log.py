"""Agents' logs and drivers' reports, as they grow; and how late the observer sees what agents have timed themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleetbeat.engines.real.inotify import MODIFY, MOVED_TO, NAMES, Event, Kernel
from fleetbeat.engines.real.logs import Tail, Unreadable, entry_of, log_event
from fleetbeat.engines.real.observe_eyes import Eyes, TooLong
from fleetbeat.engines.real.observe_measure import Lag
from fleetbeat.engines.real.observe_queue import Queue
from fleetbeat.engines.real.observe_teller import Voice
from fleetbeat.engines.real.observe_watched import Watched

REPORT = "report.jsonl"
OnLine = Callable[[dict[str, Any]], None]


class Logs:
    def __init__(self, kernel: Kernel, voice: Voice, queue: Queue, eyes: Eyes) -> None:
        self._kernel = kernel
        self._voice = voice
        self._queue = queue
        self._eyes = eyes
        self._tails: dict[str, Tail] = {}
        self._reports: dict[int, tuple[Tail, OnLine]] = {}
        self.lag = Lag()

    def add(self, agent: Watched) -> None:
        self._tails[agent.name] = Tail(self._eyes, agent.log_path, self._tell_writes_apart)

    def watch_reports(self, directory: Path, on_line: OnLine) -> None:
        watch = self._kernel.add(str(directory), NAMES)
        self._reports[watch] = (Tail(Eyes(directory), f"/{REPORT}", self._tell_writes_apart, from_start=True), on_line)
        self._read_report(watch)

    def _tell_writes_apart(self, descriptor: int) -> None:
        """Watches a file itself besides its directory: the kernel joins equal events in a row, and now two kinds take
        turns, so that each write has its own. It matters to the order alone: where it cannot be had, it goes without."""
        try:
            self._kernel.add(f"/proc/self/fd/{descriptor}", MODIFY)
        except OSError:
            return

    # --- an agent's log ---

    def written(self, agent: Watched, event: Event | None) -> None:
        """Records new entries, but those of writes that the kernel has yet to tell of."""
        what = agent.relative(agent.log_path)
        try:
            for line, size in self._tails[agent.name].lines(self._left(event)):
                self._entry(agent, line, size)
            self._voice.sighted(agent, what)
        except OSError as error:
            self._voice.blind(agent, what, error.strerror or "unreadable")

    def _entry(self, agent: Watched, line: bytes, size: int) -> None:
        event, fields, wall_s = log_event(line, size)
        t = self._voice.stamp()
        self._voice.add(t, agent.name, "log", agent=agent.name, life=max(0, agent.life), event=event, fields=fields)
        self._voice.seen(agent, t)
        if wall_s is not None:
            self.lag.add(self._voice.own_lag(agent, wall_s), not agent.manifest.is_foreign)

    def measure_beat(self, agent: Watched) -> None:
        """Compares the time that an agent wrote at a beat with the time now."""
        path = agent.beat_path
        try:
            data = None if path is None else self._eyes.read(path)
            wall_s = None if data is None else float(data[:40])
        except (ValueError, OSError, TooLong):
            return
        if wall_s is not None and abs(wall_s) < 1e12:
            self.lag.add(self._voice.own_lag(agent, wall_s), not agent.manifest.is_foreign)

    # --- reports ---

    def reported(self, event: Event) -> None:
        """An event in a directory that is no agent's."""
        if event.watch in self._reports and event.name == REPORT and event.mask & (MODIFY | MOVED_TO):
            self._read_report(event.watch, event)

    def read_reports(self) -> None:
        for watch in list(self._reports):
            self._read_report(watch)

    def _left(self, event: Event | None) -> Callable[[], int]:
        """Asked after a file was read: so many of its last lines belong to events that are not handled yet."""
        return lambda: 0 if event is None else self._queue.writes_left(event)

    def _read_report(self, watch: int, event: Event | None = None) -> None:
        tail, on_line = self._reports[watch]
        try:
            for line, size in tail.lines(self._left(event)):
                on_line(_report(line, size))
        except OSError as error:
            on_line({"what": "unreadable", "why": error.strerror or "unreadable"})


def _report(line: bytes, size: int) -> dict[str, Any]:
    try:
        entry = entry_of(line, size)
        return entry if isinstance(entry.get("what"), str) else {"what": "unreadable", "why": "no `what`"}
    except Unreadable as why:
        return {"what": "unreadable", "why": str(why)}
