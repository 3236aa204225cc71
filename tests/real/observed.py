"""The same operations on two file systems: on real directories under the observer, and in memory under the simulation's
watch. `Twins.records` gives what each of them recorded, without times."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.engines.worlds import scenario

from fleetbeat.engines.des.watch import Watch
from fleetbeat.engines.real.observer import Observer
from fleetbeat.engines.real.records import Clock, Sink
from fleetbeat.files.memory import MemoryFiles
from fleetbeat.files.real import RealFiles
from fleetbeat.history.records import Record, digest
from fleetbeat.protocol.process import Process
from fleetbeat.protocol.vocabulary import Context, Episode, Op
from fleetbeat.scenario.manifest import Manifest, load_manifest
from fleetbeat.scenario.resolve import AgentSpec, agents

TOP = Path(__file__).resolve().parents[2]
REFERENCE = load_manifest(TOP / "agents" / "reference")
#: What both record. `write` and `log` name their actor differently, so actors are left out.
KINDS = ("signal", "canonical", "prompt", "log", "write")
#: Longest that a test waits for what must come.
PATIENCE_S = 20.0

Row = tuple[str, dict[str, Any]]


def specs(count: int = 1, **fleet: Any) -> tuple[AgentSpec, ...]:
    return agents(scenario(fleet={"agents": count, "uid": os.getuid(), **fleet}))


class Eyewitness:
    """An observer of homes under a directory, and what it recorded."""

    def __init__(self, top: Path, watched: tuple[AgentSpec, ...] | None = None, manifest: Manifest = REFERENCE) -> None:
        self.fleet = top / "fleet"
        self.fleet.mkdir()
        self.clock, self.sink = Clock(), Sink()
        self.specs = specs() if watched is None else watched
        self.observer = Observer(self.clock, self.sink, self.fleet)
        for spec in self.specs:
            self.home(spec.name).mkdir(parents=True)
            self.observer.watch(spec, self.home(spec.name), manifest)
        self.clock.start_at(time.monotonic_ns())
        for spec in self.specs:
            self.observer.new_life(spec.name, 0)

    def home(self, agent: str = "a-0") -> Path:
        return self.fleet / next(spec.home for spec in self.specs if spec.name == agent)[1:]

    def history(self) -> list[Record]:
        return self.sink.history(self.clock.now(), "duration")

    def rows(self, *kinds: str) -> list[Row]:
        """Drains and gives all records of these kinds, in order."""
        self.observer.drain()
        return [(r.kind, dict(r.fields)) for r in self.history() if r.kind in (kinds or KINDS)]

    def events(self, kind: str) -> list[str]:
        return [fields["event"] for _, fields in self.rows(kind)]

    def until(self, found: Callable[[], Any], what: str) -> Any:
        """Drains until there is an answer. Fails, saying what was waited for, after `PATIENCE_S`."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.observer.drain()
            if answer := found():
                return answer
            assert time.monotonic() < deadline, f"waited {PATIENCE_S} s for {what}; got {self.rows()}"
            time.sleep(0.002)

    def over(self) -> list[Record]:
        self.observer.close()
        return self.history()


@contextmanager
def eyewitness(top: Path, *args: Any, **named: Any) -> Iterator[Eyewitness]:
    witness = Eyewitness(top, *args, **named)
    try:
        yield witness
    finally:
        witness.observer.close()


class Twins:
    """Actors that do everything twice. `is_prompt`: the observer looks after each operation, as it does in a quiet run."""

    def __init__(self, top: Path, manifest: Manifest = REFERENCE, is_prompt: bool = True) -> None:
        self.witness = Eyewitness(top, manifest=manifest)
        self.is_prompt = is_prompt
        self.spec = self.witness.specs[0]
        self.memory = MemoryFiles()
        self.memory.make_dirs(self.spec.home, os.getuid())
        self.memory.chmod("/", 0o777)
        self._watched: list[Row] = []
        self._watch = Watch(self._world(manifest))  # type: ignore[arg-type]
        self._watch.add(self.spec.name)
        self.real_agent = Process(self.spec.name, self.spec.home, RealFiles(str(self.witness.fleet)))
        self.twin_agent = Process(self.spec.name, self.spec.home, self.memory.process(os.getuid()))

    def _world(self, manifest: Manifest) -> SimpleNamespace:
        def add(when: Any, actor: str, kind: str, /, **fields: Any) -> None:
            self._watched.append((kind, fields))

        return SimpleNamespace(
            files=self.memory,
            specs={self.spec.name: self.spec},
            manifests={self.spec.agent: manifest},
            manifest=lambda name: manifest,
            recorder=SimpleNamespace(add=add),
            body=lambda data, when: digest(data),
            agents={self.spec.name: SimpleNamespace(generation=0)},
        )

    def acts(self, episode: Callable[[], Episode], on: str = "agents") -> Any:
        """An agent, or an operator, plays an episode on both sides; returns what the real one returned."""
        self._twin(episode(), on)
        files = self.real_agent if on == "agents" else Process("op", self.spec.home, RealFiles(str(self.witness.fleet)))
        result = drive(episode(), lambda op: self._perform(files, op))
        self.witness.observer.drain()
        return result

    def _perform(self, process: Process, op: Op) -> Any:
        try:
            return process.perform(op, "actor", time.time())
        finally:
            if self.is_prompt:
                self.witness.observer.drain()

    def _twin(self, episode: Episode, on: str) -> None:
        process = self.twin_agent if on == "agents" else Process("op", self.spec.home, self.memory.process(os.getuid()))
        prefix = self.spec.home + "/"
        body = SimpleNamespace(
            on=on, agent=self.spec.name, actor="actor", life=0, writing=None, relative=lambda p: p.removeprefix(prefix)
        )

        def perform(op: Op) -> Any:
            answer = process.perform(op, "actor", 0.0)
            self._watch.after((0, None), body, op, getattr(op, "path", ""), answer)  # type: ignore[arg-type]
            return answer

        drive(episode, perform)

    def ours(self, path: str) -> None:
        self.witness.observer.ours(path)

    def records(self) -> tuple[list[Row], list[Row]]:
        """What the observer recorded, and what the simulation's watch did."""
        return self.witness.rows(), self.records_of_twin()

    def records_of_twin(self) -> list[Row]:
        return [row for row in self._watched if row[0] in KINDS]

    def agree(self) -> list[Row]:
        """Asserts that both recorded the same, and gives it."""
        seen, watched = self.records()
        assert seen == watched, f"seen {seen}\nwatched {watched}"
        return seen


@contextmanager
def twins_of(top: Path, *args: Any, **named: Any) -> Iterator[Twins]:
    twins = Twins(top, *args, **named)
    try:
        yield twins
    finally:
        twins.witness.observer.close()


def drive(episode: Episode, perform: Callable[[Op], Any]) -> Any:
    answer: Any = None
    failure: OSError | None = None
    while True:
        try:
            op = episode.throw(failure) if failure is not None else episode.send(answer)
        except StopIteration as done:
            return done.value
        answer = failure = None
        try:
            answer = perform(op)
        except OSError as error:
            failure = error


def post(home: Path, body: bytes = b"x") -> None:
    """A post by the documented way, which the harness has not announced."""
    (home / ".rules.tmp").write_bytes(body)
    os.rename(home / ".rules.tmp", home / ".rules")


def context(home: str = "/a-0") -> Context:
    return Context(home.rsplit("/", 1)[-1], home)


def entries(rows: list[Row], kind: str) -> list[Mapping[str, Any]]:
    return [fields for found, fields in rows if found == kind]


@contextmanager
def mounted(place: Path) -> Iterator[None]:
    """A small file system of its own over a directory; skips where that cannot be had."""
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "fleetbeat-test", str(place)], capture_output=True)
    if made.returncode:
        if os.environ.get("FLEETBEAT_NEED_ROOT") == "1":
            pytest.fail(f"cannot mount: {made.stderr.decode()}")
        pytest.skip("needs root to mount")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], check=True)
