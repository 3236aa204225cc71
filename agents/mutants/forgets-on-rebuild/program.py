"""A rebuild starts from nothing instead of reading canonical again."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, SetSection

Reference: Any = program_of("../../reference", __file__).Reference


class ForgetsOnRebuild(Reference):
    def rebuild(self, context: Context, memory: Any) -> Any:
        yield SetSection("rules", None)
        return (yield from self.flush(context, memory))


PROGRAM = ForgetsOnRebuild()
