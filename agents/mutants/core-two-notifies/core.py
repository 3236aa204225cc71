"""It does not count: every observer that watches the result of a Prepare notifies."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Event
from fleetbeat.protocol.folders import core_of

reference: Any = core_of("../../reference", __file__)


class TwoNotifies(reference.Reference):
    def allow_action(self, event: Event, action: str) -> bool:
        chain, hops = self.marks.get(event.id)
        if action == reference.NOTIFY and chain.kind:
            return bool(self.within_one_hop(event, chain, hops))
        return bool(super().allow_action(event, action))


CORE = TwoNotifies
