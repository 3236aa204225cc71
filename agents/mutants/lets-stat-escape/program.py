"""It takes no other failure than a missing file for an answer: any other error of the first look ends the heartbeat."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Stat

Claim: Any = program_of("../../claim", __file__).Claim


class LetsStatEscape(Claim):
    def is_posted(self, context: Context) -> Any:
        try:
            return (yield Stat(context.path(".rules"))).is_regular
        except FileNotFoundError:
            return False


PROGRAM = LetsStatEscape()
