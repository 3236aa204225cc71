"""One agent: its lives, its heartbeat, its rebuilds. Each life is a process with a heartbeat thread and maybe others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import simpy

from fleetbeat.cadence import Cadence, make_cadence
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.body import Shell, Thread
from fleetbeat.engines.des.drive import Latencies, Runaway, drive
from fleetbeat.engines.des.lanes import NEVER
from fleetbeat.engines.des.pace import Pace
from fleetbeat.engines.des.spans import Idle, Spans
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.effects import Died, Trace
from fleetbeat.engines.recorder import When
from fleetbeat.protocol.process import Escaped, merged
from fleetbeat.protocol.vocabulary import Context, Episode
from fleetbeat.scenario.resolve import AgentSpec


@dataclass(frozen=True, slots=True)
class Played:
    """A beat that was played: its number, its place in the order, the end of its work, and, if it was idle, its trace."""

    beat: int
    start: When
    end: int
    idle: Trace | None
    runnable: bool


class Agent:
    """State that outlives a process (which life it is in, whether it may consume), and the processes themselves."""

    def __init__(self, world: World, spec: AgentSpec, latencies: Latencies, pace: Pace) -> None:
        self.world = world
        self.spec = spec
        self.program = world.programs[spec.agent]
        self.latencies = latencies
        self.pace = pace
        self.context = Context(spec.name, spec.home)
        self.life = -1
        self.generation = 0
        self.suspended = 0
        self.rebuilds = 0
        self.shell: Shell | None = None
        self.heartbeat: Thread | None = None
        self.spans: Spans | None = None
        self.memory: Any = None
        self.playing: list[tuple[Trace, Episode]] = []
        self.thread_free: simpy.Event | None = None
        self._between: simpy.Event | None = None
        self.first_cadence = self._cadence(0)

    @property
    def alive(self) -> bool:
        return self.shell is not None and self.shell.alive

    @property
    def runnable(self) -> bool:
        return self.suspended == 0

    def _cadence(self, life: int) -> Cadence:
        world, spec = self.world, self.spec
        return make_cadence(spec.heartbeat, world.choices, spec.name, life, world.hosts[spec.host].clock_ppm)

    # --- a life ---

    def live(self, when: When) -> None:
        """Starts a new process at `when`."""
        world, spec = self.world, self.spec
        self.life += 1
        self.rebuilds = 0
        self.shell = Shell(world, spec.name, spec.home, spec.uid)
        self.memory = self.program.start
        self.playing = []
        self.thread_free = None
        self.spans = Spans(world.recorder, spec.name, self.life)
        self.heartbeat = Thread(self, self.shell, "beat", self.life)
        if world.lanes is not None:
            world.lanes.waits(self.heartbeat, NEVER)  # it begins when the boot is over, in the same process
        world.recorder.add(when, spec.name, "life.begin", agent=spec.name, life=self.life)
        world.start(self._beats(self.shell, self.heartbeat, self.spans, self.life))

    def _beats(self, shell: Shell, thread: Thread, spans: Spans, life: int) -> Wait:
        world = self.world
        boot = Step(self.spec.name, life, 0, "boot")
        when = yield from world.until(world.now + draw(self.spec.boot, world.choices, "boot", boot), boot)
        if not shell.alive or not (yield from self.rebuild("boot", when, beside=False)):
            return
        origin = world.now
        cadence = self.first_cadence if life == 0 else self._cadence(life)
        number = 0
        if cadence.mode == "fixed-delay":
            start = origin + max(1, cadence.elapsed(0))
        else:
            start = origin + max(1, cadence.tick(0))
        while True:
            when = yield from self._begin(shell, thread, number, start)
            if not shell.alive:
                return
            played = yield from self._beat(shell, thread, spans, number, when)
            if played is None:
                return
            number, start = yield from self.pace.next(self, cadence, origin, played)
            if not shell.alive:
                return

    def _begin(self, shell: Shell, thread: Thread, number: int, start: int) -> Wait:
        """Waits until a beat begins; returns its place in the order."""
        world = self.world
        tie = world.tie(begin_step(thread, number))
        when = (start, tie)
        if thread.caught_up is not None and when < thread.caught_up:
            return when
        at = max(start, world.soonest(thread.caught_up))
        if world.lanes is not None:
            if (thread.caught_up is None or thread.caught_up[0] < at) and at < world.lanes.limit(thread):
                return (at, tie)
            world.lanes.waits(thread, at)
        if not world.clock.jump(at):
            yield world.clock.instant(at, tie)
        while shell.alive:
            if thread.blocked_until > world.now:
                yield world.clock.instant(thread.blocked_until, tie)
            elif (event := world.held_until(tie.step)) is not None:
                yield event
                yield world.clock.instant(world.now + 1, tie)
            elif self.thread_free is not None:
                yield self.thread_free
                yield world.clock.instant(world.now + 1, tie)
            else:
                break
        if world.named:
            world.passed(tie.step)
        return (world.now, tie)

    def _beat(self, shell: Shell, thread: Thread, spans: Spans, number: int, when: When) -> Wait:
        """Plays one beat; returns a `Played`, or None if the heartbeat is over."""
        trace = Trace("beat", number, when)
        runnable, generation = self.runnable, self.generation
        if not runnable:
            trace.end = when[0]
            spans.add(Idle(number, number, when, when[0], when[0], False, generation, ()))
            return Played(number, when, when[0], trace, False)
        try:
            learned = yield from self._play(thread, self.program.beat(self.context, self.memory), trace)
        except Died:
            return None
        except (Escaped, OSError, Runaway) as error:  # it ends the heartbeat: that is what is being tested
            self._record_beat(spans, trace, "ended", True)
            world = self.world
            world.recorder.add(
                (trace.end, trace.last or when[1]),
                thread.actor,
                "heartbeat.end",
                agent=self.spec.name,
                life=thread.life,
                beat=number,
                error=_words(error),
            )
            return None
        if trace.changed or learned:
            self._record_beat(spans, trace, "done", True)
            return Played(number, when, trace.end, None, True)
        ops = tuple(sorted(Counter(look.kind for look in trace.looked).items()))
        spans.add(Idle(number, number, when, when[0], trace.end, True, generation, ops))
        return Played(number, when, trace.end, trace, True)

    def _play(self, thread: Thread, episode: Episode, trace: Trace) -> Wait:
        """Plays an episode and lays what it changed over the memory; returns whether it changed anything there."""
        entry = (trace, episode)
        self.playing.append(entry)
        before = self.memory
        after = yield from drive(self.world, thread, episode, trace)
        if after != before and trace.role != "beat":
            yield from self.world.rouse([f"agent:{self.spec.name}"], (trace.end, trace.last or trace.start[1]))
        if entry in self.playing:
            self.playing.remove(entry)
        self._beat_is_over()
        self.memory = merged(before, after, self.memory)
        return bool(after != before)

    def _record_beat(self, spans: Spans, trace: Trace, outcome: str, runnable: bool) -> None:
        spans.close()
        recorder = self.world.recorder
        recorder.add(
            trace.start,
            f"{self.spec.name}/beat",
            "beat",
            agent=self.spec.name,
            life=self.life,
            beat=trace.episode,
            end=trace.end,
            runnable=runnable,
            outcome=outcome,
        )
        recorder.keep(trace.rows)

    # --- rebuilds ---

    def rebuild(self, cause: str, when: When, beside: bool) -> Wait:
        """A boot or rebuild that begins at `when`; returns whether the process is as fit as before afterwards."""
        world, shell, life = self.world, self.shell, self.life
        assert shell is not None
        number = self.rebuilds
        self.rebuilds += 1
        thread = Thread(self, shell, "rebuild", life)
        thread.waits_for_clock = True  # the beats are counted from its end
        thread.holder = f"{thread.actor}.{number}"
        name = self.spec.name
        world.recorder.add(when, thread.actor, "rebuild.begin", agent=name, life=life, rebuild=number, cause=cause)
        boot = cause == "boot"
        trace = Trace("boot" if boot else "rebuild", number, when)
        if not beside:
            self.thread_free = world.clock.event()
        outcome = "done"
        method = self.program.boot if boot else self.program.rebuild
        try:
            yield from self._play(thread, method(self.context, self.memory), trace)
            outcome = "failed" if trace.logged_error else "done"
        except Died:
            return False
        except (Escaped, OSError, Runaway) as error:
            outcome = f"ended: {_words(error)}"
        if world.lanes is not None:
            world.lanes.leave(thread)
        at = (trace.end, trace.last or when[1])
        fields = {"agent": name, "life": life, "rebuild": number}
        world.recorder.add(at, thread.actor, "rebuild.end", **fields, outcome=outcome.split(":")[0])
        if not beside:
            self._free_thread()
        if outcome.startswith("ended") and boot:
            world.recorder.add(
                at, thread.actor, "heartbeat.end", agent=name, life=life, beat=0, error=outcome.removeprefix("ended: ")
            )
            return False
        return True

    def _free_thread(self) -> None:
        event, self.thread_free = self.thread_free, None
        if event is not None and not event.triggered:
            event.succeed()

    @property
    def in_beat(self) -> bool:
        return any(trace.role == "beat" for trace, _ in self.playing)

    @property
    def booted(self) -> bool:
        return self.rebuilds > 0 and not any(trace.role == "boot" for trace, _ in self.playing)

    def beat_over(self) -> simpy.Event:
        """An event for the end of the beat that is in progress."""
        if self._between is None:
            self._between = self.world.clock.event()
        return self._between

    def _beat_is_over(self) -> None:
        event, self._between = self._between, None
        if event is not None:
            event.succeed()

    # --- the end of a life ---

    def crash(
        self, when: When, fault: str | None, power: bool = False, unsynced: str = "lost", restart_ns: int | None = None
    ) -> None:
        """The process dies at `when`, with its host's power if `power`; it starts again after `restart_ns`, or never."""
        from fleetbeat.engines.des.power import power_loss

        if power:
            power_loss(self.world, self.spec.host, when, fault, unsynced, restart_ns)
            return
        self.end_life(when, "crash", fault)
        self.restart(restart_ns)

    def end_life(self, when: When, cause: str, fault: str | None) -> None:
        """The process is gone: what it was doing is cut, its handles close."""
        shell = self.shell
        if shell is None or not shell.alive:
            return
        self.cut(when)
        for handle in shell.exit():
            self.world.watch.closed(when, handle)
        self._free_thread()
        self.world.recorder.add(
            when, self.spec.name, "life.end", agent=self.spec.name, life=self.life, cause=cause, fault=fault
        )

    def cut(self, when: When) -> None:
        """Records what is under way as cut at `when`. An idle beat cut short leaves no trace."""
        assert self.spans is not None
        for trace, _ in self.playing:
            if trace.role == "beat":
                if trace.changed:
                    trace.end = when[0]
                    self._record_beat(self.spans, trace, "cut", True)
            else:
                self.world.recorder.add(
                    when,
                    f"{self.spec.name}/rebuild",
                    "rebuild.end",
                    agent=self.spec.name,
                    life=self.life,
                    rebuild=trace.episode,
                    outcome="cut",
                )
        self.playing = []
        self._beat_is_over()
        self.spans.close()

    def restart(self, after_ns: int | None) -> None:
        if after_ns is not None:
            self.world.start(self._restart(self.world.now + after_ns, self.life + 1))

    def _restart(self, at_ns: int, life: int) -> Wait:
        when = yield from self.world.until(at_ns, Step(self.spec.name, life, 0, "start"))
        if not self.alive and self.life + 1 == life:
            self.live(when)


def begin_step(thread: Thread, number: int) -> Step:
    return Step(thread.actor, thread.life, number, "begin")


def _words(error: Exception) -> str:
    """What escaped a program: an exception's class and text."""
    return str(error) if isinstance(error, Escaped) else f"{type(error).__name__}: {error}"
