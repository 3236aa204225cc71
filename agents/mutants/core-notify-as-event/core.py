"""A notification is emitted as an ordinary event as well, which observers watch."""

from __future__ import annotations

from typing import Any

from fleetbeat.framework.vocabulary import Event
from fleetbeat.protocol.folders import core_of

reference: Any = core_of("../../reference", __file__)


class NotifyAsEvent(reference.Reference):
    def act(self, observer: Any, event: Event, now: int) -> None:
        super().act(observer, event, now)
        if observer.action == reference.NOTIFY and event.type != "notice":  # or there would be no end to it
            fields = {"policy": observer.id, "text": observer.argument}
            number = self.host.emit("notice", fields, origin="agent")
            self.marks.put(number, (reference.Chain(number, "agent"), 0))


CORE = NotifyAsEvent
