"""The fleet's processes through a run: their lives, crashes and restarts, spawns, windows and what is asked of them.

A process is started a little before its time and waits for its go, so that an agent boots when the scenario says. One
that ends unasked is down for good: its last lines are kept as a note, and what its agents did not do is judged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetbeat.engines.prelude import agent_fields, start_edits
from fleetbeat.engines.real.crew import Crew
from fleetbeat.engines.real.errors import EngineError
from fleetbeat.engines.real.hosting import Ended, Launch, Tell
from fleetbeat.engines.real.means.model import Action, Stage
from fleetbeat.engines.real.operators import hand_down
from fleetbeat.engines.real.play_drive import Wait
from fleetbeat.engines.real.play_furnish import furnish
from fleetbeat.engines.real.play_plans import Planner
from fleetbeat.engines.real.play_reports import Reports
from fleetbeat.engines.real.play_world import World
from fleetbeat.scenario.resolve import AgentSpec

#: How often it is looked whether an agent has done what it was asked by a sign.
SIGN_POLL_NS = 10_000_000


class Fleet:
    """Implements `means.model.Stage`: what the means of faults act on."""

    def __init__(self, world: World, planner: Planner) -> None:
        self.world = world
        self.planner = planner
        self.reports = Reports(world)
        self.up: dict[str, int] = {}
        self.is_begun = False
        self._lives = dict.fromkeys(world.crews, -1)
        self._pidfds: dict[str, int] = {}
        self._rebuilds: dict[str, int] = {}

    # --- starting ---

    def boot_all(self, crews: Sequence[Crew], tell: Tell) -> None:
        """Starts the first lives of these crews; they wait for their go. Raises `EngineError`."""
        self._launch(crews, tell)

    def _launch(self, crews: Sequence[Crew], tell: Tell = lambda what, done, total: None) -> None:
        launches = []
        for crew in crews:
            life = self._lives[crew.id] = self._lives[crew.id] + 1
            launches.append(self._ready(crew, life))
        self.world.hosting.start(launches, tell)
        for crew in crews:
            self.up[crew.id] = life = self._lives[crew.id]
            for spec in crew.agents:
                self.world.means.started(self, spec.name, life)
            self._watch_end(crew.id)

    def _ready(self, crew: Crew, life: int) -> Launch:
        world = self.world
        if crew.driver:
            plan = self.planner.write(crew, life, self.go_name(crew, life), self.reports.seen)
            return Launch(crew, life, plan, (), self.planner.prefix(crew, life))
        home = f"{world.hosting.seen(world.root, crew).fleet}{crew.agents[0].home}"
        return Launch(crew, life, None, world.hosting.words(crew, home), self.planner.prefix(crew, life))

    def go_name(self, crew: Crew, life: int) -> str:
        """The name of the file that lets a life boot."""
        return "go" if life == 0 and crew.spawn_at is None else f"go-{crew.id}-{life}"

    def begin(self, crew: Crew) -> None:
        """A life of these agents begins now."""
        world, life = self.world, self._lives[crew.id]
        if crew.id not in self.up:
            return
        if crew.id not in self._pidfds:
            self._watch_end(crew.id)
        for spec in crew.agents:
            world.lives[spec.name] = life
            world.sink.add(world.now, spec.name, "life.begin", agent=spec.name, life=life)
            world.observer.new_life(spec.name, life)

    def start_at(self, crew: Crew, at_ns: int, before: Callable[[], None] = lambda: None) -> None:
        """Starts the next life of a crew so that it boots at `at_ns`; `before` is called right before it may."""
        world = self.world
        lead = world.hosting.lead_ns if crew.driver else 0

        def go() -> None:
            before()
            self.begin(crew)
            if crew.driver:
                world.root.go(self.go_name(crew, self._lives[crew.id]), world.clock.zero)

        def prepare() -> None:
            self._launch([crew])
            world.loop.at(at_ns, go)

        world.loop.at(at_ns - lead, prepare)

    # --- ends ---

    def _watch_end(self, crew: str) -> None:
        pid = self.world.hosting.pid(crew)
        try:
            descriptor = -1 if pid is None else os.pidfd_open(pid)
        except OSError:
            descriptor = -1  # gone already: `reap` is asked now and then as well
        if descriptor >= 0:
            self._pidfds[crew] = descriptor
            self.world.loop.watch(descriptor, self.reap)

    def _unwatch(self, crew: str) -> None:
        descriptor = self._pidfds.pop(crew, None)
        if descriptor is not None:
            self.world.loop.unwatch(descriptor)
            os.close(descriptor)

    def reap(self) -> None:
        """Records the processes that ended by themselves, after all that they did before."""
        ended = self.world.hosting.ended() if self.is_begun else ()
        if ended:
            self.world.observer.drain()
            self.world.means.look(self)
        for one in ended:
            if self.up.get(one.crew) == one.life:
                self._gone(one)

    def _gone(self, one: Ended) -> None:
        crew = self.world.crews[one.crew]
        killer = self.reports.dying.pop(crew.id, None)
        if killer is not None:
            rule = self.planner.rule(killer)
            self._end(crew, killer, None if rule is None else rule.fault.restart)
            return
        lives = {spec.name: self.world.lives[spec.name] for spec in crew.agents if spec.name in self.world.lives}
        self._end(crew, None, None)
        how = f"by signal {-one.code}" if one.code < 0 else f"with exit code {one.code}"
        for agent, life in lives.items():
            about = {"agent": agent, "life": life, "beat": self.world.sink.last_beat(agent, life)}
            error = f"its process ended unasked, {how}"
            self.world.sink.add(self.world.now, f"{agent}/beat", "heartbeat.end", **about, error=error)
        self._note(crew, how)

    def _end(self, crew: Crew, fault: str | None, restart_ns: int | None) -> None:
        """Records the end of a life that is over, and plans the next."""
        world = self.world
        self.up.pop(crew.id, None)
        self._unwatch(crew.id)
        for spec in crew.agents:
            life = world.lives.pop(spec.name, None)
            if life is None:
                continue  # it had not begun
            fields = {"agent": spec.name, "life": life, "cause": "crash", "fault": fault}
            t = world.now
            world.sink.add(t, spec.name, "life.end", **fields)
            world.observer.end_life(spec.name, t)
        if restart_ns is not None:
            self.start_at(crew, world.now + max(1, restart_ns))

    def _note(self, crew: Crew, how: str) -> None:
        text = f"its process ended unasked, {how}"
        tail = self.world.hosting.tail(crew.id)
        name = crew.agents[0].name if len(crew.agents) == 1 else None
        who = "" if name else f"{crew.id} (agents {crew.agents[0].name} to {crew.agents[-1].name}): "
        text = f"{who}{text}; " + ("its last lines:" if tail else "it wrote nothing")
        self.world.sink.add(self.world.now, "harness", "note", agent=name, text=text, told=tail or None)

    def fail_if_dead(self) -> None:
        """Before time 0. Raises `EngineError` for a process that ended, with its last lines."""
        for one in self.world.hosting.ended():
            crew = self.world.crews[one.crew]
            how = f"signal {-one.code}" if one.code < 0 else f"exit code {one.code}"
            tail = self.world.hosting.tail(one.crew)
            raise EngineError(
                f"agent {crew.agents[0].name}: its process died at start ({how}), expected it to run; "
                + (f"its last lines:\n{tail}" if tail else "it wrote nothing")
            )

    # --- what the means act on (`means.model.Stage`) ---

    def now(self) -> int:
        return self.world.now

    def home(self, agent: str) -> Path:
        return self.world.root.home(self.world.specs[agent].home)

    def seen(self, agent: str) -> str:
        world = self.world
        return world.hosting.seen(world.root, world.crew_of[agent]).fleet + world.specs[agent].home

    def own(self, agent: str) -> Path:
        return self.world.root.own(self.world.crew_of[agent].id)

    def root(self) -> Path:
        return self.world.root.path

    def pid(self, agent: str) -> int | None:
        crew = self.world.crew_of[agent].id
        return self.world.hosting.pid(crew) if crew in self.up else None

    def alive(self, agent: str) -> bool:
        return self.world.crew_of[agent].id in self.up and agent in self.world.lives

    def crash(self, agent: str, fault: str, restart_ns: int | None) -> None:
        crew = self.world.crew_of[agent]
        if self.alive(agent):
            self._unwatch(crew.id)
            self.world.hosting.kill(crew.id)
            self.died(agent, fault, restart_ns)

    def died(self, agent: str, fault: str, restart_ns: int | None) -> None:
        crew = self.world.crew_of[agent]
        self.world.observer.drain()
        if crew.id in self.up:
            self._end(crew, fault, restart_ns)

    def pause(self, agent: str) -> None:
        self.world.observer.paused(agent, True)
        self.world.hosting.pause(self.world.crew_of[agent].id)

    def resume(self, agent: str) -> None:
        crew = self.world.crew_of[agent].id
        if crew in self.up:
            self.world.hosting.resume(crew)
        self.world.observer.paused(agent, False)

    def record(self, kind: str, fields: Mapping[str, Any], at_ns: int | None = None) -> None:
        if at_ns is None:
            self.world.sink.add(self.world.now, "harness", kind, **fields)
        else:
            self.world.sink.late(at_ns, "harness", kind, **fields)
        if kind == "fault" and fields["operation"] != "process":
            self.world.observer.also_seen(fields["agent"], self.world.now if at_ns is None else at_ns)

    def at(self, at_ns: int, action: Callable[[Stage], None], what: str) -> None:
        self.do(Action(at_ns, action, what))

    def do(self, action: Action) -> None:
        """Has a means act at its time. Raises `EngineError` (from the loop) if it cannot."""

        def act() -> None:
            try:
                action.run(self)
            except OSError as error:
                raise EngineError(f"{action.what}: got {error.strerror or error}, expected to be able to") from error

        self.world.loop.at(action.at_ns, act)

    # --- windows, spawns, what is asked ---

    def plan_windows(self) -> None:
        """Suspend windows, stalls and rebuilds at their times; a driver knows its own and is told nothing."""
        for agent, windows in self.planner.suspend.items():
            for at_ns, until_ns in windows:
                self.world.loop.at(at_ns, lambda agent=agent: self._turn(agent, 1))  # type: ignore[misc]
                self.world.loop.at(until_ns, lambda agent=agent: self._turn(agent, -1))  # type: ignore[misc]
        for agent, stalls in self.world.means.stalls.items():
            for at_ns, length in stalls:
                self.world.loop.at(at_ns, self._stalled(agent, at_ns + length))
        for agent, rebuilds in self.planner.rebuilds.items():
            if not self.world.crew_of[agent].driver:
                for rebuild in rebuilds:
                    self.world.loop.at(rebuild.at, self._asking(agent, rebuild.cause))

    def _turn(self, agent: str, by: int) -> None:
        """Enters (1) or leaves (-1) a window in which an agent must not consume; windows may overlap."""
        world = self.world
        before = self.planner.inside.get(agent, 0)
        after = self.planner.inside[agent] = before + by
        if bool(before) == bool(after):
            return
        sign = world.manifest(agent).signs.get("suspend")
        if not world.crew_of[agent].driver and sign is not None:
            self._sign(agent, sign, bool(after))
        world.sink.add(world.now, "harness", "runnable", agent=agent, runnable=not after)
        world.observer.runnable(agent, not after)

    def _stalled(self, agent: str, end: int) -> Callable[[], None]:
        def act() -> None:
            if self.alive(agent):
                self.world.observer.paused(agent, True)
                self.world.loop.at(end, lambda: self.world.observer.paused(agent, False))
                self.record("pause", {"agent": agent, "what": "thread", "end": end, "fault": None})

        return act

    def _asking(self, agent: str, cause: str) -> Callable[[], None]:
        return lambda: self._start(self._ask(agent, cause))

    def _start(self, task: Wait) -> None:
        self.world.loop.start(task)

    def _ask(self, agent: str, cause: str) -> Wait:
        """Asks an agent with a command of its own for a rebuild by the sign that it declares."""
        signs = self.world.manifest(agent).signs
        sign = signs.get("refresh" if cause == "refresh" else "rebuild") or signs.get("rebuild")
        if sign is None or not self.alive(agent):
            return
        number = self._rebuilds[agent] = self._rebuilds.get(agent, 0) + 1
        about = {"agent": agent, "life": self.world.lives.get(agent, 0), "rebuild": number}
        self.record("rebuild.begin", {**about, "cause": cause})
        self._sign(agent, sign, True)
        while self.alive(agent) and os.path.lexists(self.home(agent) / sign):
            yield self.world.now + SIGN_POLL_NS
        self.record("rebuild.end", {**about, "outcome": "done" if self.alive(agent) else "cut"})

    def _sign(self, agent: str, sign: str, is_up: bool) -> None:
        """Makes or removes a sign as the agent's own user would."""
        world, spec = self.world, self.world.specs[agent]
        path = f"{spec.home}/{sign}"
        world.observer.ours(path)
        try:
            with world.users.acting(spec.uid):
                if is_up:
                    world.files.close(world.files.open(path, "x"))
                else:
                    world.files.unlink(path)
        except OSError:
            return  # the agent took it away, or put something else there: what it does then is what is judged

    def plan_spawn(self, crew: Crew) -> None:
        """Has the agents of a crew come to be at their time."""
        assert crew.spawn_at is not None

        def before() -> None:
            for spec in crew.agents:
                self._born(spec)

        self.start_at(crew, crew.spawn_at, before)

    def _born(self, spec: AgentSpec) -> None:
        world = self.world
        furnish(world, spec)

        def report(fields: dict[str, Any]) -> None:
            world.sink.add(world.now, "harness", "body", **fields)

        fields = agent_fields(spec, world.manifest(spec.name), world.sink.bodies, report)
        world.sink.add(world.now, "harness", "agent", **fields)
        for edit in start_edits(spec, world.sink.bodies, report):
            world.sink.add(world.now, "harness", "edit", **edit)
        world.watch_agent(spec)
        if spec.parent is not None and spec.hand_down != "none":
            world.loop.at(world.now, lambda: self._start(hand_down(world, spec)))
