"""It decodes what it can, and applies a body that is not UTF-8 with marks in the place of the rest."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class ReplacesUndecodable(Claim):
    def read_claimed(self, context: Context) -> Any:
        data = yield from super().read_claimed(context)
        return data.decode("utf-8", "replace").encode()


PROGRAM = ReplacesUndecodable()
