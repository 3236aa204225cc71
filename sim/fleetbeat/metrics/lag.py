"""Lag: from the instant a post landed (its name shows the whole body) to the instant it was effective, and its parts.

landed > read > unlinked > persisted > effective. Posts with fate `applied` count, no others: a post that never became
effective has no lag and is counted by its fate. Read and unlink instants come from operation records, so without them
three of the parts are "not observed" (`observed` 0). What was over before it
began (a body read while it was still being written) took 0. Quantiles are by nearest rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fleetbeat.checks.model import Judgement, PostFate
from fleetbeat.metrics.facts import Facts, windows
from fleetbeat.metrics.quantile import nearest_rank
from fleetbeat.metrics.words import seconds

#: Name of each part, with the two instants of `PostFate` that it lies between.
PARTS = (
    ("total", "completed", "effective"),
    ("landed > read", "completed", "read"),
    ("read > unlinked", "read", "unlinked"),
    ("unlinked > persisted", "unlinked", "persisted"),
    ("persisted > effective", "persisted", "effective"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """Quantiles of one part in ns over `observed` posts; all None where that is 0."""

    part: str
    observed: int
    p50: int | None
    p90: int | None
    p99: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Slow:
    """One of the slowest posts. `cause`: what delayed it, in words."""

    post: str
    version: str
    agent: str
    lag_ns: int
    cause: str


@dataclass(frozen=True, slots=True)
class Lag:
    """`applied`: posts that have a lag. `rows`: total and four parts; `versions`: the total of each version."""

    applied: int
    rows: tuple[Row, ...]
    versions: tuple[Row, ...]
    slowest: tuple[Slow, ...]


def lag(facts: Facts, judgement: Judgement, slowest: int = 5) -> Lag:
    """The lag tables, with the `slowest` posts."""
    posts = [
        fate
        for fate in judgement.fates
        if fate.fate == "applied" and _between(fate, "completed", "effective") is not None
    ]
    rows = tuple(_row(name, posts, start, end) for name, start, end in PARTS)
    names = list(dict.fromkeys(fate.version for fate in posts))
    versions = tuple(
        _row(name, [fate for fate in posts if fate.version == name], "completed", "effective") for name in names
    )
    order = sorted(posts, key=lambda fate: (-(_between(fate, "completed", "effective") or 0), fate.post))
    return Lag(len(posts), rows, versions, tuple(_slow(facts, fate) for fate in order[:slowest]))


def _between(fate: PostFate, start: str, end: str) -> int | None:
    first, last = getattr(fate, start), getattr(fate, end)
    return None if first is None or last is None else last - first


def _row(name: str, posts: Sequence[PostFate], start: str, end: str) -> Row:
    values = sorted(max(0, value) for fate in posts if (value := _between(fate, start, end)) is not None)
    p50, p90, p99, most = (nearest_rank(values, percent) for percent in (50, 90, 99, 100))
    return Row(name, len(values), p50, p90, p99, most)


def _slow(facts: Facts, fate: PostFate) -> Slow:
    landed, effective = fate.completed or 0, fate.effective or 0
    return Slow(
        fate.post, fate.version, fate.agent, max(0, effective - landed), cause(facts, fate.agent, landed, effective)
    )


def cause(facts: Facts, agent: str, start: int, end: int) -> str:
    """What delayed an agent between two instants, in words; "just its cadence" where nothing did."""
    found = [*_faults(facts, agent, start, end), *_windows(facts, agent, start, end)]
    return ", ".join(found) if found else "just its cadence"


def _faults(facts: Facts, agent: str, start: int, end: int) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for record in facts.of(agent, "fault"):
        if record["on"] == "agents" and start <= record.t <= end:
            what = record.get("error") or record["effect"]
            counts[f"{what} on {record['operation']} (fault {record['fault']})"] += 1
    for words, count in counts.items():
        yield words if count == 1 else f"{count} x {words}"


def _windows(facts: Facts, agent: str, start: int, end: int) -> Iterable[str]:
    """Each window that met the stretch, once, with the time it took of it."""
    taken: Counter[str] = Counter()
    for window in windows(facts, agent):
        if window.meets(start, end):
            taken[window.words] += min(end, end if window.end is None else window.end) - max(start, window.start)
    return [f"{words} for {seconds(ns)}" for words, ns in taken.items()]
