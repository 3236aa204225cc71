"""The mark is lost across a background task: what comes back counts as what the user began."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Event
from fleetbeat.protocol.folders import core_of

reference: Any = core_of("../../reference", __file__)


class ForgetsAcrossTasks(reference.Reference):
    def begin(self, number: int, action: str, chain: Any) -> Any:
        return chain if action == reference.PREPARE else super().begin(number, action, chain)

    def link(self, event: Event) -> Any:
        found = None if event.cause is None else self.marks.get(event.cause)
        return super().link(event) if found is None else (found[0], found[1] + 1)


CORE = ForgetsAcrossTasks
