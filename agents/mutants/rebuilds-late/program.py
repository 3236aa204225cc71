"""A rebuild goes back to the rules before the last ones, and leaves it to the next beat to bring those again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Lock, SetSection

claim: Any = program_of("../../claim", __file__)


@dataclass(frozen=True, slots=True)
class Memory(claim.Memory):  # type: ignore[misc]
    before: str = ""
    kept: str = ""


class RebuildsLate(claim.Claim):  # type: ignore[misc]
    start = Memory()

    def rebuild(self, context: Context, memory: Any) -> Any:
        if memory.kept or not memory.before:
            return (yield from super().rebuild(context, memory))
        yield Lock("rules")
        kept = yield from self.read_canonical(context)
        memory = yield from self.put(context, replace(memory, kept=kept), memory.before)
        yield Lock("rules", hold=False)
        return memory

    def beat(self, context: Context, memory: Any) -> Any:
        if memory.kept:
            yield Lock("rules")
            memory = yield from self.put(context, replace(memory, kept=""), memory.kept)
            yield Lock("rules", hold=False)
        return (yield from super().beat(context, memory))

    def apply(self, context: Context, memory: Any, body: str, is_new: bool) -> Any:
        before = yield from self.known(context)
        return (yield from super().apply(context, replace(memory, before=before or ""), body, is_new))

    def put(self, context: Context, memory: Any, text: str) -> Any:
        yield from self.prepare(context, text)
        yield from self.switch(context)
        yield SetSection("rules", text)
        return (yield from self.flush(context, memory))


PROGRAM = RebuildsLate()
