"""Beats and rebuilds take no lock."""

from __future__ import annotations

from typing import Any

from fleetbeat.protocol.folders import program_of
from fleetbeat.protocol.vocabulary import Context, Lock

Claim: Any = program_of("../../claim", __file__).Claim


class TakesNoLock(Claim):
    def rebuild(self, context: Context, memory: Any) -> Any:
        return (yield from unlocked(super().rebuild(context, memory)))

    def beat(self, context: Context, memory: Any) -> Any:
        return (yield from unlocked(super().beat(context, memory)))


def unlocked(steps: Any) -> Any:
    """The same steps without the locks."""
    answer, failure = None, None
    while True:
        try:
            op = steps.throw(failure) if failure is not None else steps.send(answer)
        except StopIteration as stop:
            return stop.value
        answer = failure = None
        if not isinstance(op, Lock):
            try:
                answer = yield op
            except OSError as error:
                failure = error


PROGRAM = TakesNoLock()
