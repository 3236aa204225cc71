"""After a first signal it never looks again."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Stat

Reference: Any = program_of("../../reference", __file__).Reference


class LooksAway(Reference):
    def is_posted(self, context: Context) -> Any:
        try:
            yield Stat(context.path("system/rules.md"))
        except OSError:
            return (yield from super().is_posted(context))
        return False


PROGRAM = LooksAway()
