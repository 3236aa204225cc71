"""It drops the claim as soon as it has read it, so that the body lives in memory alone until it is written."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Unlink

Claim: Any = program_of("../../claim", __file__).Claim


class DropsClaimEarly(Claim):
    def apply(self, context: Context, memory: Any, body: str, is_new: bool) -> Any:
        try:
            yield Unlink(context.path(".rules.claimed"))
        except OSError:
            return memory
        return (yield from super().apply(context, memory, body, is_new))


PROGRAM = DropsClaimEarly()
