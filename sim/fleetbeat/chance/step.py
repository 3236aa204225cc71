"""Names of choices. A choice is named by the stream it belongs to and the step of the run at which it is made.

The name, never a position in a sequence, addresses a draw: adding an agent, a fault or a beat elsewhere moves no other
draw (rejected: one generator per agent, which ties every draw to how many came before it).
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """One scheduling point of one actor.

    `actor` is `a-3/beat`, `a-3/rebuild`, `a-3` (the process itself) or `op:v2/a-3` (operator's work on one target).
    `life` counts the actor's restarts from 0; `episode` is the number of the beat, the rebuild or the poll;
    `operation` is the operation's kind (`stat`, `unlink`, ...) or a named moment (`begin`, `stall`); `path` is relative
    to the actor's home directory where it lies inside it, else fleet-wide (`/a-3/.rules`); `nth` counts the
    occurrences of (operation, path) within the episode, from 0.
    """

    actor: str
    life: int = 0
    episode: int = 0
    operation: str = ""
    path: str = ""
    nth: int = 0

    def __str__(self) -> str:
        text = f"{self.actor}#{self.life}.{self.episode}:{self.operation}"
        if self.path:
            text += f" {self.path}"
        return f"{text}@{self.nth}" if self.nth else text
