"""It logs each applied body twice."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import log
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class LogsTwice(Claim):
    def conclude(self, context: Context, memory: Any) -> Any:
        if memory.applied:
            yield from log("rules_loaded", source=".rules")
        return (yield from super().conclude(context, memory))


PROGRAM = LogsTwice()
