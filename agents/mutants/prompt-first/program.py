"""It changes the prompt before canonical is safe."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, SetSection

Claim: Any = program_of("../../claim", __file__).Claim


class PromptFirst(Claim):
    def apply(self, context: Context, memory: Any, body: str, is_new: bool) -> Any:
        yield SetSection("rules", body.strip())
        memory = yield from self.flush(context, memory)
        return (yield from super().apply(context, memory, body, is_new))


PROGRAM = PromptFirst()
