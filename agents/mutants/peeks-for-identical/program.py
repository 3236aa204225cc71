"""It reads signal and canonical first, and where they are equal unlinks the signal without claiming it."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import decode, read_file
from fleetbeat.protocol.vocabulary import Context, Unlink

Claim: Any = program_of("../../claim", __file__).Claim


class PeeksForIdentical(Claim):
    def take(self, context: Context, memory: Any) -> Any:
        try:
            body = decode((yield from read_file(context.path(".rules"), context.chunk)))
            if body.strip() == (yield from self.known(context)):
                yield Unlink(context.path(".rules"))
                return memory
        except (OSError, UnicodeDecodeError):
            pass
        return (yield from super().take(context, memory))


PROGRAM = PeeksForIdentical()
