"""It keeps a copy at a place that its manifest does not declare."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import write_file
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class WritesElsewhere(Claim):
    def switch(self, context: Context) -> Any:
        yield from super().switch(context)
        yield from write_file(context.path("backup.md"), b"a copy", context.chunk)


PROGRAM = WritesElsewhere()
