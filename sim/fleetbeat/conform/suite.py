"""The conformance suite: an agent's folder in, one answer for each row out.

A row differs where an expectation of its own fails, where a check finds a violation of this agent, or where a check
finds a gap of it that its manifest does not admit. A gap that the manifest admits is as specified, and noted. What a
writer or the environment does wrong is not the agent's. A row shows nothing where its fault never struck, or where the
machine was so busy that instants mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fleetbeat.checks import judge
from fleetbeat.conform.expect import beats_on
from fleetbeat.conform.row import Row
from fleetbeat.conform.rows import ROWS
from fleetbeat.conform.seen import Seen, seen
from fleetbeat.conform.stage import stage
from fleetbeat.history.records import Record
from fleetbeat.metrics.words import seconds
from fleetbeat.scenario.model import Scenario

Answer = Literal["as specified", "differs", "not observable"]
Play = Callable[[Scenario], Sequence[Record]]
#: An engine that sees things later than this cannot say that an agent did something too late.
TOO_LATE_NS = 150_000_000


@dataclass(frozen=True, slots=True)
class Result:
    """The answer for one row. `why`: what was seen, or why nothing could be; `gaps`: admitted gaps that showed."""

    row: str
    answer: Answer
    why: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


def check(
    folder: Path,
    play: Play,
    rows: Iterable[Row] = ROWS,
    *,
    refused: Mapping[str, str] | None = None,
    uid: int | None = None,
) -> list[Result]:
    """Plays the rows in one run of an engine (`play`) and answers each, in order.

    `refused`: row -> why this engine cannot play it; such a row is not observable. `uid`: whose agents and operators
    are; None: the scenario's default. Raises what the engine raises.
    """
    wanted = tuple(rows)
    unplayed = refused or {}
    playable = [row for row in wanted if row.id not in unplayed]
    found: dict[str, Seen] = {}
    late = 0
    if playable:
        records = play(stage(folder, playable, uid))
        found = seen(records, judge(records), [row.id for row in playable])
        late = _late(records)
    return [
        _doubted(answer(row, found[row.id]), late)
        if row.id in found
        else _unplayed(row, unplayed.get(row.id, "its agent was not seen"))
        for row in wanted
    ]


def _late(records: Sequence[Record]) -> int:
    """How late the engine saw things, ns, by what it measured (nine of ten); 0 where time is not real."""
    measured = (one["p90"] for one in records if one.kind == "measured" and one["what"] == "observation")
    return next(measured, None) or 0


def _doubted(result: Result, late: int) -> Result:
    """What differs on a machine that was too busy proves nothing: the rows' instants lie half a second apart."""
    if result.answer != "differs" or late < TOO_LATE_NS:
        return result
    why = f"this machine was too busy (things were seen {seconds(late)} late); seen: {result.why[0]}"
    return Result(result.row, "not observable", (why,), result.gaps)


def _unplayed(row: Row, why: str) -> Result:
    return Result(row.id, "not observable", (why,))


def answer(row: Row, seen: Seen) -> Result:
    """What one agent's part of a history says about its row."""
    gaps, wrong = _judged(row, seen)
    wrong += [words for expects in (beats_on, *row.expects) if (words := expects(seen)) is not None and not gaps]
    if gaps and (ended := beats_on(seen)) is not None:
        wrong.append(ended)
    silent = _silent(row, seen)
    if silent is not None and not any(finding.kind == "violation" for finding in seen.findings):
        return Result(row.id, "not observable", (silent,))
    if wrong:
        return Result(row.id, "differs", tuple(dict.fromkeys(wrong)), gaps)
    if (hidden := seen.hidden()) is not None:
        return Result(row.id, "not observable", (f"not observed: {hidden}",), gaps)
    return Result(row.id, "as specified", (), gaps)


def _judged(row: Row, seen: Seen) -> tuple[tuple[str, ...], list[str]]:
    """Gaps that the manifest admits, and in words what the agent breaks beyond them."""
    gaps: list[str] = []
    wrong: list[str] = []
    for finding in seen.findings:
        if finding.invariant in row.unjudged:
            continue
        if finding.kind == "gap" and finding.invariant in seen.known_gaps:
            gaps.append(finding.invariant)
        elif finding.kind != "hazard" and finding.cause not in ("writer", "environment"):
            wrong.append(f"{finding.kind} of {finding.invariant}: {finding.message}")
    return tuple(dict.fromkeys(gaps)), wrong


def _silent(row: Row, seen: Seen) -> str | None:
    """Why a row shows nothing about this agent; None if it does."""
    if row.faults and not seen.fired():
        made = ", ".join(
            f"{fault['operation']} of {fault['path']}" if "path" in fault else str(fault["operation"])
            for fault in row.faults
        )
        return f"no fault struck: it made no such operation ({made})"
    return None if row.reached is None else row.reached(seen)
