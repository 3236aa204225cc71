"""One row of the conformance suite: what is played against one agent, and what must be seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetbeat.conform.expect import Expectation

#: Sections of a scenario, as they stand in YAML; what names the agent is filled in by `stage`.
Piece = Mapping[str, Any]

POWER = "a power failure that loses what was not synced cannot be made on real files"


@dataclass(frozen=True, slots=True)
class Row:
    """`step`: the row of PROTOCOL's table (or the sentence under it); `promise`: what must happen.

    `start`, `faults`, `posts`, `rebuilds`, `suspend`, `crashes`: pieces of a scenario without the agent's name; a post
    has `version` v1, v2, ... The faults are alternatives, as agents get to the same step by other operations: the row
    shows something if one of them struck. `simulated`: why it can be played in simulation alone; "" if that is not so.
    `invariants`: what an agent that fails here breaks. `reached`: answers why the row shows nothing, None if it does.
    `unjudged`: invariants that this row's own fault makes meaningless.
    """

    id: str
    step: str
    promise: str
    expects: tuple[Expectation, ...]
    start: Piece | None = None
    faults: tuple[Piece, ...] = ()
    posts: tuple[Piece, ...] = ()
    rebuilds: tuple[Piece, ...] = ()
    suspend: tuple[Piece, ...] = ()
    crashes: tuple[Piece, ...] = ()
    simulated: str = ""
    invariants: tuple[str, ...] = ()
    reached: Expectation | None = None
    unjudged: tuple[str, ...] = ()


def post(version: str, at: str, body: str | None = None, **more: Any) -> dict[str, Any]:
    """A post by the documented way. Without a body: a text of its own, marked with the version's id."""
    if body is None and "base64" not in more:
        return {"version": version, "at": at, "body": f"The rules of {version}.", **more}
    return {"version": version, "at": at, **({} if body is None else {"body": body}), "mark": False, **more}


def strikes(error: str, operations: Sequence[tuple[str, str]], **when: Any) -> tuple[dict[str, Any], ...]:
    """One fault for each (operation, path glob): an error, by default the first time after the boot."""
    times = when or {"occurrence": [1]}
    return tuple(
        {"operation": name, "path": path, "error": error, "from": "1200ms", **times} for name, path in operations
    )
