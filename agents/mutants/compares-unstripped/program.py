"""It compares bodies as they stand, so that a line feed more makes an identical body a new one."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.spelling import decode, read_file
from fleetbeat.protocol.vocabulary import Context

Claim: Any = program_of("../../claim", __file__).Claim


class ComparesUnstripped(Claim):
    def known(self, context: Context) -> Any:
        """Canonical as it stands; None (nothing is equal to it) if blanks surround it."""
        try:
            text = decode((yield from read_file(context.path("system/rules.md"), context.chunk)))
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError):
            return None
        return text if text == text.strip() else None


PROGRAM = ComparesUnstripped()
