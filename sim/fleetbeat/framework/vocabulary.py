"""What a core and its host say to each other. Standard library only: a core imports this and nothing else of fleetbeat.

A core is the heart of an event framework: it is handed every event of its agent, runs the policies of the rules that are in
effect, and acts by asking its host. Source: the specification's page on invariants, and PROTOCOL, "The framework's two
invariants". The host records who handed which event to whom; nothing that a core writes is used to judge it.

A core's folder has a manifest that names its file (`core: core.py`) and the gates that are built into it (`guards`). The
file defines `CORE`, called as `CORE(host, options)` at the start of each of the agent's lives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Answer = Literal["allow", "deny", "ask"]
#: From the mildest to the strictest.
ANSWERS: tuple[Answer, ...] = ("allow", "ask", "deny")

#: Types of events that every agent knows; emitted ones may have others.
#: prompt: the user says something (user). reply: the agent answers (agent). tool.before: a call is about to run (agent);
#: the one type that gates watch. tool.after: a call has run (tool). file.changed: a file that a session watches was
#: written (tool). ready: a Prepare's background task has its result (origin as the core gave it). answer: a user approved,
#: rejected or ignored a call that was put to them (user). dismissed: a user waved a notification away (user).
TYPES = ("prompt", "reply", "tool.before", "tool.after", "file.changed", "ready", "answer", "dismissed")
BEFORE = "tool.before"
READY = "ready"


@dataclass(slots=True)
class Event:
    """One event, as it is handed to a core. `t`: ns; `id` is unique on its agent, and counts up across lives.

    `origin`: user, agent, tool or proactive. `cause`: the id of the event or action from which this one followed (a call
    from the prompt or the injected line that the model had before it, a result from its call, what a background task does
    from its Prepare); None for what a user does of their own, answers and dismissals among it.

    `fields` by type: prompt {text}; reply {text}; tool.before, tool.after {call, tool, command, path, subtask} (call: the
    id of the tool.before, in tool.after alone; path: the file it works on or ""; subtask: whether a subtask or a background
    task makes it); file.changed {path}; ready {task, policy, result} (task: the id of the Prepare); answer {call, answer}
    with answer approve, reject or ignore; dismissed {notice} (the id of the Notify).
    """

    id: int
    t: int
    type: str
    origin: str
    session: str
    cause: int | None
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """How a scenario sets a core up; a core that lacks one of these abilities passes it over. Times in ns.

    `silence_after`: dismissals of an observer's notifications in a row after which it is silenced for `silence_for_ns`; 0:
    never. `breaker_after`: failures in a row after which an observer is stopped for `breaker_for_ns`; 0: never.
    `gate_timeout_ns`: how long a gate may take.
    """

    silence_after: int = 0
    silence_for_ns: int = 600_000_000_000
    breaker_after: int = 0
    breaker_for_ns: int = 60_000_000_000
    gate_timeout_ns: int = 2_000_000_000


class GateFailed(Exception):
    """A gate raised instead of answering, or is not in effect."""


class GateSlow(Exception):
    """A gate did not answer within its timeout."""


class Refused(Exception):
    """The host cannot do that now: too many background tasks, or events without end."""


class Host(Protocol):
    """What a core may ask for while it handles something. What it asks for follows from the event it was handed."""

    @property
    def now_ns(self) -> int:
        """Virtual time; it goes on while a gate thinks."""
        ...

    def judge(self, gate: str, event: Event, timeout_ns: int) -> Answer:
        """What the gate of this id says to a `tool.before`: the gate's own answer where it fits the call, else allow.

        A gate's code is not the core's: it may be slow or fail. Raises GateFailed, GateSlow (after `timeout_ns`).
        """
        ...

    def notify(self, policy: str, text: str, *, origin: str = "proactive", mark: Any = None) -> int:
        """Tells the user; returns the action's id. `mark`: the core's own notes (JSON), kept, never judged by."""
        ...

    def inject(self, policy: str, line: str, *, origin: str = "proactive", mark: Any = None) -> int:
        """A line that the model has before its next thought in the session of this event; returns the action's id."""
        ...

    def prepare(self, policy: str, task: Mapping[str, Any], *, origin: str = "proactive", mark: Any = None) -> int:
        """Starts a read-only background task; returns the action's id, the `cause` of all that the task does.

        `task`: the policy's `prepare` as it stands there: {duration_s, cost, calls, touches}. It ends in a `ready` event
        with this `origin`. Raises Refused if too many are running.
        """
        ...

    def emit(self, type: str, fields: Mapping[str, Any], *, origin: str = "proactive", mark: Any = None) -> int:
        """Makes an event of the core's own, handed back to it right after this one; returns the id of the emission.

        The event has that id as its cause. Raises Refused when events follow from events without end.
        """
        ...

    def append(self, entry: Mapping[str, Any]) -> None:
        """Writes an entry (JSON values) to the agent's ledger, which outlives the process."""
        ...

    def log(self, event: str, /, **fields: Any) -> None:
        """Writes to the core's log."""
        ...

    def yaml(self, text: str) -> Any:
        """The plain data of a YAML text (YAML 1.2, strings, numbers, lists, mappings). Raises ValueError, one line."""
        ...


class Core(Protocol):
    """An event framework's core. An exception that escapes is recorded; a call without a verdict does not run.

    It keeps what it knows in itself and its ledger, never in its module or class: one process plays every agent and every
    life, so that what stands there would be shared by agents and survive crashes. It acts while it has the event that a
    rule is about: what it puts off follows from something that nobody saw.
    """

    def boot(self, ledger: Sequence[Mapping[str, Any]]) -> None:
        """Called first in each life, with all that former lives of this agent appended."""
        ...

    def rules(self, text: str | None) -> None:
        """The rules that are in effect from now on, whole; None: there are none. Called after `boot`, and at each change
        (a rebuild may give the same text again)."""
        ...

    def handle(self, event: Event) -> Answer | None:
        """Handles one event. For a `tool.before`: whether the call may run. For others the answer is passed over."""
        ...
