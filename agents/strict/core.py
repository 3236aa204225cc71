"""A core that is stricter than needed; on the framework's own chains it does nothing at all, and a gate that fails denies.

It shows that the checks judge what a core lets through and not how it decides: the first deny ends the asking, and an event
whose cause it does not know is the framework's own, as in the reference core.
"""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event
from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../reference", __file__).Reference


class Strict(Reference):
    def allow_action(self, event: Event, action: str) -> bool:
        chain, _ = self.marks.get(event.id)
        return not chain.kind

    def judge(self, event: Event) -> Answer:
        strictest: Answer = "allow"
        for gate in self.gates:
            answer = self.ask(gate, event)
            if answer == "deny":
                return "deny"
            if answer == "ask":
                strictest = "ask"
        return strictest

    def unanswered(self, gate: str, event: Event, why: str) -> Answer:
        super().unanswered(gate, event, why)
        return "deny"


CORE = Strict
