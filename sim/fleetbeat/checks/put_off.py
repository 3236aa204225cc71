"""Actions of rules that are not about the event at hand: a core that keeps an action for later hides what it follows from.

The harness knows which event a core had in hand when it acted, and takes that for the cause. A core that notes on a ready
event what it does at the user's next prompt would pass by that. Where the rule that it names watches no such event, it is
not known what the action follows from, and no-self-trigger is unknown, not held. A rule that watches everything may still
be put off unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fleetbeat.checks.words import at, several

#: An observer's id -> the types of events that it watches, globs.
Watching = Mapping[str, tuple[str, ...]]
_NONE: Watching = {}


class PutOff:
    """`count` of them; `first`: which one came first, in words."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""
        self._bodies: dict[str, Watching] = {}
        self._in_force: dict[str, Watching] = {}

    def policies(self, norm: str, observers: Sequence[Mapping[str, Any]]) -> None:
        self._bodies[norm] = {one["id"]: tuple(one["on"]) for one in observers}

    def rules(self, agent: str, norm: str | None, malformed: bool = False) -> None:
        """Other rules are in effect; None: none, or nobody knows which."""
        if not malformed:
            self._in_force[agent] = _NONE if norm is None else self._bodies.get(norm, _NONE)

    def action(self, agent: str, action: str, policy: str, t: int, type: str) -> None:
        """`type`: of the event that the core had in hand; "": it had none."""
        watched = self._in_force.get(agent, _NONE).get(policy)
        if watched is None or any(fnmatchcase(type, one) for one in watched if type):
            return
        self.count += 1
        if not self.first:
            hand = f"with a {type} in hand" if type else "with no event in hand"
            self.first = f"the {action} of {policy} on {agent} {at(t)} {hand}, which watches {', '.join(watched)}"

    def missing(self) -> str | None:
        if not self.count:
            return None
        what = (
            f"{several(self.count, 'action')} of rules that do not watch the event at hand, and may have been put off"
        )
        return f"{what}: first {self.first}"
