"""It gives up after a failed write of canonical, and tells nobody."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Emit

Reference: Any = program_of("../../reference", __file__).Reference


class SilentWriteFailure(Reference):
    def handle(self, context: Context, memory: Any, body: str) -> Any:
        steps = super().handle(context, memory, body)
        return (yield from unlogged(steps, "rules_write_error"))


def unlogged(steps: Any, event: str) -> Any:
    """The same steps, without one kind of log entry."""
    answer, failure = None, None
    while True:
        try:
            op = steps.throw(failure) if failure is not None else steps.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = failure = None
        if not (isinstance(op, Emit) and op.event == event):
            try:
                answer = yield op
            except OSError as error:
                failure = error


PROGRAM = SilentWriteFailure()
