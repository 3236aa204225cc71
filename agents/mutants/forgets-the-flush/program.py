"""A failed flush is logged, and never done again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

Reference: Any = program_of("../../reference", __file__).Reference


class ForgetsTheFlush(Reference):
    def flush(self, context: Context, memory: Any) -> Any:
        memory = yield from super().flush(context, memory)
        return replace(memory, loaded_due=False, flush_due=False) if memory.flush_due else memory


PROGRAM = ForgetsTheFlush()
