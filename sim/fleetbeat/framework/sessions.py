"""The workload of one agent: users, their sessions, tools, background tasks, and perhaps an adversary.

What goes on is at most one turn for each session and what runs in the background, so memory does not grow with time.
Sessions are `s-0`, `s-1`, ...; a subtask's is `s-0/sub`, a background task's `s-0/task`; an adversary sits at the one
after the last user's. When the agent goes down, turns and open questions are lost; background tasks go on.
"""

from __future__ import annotations

from fleetbeat.chance.choices import Choices
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.framework.adversary import Attack, failing
from fleetbeat.framework.agenda import Agenda
from fleetbeat.framework.hosting import Act, Hosting
from fleetbeat.framework.tasks import Tasks
from fleetbeat.framework.turns import Turns
from fleetbeat.framework.users import Users
from fleetbeat.framework.world import STREAM, World
from fleetbeat.scenario.workload import Workload


class Sessions:
    """Surroundings of a hosting. `attacked`: whether the workload's adversary means this agent."""

    def __init__(
        self,
        workload: Workload,
        hosting: Hosting,
        agenda: Agenda,
        choices: Choices,
        end_ns: int,
        attacked: bool = True,
    ) -> None:
        self._world = World(workload, hosting, agenda, choices)
        turns = Turns(self._world)
        self._users = Users(self._world, turns)
        self._tasks = Tasks(self._world)
        self._here = list(self._world.sittings.values())
        adversary = workload.adversary if attacked else None
        self._failing = adversary.gates if adversary is not None else ()
        self._attack: Attack | None = None
        if adversary is not None and adversary.at is not None:
            self._attack = Attack(self._world, turns, adversary)

    def up(self, at_ns: int) -> None:
        """The agent is up. One whose core did not even begin has nobody to talk to."""
        if not self._world.hosting.is_up:
            return
        for sitting in self._here:
            self._users.up(sitting)
        if self._attack is not None:
            self._attack.up()
        self._tasks.up()

    def down(self, at_ns: int) -> None:
        """The agent is gone: turns, open questions and lines are lost. Notifications stay on the screen."""
        world = self._world
        for sitting in world.sittings.values():
            if sitting.waiting is not None:
                world.agenda.drop(sitting.waiting)
                sitting.waiting = None
        world.lines.clear()

    # --- what the core asks for ---

    def notified(self, act: Act) -> None:
        self._users.notified(act)

    def injected(self, act: Act) -> None:
        """The line waits in its session for the model's next thought; a later one comes before it."""
        self._world.lines[act.session] = act.id

    def prepared(self, act: Act) -> None:
        self._tasks.prepared(act)

    def gate(self, gate: str, call: int, now_ns: int) -> tuple[int, bool]:
        world = self._world
        one = failing(self._failing, gate, now_ns) if self._failing else None
        if one is not None and one.slow is not None:
            return one.slow, False
        spread = world.workload.gate_time
        if spread.kind == "constant":
            return spread.value, one is not None
        actor, number, nth = world.calling
        step = Step(actor, 0, number, "gate", gate, nth)
        return draw(spread, world.choices, STREAM, step), one is not None
