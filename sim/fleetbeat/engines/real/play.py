"""Plays a scenario in real time: makes the fleet's directories, starts its processes, posts, observes, and takes all
away again. One thread does it all; a second one does nothing but renew the lease.

What is written to the history is what was seen, in the order in which the kernel told it. Until time 0 nothing is
judged: agents with a program of ours wait for their go, others have had their first beat, or ten seconds. What a scenario
says of the latencies of agents' own operations is for the simulation: here they take what the machine takes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from fleetbeat.chance.choices import Hashed, Overrides
from fleetbeat.engines.gates import truths
from fleetbeat.engines.injector import Injector
from fleetbeat.engines.prelude import head, rollout_id
from fleetbeat.engines.real.crew import Crew, crews_of
from fleetbeat.engines.real.errors import CannotDo, EngineError
from fleetbeat.engines.real.hosting import Hosting, Tell, quiet
from fleetbeat.engines.real.lifecycle import Fleet
from fleetbeat.engines.real.loop import Loop
from fleetbeat.engines.real.means import MeansPlan, plan_means
from fleetbeat.engines.real.means.machine import machine
from fleetbeat.engines.real.observer import Observer
from fleetbeat.engines.real.plans import refuse_troubles, roll_out
from fleetbeat.engines.real.play_files import HarnessFiles, Users
from fleetbeat.engines.real.play_furnish import furnish, make_home
from fleetbeat.engines.real.play_plans import Planner
from fleetbeat.engines.real.play_world import World
from fleetbeat.engines.real.records import Clock, Sink
from fleetbeat.engines.real.root import FleetRoot, make_root
from fleetbeat.history.records import Record
from fleetbeat.protocol.live import SOON
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.manifest import Manifest, load_manifest
from fleetbeat.scenario.model import Latency, Scenario
from fleetbeat.scenario.resolve import agents as resolve_agents
from fleetbeat.scenario.resolve import waves as resolve_waves

RENEW_S = 2.0
#: Said of a scenario that gives agents latencies; a fault with a delay is what slows an operation for real.
NOT_PLAYED = (
    "agents' operations take what this machine takes: the latency that the scenario gives them is for simulation alone "
    "(a fault with a delay is played)"
)
#: How long an agent with a command of its own may take to its first beat before the run begins without it, ns.
FIRST_BEAT_NS = 10_000_000_000
#: From saying that the go comes soon to the go: time for every driver to look (`protocol.live.SELDOM_POLL_S`), and more.
SOON_NS = 200_000_000
LOOK_NS = 20_000_000


def play(
    scenario: Scenario,
    hosting: Hosting,
    overrides: Overrides | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    root: Path | None = None,
    keep_root: bool = False,
    prefer: str = "cheap",
    tell: Tell = quiet,
) -> list[Record]:
    """Plays `scenario` on processes of `hosting` and returns its history.

    `root`: where, None for a new directory of our own; `keep_root`: leave it there. `prefer`: which means of faults
    come first, "cheap" or "real". On KeyboardInterrupt the history so far is returned, ending in "interrupted".

    Raises `CannotDo` before anything is started, `EngineError` for what stops the run (with the history so far once it
    has begun), `ScenarioError` for an agent that cannot be loaded.
    """
    if overrides is not None:
        raise CannotDo("--case: got a case file, expected none: choices of single steps need the simulation")
    refuse_troubles(scenario)
    specs = resolve_agents(scenario)
    names = list(dict.fromkeys(spec.agent for spec in specs))
    folders = {name: find_agent(name, None).resolve() for name in names}
    manifests = {name: load_manifest(folders[name]) for name in names}
    users = Users([spec.uid for spec in specs] + [rollout.uid for rollout in scenario.rollouts])
    means = plan_means(scenario, specs, manifests, hosting.engine, machine(), prefer=prefer)
    hosting.check()
    crews = crews_of(specs, manifests, folders, means.alone, hosting.most)
    mask = os.umask(0o022)  # what is made for agents of other users must be theirs to read
    try:
        place = make_root(root, hosting.engine, scenario.name)
        records: list[Record] = []
        try:
            users.check_way(place.path)
            with _Lease(place):
                records = _Run(scenario, manifests, users, means, hosting, crews, place, tell, progress).play()
        finally:
            _take_away(place, hosting, keep_root, records)
        return records
    finally:
        os.umask(mask)


def _take_away(place: FleetRoot, hosting: Hosting, keep_root: bool, records: Sequence[Record]) -> None:
    """Ends and removes everything. Raises `EngineError`, with what was seen, for what cannot be."""
    try:
        hosting.close()
        if not keep_root:
            place.remove()
    except EngineError as error:
        raise EngineError(str(error), records) from error
    except OSError as error:
        words = f"{error.filename or place.path}: got {error.strerror or error}, expected to be able to remove it"
        raise EngineError(words, records) from error


class _Lease:
    """Renews the lease in a thread of its own, whatever the harness is busy with, until the run is over."""

    def __init__(self, place: FleetRoot) -> None:
        self._file = os.open(place.lease, os.O_WRONLY)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def _renew(self) -> None:
        while not self._over.wait(RENEW_S):
            os.utime(self._file)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        os.close(self._file)


class _Run:
    """One run, from the empty directory to the history."""

    def __init__(
        self,
        scenario: Scenario,
        manifests: dict[str, Manifest],
        users: Users,
        means: MeansPlan,
        hosting: Hosting,
        crews: Sequence[Crew],
        place: FleetRoot,
        tell: Tell,
        progress: Callable[[int], None] | None,
    ) -> None:
        specs = resolve_agents(scenario)
        choices = Hashed(scenario.seed)
        clock, sink = Clock(), Sink()
        by_name = {spec.name: spec for spec in specs}
        self.tell, self.progress, self.crews = tell, progress, crews
        self.world = World(
            scenario=scenario,
            specs=by_name,
            manifests=manifests,
            choices=choices,
            injector=Injector(scenario, specs, choices, lambda agent: manifests[by_name[agent].agent].prompt.path),
            clock=clock,
            sink=sink,
            loop=Loop(clock),
            users=users,
            root=place,
            files=HarnessFiles(place.fleet),
            hosting=hosting,
            observer=Observer(clock, sink, place.fleet),
            means=means,
            crews={crew.id: crew for crew in crews},
            crew_of={spec.name: crew for crew in crews for spec in crew.agents},
        )
        self.waves = {rollout_id(rollout): resolve_waves(rollout, specs) for rollout in scenario.rollouts}
        self.planner = Planner(self.world)
        self.fleet = Fleet(self.world, self.planner)
        self.silent: list[str] = []

    def play(self) -> list[Record]:
        world = self.world
        reason = "duration"
        begun = False
        try:
            self._set_up()
            self._await_ready()
            self._go()
            begun = True
            self._run()
        except KeyboardInterrupt:
            if not begun:
                raise
            reason = "interrupted"
        except EngineError as error:
            if not begun:
                raise
            self._close()
            raise EngineError(str(error), world.sink.history(world.now, "failed")) from error
        except OSError as error:
            words = f"{error.filename or world.root.path}: got {error.strerror or error}, expected to be able to go on"
            self._close()
            raise EngineError(words, world.sink.history(world.now, "failed") if begun else ()) from error
        finally:
            self._close()
        return world.sink.history(min(world.now, world.scenario.duration), reason)

    # --- before time 0 ---

    def _set_up(self) -> None:
        world = self.world
        world.sink.head = head(
            world.scenario,
            world.hosting.engine,
            list(world.specs.values()),
            world.manifests,
            world.injector,
            world.sink.bodies,
            self.waves,
            observed=[],
        )
        world.sink.head += [Record(0, "harness", "truth", fields) for fields in truths(world.scenario)]
        there = [spec for spec in world.specs.values() if spec.spawn_at is None]
        for spec in world.specs.values():
            make_home(world, spec)
        for spec in there:
            furnish(world, spec)
        for crew in self.crews:
            own = world.root.own(crew.id)
            own.mkdir(mode=0o755)
            if world.users.is_root:
                os.chown(own, crew.uid, crew.uid)
        world.means.prepare(self.fleet)
        for spec in there:
            world.watch_agent(spec)
        for crew in self.crews:
            world.observer.watch_reports(crew.id, world.root.own(crew.id), self._taking(crew.id))
        world.loop.before = world.observer.drain
        world.loop.watch(world.observer.fd, world.observer.drain)
        world.hosting.prepare(world.root, self.crews, self.tell)
        self.fleet.boot_all([crew for crew in self.crews if crew.spawn_at is None], self.tell)

    def _taking(self, crew: str) -> Callable[[dict[str, object]], None]:
        return lambda line: self.fleet.reports.take(crew, line)

    def _await_ready(self) -> None:
        """Waits until everybody is there. Raises `EngineError` for a process that dies, or is not ready in time."""
        world = self.world
        first = [crew for crew in self.crews if crew.spawn_at is None]
        drivers = [crew.id for crew in first if crew.driver]
        others = [crew.agents[0].name for crew in first if not crew.driver and crew.manifest.heartbeat is not None]
        began = world.now
        patience = int(world.hosting.patience_s * 1e9)

        def is_ready() -> bool:
            self.fleet.fail_if_dead()
            ages = world.observer.beat_ages()
            waiting = [crew for crew in drivers if crew not in self.fleet.reports.ready]
            self.silent = [agent for agent in others if ages.get(agent) is None]
            return not waiting and (not self.silent or world.now - began > FIRST_BEAT_NS)

        world.loop.run(began + patience, is_ready)
        (world.root.common / SOON).touch()
        world.loop.run(world.now + SOON_NS)
        missing = [crew for crew in drivers if crew not in self.fleet.reports.ready]
        if missing:
            tail = world.hosting.tail(missing[0])
            raise EngineError(
                f"agent {world.crews[missing[0]].agents[0].name}: got no sign that its process is ready after "
                f"{world.hosting.patience_s:g} s, expected one" + (f"; its last lines:\n{tail}" if tail else "")
            )

    # --- the run ---

    def _go(self) -> None:
        """Time 0 is now: lives begin, and everything is planned from it."""
        world, fleet = self.world, self.fleet
        world.clock.start_at(world.clock.zero + world.now)
        fleet.is_begun = True
        if any(spec.latency != Latency() for spec in world.specs.values()):
            world.sink.add(0, "harness", "note", agent=None, text=NOT_PLAYED, told=None)
        for crew in self.crews:
            if crew.spawn_at is None:
                fleet.begin(crew)
            else:
                fleet.plan_spawn(crew)
        world.root.go("go", world.clock.zero)
        fleet.plan_windows()
        for action in world.means.actions:
            fleet.do(action)
        world.loop.every(LOOK_NS, lambda: world.means.look(fleet))
        world.loop.every(LOOK_NS, fleet.reap)
        if self.progress is not None:
            progress, duration = self.progress, world.scenario.duration
            world.loop.every(max(1, duration // 100), lambda: progress(min(duration, max(0, world.now))))
        digests = {record["rollout"]: record["body"] for record in world.sink.head if record.kind == "rollout"}
        for rollout in world.scenario.rollouts:
            name = rollout_id(rollout)
            world.loop.start(roll_out(world, rollout, name, self.waves[name], digests[name]))

    def _run(self) -> None:
        self.world.loop.run(self.world.scenario.duration)

    def _close(self) -> None:
        """Ends everything, and says what is left to say; once."""
        world = self.world
        if world.loop.is_closed:
            return
        world.loop.close()
        world.observer.drain()
        ended = world.now
        ages = world.observer.beat_ages()
        for agent in self.silent:
            if ages.get(agent) is None and self.fleet.alive(agent):
                self._never_beat(agent, ended)
        world.means.look(self.fleet)
        world.observer.close()
        world.means.release(self.fleet)
        world.hosting.close()
        world.means.remove(self.fleet)
        lag, step = world.observer.measured(), abs(world.clock.largest_step_ns)
        self._measured(ended, "observation", lag.count, (lag.p50, lag.p90, lag.p99, lag.max))
        self._measured(ended, "clock", 1, (step, step, step, step))
        for count in world.means.counts():
            world.sink.add(ended, "harness", "fault.count", **count)

    def _never_beat(self, agent: str, ended: int) -> None:
        """Of an agent that did not beat once, before time 0 nor after, nothing can be judged."""
        crew = self.world.crew_of[agent]
        tail = self.world.hosting.tail(crew.id)
        file = crew.manifest.heartbeat
        missing = f"beats: it never wrote {file}"
        self.world.sink.late(0, "harness", "unseen", agent=agent, **{"from": 0, "to": ended}, missing=missing)
        text = f"never beat: got no {file} in its home, expected it at each beat; it wrote "
        text += "last:" if tail else "nothing"
        self.world.sink.add(ended, "harness", "note", agent=agent, text=text, told=tail or None)

    def _measured(self, t: int, what: str, count: int, values: Sequence[int | None]) -> None:
        fields = dict(zip(("p50", "p90", "p99", "max"), values, strict=True))
        self.world.sink.add(t, "harness", "measured", what=what, count=count, **fields)
