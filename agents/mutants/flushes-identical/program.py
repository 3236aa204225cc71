"""It treats an identical body as a new one."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

Reference: Any = program_of("../../reference", __file__).Reference


class FlushesIdentical(Reference):
    def known(self, context: Context) -> Any:
        yield from super().known(context)
        return ""


PROGRAM = FlushesIdentical()
