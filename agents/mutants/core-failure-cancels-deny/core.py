"""One gate that fails makes the whole verdict an ask, also where another denies."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Answer, Event, Host, Options
from fleetbeat.protocol.folders import core_of

Reference: Any = core_of("../../reference", __file__).Reference


class FailureCancelsDeny(Reference):
    def __init__(self, host: Host, options: Options) -> None:
        super().__init__(host, options)
        self.failed = False

    def unanswered(self, gate: str, event: Event, why: str) -> Answer:
        self.failed = True
        answer: Answer = super().unanswered(gate, event, why)
        return answer

    def judge(self, event: Event) -> Answer:
        self.failed = False
        answer: Answer = super().judge(event)
        return "ask" if self.failed else answer


CORE = FailureCancelsDeny
