"""Its guard looks at the event's origin alone, and the loop comes back as an agent's or a tool's event."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Event
from fleetbeat.protocol.folders import core_of

reference: Any = core_of("../../reference", __file__)


class OriginOnly(reference.Reference):
    def allow_action(self, event: Event, action: str) -> bool:
        return event.origin != reference.PROACTIVE or super().allow_action(event, action)


CORE = OriginOnly
