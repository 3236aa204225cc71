"""What stops a run on real directories. The command line turns both into exit code 4 (`cli.errors.CODES`)."""

from __future__ import annotations

from collections.abc import Sequence

from fleetbeat.history.records import Record


class EngineError(Exception):
    """The engine cannot go on. The message says where, what was got, what was expected; it may have several lines.

    `records` is the history so far, with its head and an `end` record "failed"; empty before time 0.
    """

    def __init__(self, message: str, records: Sequence[Record] = ()) -> None:
        super().__init__(message)
        self.records = list(records)


class CannotDo(Exception):
    """Refused before anything was started: the message has a line for each thing that this engine cannot do here."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
