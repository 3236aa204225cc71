"""It keeps a body whose write failed, and writes it on a later beat, whatever has been applied since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, SetSection

BASE: Any = program_of("../../reference", __file__)


@dataclass(frozen=True, slots=True)
class Keeping(BASE.Memory):
    kept: str | None = None


class RetriesStale(BASE.Reference):
    start = Keeping()

    def beat(self, context: Context, memory: Any) -> Any:
        kept = memory.kept
        memory = yield from super().beat(context, replace(memory, kept=None))
        if kept is None:
            return memory
        try:
            yield from self.persist(context, kept)
        except OSError:
            return replace(memory, kept=kept)
        yield SetSection("rules", kept.strip())
        return (yield from self.flush(context, memory))

    def handle(self, context: Context, memory: Any, body: str) -> Any:
        after = yield from super().handle(context, memory, body)
        text = body.strip()
        failed = text and not after.loaded_due and after == memory and text != (yield from self.known(context))
        return replace(after, kept=body) if failed else after


PROGRAM = RetriesStale()
