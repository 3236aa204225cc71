"""It goes on although the unlink failed."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import decode, read_file
from fleetbeat.protocol.vocabulary import Context, SetSection, Unlink

Reference: Any = program_of("../../reference", __file__).Reference


class AppliesUnconsumed(Reference):
    def consume(self, context: Context) -> Any:
        """The body is put to use before the signal is gone; the log is left to the beat that gets rid of it."""
        try:
            body = decode((yield from read_file(context.path(".rules"), context.chunk)))
        except (OSError, UnicodeDecodeError):
            return None
        try:
            yield Unlink(context.path(".rules"))
        except OSError:
            yield from self.persist(context, body)
            yield SetSection("rules", body.strip())
            yield from self.flush(context, self.start)
            return None
        return body


PROGRAM = AppliesUnconsumed()
