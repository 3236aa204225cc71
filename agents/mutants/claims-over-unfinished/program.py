"""It claims over a claim that it could not read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class ClaimsOverUnfinished(Claim):
    def take(self, context: Context, memory: Any) -> Any:
        return (yield from super().take(context, replace(memory, claim="")))


PROGRAM = ClaimsOverUnfinished()
