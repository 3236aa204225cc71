"""Crews on the driver for tests: directories, a plan, a process under `python -S`, and questions to what it reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fleetbeat.protocol.live_plan import AgentPlan, Amount, HeartbeatPlan, LivePlan, to_json

MS = 1_000_000
S = 1_000_000_000
TOP = Path(__file__).resolve().parents[2]
#: Longest that a test waits for what must come.
PATIENCE_S = 30.0
QUICK = HeartbeatPlan(interval=20 * MS, phase="aligned")


def program(name: str = "reference") -> str:
    return str(TOP / "agents" / name / "program.py")


def agent(name: str = "a-0", of: str | None = None, heartbeat: HeartbeatPlan = QUICK, **more: Any) -> AgentPlan:
    """An agent that beats fifty times a second from its boot on, unless told otherwise."""
    return AgentPlan(name, f"/{name}", of or program(), heartbeat, **more)


def after_boot(length_ns: int) -> Amount:
    return Amount("constant", value=length_ns)


def until(found: Callable[[], Any], what: str) -> Any:
    """The first true answer. Fails, saying what was waited for, after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    while not (answer := found()):
        assert time.monotonic() < deadline, f"waited {PATIENCE_S} s for {what}"
        time.sleep(0.005)
    return answer


class Crew:
    """One process of the driver and the directories of its agents."""

    def __init__(self, top: Path, agents: tuple[AgentPlan, ...], seed: int = 1, **more: Any) -> None:
        self.root = top / "fleet"
        for one in agents:
            for part in ("", "/system", "/logs"):
                (self.root / (one.home[1:] + part)).mkdir(parents=True, exist_ok=True)
        self.lease, self._go, self._report = (top / name for name in ("lease", "go", "report.jsonl"))
        self.lease.write_text("")
        files = (str(self.lease), str(self._go), str(self._report))
        self.plan = LivePlan("test", seed, str(self.root), *files, agents, **more)
        self._plan_file, self._output = top / "plan-0.json", top / "out.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, go: bool = True) -> None:
        self._plan_file.write_text(to_json(self.plan))
        words = [sys.executable, "-S", "-m", "fleetbeat.protocol.live", str(self._plan_file)]
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                words, env={"PYTHONPATH": str(TOP / "sim")}, stdout=output, stderr=output, start_new_session=True
            )
        if go:
            self.wait_for("ready")
            self.go()

    def go(self) -> None:
        self.zero = time.monotonic_ns()
        ready = self._go.with_suffix(".new")
        ready.write_text(json.dumps({"zero": self.zero}))
        ready.rename(self._go)

    def now(self) -> int:
        return time.monotonic_ns() - self.zero

    # --- what it reported and left ---

    def told(self, what: str, **fields: Any) -> list[dict[str, Any]]:
        text = self._report.read_text() if self._report.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [one for one in lines if one["what"] == what and all(one.get(k) == v for k, v in fields.items())]

    def wait_for(self, what: str, count: int = 1, **fields: Any) -> list[dict[str, Any]]:
        def enough() -> list[dict[str, Any]]:
            found = self.told(what, **fields)
            assert len(found) >= count or self.alive or what == "end", f"it ended: {self.output()}"
            return found if len(found) >= count else []

        found: list[dict[str, Any]] = until(enough, f"{count} times {what} {fields}; output: {self.output()}")
        return found

    def output(self) -> str:
        return self._output.read_text() if self._output.exists() else ""

    def file(self, path: str, name: str = "a-0") -> Path:
        return self.root / name / path

    def events(self, name: str = "a-0") -> list[dict[str, Any]]:
        log = self.file("logs/events.jsonl", name)
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def post(self, body: bytes, name: str = "a-0") -> None:
        temporary = self.file(".rules.tmp", name)
        temporary.write_bytes(body)
        temporary.rename(self.file(".rules", name))

    def beats_on(self, name: str = "a-0", beats: int = 3) -> None:
        """Waits until its heartbeat's file was written anew a few times."""
        path, seen = self.file(".agent.heartbeat", name), dict.fromkeys([0])

        def enough() -> bool:
            if path.exists():
                seen[path.stat().st_mtime_ns] = None
            return len(seen) > beats + 1

        until(enough, f"{beats} beats of {name}")

    # --- its end ---

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def ended(self) -> int:
        """Waits for its end by itself; its return code."""
        assert self.process is not None
        return self.process.wait(PATIENCE_S)

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def remove(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def crew(top: Path, *agents: AgentPlan, **more: Any) -> Iterator[Crew]:
    made = Crew(top, agents or (agent(),), **more)
    try:
        yield made
    finally:
        made.remove()
