"""Bodies of actors: what `drive` needs to know of whoever performs an operation, be it an agent's thread or an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import simpy

from fleetbeat.engines.des.drive import Latencies
from fleetbeat.engines.des.world import World
from fleetbeat.engines.effects import Trace
from fleetbeat.engines.recorder import Row, When
from fleetbeat.files.memory import MemoryProcess
from fleetbeat.protocol.faults import Outcome
from fleetbeat.protocol.process import PERFORM, Process
from fleetbeat.protocol.vocabulary import Emit, Lock, Op

if TYPE_CHECKING:
    from fleetbeat.engines.des.agent import Agent


#: Roles whose records wait until the episode is known not to be idle.
HELD_BACK = frozenset({"beat", "poll"})


class Shell:
    """A running process in the world: its files and memory, whether it lives, and until when it stands still."""

    def __init__(self, world: World, agent: str, home: str, uid: int) -> None:
        self.world = world
        self.files: MemoryProcess = world.files.process(uid)
        self.process = Process(agent, home, self.files)
        self.alive = True
        self.blocked_until = 0
        self._waiting: dict[str, list[simpy.Event]] = {}

    def lock_held(self, name: str, actor: str) -> simpy.Event | None:
        if self.process.locks.get(name) in (None, actor):
            return None
        event = self.world.clock.event()
        self._waiting.setdefault(name, []).append(event)
        return event

    def released(self, name: str) -> None:
        for event in self._waiting.pop(name, []):
            event.succeed()

    def exit(self) -> tuple[int, ...]:
        """The process is gone: its handles close, its locks go with it. Returns the handles that were open."""
        self.alive = False
        open_handles = self.files.open_handles()
        self.files.exit()
        for name in list(self._waiting):
            self.released(name)
        return open_handles


class Body:
    """One actor of a process. `agent` is whose directory is home to it; for an operator, its target."""

    #: Whether it must let the clock catch up when an episode is over.
    waits_for_clock = True

    def __init__(
        self,
        shell: Shell,
        actor: str,
        life: int,
        on: str,
        agent: str,
        home: str,
        latencies: Latencies,
        operator: str = "",
    ) -> None:
        self.shell = shell
        self.process: Process = shell.process
        self._recorder = shell.world.recorder
        self.actor = actor
        #: Who holds the locks that it takes: rebuilds may overlap, and are one actor.
        self.holder = actor
        self.life = life
        self.on = on
        self.agent = agent
        self.home: str = home
        self.latencies = latencies
        self.operator = operator
        self.at: When = (0, shell.world.tie_of_start)
        self.caught_up: When | None = None
        self.thread_blocked_until = 0
        #: Whether its last operation took effect before the clock came there (`lanes`).
        self.ahead = False
        self.prefix = home + "/"

    @property
    def alive(self) -> bool:
        return self.shell.alive

    @property
    def files(self) -> MemoryProcess:
        return self.shell.files

    @property
    def blocked_until(self) -> int:
        return max(self.shell.blocked_until, self.thread_blocked_until)

    def stand_still(self, until_ns: int) -> None:
        self.shell.blocked_until = max(self.shell.blocked_until, until_ns)

    def relative(self, path: str) -> str:
        return path[len(self.prefix) :] if path.startswith(self.prefix) else path

    def lock_name(self, name: str) -> str:
        return f"lock:{self.agent}:{name}"

    def lock_held(self, name: str) -> simpy.Event | None:
        return self.shell.lock_held(name, self.holder)

    def perform(self, op: Op, when: When) -> Any:
        kind = type(op)
        now_s = self.shell.world.host_seconds(self.agent, when[0]) if kind is Emit else 0.0
        answer = PERFORM[kind](self.process, op, self.holder, now_s)
        if kind is Lock and not op.hold:  # type: ignore[union-attr]
            self.shell.released(op.name)  # type: ignore[union-attr]
        return answer

    def keep(self, trace: Trace, row: Row) -> None:
        if trace.role in HELD_BACK:
            trace.rows.append(row)
        else:
            self._recorder.keep_one(row)

    def die(self, when: When, outcome: Outcome) -> None:
        """A fault ends this actor's process."""
        raise NotImplementedError


class Thread(Body):
    """A thread of an agent's process: its heartbeat, or a rebuild beside it."""

    waits_for_clock = False

    def __init__(self, owner: Agent, shell: Shell, name: str, life: int) -> None:
        spec = owner.spec
        super().__init__(shell, f"{spec.name}/{name}", life, "agents", spec.name, spec.home, owner.latencies)
        self.owner = owner

    def die(self, when: When, outcome: Outcome) -> None:
        self.owner.crash(
            when, outcome.killer, power=outcome.power, unsynced=outcome.unsynced, restart_ns=outcome.restart_ns
        )
