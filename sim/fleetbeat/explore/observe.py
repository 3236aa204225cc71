"""The observable past of a schedule, and the history that is written from it for the checks.

A past is a linked list, one link for each transition that showed something, with a running digest: two orders merge
only if their pasts agree, so that merging hides no verdict. Time is logical: the n-th link happens at n ms, whatever went
by unseen in between, and what begins an episode comes half a millisecond before its first operation takes effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from fleetbeat.checks.model import Check, Finding, Judgement
from fleetbeat.explore.lives import BEGIN, END
from fleetbeat.explore.plan import Plan
from fleetbeat.explore.scene import Shown
from fleetbeat.history.records import Record

MS = 1_000_000
_BEGINS = frozenset({BEGIN, "life.begin", "rebuild.begin", "post.plan"})


class Past:
    """The last link: what was shown, and all before it. `digest` stands for the whole."""

    __slots__ = ("before", "digest", "shown")
    digest: bytes

    def __init__(self, before: Past | None, shown: tuple[Shown, ...], raw: bytes) -> None:
        self.before = before
        self.shown = shown
        self.digest = blake2b(raw if before is None else before.digest + raw, digest_size=16).digest()

    def links(self) -> list[tuple[Shown, ...]]:
        """What was shown, from the beginning."""
        found = []
        here: Past | None = self
        while here is not None:
            found.append(here.shown)
            here = here.before
        found.reverse()
        return found


class Writing:
    """Writes records from what was shown at times that are given."""

    def __init__(self, plan: Plan, bodies: Mapping[str, Mapping[str, Any]]) -> None:
        self.records = list(plan.head)
        self._bodies = bodies
        self._told = {record["body"] for record in plan.head if record.kind == "body"}
        self._open: dict[tuple[str, int, int], int] = {}

    def add(self, t: int, shown: Iterable[Shown]) -> None:
        at = t - MS // 2
        for one in shown:
            kind, fields = one.kind, one.fields
            if kind not in _BEGINS:
                at = t
            if kind == "body":
                self._tell(at, fields["body"])
            elif kind == BEGIN:
                self._open[fields["agent"], fields["life"], fields["beat"]] = len(self.records)
                self.records.append(Record(at, one.actor, BEGIN, fields))
            elif kind == END:
                self._end(at, one.actor, fields)
            else:
                self.records.append(Record(at, one.actor, kind, fields))

    def op(self, t: int, actor: str, fields: Mapping[str, Any]) -> None:
        self.records.append(Record(t, actor, "op", fields))

    def end(self, t: int) -> list[Record]:
        records = [record for record in self.records if record.kind != BEGIN]
        records.append(Record(t, "harness", "end", {"reason": "duration"}))
        return records

    def _tell(self, at: int, name: str) -> None:
        if name not in self._told:
            self._told.add(name)
            self.records.append(Record(at, "harness", "body", self._bodies[name]))

    def _end(self, at: int, actor: str, fields: Mapping[str, Any]) -> None:
        life, beat, outcome = fields["life"], fields["beat"], fields["outcome"]
        place = self._open.pop((fields["agent"], life, beat))
        if outcome == "nothing":
            return
        began = self.records[place].t
        common = {"agent": fields["agent"], "life": life, "runnable": True, "end": at}
        if outcome == "idle":
            more = {"first": beat, "last": beat, "last_start": began, "ops": {}}
            self.records[place] = Record(began, actor, "beats", {**common, **more})
        else:
            self.records[place] = Record(began, actor, "beat", {**common, "beat": beat, "outcome": outcome})


def history_of_past(plan: Plan, bodies: Mapping[str, Mapping[str, Any]], past: Past) -> list[Record]:
    """What is judged: the past at one link a millisecond, without operations."""
    writing = Writing(plan, bodies)
    t = 0
    for shown in past.links():
        t += MS
        writing.add(t, shown)
    return writing.end(t + MS)


def broken(judgement: Judgement) -> Iterator[Finding]:
    """Findings that count: violations and gaps, in the order of the invariants."""
    for verdict in judgement.verdicts:
        for finding in verdict.findings:
            if finding.kind != "hazard":
                yield finding


def outcome_of(judgement: Judgement) -> tuple[tuple[tuple[str, str], ...], frozenset[tuple[str, str, str]]]:
    """What two searches are compared by: the fates of the posts, and what broke how."""
    fates = tuple(sorted((fate.post, fate.fate) for fate in judgement.fates))
    return fates, frozenset((one.invariant, one.kind, one.cause) for one in broken(judgement))


def judged(records: Sequence[Record], extra: Sequence[Check] = (), checks: Sequence[Check] | None = None) -> Judgement:
    from fleetbeat.checks import judge

    return judge(records, extra, checks)
