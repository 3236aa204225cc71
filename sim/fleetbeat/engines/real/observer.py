"""What can be seen of the fleet's directories from outside, in the one order in which the kernel tells it.

One inotify instance watches everything: homes, all directories in them, and where drivers report. So the order of
events is the kernel's, over all agents. What a name held is looked up when its event is handled, a moment later: events
say what happened, looks say what stands there now. It never opens `.rules`, and never follows a link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fleetbeat.engines.real.beats import Heart
from fleetbeat.engines.real.inotify import (
    CLOSE_WRITE,
    CREATE,
    IGNORED,
    IS_DIRECTORY,
    MODIFY,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    UNMOUNT,
    Event,
    Kernel,
)
from fleetbeat.engines.real.names import Expected, Names
from fleetbeat.engines.real.observe_eyes import Eyes
from fleetbeat.engines.real.observe_log import Logs
from fleetbeat.engines.real.observe_measure import Measured
from fleetbeat.engines.real.observe_places import Places
from fleetbeat.engines.real.observe_queue import Queue
from fleetbeat.engines.real.observe_scope import Scope
from fleetbeat.engines.real.observe_teller import Sink, Voice
from fleetbeat.engines.real.observe_watched import SIGNAL, Watched
from fleetbeat.engines.real.records import Clock
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.resolve import AgentSpec

#: What is overdue is looked after this often, ns.
TEND_NS = 100_000_000
#: Longer between two drains: the observer was held up, and so was the machine, ns.
AWAY_NS = 500_000_000


class Observer:
    """`fleet` is the directory that holds the homes; call `drain` whenever `fd` is readable, and every 250 ms."""

    def __init__(self, clock: Clock, sink: Sink, fleet: Path) -> None:
        """Raises `EngineError` where inotify cannot be had."""
        self._clock = clock
        self._kernel = Kernel()
        self._eyes = Eyes(fleet)
        self._queue = Queue(self._kernel)
        self._hearts: dict[str, Heart] = {}
        self._voice = Voice(clock, sink, self._hearts)
        self._names = Names(self._voice, self._eyes, self._queue)
        self._scope = Scope(self._voice)
        self._places = Places(self._kernel, self._eyes, self._voice)
        self._logs = Logs(self._kernel, self._voice, self._queue, self._eyes)
        self._handled_ns = 0
        self._tended_ns = 0
        self._awake_ns: int | None = None
        self._places.watch_root()

    @property
    def fd(self) -> int:
        """The descriptor to poll."""
        return self._kernel.fd

    # --- what is watched ---

    def watch(
        self,
        spec: AgentSpec,
        home: Path,
        manifest: Manifest,
        uid: int | None = None,
        clock_offset: int = 0,
        clock_ppm: float = 0.0,
    ) -> None:
        """Watches an agent from now on; what stands in its home is taken as it is. Before its process starts.

        `uid` is the user that plays it on this machine; its own clock is off by `clock_offset` ns and runs fast by `ppm`.
        """
        agent = Watched(spec, manifest, spec.uid if uid is None else uid, clock_offset, clock_ppm)
        self._hearts[spec.name] = Heart(
            self._voice, spec.name, spec.heartbeat.interval, not manifest.is_foreign, manifest.heartbeat is not None
        )
        self._places.prepare(spec.home)
        self.drain()
        self._places.add(agent)
        self._logs.add(agent)
        for name in agent.names:
            self._names.start(name)

    def rewatch(self, agent: str) -> None:
        """Looks at an agent's directories anew: something was mounted over one of them, or unmounted."""
        watched = self._places.agent(agent)
        self._places.drop(watched.home)
        self._look_anew(watched.home)

    def watch_reports(self, crew: str, directory: Path, on_line: Callable[[dict[str, Any]], None]) -> None:
        """Reads `report.jsonl` in `directory` from now on; `on_line` gets each line in the kernel's order.

        A line that is no JSON object is given as `{"what": "unreadable", "why": ...}`.
        """
        self._logs.watch_reports(directory, self._told(on_line))

    def _told(self, on_line: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
        def told(line: dict[str, Any]) -> None:
            heart = self._hearts.get(str(line.get("agent")))
            if heart is not None:
                heart.reported(line, self._voice.stamp())
            on_line(line)

        return told

    # --- what the harness says ---

    def expect(self, agent: str, events: tuple[str, ...], hook: Callable[[int], None]) -> None:
        """The harness is about to act on an agent's `.rules`: the next `signal` record whose event is one of `events`
        is that act's, is followed by `hook(t)`, and is no write of the agent's."""
        self._names.expect(agent, Expected(events, hook))

    def forget(self, agent: str) -> None:
        """Nothing is expected any more: the act failed, or could not be seen."""
        self._names.expect(agent, None)

    def ours(self, path: str) -> None:
        """A fleet-wide path at which the harness itself writes: no `write` record."""
        self._scope.ours(path)

    def new_life(self, agent: str, life: int) -> None:
        """Beats count from 0 again. Before its process starts."""
        self._places.agent(agent).life = life
        self._hearts[agent].new_life(life, self._voice.stamp())

    def end_life(self, agent: str, t: int | None = None) -> None:
        """Its process is gone: a beat under way is cut. `t`: when its life ended, as recorded; now, if not given."""
        self._hearts[agent].end_life(self._voice.stamp() if t is None else t)

    def also_seen(self, agent: str, t: int) -> None:
        """Something was seen of an agent at `t` by other eyes: a beat under way then ends no earlier."""
        self._hearts[agent].seen(t)

    def runnable(self, agent: str, runnable: bool) -> None:
        """Whether its beats may consume signals from now on."""
        self._hearts[agent].runnable(runnable)

    def paused(self, agent: str, paused: bool) -> None:
        """Whether it is held up on purpose: no beats are expected then. May be nested."""
        self._hearts[agent].paused(paused, self._voice.stamp())

    # --- what it knows ---

    def beat_ages(self) -> Mapping[str, int | None]:
        """For each agent, ns since its last beat began; None before the first of this life."""
        now = self._clock.now()
        return {name: heart.age(now) for name, heart in self._hearts.items()}

    def measured(self) -> Measured:
        """How late the observer is: when it handled a thing, less what the agent's own clock said, in ns.

        From entries of logs and from what the files of heartbeats hold (of many agents, a sample). Both times are taken
        before the agent writes, so its own write is part of it.
        """
        return self._logs.lag.measured()

    def close(self) -> None:
        """Writes what is still open, and lets go of the kernel. May be called twice."""
        if self._kernel.is_closed:
            return
        self.drain()
        now = self._voice.stamp()
        self._names.look_again(None)
        for heart in self._hearts.values():
            heart.end_life(now)
        for agent in self._places.agents():
            if agent.manifest.heartbeat is None:
                self._voice.unseen(agent.name, 0, now, "beats")
        self._voice.close()
        self._kernel.close()

    # --- events ---

    def drain(self) -> None:
        """Handles all that the kernel has told so far, in order, and looks after what is overdue."""
        self._allow_for_own_sleep()
        for event in self._queue:
            self._handle(event)
        self._places.forget_found()
        now = self._handled_ns = self._clock.now()
        if not 0 <= now - self._tended_ns < TEND_NS:  # time 0 may have been set since
            self._tended_ns = now
            self._names.look_again(now)
            for heart in self._hearts.values():
                heart.listen(now)
            self._voice.check_clock()

    def _allow_for_own_sleep(self) -> None:
        """Whoever was away for a while, on a machine too busy or asleep, cannot say that nothing came meanwhile."""
        now, last = self._clock.now(), self._awake_ns
        self._awake_ns = now
        if last is not None and now - last > AWAY_NS:
            for heart in self._hearts.values():
                heart.excused(now - last)

    def _handle(self, event: Event) -> None:
        mask = event.mask
        directory = self._places.path_of(event.watch)
        if directory is not None and self._places.is_known(f"{directory}/{event.name}", mask):
            return
        if mask & OVERFLOW:
            self._overflowed()
        elif directory is None:
            self._logs.reported(event)
        elif mask & IGNORED:
            self._places.gone(event.watch)
        elif mask & UNMOUNT:
            self._look_anew(directory)
        elif mask & IS_DIRECTORY:
            self._of_directory(event, f"{directory}/{event.name}")
        else:
            self._of_file(event, f"{directory}/{event.name}")

    def _of_file(self, event: Event, path: str) -> None:
        mask = event.mask
        agent = self._places.beating(path)
        if agent is not None:
            if mask & (CLOSE_WRITE | MOVED_TO):
                self._beat(agent)
            return
        name, agent = self._places.name_at(path), self._places.logging(path)
        is_own = False
        if name is not None:
            to = self._target(event) if name.role == SIGNAL and mask & MOVED_FROM else None
            is_own = self._names.handle(name, event, to)
            is_own = is_own or bool(name.role == SIGNAL and mask & CLOSE_WRITE)
        elif agent is not None:
            if mask & (MODIFY | MOVED_TO | CREATE):
                self._logs.written(agent, event)
            return
        if not is_own:
            self._judge(path, mask)

    def _judge(self, path: str, mask: int) -> None:
        """Whether a write belongs where it is. What lies in no home before time 0 is the harness's."""
        agent = self._places.home_of(path)
        if not self._places.is_ours(path) and (agent is not None or self._voice.is_begun):
            self._scope.judge(agent, path, mask)

    def _beat(self, agent: Watched) -> None:
        self._hearts[agent.name].begin(self._voice.stamp())
        if self._places.is_sampled(agent):
            self._logs.measure_beat(agent)

    def _target(self, event: Event) -> str | None:
        """Where a rename led; None if out of sight."""
        other = self._queue.partner(event)
        above = None if other is None else self._places.path_of(other.watch)
        return None if other is None or above is None else f"{above}/{other.name}"

    # --- directories ---

    def _of_directory(self, event: Event, path: str) -> None:
        mask = event.mask
        name = self._places.name_at(path)
        to = self._target(event) if mask & MOVED_FROM else None
        is_own = name is not None and self._names.handle(name, event, to)
        if not is_own:
            self._judge(path, mask)
        if mask & CREATE:
            if not self._places.watches(path):
                self._enter(path)
        elif mask & MOVED_FROM:
            if to is None:  # else its watches go on, and get their new paths at the other half
                self._places.drop(path)
            self._settle(path)
        elif mask & MOVED_TO:
            self._look_anew(path)
        else:
            self._settle(path)

    def _enter(self, path: str) -> None:
        """A directory was made: what was made in it before it was watched is taken in."""
        for found, is_directory in self._places.enter(path):
            mask = CREATE | IS_DIRECTORY if is_directory else CREATE
            if self._places.name_at(found) is None:
                self._judge(found, mask)
        self._settle(path)

    def _settle(self, path: str) -> None:
        """Compares the names below a path with what stands there now."""
        for agent in self._places.touched(path):
            for name in agent.names:
                if name.path.startswith(path + "/"):
                    self._names.settle(name)
            if agent.log_path.startswith(path + "/"):
                self._logs.written(agent, None)

    def _look_anew(self, path: str) -> None:
        for _ in self._places.enter(path):
            pass
        self._settle(path)

    def _overflowed(self) -> None:
        """The kernel threw events away: everything is looked at anew, and the gap is recorded."""
        since = max(0, self._handled_ns)
        self._voice.unseen(None, since, self._voice.stamp(), "events: the kernel's queue overflowed")
        self._look_anew("")
        self._logs.read_reports()
