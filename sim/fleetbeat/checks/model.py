"""What judging a history yields: a fate for each post, a verdict for each invariant, findings as their evidence.

A check is a module (or a user's file) with `INVARIANT` and `check(world)`: a generator of findings over the indexed
history. It raises `Unknown` where the history does not show enough; any other exception counts as unknown as well,
never as held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from fleetbeat.checks.world import World

Class = Literal["violation", "gap", "hazard"]
#: From the worst to the mildest.
CLASSES: tuple[Class, ...] = ("violation", "gap", "hazard")
Cause = Literal["agent", "protocol", "writer", "environment"]
Outcome = Literal["held", "broken", "unknown"]

FATES = (
    "unposted",
    "torn",
    "applied",
    "unchanged",
    "empty",
    "failed",
    "persisted",
    "superseded",
    "rejected",
    "poisoned",
    "stuck",
    "pending",
    "lost",
    "indeterminate",
)


class Unknown(Exception):
    """The history does not show enough to judge; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """`id` as in PROTOCOL; `promise`: the sentence that holds."""

    id: str
    promise: str


@dataclass(frozen=True, slots=True)
class Link:
    """One event or action of a causal chain. `cause`: the id of what it followed from; `what`: an event's type or an action;
    `policy`: as the core named it, "" for events; `hop`: 0 is the chain's beginning, None stands before it. Ids are whole
    numbers in histories; a ledger's may be texts."""

    id: int | str
    cause: int | str | None
    t: int
    what: str
    policy: str
    session: str
    hop: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where an invariant breaks. `t` in ns; `message` is one sentence naming agent, posts and times.

    `chain`: of the framework's invariants, from the cause of the chain's beginning to what breaks it (`chains.drawn`).
    """

    invariant: str
    kind: Class
    cause: Cause
    t: int
    message: str
    agent: str | None = None
    posts: tuple[str, ...] = ()
    chain: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """`examined` counts the cases that the check looked at: 0 means that nothing could have broken it. `more`: findings
    beyond those that were kept."""

    invariant: str
    promise: str
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    examined: int = 0
    reason: str = ""
    more: int = 0


@dataclass(frozen=True, slots=True)
class PostFate:
    """The one fate of a post. Times in ns, None where it did not come to that; `note` says why in words."""

    post: str
    version: str
    agent: str
    operator: str
    fate: str
    note: str = ""
    begun: int | None = None
    completed: int | None = None
    read: int | None = None
    unlinked: int | None = None
    persisted: int | None = None
    effective: int | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    fates: tuple[PostFate, ...]
    verdicts: tuple[Verdict, ...]

    def totals(self) -> dict[str, int]:
        """Posts by fate, every fate of the list present; the values add up to the posts."""
        counts = dict.fromkeys(FATES, 0)
        for fate in self.fates:
            counts[fate.fate] += 1
        return counts


@dataclass(frozen=True, slots=True)
class Check:
    """`run` yields findings and reports each case it examined by calling `world.examined()`."""

    invariant: Invariant
    run: Callable[[World], Iterable[Finding] | Iterator[Finding]]
    origin: str = field(default="built-in")
