"""It claims, and forgets to recover: what a life before it had claimed is left lying."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class ForgetsClaim(Claim):
    def boot(self, context: Context, memory: Any) -> Any:
        return (yield from self.read_again(context, replace(memory, claim="")))


PROGRAM = ForgetsClaim()
