"""It catches OSError alone: a body that is not UTF-8 ends the heartbeat."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import decode, read_file
from fleetbeat.protocol.vocabulary import Context, Unlink

Reference: Any = program_of("../../reference", __file__).Reference


class DiesOfPoison(Reference):
    def consume(self, context: Context) -> Any:
        try:
            body = decode((yield from read_file(context.path(".rules"), context.chunk)))
            yield Unlink(context.path(".rules"))
        except OSError:
            return None
        return body


PROGRAM = DiesOfPoison()
