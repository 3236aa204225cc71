"""It looks into a signal, and leaves a blank one lying."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import decode, read_file
from fleetbeat.protocol.vocabulary import Context, Unlink

Reference: Any = program_of("../../reference", __file__).Reference


class LeavesBlank(Reference):
    def consume(self, context: Context) -> Any:
        try:
            body = decode((yield from read_file(context.path(".rules"), context.chunk)))
            if not body.strip():
                return None
            yield Unlink(context.path(".rules"))
        except (OSError, UnicodeDecodeError):
            return None
        return body


PROGRAM = LeavesBlank()
