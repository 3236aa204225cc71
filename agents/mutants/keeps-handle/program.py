"""It keeps a handle open across the unlink, and reads through it afterwards."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import close_quietly, decode
from fleetbeat.protocol.vocabulary import Close, Context, Open, ReadChunk, Unlink

Reference: Any = program_of("../../reference", __file__).Reference


class KeepsHandle(Reference):
    def consume(self, context: Context) -> Any:
        """Unlinked first, so that nobody else can take it; a read that fails then has nothing to come back to."""
        try:
            handle = yield Open(context.path(".rules"))
        except OSError:
            return None
        data = b""
        try:
            yield Unlink(context.path(".rules"))
            while part := (yield ReadChunk(handle, context.chunk)):
                data += part
            yield Close(handle)
            return decode(data)
        except (OSError, UnicodeDecodeError):
            yield from close_quietly(handle)
            return None


PROGRAM = KeepsHandle()
