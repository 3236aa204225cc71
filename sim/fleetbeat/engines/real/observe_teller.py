"""What the parts of an observer say, and when: one voice, whose times strictly increase."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Protocol

from fleetbeat.engines.real.records import Clock

if TYPE_CHECKING:
    from fleetbeat.engines.real.beats import Heart
    from fleetbeat.engines.real.observe_watched import Watched


#: So much is recorded of one agent, so that one that does things without end takes nobody's memory.
MOST = 100_000


class Sink(Protocol):
    """Where records go."""

    def add(self, t: int, actor: str, kind: str, /, **fields: Any) -> None:
        """A record about now."""

    def late(self, t: int, actor: str, kind: str, /, **fields: Any) -> None:
        """A record about something that began at `t`, before records that are there already."""

    def body(self, data: bytes, t: int) -> str:
        """The digest of a body, which is recorded the first time that it is met."""


class Voice:
    """Until the clock is set to time 0, everything happens at 0."""

    def __init__(self, clock: Clock, sink: Sink, hearts: dict[str, Heart]) -> None:
        self._clock = clock
        self._zero_before = clock.zero
        self._hearts = hearts
        self._last = 0
        self._blind: dict[tuple[str | None, str], tuple[int, str]] = {}
        self._told: Counter[str | None] = Counter()
        self._sink = sink
        self.late = sink.late
        self.body = sink.body

    def add(self, t: int, actor: str, kind: str, /, agent: str | None, **fields: Any) -> None:
        """A record about an agent; not one of more than `MOST`."""
        self._told[agent] += 1
        if self._told[agent] <= MOST:
            self._sink.add(t, actor, kind, agent=agent, **fields)
        else:
            key = (agent, "what it did")
            self._blind.setdefault(key, (t, f"what it did: more than {MOST} records of it"))

    def stamp(self) -> int:
        """Now: later than any stamp before, once time 0 has come."""
        if self.is_begun:
            self._last = max(self._last + 1, self._clock.now())
        return self._last

    @property
    def is_begun(self) -> bool:
        return self._clock.zero != self._zero_before

    def own_lag(self, agent: Watched, wall_s: float) -> int:
        """How long ago it was that an agent's own clock showed `wall_s`, ns."""
        now = self._clock.now()
        return now - agent.own_time(self._clock.since_wall(wall_s), now)

    # --- agents ---

    def seen(self, agent: Watched, t: int) -> None:
        """The agent did something that a beat does."""
        self._hearts[agent.name].seen(t)

    def signalled(self, agent: Watched) -> None:
        """Something changed at the name of its signal: beats before and after are told apart."""
        self._hearts[agent.name].signalled()

    # --- what is not seen ---

    def blind(self, agent: Watched | None, what: str, why: str) -> None:
        """Something cannot be seen from now on, until `sighted`."""
        key = (None if agent is None else agent.name, what)
        self._blind.setdefault(key, (self.stamp(), f"{what}: {why}"))

    def why_blind(self, agent: Watched, what: str) -> str | None:
        found = self._blind.get((agent.name, what))
        return None if found is None else found[1]

    def sighted(self, agent: Watched, what: str) -> None:
        if self._blind and (agent.name, what) in self._blind:
            self._end_blind((agent.name, what), self.stamp())

    def _end_blind(self, key: tuple[str | None, str], end_ns: int) -> None:
        start, missing = self._blind.pop(key)
        self.unseen(key[0], start, end_ns, missing)

    def unseen(self, agent: str | None, start_ns: int, end_ns: int, missing: str) -> None:
        window = {"from": start_ns, "to": end_ns}
        self.late(start_ns, "harness", "unseen", agent=agent, **window, missing=missing)

    def check_clock(self) -> None:
        """A wall clock that steps moves no record: it only makes agents' own times in their logs jump."""
        step = self._clock.stepped()
        if step:
            t = self.stamp()
            self.unseen(None, t, t, f"agents' own times: the machine's clock stepped by {step / 1e9:+.3f} s")

    def close(self) -> None:
        now = self.stamp()
        for key in list(self._blind):
            self._end_blind(key, now)
