"""It syncs the new canonical, renames it into place, and does not sync the directory."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Rename

Claim: Any = program_of("../../claim", __file__).Claim


class SkipsDirectorySync(Claim):
    def switch(self, context: Context) -> Any:
        yield Rename(context.path("system/rules.md.new"), context.path("system/rules.md"))


PROGRAM = SkipsDirectorySync()
