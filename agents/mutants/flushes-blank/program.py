"""A blank body leads to a flush, though it changes nothing."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import decode
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class FlushesBlank(Claim):
    def read_claimed(self, context: Context) -> Any:
        data = yield from super().read_claimed(context)
        if not decode(data).strip():
            yield from self.flush(context, self.start)
        return data


PROGRAM = FlushesBlank()
