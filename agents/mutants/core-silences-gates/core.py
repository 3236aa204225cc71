"""Auto-silencing counts gates: confirmations that were turned down often enough are not asked for again."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event, Host, Options
from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../../reference", __file__).Reference


class SilencesGates(Reference):
    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.asked: dict[int, list[str]] = {}
        self.turned_down: dict[str, int] = {}
        self.quiet_until: dict[str, int] = {}

    def ask(self, gate: str, event: Event) -> Answer:
        if event.t < self.quiet_until.get(gate, 0):
            return "allow"
        answer: Answer = super().ask(gate, event)
        if answer == "ask":
            self.asked.setdefault(event.id, []).append(gate)
        return answer

    def handle(self, event: Event) -> Answer | None:
        if event.type == "answer":
            self.count(self.asked.pop(event.fields["call"], []), event.fields["answer"], event.t)
        answer: Answer | None = super().handle(event)
        return answer

    def count(self, gates: list[str], answer: str, t: int) -> None:
        for gate in gates:
            self.turned_down[gate] = 0 if answer == "approve" else self.turned_down.get(gate, 0) + 1
            if self.turned_down[gate] >= (self.options.silence_after or 3):
                self.turned_down[gate] = 0
                self.quiet_until[gate] = t + self.options.silence_for_ns


CORE = SilencesGates
