"""A small harness for tests of means: real homes, real processes of the foreign agent, and a loop that plays a plan.

It does what `means.Stage` asks for and keeps what it was told; it judges nothing.
"""

from __future__ import annotations

import heapq
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fleetbeat.engines.real.means import Action, Machine, MeansPlan, Stage, machine, plan_means
from fleetbeat.engines.real.means.mounts import mounts_below
from fleetbeat.scenario.manifest import Manifest, load_manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec, agents

FOREIGN = Path(__file__).parent / "foreign"
REFERENCE = Path(__file__).parents[2] / "agents" / "reference"
DEADLINE_S = 20.0
MS, SECOND = 1_000_000, 1_000_000_000


def need(machine_can_not: str | None) -> None:
    """Skips the test where the machine lacks something, or fails it where CI demands it."""
    if machine_can_not is not None:
        (pytest.fail if os.environ.get("FLEETBEAT_NEED_ROOT") == "1" else pytest.skip)(machine_can_not)


def need_root() -> None:
    need(None if os.geteuid() == 0 else "needs root")


def able(**changed: Any) -> Machine:
    """A machine that can do everything, made up, with something changed."""
    facts: dict[str, Any] = {"uid": 0, "kernel": "6.1", "strace": "6.1", "strace_why": None, "mount_why": None}
    return Machine(**{**facts, **changed})


def scenario_of(**fields: Any) -> Scenario:
    """`faults` and `fleet` as a scenario's YAML has them."""
    return Scenario.model_validate({"fleet": {"agents": 1}, "duration": "10s", **fields})


def planned(
    scenario: Scenario,
    folder: Path = FOREIGN,
    engine: str = "process",
    on: Machine | None = None,
    prefer: str = "cheap",
) -> MeansPlan:
    """The plan for a fleet of one kind of agent."""
    specs = agents(scenario)
    manifests = {spec.agent: load_manifest(folder) for spec in specs}
    return plan_means(scenario, specs, manifests, engine, able() if on is None else on, prefer=prefer)


class RealStage:
    """`told`: records in order, as (kind, fields). `above`: words
    before the agents' command; `interval_s` is the agents'."""

    def __init__(self, root: Path, scenario: Scenario, above: Sequence[str] = (), interval_s: float = 0.02) -> None:
        self.above = above
        self.place = root
        self.specs: dict[str, AgentSpec] = {spec.name: spec for spec in agents(scenario)}
        self.manifest: Manifest = load_manifest(FOREIGN)
        self.interval_s = interval_s
        self.told: list[tuple[str, Mapping[str, Any]]] = []
        self.lives: dict[str, int] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.plan: MeansPlan | None = None
        self._due: list[tuple[int, int, Callable[[Stage], None]]] = []
        self._order = count()
        self._zero = time.monotonic_ns()
        for spec in self.specs.values():
            for directory in (self.home(spec.name) / "system", self.home(spec.name) / "logs", self.own(spec.name)):
                directory.mkdir(parents=True)

    # --- Stage ---

    def now(self) -> int:
        return time.monotonic_ns() - self._zero

    def home(self, agent: str) -> Path:
        return self.place / "fleet" / self.specs[agent].home.lstrip("/")

    def seen(self, agent: str) -> str:
        return str(self.home(agent))

    def own(self, agent: str) -> Path:
        return self.place / "control" / agent

    def root(self) -> Path:
        return self.place

    def pid(self, agent: str) -> int | None:
        process = self.running.get(agent)
        return None if process is None or process.poll() is not None else process.pid

    def alive(self, agent: str) -> bool:
        return agent in self.running

    def crash(self, agent: str, fault: str, restart_ns: int | None) -> None:
        process = self.running.pop(agent)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.record("life.end", {"agent": agent, "fault": fault})
        if restart_ns is not None:
            self.at(self.now() + restart_ns, lambda stage: self.start(agent), "restart")

    def pause(self, agent: str) -> None:
        os.killpg(self.running[agent].pid, signal.SIGSTOP)
        self.record("stopped", {"agent": agent})

    def resume(self, agent: str) -> None:
        os.killpg(self.running[agent].pid, signal.SIGCONT)
        self.record("resumed", {"agent": agent})

    def record(self, kind: str, fields: Mapping[str, Any], at_ns: int | None = None) -> None:
        self.told.append((kind, {"t": self.now() if at_ns is None else at_ns, **fields}))

    def at(self, at_ns: int, action: Callable[[Stage], None], what: str) -> None:
        heapq.heappush(self._due, (at_ns, next(self._order), action))

    # --- what a test does ---

    def play(self, plan: MeansPlan) -> None:
        """Time 0 is now: the plan's actions are due from here on."""
        self.plan = plan
        plan.prepare(self)
        self._zero = time.monotonic_ns()
        self.schedule(plan.actions)

    def schedule(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self.at(action.at_ns, action.run, action.what)

    def start(self, agent: str) -> None:
        """Starts a life of the foreign agent."""
        life = self.lives[agent] = self.lives.get(agent, -1) + 1
        prefix = () if self.plan is None else self.plan.prefix(agent, life)
        words = (sys.executable, "-S", "-u", str(FOREIGN / "agent.py"), str(self.home(agent)), f"{self.interval_s}")
        output = (self.own(agent) / "out.log").open("ab")
        with output:
            self.running[agent] = subprocess.Popen(
                [*prefix, *self.above, *words],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.record("started", {"agent": agent})
        if self.plan is not None:
            self.plan.started(self, agent, life)

    def until(self, is_so: Callable[[], object], what: str) -> None:
        """Plays on until something is so. Fails after a deadline, saying what was told."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            while self._due and self._due[0][0] <= self.now():
                heapq.heappop(self._due)[2](self)
            if self.plan is not None:
                self.plan.look(self)
            if is_so():
                return
            assert time.monotonic() < deadline, f"waited in vain for {what}; told: {self.told}"
            time.sleep(0.002)

    def post(self, agent: str, text: str) -> None:
        home = self.home(agent)
        (home / "tmp").write_text(text)
        (home / "tmp").rename(home / ".rules")

    def canonical(self, agent: str) -> str | None:
        path = self.home(agent) / "system" / "rules.md"
        return path.read_text() if path.exists() else None

    def applied(self, agent: str, text: str) -> None:
        """Posts, and waits until it is canonical."""
        self.post(agent, text)
        self.until(lambda: self.canonical(agent) == text, f"{text!r} to be applied by {agent}")

    def is_gone(self, agent: str) -> bool:
        """Whether its signal was consumed."""
        return not os.path.lexists(self.home(agent) / ".rules")

    def logged(self, agent: str, event: str) -> bool:
        """Whether its own log holds an event of this type."""
        path = self.home(agent) / "logs" / "events.jsonl"
        return path.exists() and f'"{event}"' in path.read_text()

    def faults(self) -> list[Mapping[str, Any]]:
        return [fields for kind, fields in self.told if kind == "fault"]

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]

    def close(self) -> None:
        """Ends everything; leaves no process and no mount."""
        for process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if self.plan is not None:
            self.plan.remove(self)
        assert mounts_below(self.place) == []


def of_this_machine() -> Machine:
    return machine()
