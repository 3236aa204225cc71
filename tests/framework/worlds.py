"""One agent with a workload and a core made for a test: what it was handed, and every record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleetbeat.chance.choices import Hashed
from fleetbeat.framework.agenda import Timed
from fleetbeat.framework.hosting import Hosting
from fleetbeat.framework.policies import Gate
from fleetbeat.framework.sessions import Sessions
from fleetbeat.framework.vocabulary import Event, Host
from fleetbeat.history.records import Record
from fleetbeat.scenario.workload import Workload

S = 1_000_000_000
Handle = Callable[[Host, Event], Any]


def workload(**sections: Any) -> Workload:
    """A calm workload, times constant: one user, a prompt each 20 s or so, no dangers; `sections` are laid over it."""
    calm: dict[str, Any] = {
        "sessions": 1,
        "prompts": {"per_hour": 180, "think": "2s"},
        "turns": {"calls": 2, "thought": "1s", "tool_time": "1s"},
        "dangers": {"share": 0},
        "files": {"watchers": 0},
        "users": {"approve": 1, "reject": 0, "answer": "3s", "dismiss": 0},
    }
    return Workload.model_validate({**calm, **sections})


class World:
    """Plays the workload under a core whose `handle` is the function given. `downs`: (from, to) in seconds."""

    def __init__(
        self,
        plan: Workload,
        handle: Handle,
        until_s: float,
        *,
        downs: Sequence[tuple[float, float]] = (),
        guards: Mapping[str, Gate] | None = None,
        seed: int = 1,
        attacked: bool = True,
    ) -> None:
        self.records: list[Record] = []
        self.agenda = Timed()
        self.most_waiting = 0

        class Made:
            def __init__(self, host: Host) -> None:
                self.host = host

            def boot(self, ledger: Sequence[Mapping[str, Any]]) -> None: ...

            def rules(self, text: str | None) -> None: ...

            def handle(self, event: Event) -> Any:
                return handle(self.host, event)

        self.hosting = Hosting("a-0", Made, self.records.append, guards or {})
        end = round(until_s * S)
        self.sessions = Sessions(plan, self.hosting, self.agenda, Hashed(seed), end, attacked)
        self.hosting.around = self.sessions
        self._up(0, 0)
        for life, (down, up) in enumerate(downs, 1):
            self._until(round(down * S))
            self.hosting.down(round(down * S), "crash")
            self.sessions.down(round(down * S))
            self._until(round(up * S))
            self._up(round(up * S), life)
        self._until(end)

    def _up(self, at_ns: int, life: int) -> None:
        self.hosting.up(at_ns, life)
        self.sessions.up(at_ns)

    def _until(self, end_ns: int) -> None:
        while (found := self.agenda.next(end_ns)) is not None:
            due, act = found
            self.hosting.now = max(self.hosting.now, due, self.hosting.busy_until)
            act()
            self.most_waiting = max(self.most_waiting, len(self.agenda))

    def of(self, kind: str, **wanted: Any) -> list[Record]:
        """The records of a kind whose fields are these."""
        return [
            record
            for record in self.records
            if record.kind == kind and all(record.fields.get(name) == value for name, value in wanted.items())
        ]

    def events(self, type: str, **wanted: Any) -> list[Record]:
        return self.of("event", type=type, **wanted)

    def told(self) -> str:
        """The history, for a test that fails."""
        return "\n".join(f"{record.t / S:9.3f} {record.kind} {dict(record.fields)}" for record in self.records)


def allow(host: Host, event: Event) -> Any:
    """A core that lets everything run and does nothing."""
    return "allow" if event.type == "tool.before" else None


def saying(verdict: str | None) -> Handle:
    """A core that says this to every call."""
    return lambda host, event: verdict if event.type == "tool.before" else None
