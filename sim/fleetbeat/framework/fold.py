"""What the events of a session come to, as the `state` of a policy reads it: counts of what was handed over before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Type of event -> the count that it adds to; an answer adds to one by what it says.
COUNTED = {
    "prompt": "prompts",
    "reply": "replies",
    "tool.before": "calls",
    "tool.after": "results",
    "file.changed": "changes",
    "ready": "readies",
    "dismissed": "dismissals",
}
ANSWERED = {"approve": "approvals", "reject": "rejections", "ignore": "ignored"}
#: Every count, in order.
COUNTS = (*COUNTED.values(), *ANSWERED.values())


class Fold:
    """The counts of one session."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, type: str, fields: Mapping[str, Any]) -> None:
        """Counts one event, once the core is done with it."""
        name = COUNTED.get(type) or (ANSWERED.get(str(fields.get("answer"))) if type == "answer" else None)
        if name is not None:
            self.counts[name] = self.counts.get(name, 0) + 1
