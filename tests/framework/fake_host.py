"""A host for one core: gates answer from a table, actions and log entries are kept, time stands where it is put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fleetbeat.engines.cores import load_core
from fleetbeat.framework.plain_yaml import plain
from fleetbeat.framework.vocabulary import Answer, Core, Event, GateFailed, GateSlow, Refused
from fleetbeat.scenario.workload import CoreSetup

ORIGINS = {"prompt": "user", "answer": "user", "dismissed": "user", "ready": "proactive", "tool.after": "tool"}
S = 1_000_000_000


class Done(NamedTuple):
    """An action that a core took."""

    action: str
    policy: str
    cause: int | None


@dataclass
class FakeHost:
    """`answers`: gate -> what it says; "raised" and "slow" fail. `full`: whether background tasks are refused."""

    answers: dict[str, str] = field(default_factory=dict)
    full: bool = False
    now_ns: int = 0
    ids: int = 0
    done: list[Done] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    logged: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    ledger: list[Mapping[str, Any]] = field(default_factory=list)
    emitted: list[Event] = field(default_factory=list)
    at_hand: Event | None = None

    def judge(self, gate: str, event: Event, timeout_ns: int) -> Answer:
        self.asked.append(gate)
        answer: Any = self.answers.get(gate, "allow")
        if answer == "raised":
            raise GateFailed(gate)
        if answer == "slow":
            raise GateSlow(gate)
        return answer  # type: ignore[no-any-return]

    def _act(self, action: str, policy: str) -> int:
        self.ids += 1
        self.done.append(Done(action, policy, None if self.at_hand is None else self.at_hand.id))
        return self.ids

    def notify(self, policy: str, text: str, *, origin: str = "proactive", mark: Any = None) -> int:
        return self._act("notify", policy)

    def inject(self, policy: str, line: str, *, origin: str = "proactive", mark: Any = None) -> int:
        return self._act("inject", policy)

    def prepare(self, policy: str, task: Mapping[str, Any], *, origin: str = "proactive", mark: Any = None) -> int:
        if self.full:
            raise Refused("prepare: full")
        return self._act("prepare", policy)

    def emit(self, type: str, fields: Mapping[str, Any], *, origin: str = "proactive", mark: Any = None) -> int:
        number = self._act("emit", type)
        self.ids += 1
        self.emitted.append(Event(self.ids, self.now_ns, type, origin, "s", number, fields))
        return number

    def append(self, entry: Mapping[str, Any]) -> None:
        self.ledger.append(entry)

    def log(self, event: str, /, **fields: Any) -> None:
        self.logged.append((event, fields))

    def yaml(self, text: str) -> Any:
        return plain(text)


class Agent:
    """A core with its host, and the events that they are given."""

    def __init__(self, name: str, *policies: str, answers: Mapping[str, str] | None = None, **setup: Any) -> None:
        self.host = FakeHost(dict(answers or {}))
        self.made = load_core(CoreSetup(program=name, **setup))
        self.body = body(*policies)
        self.core = self._begin()
        assert self.logs("policies_malformed") == []

    def _begin(self) -> Core:
        core = self.made.make(self.host)
        core.boot(tuple(self.host.ledger))
        core.rules(self.body)
        return core

    def restart(self) -> None:
        """The process dies, and another boots from the ledger."""
        self.core = self._begin()

    def rules(self, text: str | None) -> None:
        self.body = text
        self.core.rules(text)

    def hand(self, type: str, cause: int | None = None, session: str = "s", /, **fields: Any) -> int:
        """Hands over one event, and what is emitted meanwhile. Returns its id."""
        self.host.ids += 1
        event = Event(
            self.host.ids, self.host.now_ns, type, ORIGINS.get(type, "agent"), session, cause, _whole(type, fields)
        )
        self._give(event)
        return event.id

    def call(self, command: str = "ls", cause: int | None = None) -> Answer | None:
        """The verdict about one call."""
        self.host.ids += 1
        fields = _whole("tool.before", {"command": command})
        event = Event(self.host.ids, self.host.now_ns, "tool.before", "agent", "s", cause, fields)
        return self._give(event)

    def _give(self, event: Event) -> Answer | None:
        self.host.at_hand = event
        answer = self.core.handle(event)
        while self.host.emitted:
            self.host.at_hand = self.host.emitted.pop(0)
            self.core.handle(self.host.at_hand)
        self.host.at_hand = None
        return answer

    def did(self) -> list[str]:
        """Every action so far, `action policy`, and forgets them."""
        found = [f"{one.action} {one.policy}" for one in self.host.done]
        self.host.done.clear()
        return found

    def last(self) -> int:
        """The id of the newest action, if nothing came after it."""
        return self.host.ids

    def logs(self, event: str) -> list[dict[str, Any]]:
        return [fields for name, fields in self.host.logged if name == event]


def _whole(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    if type in ("tool.before", "tool.after"):
        return {"call": None, "tool": "shell", "command": "ls", "path": "", "subtask": False, **fields}
    return dict(fields)


def body(*policies: str) -> str:
    """A rules body with these policies, each a YAML mapping on one line."""
    lines = "".join(f"  - {{{policy}}}\n" for policy in policies) or "  []\n"
    return f"Some rules.\n\n```yaml policies\npolicies:\n{lines}```\nMore rules.\n"
