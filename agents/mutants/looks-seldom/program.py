"""It looks for a signal on every fourth beat."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

BASE: Any = program_of("../../claim", __file__)


@dataclass(frozen=True, slots=True)
class Counting(BASE.Memory):
    beats: int = 0


class LooksSeldom(BASE.Claim):
    start = Counting()

    def beat(self, context: Context, memory: Any) -> Any:
        memory = replace(memory, beats=(memory.beats + 1) % 4)
        return memory if memory.beats else (yield from super().beat(context, memory))


PROGRAM = LooksSeldom()
