"""It renames the new canonical into place and syncs the directory, and never the file."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import make_directory, sync_directory, write_file
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class SkipsFileSync(Claim):
    def prepare(self, context: Context, body: str) -> Any:
        yield from make_directory(context.path("system"))
        yield from sync_directory(context.home)
        yield from write_file(context.path("system/rules.md.new"), body.encode(), context.chunk)


PROGRAM = SkipsFileSync()
