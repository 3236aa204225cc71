"""One small world, played move by move: the hosting, the sessions and the checks of a run, and an agenda that does nothing
by itself.

A move is something that waits on the agenda (a prompt, the model's next thought, an answer, a result, a step of a background
task, a dismissal), or something that happens to the agent: a crash, its restart, a rebuild, the next body, a gate that
begins to fail or works again, and time that passes. Moves have names, so that a schedule can be kept and played again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn, cast

from fleetbeat.chance.step import Step
from fleetbeat.checks.chains import Node
from fleetbeat.checks.framework import Streamed
from fleetbeat.checks.model import Finding
from fleetbeat.explore.framework.picture import picture
from fleetbeat.explore.framework.plan import Plan, Scene
from fleetbeat.framework.agenda import Act, Key
from fleetbeat.framework.hosting import Hosting, ledger_of
from fleetbeat.framework.plain_yaml import plain
from fleetbeat.framework.sessions import Sessions
from fleetbeat.framework.vocabulary import Core, Event, Host, Refused
from fleetbeat.history.records import Record

#: Ids of events and actions count from here, so that no other number in a state is taken for one.
FIRST_ID = 7_000_000_000_000_000
TICK_NS = 1_000_000
#: What happens to the agent from outside, of which a schedule has a bounded number.
TROUBLES = ("crash", "rebuild", "rules", "wait", "fails")
#: Of what the checks remember of an event: what only tells how it came about.
_TOLD = frozenset(("cause", "t"))


class Move(NamedTuple):
    """`what` happens, `whose` (a session, gate or version), which `number` of it, and `nth` within that; `answer`: what the
    user says to a call that the move puts to them, "" if it puts none."""

    what: str
    whose: str = ""
    number: int = 0
    nth: int = 0
    answer: str = ""

    def __str__(self) -> str:
        whose = f" {self.whose}" if self.whose else ""
        nth = f".{self.nth}" if self.nth else ""
        return f"{self.what}{whose} {self.number}{nth}" + (f" ({self.answer})" if self.answer else "")


class Steered:
    """Draws that come out as a world wants them, by their names. `answer`: what a user says who is asked next."""

    def __init__(self, scene: Scene, answers: Sequence[str]) -> None:
        self.seed = 0
        self.dangerous = scene.danger is not None
        self.is_subtask = scene.is_subtask
        self.answer = answers[0]
        self.asked = False

    def bits(self, stream: str, step: Step) -> int:
        if step.operation == "call":
            if step.actor.endswith("/task"):
                return 1  # it searches
            if self.is_subtask and not step.actor.endswith("/sub"):
                return 0xFFFFF  # harmless, and opens a subtask
            return 0 if self.dangerous else 0xFFF << 32 | 0xFFFFF
        if step.operation == "answer":
            self.asked = True
            return {"approve": 0, "reject": 5 << 61, "ignore": 7 << 61}[self.answer]
        return 0

    def tie(self, step: Step) -> int:
        return 0

    def hold(self, step: Step) -> Step | None:
        return None

    def forced(self, stream: str, step: Step) -> int | None:
        return None

    def forced_episodes(self, stream: str, step: Step) -> tuple[int, ...]:
        return ()


class Open:
    """The agenda: whoever plays takes what they like."""

    def __init__(self) -> None:
        self.acts: dict[Key, Act] = {}

    def add(self, at_ns: int, key: Key, act: Act) -> None:
        if key in self.acts:
            raise ValueError(f"agenda: got {key} twice, expected every key once among what waits")
        self.acts[key] = act

    def drop(self, key: Key) -> None:
        self.acts.pop(key, None)


class Small(Sessions):
    """Sessions whose gates answer at once, but for the one that fails. `failing`: (gate, raises or slow)."""

    failing: tuple[str, str] | None = None

    def gate(self, gate: str, call: int, now_ns: int) -> tuple[int, bool]:
        if self.failing is None or self.failing[0] != gate:
            return 0, False
        return (1, False) if self.failing[1] == "slow" else (0, True)


class Quick:
    """A host that reads a YAML text once; the rest is the hosting's."""

    __slots__ = ("_host", "_known")

    def __init__(self, host: Host, known: dict[str, bytes]) -> None:
        self._host = host
        self._known = known

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def yaml(self, text: str) -> Any:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = pickle.dumps(plain(text))
        return pickle.loads(found)


class Mute:
    """The host of a core that boots so that it can be looked at: nothing comes of what it does."""

    def __init__(self, now_ns: int, known: dict[str, bytes]) -> None:
        self.now_ns = now_ns
        self.yaml = Quick(cast(Host, self), known).yaml

    def append(self, entry: Mapping[str, Any]) -> None: ...

    def log(self, event: str, /, **fields: Any) -> None: ...

    def judge(self, gate: str, event: Event, timeout_ns: int) -> NoReturn:
        raise Refused("host: got a call at boot")

    notify = inject = prepare = emit = judge


class World:
    """One world from its beginning. `known`: texts of YAML that were read already, shared by all worlds of a search.

    `told`: a schedule is played to be told: ids count from 1, and between two moves a millisecond passes.
    """

    def __init__(
        self, plan: Plan, scene: Scene, head: Sequence[Record], known: dict[str, bytes], told: bool = False
    ) -> None:
        self.plan = plan
        self.scene = scene
        self.known = known
        self.told: list[Record] = []
        self.agenda = Open()
        self.choices = Steered(scene, plan.answers)
        self.make: Callable[[Host], Core] = partial(_made, plan.core.make, known)
        self.hosting = Hosting(plan.agent, self.make, self.told.append, plan.core.guards)
        self.tick_ns = TICK_NS if told else 0
        self.hosting.ids = 0 if told else FIRST_ID
        self.sessions = Small(scene.workload, self.hosting, self.agenda, self.choices, 0, attacked=False)
        self.hosting.around = self.sessions
        self.checks = Streamed(None)
        #: How often each kind of move that has a bound was made.
        self.made = dict.fromkeys((*TROUBLES, "dismiss"), 0)
        self.records: list[Record] = []
        #: Whether the process died and was not started again; one whose core cannot be made is up, and of no use.
        self.is_down = False
        self.hosting.keeps = scene.limits.crashes > 0
        for record in head:
            self.checks.feed(record)
        self.hosting.up(0, 0)
        self.sessions.up(0)
        start = plan.start
        self.hosting.rules(0, start.norm, start.text, start.policies)
        self._take()

    # --- what may happen ---

    def moves(self) -> list[Move]:
        """Everything that may come next, by name. Of a user's answer the first is named, if one is asked for at all."""
        found = [Move(*key) for key in self.agenda.acts if self._may(key)]
        if self.is_down:
            found.append(Move("restart", "", self.hosting.life))
        if self.sessions.failing is not None:
            found.append(Move("works", self.sessions.failing[0], self.made["fails"]))
        if self._has_room():
            found += self._troubles()
        return sorted(found)

    def _has_room(self) -> bool:
        """Whether one more trouble may come."""
        return sum(self.made[what] for what in TROUBLES) < self.scene.limits.troubles

    def _troubles(self) -> list[Move]:
        limits, made = self.scene.limits, self.made
        found = [Move("wait", "", made["wait"])] if made["wait"] < limits.waits else []
        if self.hosting.is_up:
            if made["crash"] < limits.crashes:
                found.append(Move("crash", "", made["crash"]))
            if made["rebuild"] < limits.rebuilds:
                found.append(Move("rebuild", "", made["rebuild"]))
            if made["rules"] < len(self.plan.bodies):
                found.append(Move("rules", self.plan.bodies[made["rules"]].version, made["rules"]))
        if self.sessions.failing is None and made["fails"] < (limits.failures or 0):
            here = {gate.id for gate in self.hosting.policies.gates} | set(self.plan.core.guards)
            found += [Move(how, gate, made["fails"]) for gate, how in self.plan.failing if gate in here]
        return found

    def _may(self, key: Key) -> bool:
        return self._ever(key) and (self.hosting.is_up or key[0] in ("task", "ready"))

    def _ever(self, key: Key) -> bool:
        """Whether this may come at all: other prompts and tasks wait for good."""
        what, whose, number, _ = key
        limits = self.scene.limits
        if what in ("task", "ready"):
            return number < limits.tasks
        if what == "prompt":
            return whose == "s-0" and number < limits.prompts
        return what != "dismiss" or self.made["dismiss"] < limits.dismissals

    # --- playing ---

    def play(self, move: Move, strict: bool = False) -> bool:
        """Makes a move. Returns whether it put a call to the user, so that other answers are other moves.

        `strict`: raises `KeyError` for a move that cannot be made now; else that is the caller's business.
        """
        if strict and move._replace(answer="") not in self.moves():
            raise KeyError(move)
        self.choices.answer = move.answer or self.plan.answers[0]
        self.choices.asked = False
        hosting, made = self.hosting, self.made
        hosting.now += self.tick_ns
        if move.what in made:
            made[move.what] += 1
        if move.what in ("raises", "slow"):
            made["fails"] += 1
            self.sessions.failing = (move.whose, move.what)
        elif move.what == "works":
            self.sessions.failing = None
        elif move.what == "crash":
            self.is_down = True
            hosting.down(hosting.now, "crash")
            self.sessions.down(hosting.now)
        elif move.what == "restart":
            self.is_down = False
            hosting.keeps = made["crash"] < self.scene.limits.crashes
            hosting.up(hosting.now, hosting.life + 1)
            self.sessions.up(hosting.now)
        elif move.what == "rebuild":
            hosting.rules(hosting.now, hosting.norm, hosting.rules_text, hosting.policies)
        elif move.what == "rules":
            body = self.plan.bodies[move.number]
            hosting.rules(hosting.now, body.norm, body.text, body.policies)
        elif move.what == "wait":
            hosting.now += self.plan.long_ns
        else:
            self.agenda.acts.pop(move[:4])()
        self._take()
        return self.choices.asked

    def _take(self) -> None:
        """Feeds what was recorded to the checks."""
        for record in self.told:
            self.checks.feed(record)
        self.records += self.told
        self.told.clear()

    def findings(self) -> tuple[Finding, ...]:
        """What is broken by now."""
        return tuple(finding for verdict in self.checks.verdicts() for finding in verdict.findings)

    # --- what it is ---

    def picture(self) -> bytes:
        """Stands for all that goes on from here. Raises `Unfrozen`."""
        hosting = self.hosting
        whole: frozenset[str] = frozenset()
        omit = {
            id(hosting): frozenset(("make", "tell", "_ledger", "ids", "guards", "busy_until", "keeps")),
            id(hosting.guards): whole,
            id(hosting.policies): whole,
            id(self.scene.workload): whole,
            id(self.agenda): frozenset(("acts",)),
            id(self.choices): frozenset(("answer", "asked")),
            id(Node): _TOLD,
        }
        waiting = {key: act for key, act in self.agenda.acts.items() if self._ever(key)}
        return picture(
            (waiting, hosting, self.checks, self.made, self.is_down, self._kept()),
            range(FIRST_ID + 1, hosting.ids + 1),
            omit,
        )

    def _kept(self) -> Core | Sequence[Mapping[str, Any]] | None:
        """What the ledger is good for: a core that boots from it. None where no later life will read it."""
        hosting = self.hosting
        may_crash = self.made["crash"] < self.scene.limits.crashes and self._has_room()
        if hosting.is_up and not may_crash:
            return None
        ledger = ledger_of(hosting)
        try:
            core = self.make(cast(Host, Mute(hosting.now, self.known)))
            core.boot(ledger)
        except Exception:  # it will not boot either when its time has come
            return ledger
        return core


def _made(make: Callable[[Host], Core], known: dict[str, bytes], host: Host) -> Core:
    return make(cast(Host, Quick(host, known)))
