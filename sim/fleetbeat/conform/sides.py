"""One side of a comparison: what an engine's runs of a scenario came to, one entry for each seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleetbeat.checks import decide, judge
from fleetbeat.history.records import Record


@dataclass(frozen=True, slots=True)
class Fate:
    """`lag_ns`: from complete to effective, 0 if it was effective sooner; None where it was not applied."""

    post: str
    version: str
    fate: str
    lag_ns: int | None


@dataclass(frozen=True, slots=True)
class Verdict:
    invariant: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Run:
    """One judged run. `word`: what it comes to; `error_ns`: the engine's own error of observation, if it has one: that
    which nine of ten observations keep to. (The rare larger ones move no distribution.)"""

    seed: int
    fates: tuple[Fate, ...]
    verdicts: tuple[Verdict, ...]
    word: str
    ended: str
    error_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """`name` as the reader calls it; `runs` at least one."""

    name: str
    runs: tuple[Run, ...]


def run_of(records: Sequence[Record]) -> Run:
    """Judges a history. Raises ValueError for one that does not begin with its `run` record."""
    if not records or records[0].kind != "run":
        raise ValueError("records: got no run record first, expected a whole history")
    head, last = records[0], records[-1]
    judgement = judge(records)
    decision = decide(head["expect"], judgement, records)
    fates = []
    for one in judgement.fates:
        lag = None
        if one.fate == "applied" and one.effective is not None and one.completed is not None:
            lag = max(0, one.effective - one.completed)
        fates.append(Fate(one.post, one.version, one.fate, lag))
    verdicts = tuple(Verdict(one.invariant, one.outcome, one.reason) for one in judgement.verdicts)
    ended = str(last.get("reason", "unknown")) if last.kind == "end" else "unknown"
    measured = (record for record in records if record.kind == "measured" and record["what"] == "observation")
    error = next((record["p90"] for record in measured), None)
    return Run(head["seed"], tuple(fates), verdicts, decision.verdict, ended, error)
