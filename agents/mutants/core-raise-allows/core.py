"""A gate that raises counts as one that allows."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event
from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../../reference", __file__).Reference


class RaiseAllows(Reference):
    def unanswered(self, gate: str, event: Event, why: str) -> Answer:
        answer: Answer = super().unanswered(gate, event, why)
        return "allow" if why == "raised" else answer


CORE = RaiseAllows
