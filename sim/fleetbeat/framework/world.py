"""What the parts of a workload share: the agent's hosting, its agenda, the draws, and who sits there.

Every draw has a name: stream `workload`, actor `AGENT/SESSION`, the prompt's or task's number, and the call's number in
it. So users want the same whatever the core does; only when they want it moves with what gates and answers take.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fleetbeat.chance.choices import Choices, unit
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.framework.agenda import Act, Agenda, Key
from fleetbeat.framework.hosting import Hosting
from fleetbeat.framework.tools import Toolbox, path_of
from fleetbeat.scenario.model import Spread
from fleetbeat.scenario.workload import Workload

STREAM = "workload"


@dataclass(slots=True)
class Sitting:
    """One user with a session. `number`: prompts so far; `due`: when the next one's time has come, ns; `burst`: prompts
    to come without a pause; `unread`: notifications that they will wave away; `waiting`: what its turn waits for;
    `hostile`: it is the adversary's."""

    name: str
    actor: str
    number: int = 0
    due: int = 0
    burst: int = 0
    notices: int = 0
    unread: int = 0
    tasks: int = 0
    waiting: Key | None = None
    hostile: bool = False


@dataclass(slots=True)
class World:
    """`lines`: by session, the injected line that waits for the model's next thought; `calling`: whose call the core has
    at hand: (actor, number, nth); `watchers`: by path, the sessions that are told of a change."""

    workload: Workload
    hosting: Hosting
    agenda: Agenda
    choices: Choices
    toolbox: Toolbox = field(init=False)
    sittings: dict[str, Sitting] = field(init=False)
    watchers: dict[str, tuple[str, ...]] = field(init=False)
    lines: dict[str, int] = field(default_factory=dict)
    calling: tuple[str, int, int] = ("", 0, 0)

    def __post_init__(self) -> None:
        count, files = self.workload.sessions, self.workload.files
        self.toolbox = Toolbox(self.workload)
        names = [f"s-{i}" for i in range(count)]
        self.sittings = {name: self.sitting(name) for name in names}
        self.watchers = {
            path_of(i): tuple(names[(i + j) % count] for j in range(files.watchers)) for i in range(files.count)
        }

    def sitting(self, name: str) -> Sitting:
        return Sitting(name, f"{self.hosting.agent}/{name}")

    def of(self, session: str) -> Sitting:
        """Who sits at a session, or at the session that a subtask or background task belongs to."""
        base = session.partition("/")[0]
        return self.sittings.get(base) or next(iter(self.sittings.values()))

    def bits(self, actor: str, number: int, what: str, nth: int = 0) -> int:
        return self.choices.bits(STREAM, Step(actor, 0, number, what, "", nth))

    def share(self, actor: str, number: int, what: str, nth: int = 0) -> float:
        """A draw in (0, 1)."""
        return unit(self.choices.bits(STREAM, Step(actor, 0, number, what, "", nth)))

    def time(self, spread: Spread, actor: str, number: int, what: str, nth: int = 0) -> int:
        """A length of time, ns."""
        if spread.kind == "constant":
            return spread.value
        return draw(spread, self.choices, STREAM, Step(actor, 0, number, what, "", nth))

    def wait(self, sitting: Sitting, ns: int, key: Key, act: Act) -> None:
        """The one thing that a sitting's turn waits for."""
        sitting.waiting = key
        self.agenda.add(self.hosting.now + ns, key, act)

    def changed(self, path: str, cause: int, session: str) -> None:
        """A file was written: who watches it is told. Files that are nobody's are watched by the session itself."""
        for name in self.watchers.get(path, (session,)):
            self.hosting.hand(self.hosting.now, "file.changed", "tool", name, cause, {"path": path})
