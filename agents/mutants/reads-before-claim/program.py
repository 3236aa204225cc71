"""It reads the signal before it claims it, and applies what it read."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import read_file
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class ReadsBeforeClaim(Claim):
    data: bytes | None = None

    def take(self, context: Context, memory: Any) -> Any:
        try:
            data = yield from read_file(context.path(".rules"), context.chunk)
        except OSError:
            return memory
        reader = ReadsBeforeClaim()
        reader.data = data
        return (yield from super(ReadsBeforeClaim, reader).take(context, memory))

    def read_claimed(self, context: Context) -> Any:
        data = yield from super().read_claimed(context)
        return data if self.data is None else self.data


PROGRAM = ReadsBeforeClaim()
