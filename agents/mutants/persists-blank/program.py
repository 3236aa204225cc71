"""It takes a blank body for an order to clear the rules."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, SetSection

Reference: Any = program_of("../../reference", __file__).Reference


class PersistsBlank(Reference):
    def handle(self, context: Context, memory: Any, body: str) -> Any:
        if body.strip():
            return (yield from super().handle(context, memory, body))
        try:
            yield from self.persist(context, body)
        except OSError:
            return memory
        yield SetSection("rules", None)
        return (yield from self.flush(context, memory))


PROGRAM = PersistsBlank()
