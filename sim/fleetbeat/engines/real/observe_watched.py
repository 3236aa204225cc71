"""An agent as its observer knows it: the names that matter in its home, and how they stand."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from fleetbeat.protocol.process import LOG_PATH
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.resolve import AgentSpec

SIGNAL, CANONICAL, PROMPT = "signal", "canonical", "prompt"


@dataclass(slots=True)
class Name:
    """A watched name. `look` tells files at a signal's name apart; `last` is what was last recorded of its content."""

    agent: Watched
    role: str
    path: str
    standing: bool = False
    look: tuple[int, int, int] | None = None
    last: object = None


@dataclass(slots=True)
class Watched:
    """`uid` is the user that plays it on this machine; `clock_offset` (ns) and `clock_ppm` how its own clock is off."""

    spec: AgentSpec
    manifest: Manifest
    uid: int
    clock_offset: int
    clock_ppm: float
    names: list[Name] = field(default_factory=list)
    life: int = -1
    #: What has been told already as not seen, so that it is told once.
    blind: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def home(self) -> str:
        return self.spec.home

    def path(self, relative: str) -> str:
        return os.path.normpath(f"{self.home}/{relative}")

    @property
    def log_path(self) -> str:
        return self.path(LOG_PATH)

    @property
    def beat_path(self) -> str | None:
        return None if self.manifest.heartbeat is None else self.path(self.manifest.heartbeat)

    def signal(self) -> Name:
        return Name(self, SIGNAL, self.path(".rules"))

    def canonical(self) -> Name:
        return Name(self, CANONICAL, self.path(self.manifest.canonical))

    def prompt(self) -> Name:
        return Name(self, PROMPT, self.path(self.manifest.prompt.path))

    def relative(self, path: str) -> str:
        """As histories show places: relative to home, or fleet-wide outside it."""
        return path.removeprefix(self.home + "/")

    def own_time(self, wall_ns: int, now_ns: int) -> int:
        """Run time of an instant that its own clock showed as `wall_ns` (already since time 0)."""
        return wall_ns - self.clock_offset - int(now_ns * self.clock_ppm * 1e-6)
