"""Marks are lost across a restart: it does not fold its ledger's, and what it does not know counts as the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetbeat.framework.vocabulary import Event
from fleetbeat.protocol.folders import core_of

reference: Any = core_of("../../reference", __file__)


class ForgetsAtRestart(reference.Reference):
    def boot(self, ledger: Sequence[Mapping[str, Any]]) -> None:
        super().boot(ledger)
        self.marks = reference.Recent(reference.MOST_MARKS)

    def link(self, event: Event) -> Any:
        if event.cause is None or self.marks.get(event.cause) is not None:
            return super().link(event)
        return reference.Chain(event.id, event.origin), 0


CORE = ForgetsAtRestart
