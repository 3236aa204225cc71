"""The circuit breaker opens on guards' errors: a gate that failed a few times in a row is not asked for a while."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event, Host, Options
from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../../reference", __file__).Reference


class BreaksGates(Reference):
    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.failures: dict[str, int] = {}
        self.open_until: dict[str, int] = {}

    def ask(self, gate: str, event: Event) -> Answer:
        if event.t < self.open_until.get(gate, 0):
            return "allow"
        before = self.failures.get(gate, 0)
        answer: Answer = super().ask(gate, event)
        if self.failures.get(gate, 0) == before:
            self.failures[gate] = 0
        return answer

    def unanswered(self, gate: str, event: Event, why: str) -> Answer:
        self.failures[gate] = self.failures.get(gate, 0) + 1
        if self.failures[gate] >= (self.options.breaker_after or 3):
            self.failures[gate] = 0
            self.open_until[gate] = event.t + self.options.breaker_for_ns
        answer: Answer = super().unanswered(gate, event, why)
        return answer


CORE = BreaksGates
