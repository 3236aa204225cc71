"""What surrounds one agent's core: it hands events over, carries out what the core asks for, and records the causes.

Everything that the checks judge by is recorded here, by the harness's own hand: which event was handed over, what it
followed from, which action the core took while it had it, which gates were asked and what they said, which calls ran. What
the core writes (origins, marks, its log and ledger) is kept beside it as `origin` and `mark`, and judged by nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from fleetbeat.framework import sound
from fleetbeat.framework.fold import Fold
from fleetbeat.framework.match import fits
from fleetbeat.framework.policies import Gate, Policies
from fleetbeat.framework.vocabulary import BEFORE, Answer, Core, Event, GateFailed, GateSlow, Host, Refused
from fleetbeat.history.records import Record

#: Events that one event may bring about at once, by emission, before the core is refused more.
MOST_EMITTED = 100
#: Background tasks of one agent that run at once.
MOST_TASKS = 200
#: What a core may ask for over one event and what it emits, and how often be refused before it is cut short: it might
#: pass over refusals without end.
MOST_ASKED = 2000
MOST_REFUSED = 100

Tell = Callable[[Record], None]


class Cut(BaseException):
    """Ends what a core does with an event; no `Exception`, which it would pass over too."""


@dataclass(frozen=True, slots=True)
class Act:
    """An action that a core took. `argument`: the notification's text, the injected line, or the task."""

    id: int
    action: str
    policy: str
    session: str
    cause: int | None
    argument: Any
    origin: str


class Surroundings(Protocol):
    """Who answers to what a core does: the workload. Each is called while the core has the event."""

    def notified(self, act: Act) -> None: ...

    def injected(self, act: Act) -> None: ...

    def prepared(self, act: Act) -> None: ...

    def gate(self, gate: str, call: int, now_ns: int) -> tuple[int, bool]:
        """How long this gate takes for this call, ns, and whether it raises then."""
        ...


@dataclass(slots=True)
class Handed:
    """What became of an event: its id, when the core was done with it, and for a tool.before whether it may run."""

    id: int
    at_ns: int
    verdict: Answer | None


@dataclass
class Hosting:
    """One agent. `tell` gets every record, in order of time; `guards`: the gates built into the core; `keeps`: whether
    a later life may read the ledger."""

    agent: str
    make: Callable[[Host], Core]
    tell: Tell
    guards: Mapping[str, Gate]
    around: Surroundings = field(init=False)
    keeps: bool = True
    ids: int = 0
    life: int = -1
    core: Core | None = None
    policies: Policies = field(default_factory=Policies)
    rules_text: str | None = None
    norm: str | None = None
    tasks: int = 0
    busy_until: int = 0
    now: int = 0
    _ledger: list[Mapping[str, Any]] = field(default_factory=list)
    _folds: dict[str, Fold] = field(default_factory=dict)
    _current: Event | None = None
    _queue: list[Event] = field(default_factory=list)
    _emitted: int = 0
    _asked: int = 0
    _refusals: int = 0
    _gates: dict[str, Gate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._gates = dict(self.guards)

    # --- what the world does ---

    @property
    def is_up(self) -> bool:
        return self.core is not None

    def up(self, at_ns: int, life: int) -> None:
        """A process begins: a new core boots from the ledger, and is given the rules that are in effect."""
        self._at(at_ns)
        self.life = life
        self._record("core.begin", life=life)
        self.core = self._guarded(lambda: self.make(_Hands(self)))
        if self.core is not None:
            core, ledger, text = self.core, tuple(self._ledger), self.rules_text
            self._guarded(lambda: core.boot(ledger))
            self._guarded(lambda: core.rules(text))
            self._drain()

    def down(self, at_ns: int, cause: str) -> None:
        """The process is gone, and what its core knew with it."""
        self._at(at_ns)
        self._record("core.end", life=self.life, cause=cause)
        self.core = None
        self._queue.clear()

    def rules(self, at_ns: int, norm: str | None, text: str | None, policies: Policies) -> None:
        """Other rules (or the same, flushed again) are in effect. Malformed policies leave those before in force."""
        self._at(at_ns)
        self.norm, self.rules_text = norm, text
        if policies.error is None:
            self.policies = policies
            self._gates = {gate.id: gate for gate in policies.gates} | dict(self.guards)  # no body replaces a guard
        self._record("core.rules", norm=norm, malformed=policies.error is not None)
        core = self.core
        if core is not None:
            self._guarded(lambda: core.rules(text))
            self._drain()

    def hand(
        self,
        at_ns: int,
        type: str,
        origin: str,
        session: str,
        cause: int | None,
        fields: Mapping[str, Any],
        dangerous: bool | None = None,
    ) -> Handed:
        """Hands one event to the core, and then all that it emits. Only while the agent is up.

        `dangerous`: for a tool.before, the truth that the core is not told.
        """
        self._at(at_ns)
        event = self._event(type, origin, session, cause, fields, dangerous)
        verdict = self._give(event)
        at = self.now
        self._drain()
        self.busy_until = self.now
        return Handed(event.id, at, verdict)

    def ran(self, at_ns: int, call: int) -> None:
        """A call takes effect."""
        self._at(at_ns)
        self._record("ran", call=call)

    def task_over(self, at_ns: int, act: Act) -> None:
        """A background task has ended; its `ready` is handed over by whoever ran it."""
        self._at(at_ns)
        self.tasks -= 1
        self._record("task.end", task=act.id)

    # --- inside ---

    def _at(self, at_ns: int) -> None:
        self.now = max(self.now, at_ns)

    def _record(self, kind: str, /, **fields: Any) -> None:
        fields["agent"] = self.agent
        self.tell(Record(self.now, self.agent, kind, fields))

    def _next(self) -> int:
        self.ids += 1
        return self.ids

    def _event(
        self,
        type: str,
        origin: str,
        session: str,
        cause: int | None,
        fields: Mapping[str, Any],
        dangerous: bool | None = None,
    ) -> Event:
        event = Event(self._next(), self.now, type, origin, session, cause, fields)
        self._record(
            "event",
            id=event.id,
            type=type,
            origin=origin,
            session=session,
            cause=cause,
            fields=fields,
            dangerous=dangerous,
        )
        return event

    def _give(self, event: Event) -> Answer | None:
        core = self.core
        if core is None:
            return None
        self._current = event  # the core has one of its own: what it does to that changes nothing here
        given = Event(event.id, event.t, event.type, event.origin, event.session, event.cause, dict(event.fields))
        try:
            verdict = sound.verdict(core.handle(given), event.type)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # sys.exit() is no way out
            self._failed(error, event.id)
            verdict = None
        finally:
            self._current = None
        fold = self._folds.get(event.session)
        if fold is None:
            fold = self._folds[event.session] = Fold()
        fold.add(event.type, event.fields)
        if event.type != BEFORE:
            return None
        self._record("verdict", call=event.id, verdict=verdict)
        return verdict

    def _drain(self) -> None:
        """Hands over what was emitted meanwhile, and what that emits."""
        while self._queue:
            self._give(self._queue.pop(0))
        self._emitted = self._asked = self._refusals = 0

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._failed(error, None)
            return None

    def _failed(self, error: BaseException, event: int | None) -> None:
        self._record("core.failed", event=event, error=sound.told(error))

    # --- what the core asks for ---

    def asked(self) -> None:
        """One more thing that the core asks for over what it has at hand. Raises Refused, and in the end Cut."""
        self._asked += 1
        if self._asked > MOST_ASKED:
            self._refuse("asked", MOST_ASKED, f"host: got {MOST_ASKED} requests over one event, expected fewer")

    def _refuse(self, what: str, most: int, told: str) -> NoReturn:
        if not self._refusals:
            self._record("limit", what=what, most=most)
        self._refusals += 1
        if self._refusals > MOST_REFUSED:
            self._queue.clear()
            raise Cut(f"{told}, and no more of them after {MOST_REFUSED} refusals")
        raise Refused(told)

    def _act(self, action: str, policy: str, argument: Any, origin: str, mark: Any, **more: Any) -> Act:
        event = self._current
        session = "" if event is None else event.session
        act = Act(self._next(), action, policy, session, None if event is None else event.id, argument, origin)
        self._record(
            "action",
            id=act.id,
            action=action,
            policy=policy,
            session=session,
            cause=act.cause,
            cost=more.get("cost", 0.0),
            origin=origin,
            mark=mark,
        )
        return act

    def judge(self, gate: str, event: Event, timeout_ns: int) -> Answer:
        current = self._current
        if current is None or current.id != event.id or current.type != BEFORE:
            raise GateFailed(f"gate {gate}: got an event that is not the tool.before at hand")
        policy = self._gates.get(gate)
        if policy is None:
            self._record("judged", call=current.id, gate=gate, answer="raised", took=0)
            raise GateFailed(f"gate {gate}: is not in effect")
        took, raises = self.around.gate(gate, current.id, self.now)
        if took > timeout_ns:
            self.now += timeout_ns
            self._record("judged", call=current.id, gate=gate, answer="slow", took=timeout_ns)
            raise GateSlow(f"gate {gate}: got no answer within {timeout_ns} ns")
        self.now += took
        if raises:
            self._record("judged", call=current.id, gate=gate, answer="raised", took=took)
            raise GateFailed(f"gate {gate}: it raised")
        fold = self._folds.get(current.session)
        answer: Any = policy.answer if fits(policy, current, fold) else "allow"
        self._record("judged", call=current.id, gate=gate, answer=answer, took=took)
        return answer  # type: ignore[no-any-return]

    def notify(self, policy: str, text: str, origin: str, mark: Any) -> int:
        act = self._act("notify", policy, text, origin, mark)
        self.around.notified(act)
        return act.id

    def inject(self, policy: str, line: str, origin: str, mark: Any) -> int:
        act = self._act("inject", policy, line, origin, mark)
        self.around.injected(act)
        return act.id

    def prepare(self, policy: str, task: Mapping[str, Any], origin: str, mark: Any) -> int:
        if self.tasks >= MOST_TASKS:
            self._refuse("tasks", MOST_TASKS, f"prepare: got {self.tasks} tasks that run, expected fewer")
        cost = sound.cost(task.get("cost", 0.0))
        self.tasks += 1
        act = self._act("prepare", policy, dict(task), origin, mark, cost=cost)
        self.around.prepared(act)
        return act.id

    def emit(self, type: str, fields: Mapping[str, Any], origin: str, mark: Any) -> int:
        if self._emitted >= MOST_EMITTED:
            self._refuse("emitted", MOST_EMITTED, f"emit: got {MOST_EMITTED} events after one, expected fewer")
        if type == BEFORE:
            raise Refused(f"emit: got {BEFORE!r}, expected another type: only agents make calls")
        self._emitted += 1
        act = self._act("emit", type, None, origin, mark)
        self._queue.append(self._event(type, origin, act.session, act.id, dict(fields)))
        return act.id

    def append(self, entry: Mapping[str, Any]) -> None:
        if self.keeps:
            self._ledger.append(entry)

    def log(self, event: str, fields: Mapping[str, Any]) -> None:
        self._record("core.log", event=event, fields=dict(fields))


class _Hands:
    """The core's side of a hosting: what `vocabulary.Host` promises and nothing else. A former life's is of no use."""

    __slots__ = ("_hosting", "_life")

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._life = hosting.life

    def _mine(self) -> Hosting:
        if self._life != self._hosting.life:
            raise Refused("host: got a call of a process that is gone")
        self._hosting.asked()
        return self._hosting

    @property
    def now_ns(self) -> int:
        return self._hosting.now

    def judge(self, gate: str, event: Event, timeout_ns: int) -> Answer:
        return self._mine().judge(sound.text(gate, "gate"), event, timeout_ns)

    def notify(self, policy: str, text: str, *, origin: str = "proactive", mark: Any = None) -> int:
        return self._mine().notify(sound.text(policy, "policy"), sound.text(text, "text"), *_noted(origin, mark))

    def inject(self, policy: str, line: str, *, origin: str = "proactive", mark: Any = None) -> int:
        return self._mine().inject(sound.text(policy, "policy"), sound.text(line, "line"), *_noted(origin, mark))

    def prepare(self, policy: str, task: Mapping[str, Any], *, origin: str = "proactive", mark: Any = None) -> int:
        return self._mine().prepare(
            sound.text(policy, "policy"), sound.plain(dict(task), "task"), *_noted(origin, mark)
        )

    def emit(self, type: str, fields: Mapping[str, Any], *, origin: str = "proactive", mark: Any = None) -> int:
        return self._mine().emit(sound.text(type, "type"), sound.plain(dict(fields), "fields"), *_noted(origin, mark))

    def append(self, entry: Mapping[str, Any]) -> None:
        self._mine().append(sound.plain(dict(entry), "entry"))

    def log(self, event: str, /, **fields: Any) -> None:
        self._mine().log(sound.text(event, "event"), sound.plain(fields, "fields"))

    def yaml(self, text: str) -> Any:
        from fleetbeat.framework.plain_yaml import plain

        return plain(text)


def ledger_of(hosting: Hosting) -> Sequence[Mapping[str, Any]]:
    """What the agent's cores appended so far (for the explorer's states, and tests)."""
    return tuple(hosting._ledger)


def _noted(origin: Any, mark: Any) -> tuple[str, Any]:
    return sound.text(origin, "origin"), sound.plain(mark, "mark")
