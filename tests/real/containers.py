"""A docker `Hosting` with a few crews on a root of its own, without the harness: what is started is started by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engines.worlds import scenario

from fleetbeat.engines.docker.hosting import DockerHosting
from fleetbeat.engines.real.crew import Crew, crews_of
from fleetbeat.engines.real.hosting import Ended, Launch
from fleetbeat.engines.real.root import FleetRoot, make_root
from fleetbeat.protocol.live_plan import AgentPlan, HeartbeatPlan, LivePlan, to_json
from fleetbeat.scenario.manifest import load_manifest
from fleetbeat.scenario.resolve import agents

TOP = Path(__file__).resolve().parents[2]
REFERENCE = TOP / "agents" / "reference"
#: Longest that a test waits for what must come, seconds.
PATIENCE_S = 60.0
UID = os.getuid() or 1000


def until(found: Callable[[], Any], what: str, patience_s: float = PATIENCE_S) -> Any:
    """The first true answer. Fails, saying what was waited for."""
    deadline = time.monotonic() + patience_s
    while not (answer := found()):
        assert time.monotonic() < deadline, f"waited {patience_s} s for {what}"
        time.sleep(0.02)
    return answer


def quiet(what: str, done: int, total: int) -> None:
    """Tells nobody."""


class Stage:
    """Crews of one folder, one agent each, in `hosting`; their homes and control directories are theirs."""

    def __init__(self, root: FleetRoot, hosting: DockerHosting, folder: Path, count: int, lease_s: float) -> None:
        self.root, self.hosting, self.lease_s = root, hosting, lease_s
        manifest = load_manifest(folder)
        specs = agents(scenario(fleet={"agents": count, "uid": UID}))
        names = {spec.agent for spec in specs}
        by_name = dict.fromkeys(sorted(names), manifest)
        self.crews = crews_of(specs, by_name, dict.fromkeys(sorted(names), folder), most=1)
        for crew in self.crews:
            for path in (self.home(crew), root.own(crew.id)):
                path.mkdir()
                os.chown(path, UID, UID)

    def home(self, crew: Crew) -> Path:
        return self.root.home(crew.agents[0].home)

    def launch(self, crew: Crew, life: int = 0) -> Launch:
        """Its plan is written, its go is given."""
        seen = self.hosting.seen(self.root, crew)
        if not crew.driver:
            return Launch(crew, life, None, self.hosting.words(crew, f"{seen.fleet}{crew.agents[0].home}"))
        agent = AgentPlan(crew.id, crew.agents[0].home, self.hosting.program(crew), HeartbeatPlan(interval=100_000_000))
        files = (f"{seen.common}/lease", f"{seen.common}/go", f"{seen.own}/report.jsonl")
        plan = LivePlan(self.root.run, 1, seen.fleet, *files, (agent,), life=life, lease_s=self.lease_s)
        (self.root.own(crew.id) / f"plan-{life}.json").write_text(to_json(plan))
        return Launch(crew, life, f"{seen.own}/plan-{life}.json")

    def start(self, life: int = 0) -> None:
        self.root.go("go", time.monotonic_ns())
        self.hosting.start([self.launch(crew, life) for crew in self.crews], quiet)

    def beats(self, crew: Crew) -> int:
        """A number that changes with each beat; 0 before the first."""
        beat = self.home(crew) / ".agent.heartbeat"
        return beat.stat().st_mtime_ns if beat.exists() else 0

    def await_beat(self, crew: Crew) -> None:
        """Waits for a beat that has not been yet."""
        before = self.beats(crew)
        until(lambda: self.beats(crew) != before, f"a beat of {crew.id}")

    def await_end(self) -> Ended:
        """Waits for the first process that ends by itself."""
        ended: list[Ended] = until(self.hosting.ended, "the end of a container")
        return ended[0]


@contextmanager
def staged(base: str, folder: Path = REFERENCE, count: int = 1, lease_s: float = 600.0) -> Iterator[Stage]:
    """A prepared stage. Its containers and its root are gone afterwards."""
    hosting = DockerHosting(base=base)
    root = make_root(None, "docker", "test")
    try:
        stage = Stage(root, hosting, folder, count, lease_s)
        hosting.prepare(root, stage.crews, quiet)
        yield stage
    finally:
        hosting.close()
        root.remove()
