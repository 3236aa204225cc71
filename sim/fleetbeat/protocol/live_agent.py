"""One life of one agent on the driver: boot, heartbeat, rebuilds. Twin of `engines.des.agent`, in real time.

The heartbeat is one thread, and plays the rebuilds that fall between beats; a rebuild beside the beats has a thread of its
own. Rejected: one scheduler for all agents of a process, which would have to hand every slow operation (a delay, a lock,
a slow disk) to a thread, so that it holds up no other agent; a hundred sleeping threads cost little. Standard library only.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from typing import Any
from zlib import crc32

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.files.real import RealFiles
from fleetbeat.protocol.live_clock import Clock, Rhythm
from fleetbeat.protocol.live_episode import Actor, Stalls, Trace, WrongProgram, drive
from fleetbeat.protocol.live_hands import Hands
from fleetbeat.protocol.live_plan import AgentPlan, LivePlan, RebuildPlan
from fleetbeat.protocol.live_report import Reports
from fleetbeat.protocol.process import Escaped, merged
from fleetbeat.protocol.vocabulary import Context, Program

#: One in so many idle beats is reported, so that the simulation can be calibrated: each agent another one.
SAMPLE = 50
BEAT_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


class LiveAgent:
    """`program` is the agent's; `clock`, `choices` and `reports` are shared by the crew."""

    def __init__(
        self, plan: LivePlan, agent: AgentPlan, program: Program, choices: Choices, clock: Clock, reports: Reports
    ) -> None:
        self._agent = agent
        self._program = program
        self._choices = choices
        self._clock = clock
        self._reports = reports
        self._life = plan.life
        self._context = Context(agent.name, agent.home)
        self._memory = program.start
        self._merging = threading.Lock()
        self._rebuilds = 0
        self._booted = False
        self._beating = Actor(
            f"{agent.name}/beat", f"{agent.name}/beat", Stalls(agent.stalls) if agent.stalls else None
        )
        self._beat_path = None if agent.heartbeat_file is None else f"{plan.root}{agent.home}/{agent.heartbeat_file}"
        self._sampled = crc32(agent.name.encode()) % SAMPLE
        self.hands = Hands(agent, plan.life, RealFiles(plan.root), choices, clock, reports)

    def start(self) -> None:
        """Begins the life, now: starts its threads."""
        self._in_thread(self._live)
        beside = [rebuild for rebuild in self._agent.rebuilds if rebuild.beside]
        if beside:
            self._in_thread(self._rebuild_beside, beside)

    # --- threads ---

    def _in_thread(self, target: Callable[..., object], *args: Any) -> None:
        threading.Thread(target=self._guarded, args=(target, *args), name=self._agent.name, daemon=True).start()

    def _guarded(self, target: Callable[..., object], *args: Any) -> None:
        try:
            target(*args)
        except WrongProgram as error:
            self._tell("program.error", error=str(error))
        except BaseException as error:
            traceback.print_exc()
            self._tell("driver.error", error=str(Escaped(error)))

    def _live(self) -> None:
        """The heartbeat's thread. An exception ends the heartbeat for good; rebuilds go on."""
        clock, step = self._clock, Step(self._agent.name, self._life, 0, "boot")
        clock.sleep_until(clock.now() + draw(self._agent.boot, self._choices, "boot", step))
        beats = self._rebuild("boot")
        self._booted = True
        origin = clock.now()
        rhythm = Rhythm(self._agent, self._choices, self._life)
        number, due = 0, rhythm.first(origin)
        for rebuild in self._between(origin):
            while beats and due < rebuild.at:
                beats, number, due = self._beat(rhythm, origin, number, due)
            clock.sleep_until(rebuild.at)
            self._rebuild(rebuild.cause)
        while beats:
            beats, number, due = self._beat(rhythm, origin, number, due)

    def _between(self, since_ns: int) -> list[RebuildPlan]:
        """The rebuilds of this thread that are still to come; one that falls into the boot never happens."""
        mine = [rebuild for rebuild in self._agent.rebuilds if not rebuild.beside and rebuild.at >= since_ns]
        return sorted(mine, key=lambda rebuild: rebuild.at)

    def _rebuild_beside(self, planned: list[RebuildPlan]) -> None:
        """Starts each rebuild when it is due, in a thread of its own: they may overlap each other as well."""
        now = self._clock.now()
        for rebuild in sorted(planned, key=lambda rebuild: rebuild.at):
            if rebuild.at >= now:
                self._clock.sleep_until(rebuild.at)
                if self._booted:
                    self._in_thread(self._rebuild, rebuild.cause)

    # --- beats ---

    def _beat(self, rhythm: Rhythm, origin_ns: int, number: int, due_ns: int) -> tuple[bool, int, int]:
        """Waits for a beat and plays it. Whether the heartbeat goes on; number and due time of the next beat."""
        clock = self._clock
        clock.sleep_until(due_ns)
        if self._beating.stalls is not None:
            self._beating.stalls.sit_out(clock)
        begun = clock.now()
        self._show_beat()
        goes_on = self._is_suspended(begun) or self._handle(number, begun)
        return goes_on, *rhythm.following(origin_ns, number, clock.now())

    def _handle(self, number: int, begun_ns: int) -> bool:
        """The program's part of a beat; whether nothing escaped it."""
        trace, error = Trace(), None
        try:
            learned = self._play(self._program.beat, self._beating, number, trace)
        except Escaped as escaped:
            learned, error = True, str(escaped)
        idle = not (trace.changed or learned)
        if not idle or number % SAMPLE == self._sampled:
            outcome = "done" if error is None else "ended"
            self._tell("beat", begun_ns, beat=number, end=self._clock.now(), idle=idle, outcome=outcome, ops=trace.ops)
        if error is not None:
            self._tell("heartbeat.end", beat=number, error=error)
        return error is None

    def _show_beat(self) -> None:
        """Writes the heartbeat's file in place, as the public kernel does; best effort."""
        if self._beat_path is None:
            return
        text = str(self._clock.wall_s(self._agent.clock_offset, self._agent.clock_ppm))
        try:
            descriptor = os.open(self._beat_path, BEAT_FLAGS, 0o644)
            try:
                os.write(descriptor, text.encode())
            finally:
                os.close(descriptor)
        except OSError:
            pass

    def _is_suspended(self, at_ns: int) -> bool:
        return any(begin <= at_ns < end for begin, end in self._agent.suspend)

    # --- rebuilds ---

    def _rebuild(self, cause: str) -> bool:
        """A boot or rebuild, now; whether the heartbeat may go on: a boot that an exception ended leaves none."""
        with self._merging:
            number, self._rebuilds = self._rebuilds, self._rebuilds + 1
        name, boot = f"{self._agent.name}/rebuild", cause == "boot"
        self._tell("rebuild.begin", rebuild=number, cause=cause)
        trace, outcome, error = Trace(), "done", None
        method = self._program.boot if boot else self._program.rebuild
        try:
            self._play(method, Actor(name, f"{name}.{number}"), number, trace)
            outcome = "failed" if trace.logged_error else "done"
        except Escaped as escaped:
            outcome, error = "ended", str(escaped)
        self._tell("rebuild.end", rebuild=number, cause=cause, outcome=outcome, error=error, ops=trace.ops)
        if boot and error is not None:
            self._tell("heartbeat.end", beat=0, error=error)
        return not boot or error is None

    # --- both ---

    def _play(self, method: Callable[[Context, Any], Any], actor: Actor, number: int, trace: Trace) -> bool:
        """Plays an episode and lays what it changed over the memory; whether it changed anything there."""
        before = self._memory
        try:
            episode = method(self._context, before)
        except Exception as error:
            raise Escaped(error) from error
        after = drive(self.hands, actor, number, episode, trace)
        with self._merging:
            self._memory = merged(before, after, self._memory)
        return bool(after != before)

    def _tell(self, what: str, at_ns: int | None = None, **fields: Any) -> None:
        self._reports.tell(what, at_ns, agent=self._agent.name, life=self._life, **fields)
