"""It appends the new body to the rules that it has."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

Reference: Any = program_of("../../reference", __file__).Reference


class Merges(Reference):
    def handle(self, context: Context, memory: Any, body: str) -> Any:
        old = yield from self.known(context)
        return (yield from super().handle(context, memory, f"{old}\n{body}" if old and body.strip() else body))


PROGRAM = Merges()
