"""Switchyard, a small event engine with callbacks, as somebody else may have written it. It does not know fleetbeat.

    yard = Switchyard(send, journal, done="job.done")
    yard.inspector("no-push", inspect)             inspect(signal) -> PASS, CONFIRM or BLOCK
    yard.listen(["build.*"], react, name="ci")     react(signal) -> Reaction or None
    ruling = yard.dispatch(Signal(7, "build.failed", "ci", None, 1.5, payload))

A reaction is carried out by `send(kind, name, body) -> key`: an `alert`, a `hint` or a `job`. What a hint or a job leads to
is its *trail*, which runs on autopilot: of a job's trail one alert comes out, from the signal `done` that the job itself
sends, and nothing else. A signal whose parent is not known is taken for autopilot. Inspectors are asked about every signal
of `inspected`, and the sternest wins; one that throws asks for confirmation. A listener that throws is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

PASS, CONFIRM, BLOCK = 0, 1, 2
ALERT, HINT, JOB = "alert", "hint", "job"


@dataclass(frozen=True, slots=True)
class Signal:
    """`key`: its number; `parent`: the key of the signal or reaction that led to it; `at`: seconds."""

    key: int
    topic: str
    thread: str
    parent: int | None
    at: float
    payload: Any


@dataclass(frozen=True, slots=True)
class Reaction:
    kind: str
    body: Any


@dataclass(slots=True)
class Trail:
    """`root`: the key of its first signal, or of the hint or job that put it on autopilot; `alerts`: that it may send."""

    root: int
    autopilot: bool = False
    alerts: int = 0


@dataclass(slots=True)
class Listener:
    topics: Sequence[str]
    react: Callable[[Signal], Reaction | None]
    name: str
    gap_s: float


class Switchyard:
    def __init__(
        self,
        send: Callable[[str, str, Any], int],
        journal: Callable[[Mapping[str, Any]], None],
        done: str = "job.done",
        inspected: str = "call",
        limit: int = 10_000,
    ) -> None:
        self._send = send
        self._journal = journal
        self._done = done
        self._inspected = inspected
        self._limit = limit
        self._inspectors: dict[str, Callable[[Signal], int]] = {}
        self._listeners: list[Listener] = []
        self._trails: dict[int, Trail] = {}
        self._older: dict[int, Trail] = {}
        self._last: dict[str, float] = {}

    # --- who takes part ---

    def inspector(self, name: str, inspect: Callable[[Signal], int]) -> None:
        self._inspectors[name] = inspect

    def dismiss(self, name: str) -> None:
        """Takes an inspector away, if there is one of this name."""
        self._inspectors.pop(name, None)

    def listen(
        self, topics: Sequence[str], react: Callable[[Signal], Reaction | None], name: str, gap_s: float = 0.0
    ) -> None:
        """`topics`: globs; `gap_s`: seconds that must lie between two reactions of this name."""
        self._listeners.append(Listener(topics, react, name, gap_s))

    def silence(self) -> None:
        """Takes all listeners away."""
        self._listeners.clear()

    # --- signals ---

    def dispatch(self, signal: Signal) -> int:
        """Shows a signal to everybody that it concerns. Returns the ruling; PASS for what is not inspected."""
        trail = self._trail(signal)
        self._keep(signal.key, trail)
        self._journal({"key": signal.key, "root": trail.root, "autopilot": trail.autopilot})
        ruling = self._inspect(signal) if signal.topic == self._inspected else PASS
        for listener in self._listeners:
            if any(fnmatchcase(signal.topic, topic) for topic in listener.topics):
                with suppress(Exception):
                    self._react(listener, signal, trail)
        return ruling

    def _trail(self, signal: Signal) -> Trail:
        if signal.parent is None:
            return Trail(signal.key)
        return self._known(signal.parent) or Trail(signal.key, autopilot=True)

    def _inspect(self, signal: Signal) -> int:
        ruling = PASS
        for inspect in self._inspectors.values():
            try:
                ruling = max(ruling, inspect(signal))
            except Exception:
                ruling = max(ruling, CONFIRM)
        return ruling

    def _react(self, listener: Listener, signal: Signal, trail: Trail) -> None:
        last = self._last.get(listener.name)
        if last is not None and signal.at - last < listener.gap_s:
            return
        reaction = listener.react(signal)
        if reaction is None or not self._may(reaction, signal, trail):
            return
        key = self._send(reaction.kind, listener.name, reaction.body)
        self._last[listener.name] = signal.at
        if reaction.kind == ALERT:
            trail.alerts -= 1
        else:
            trail = Trail(key, autopilot=True, alerts=1 if reaction.kind == JOB else 0)
        self._keep(key, trail)
        entry = {"key": key, "root": trail.root, "autopilot": trail.autopilot, "alerts": trail.alerts}
        self._journal({**entry, "name": listener.name, "at": signal.at})

    def _may(self, reaction: Reaction, signal: Signal, trail: Trail) -> bool:
        if not trail.autopilot:
            return True
        is_own = signal.topic == self._done and signal.parent == trail.root
        return reaction.kind == ALERT and is_own and trail.alerts > 0

    # --- memory ---

    def _known(self, key: int) -> Trail | None:
        return self._trails.get(key) or self._older.get(key)

    def _keep(self, key: int, trail: Trail) -> None:
        if len(self._trails) >= self._limit:
            self._older, self._trails = self._trails, {}
        self._trails[key] = trail

    def restore(self, entry: Mapping[str, Any]) -> None:
        """Takes in an entry of the journal of a former process, in order."""
        root = entry["root"]
        trail = self._known(root) or Trail(root, entry["autopilot"])
        trail.alerts = entry.get("alerts", trail.alerts)
        self._keep(entry["key"], trail)
        if "name" in entry:
            self._last[entry["name"]] = entry["at"]
