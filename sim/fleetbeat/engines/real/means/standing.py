"""Faults that stand for a while: what is recorded of a refusal that the kernel gives whenever it is asked.

Nobody sees the kernel refuse. What can be seen is whether there was something to refuse: a signal that lies there while
it cannot be read or unlinked, which each beat tries in vain; or a home in which names came and went, so that a signal was
taken. Then, at the begin, and for a signal that lies there at the end, a `fault` is recorded, at most one an interval of
the heartbeat for what lies there: as the simulation records one for each beat.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from fleetbeat.chance.step import Step
from fleetbeat.engines.injector import Rule
from fleetbeat.engines.real.means.model import Stage, fault_fields


@dataclass(slots=True)
class _On:
    """A fault that is on: when it was last recorded, how often, and how the home stood then."""

    rule: Rule
    agent: str
    last: int
    count: int
    changed: int


class Standing:
    """`intervals`: of heartbeats, ns, by agent."""

    def __init__(self, intervals: Mapping[str, int]) -> None:
        self._intervals = intervals
        self._on: dict[tuple[str, str], _On] = {}

    def begin(self, stage: Stage, rule: Rule, agent: str) -> None:
        on = self._on[rule.id, agent] = _On(rule, agent, 0, 0, _changed(stage, agent))
        self._tell(stage, on)

    def look(self, stage: Stage) -> None:
        for on in self._on.values():
            changed = _changed(stage, on.agent)
            lies = stage.now() - on.last >= self._intervals[on.agent] and _is_in_the_way(stage, on)
            if changed != on.changed or lies:
                on.changed = changed
                self._tell(stage, on)

    def end(self, stage: Stage, rule: Rule, agent: str) -> None:
        on = self._on.pop((rule.id, agent), None)
        if on is not None and _is_in_the_way(stage, on):
            self._tell(stage, on)

    def _tell(self, stage: Stage, on: _On) -> None:
        kind = str(on.rule.kind)
        step = Step(on.agent, 0, on.count, kind, on.rule.pattern or "")
        fields = fault_fields(on.rule.id, on.agent, step, kind, on.rule.pattern, "error")
        stage.record("fault", {**fields, "error": on.rule.fault.error})
        on.last, on.count = stage.now(), on.count + 1


def _is_in_the_way(stage: Stage, on: _On) -> bool:
    return on.rule.pattern == ".rules" and os.path.lexists(stage.home(on.agent) / ".rules")


def _changed(stage: Stage, agent: str) -> int:
    """When a name last came into the home or went; 0 if it is gone itself."""
    try:
        return os.stat(stage.home(agent)).st_mtime_ns
    except OSError:
        return 0
