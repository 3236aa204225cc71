"""Two sides of a scenario laid beside each other: fates one by one, lags by version, verdicts.

*Fates.* A version whose posts each met one fate in every simulated run leaves no chance: any other fate in a real run is
a difference. Where the simulation itself varies, how often each fate came up is tested over all posts of the version
(`counts`). *Lags* of each version are tested (`ks`), with room for the error of observation; a test that would not notice
lags twice as long tells nothing. *Verdicts*: one that came
out the same in every simulated run must come out so in the real one; where it varied, any that the simulation showed.

All tests share one size: a comparison of sides that are alike finds a difference by chance at most `alpha` of the time
(Bonferroni over the tests made). Posts of one run are taken as independent; gates and serial operators couple them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fleetbeat.checks.lag import nearest_rank
from fleetbeat.conform import counts, ks
from fleetbeat.conform.sides import Run, Side

Word = Literal["alike", "differs", "inconclusive"]
#: Room for what measuring adds to a lag, at least; ns.
LEAST_ROOM = 10_000_000


@dataclass(frozen=True, slots=True)
class Different:
    """A post whose fate the simulation leaves no chance for, and that met another one."""

    post: str
    expected: str
    got: str
    seed: int


@dataclass(frozen=True, slots=True)
class FateRow:
    """A version's posts by fate: `shares` are (fate, part of the base's posts, part of the other's posts).

    `certain`: the base leaves no chance. `p`: the smallest p-value of its fates, None where none was tested.
    """

    version: str
    certain: bool
    alike: int
    posts: int
    shares: tuple[tuple[str, float, float], ...]
    p: float | None
    word: Word


@dataclass(frozen=True, slots=True)
class LagRow:
    """Quantiles in ns (p50, p90) of both sides; `p` None where a side has no lag."""

    version: str
    base: int
    other: int
    base_p50: int | None
    base_p90: int | None
    other_p50: int | None
    other_p90: int | None
    p: float | None
    word: Word


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What base and other runs said of one invariant, or (`ruling`) of the whole; outcomes in order of first sight."""

    what: str
    base: tuple[str, ...]
    other: tuple[str, ...]
    word: Word
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`size`: that of each single test, so that all together have `alpha`. `room` in ns."""

    base: str
    other: str
    base_runs: int
    other_runs: int
    alpha: float
    size: float
    room: int
    fates: tuple[FateRow, ...]
    different: tuple[Different, ...]
    lags: tuple[LagRow, ...]
    verdicts: tuple[VerdictRow, ...]
    word: Word


def compare(base: Side, other: Side, alpha: float = 0.01, room: int | None = None) -> Comparison:
    """Compares the runs of a real engine (`other`) with simulated ones (`base`).

    `room`: ns by which lags may be apart; None: what the real runs' own error of observation asks for.
    """
    errors = [run.error_ns for run in other.runs if run.error_ns is not None]
    given = max(LEAST_ROOM, 2 * max(errors, default=0)) if room is None else room
    versions = list(dict.fromkeys(fate.version for side in (base, other) for run in side.runs for fate in run.fates))
    chancy = {version: _fates(base, other, version) for version in versions}
    lags = {version: (_lags(base, version), _lags(other, version)) for version in versions}
    tests = sum(len(found.ps) for found in chancy.values()) + sum(bool(one and two) for one, two in lags.values())
    size = alpha / max(1, tests)
    rows = tuple(chancy[version].row(version, size) for version in versions)
    lag_rows = tuple(_lag_row(version, *lags[version], size, given) for version in versions if any(lags[version]))
    different = tuple(one for found in chancy.values() for one in found.different)
    verdicts = tuple(_verdicts(base, other))
    return Comparison(
        base.name,
        other.name,
        len(base.runs),
        len(other.runs),
        alpha,
        size,
        given,
        rows,
        different,
        lag_rows,
        verdicts,
        _whole(rows, lag_rows, verdicts, other.runs),
    )


def _whole(
    fates: Sequence[FateRow], lags: Sequence[LagRow], verdicts: Sequence[VerdictRow], runs: Sequence[Run]
) -> Word:
    """Differs if anything does; inconclusive if no post, no lag that could tell, or no whole run was compared."""
    words = [*(row.word for row in fates), *(row.word for row in lags), *(row.word for row in verdicts)]
    if "differs" in words:
        return "differs"
    whole = all(run.ended == "duration" for run in runs)
    told = [row for row in lags if row.word == "alike"]
    return "alike" if whole and any(row.posts for row in fates) and (told or not lags) else "inconclusive"


# --- fates ---


@dataclass(frozen=True, slots=True)
class _Found:
    """A version's fates: `ps` the p-value of each fate that was tested."""

    certain: bool
    alike: int
    posts: int
    shares: tuple[tuple[str, float, float], ...]
    ps: tuple[float, ...]
    different: tuple[Different, ...]

    def row(self, version: str, size: float) -> FateRow:
        least = min(self.ps, default=None)
        wrong = bool(self.different) or (least is not None and least < size)
        word: Word = "differs" if wrong else "alike" if self.posts else "inconclusive"
        return FateRow(version, self.certain, self.alike, self.posts, self.shares, least, word)


def _fates(base: Side, other: Side, version: str) -> _Found:
    first, second = _by_post(base.runs, version), _by_post(other.runs, version)
    posts = list(dict.fromkeys([*first, *second]))
    certain = all(len(set(first.get(post, {}).values())) == 1 for post in posts if post in first)
    same_seed = {run.seed for run in base.runs}
    alike = total = 0
    different: list[Different] = []
    for post in posts:
        usual = Counter(first.get(post, {}).values()).most_common(1)
        for seed, got in second.get(post, {}).items():
            total += 1
            expected = first[post].get(seed) if post in first and seed in same_seed else None
            expected = expected or (usual[0][0] if usual else "no such post")
            alike += expected == got
            if certain and expected != got:
                different.append(Different(post, expected, got, seed))
    gone = [post for post in posts if post not in second and len(first[post]) == len(base.runs)]
    if certain:
        different += [
            Different(post, next(iter(first[post].values())), "no such post", other.runs[0].seed) for post in gone
        ]
    ps = () if certain else tuple(_tested(first, second, posts, len(base.runs), len(other.runs)))
    return _Found(certain, alike, total, _shares(first, second), ps, tuple(different))


def _tested(
    first: dict[str, dict[int, str]], second: dict[str, dict[int, str]], posts: Iterable[str], runs: int, others: int
) -> Iterable[float]:
    """The p-value of each fate that either side showed. A post that a run did not have counts as not met."""
    names = list(posts)
    for fate in _all_fates(first, second):
        yield counts.p_value(
            (_times(second.get(post, {}), fate), others, _times(first.get(post, {}), fate), runs) for post in names
        )


def _times(fates: dict[int, str], fate: str) -> int:
    return sum(one == fate for one in fates.values())


def _all_fates(*sides: dict[str, dict[int, str]]) -> list[str]:
    return list(dict.fromkeys(fate for side in sides for runs in side.values() for fate in runs.values()))


def _shares(
    first: dict[str, dict[int, str]], second: dict[str, dict[int, str]]
) -> tuple[tuple[str, float, float], ...]:
    parts = []
    for side in (first, second):
        counted = Counter(fate for runs in side.values() for fate in runs.values())
        total = max(1, counted.total())
        parts.append({fate: count / total for fate, count in counted.items()})
    return tuple((fate, parts[0].get(fate, 0.0), parts[1].get(fate, 0.0)) for fate in _all_fates(first, second))


def _by_post(runs: Iterable[Run], version: str) -> dict[str, dict[int, str]]:
    """Post -> seed -> fate."""
    found: dict[str, dict[int, str]] = {}
    for run in runs:
        for fate in run.fates:
            if fate.version == version:
                found.setdefault(fate.post, {})[run.seed] = fate.fate
    return found


# --- lags ---


def _lags(side: Side, version: str) -> list[int]:
    return sorted(
        fate.lag_ns for run in side.runs for fate in run.fates if fate.version == version and fate.lag_ns is not None
    )


def _lag_row(version: str, base: list[int], other: list[int], size: float, room: int) -> LagRow:
    p = ks.p_value(base, other, room) if base and other else None
    word: Word = "inconclusive"
    if p is not None and (p < size or ks.would_notice(base, len(other), room, size)):
        word = "differs" if p < size else "alike"
    middle = (nearest_rank(base, 0.5), nearest_rank(base, 0.9), nearest_rank(other, 0.5), nearest_rank(other, 0.9))
    return LagRow(version, len(base), len(other), *middle, p, word)


# --- verdicts ---


def _verdicts(base: Side, other: Side) -> Iterable[VerdictRow]:
    names = list(dict.fromkeys(one.invariant for run in base.runs for one in run.verdicts))
    for name in names:
        said, heard = _outcomes(base, name), _outcomes(other, name)
        reason = next(
            (one.reason for run in other.runs for one in run.verdicts if one.invariant == name and one.reason), ""
        )
        yield VerdictRow(name, said, heard, _verdict_word(said, heard), reason)
    rulings = tuple(tuple(dict.fromkeys(run.word for run in side.runs)) for side in (base, other))
    yield VerdictRow("ruling", rulings[0], rulings[1], _verdict_word(*rulings))


def _outcomes(side: Side, name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.outcome for run in side.runs for one in run.verdicts if one.invariant == name))


def _verdict_word(said: tuple[str, ...], heard: tuple[str, ...]) -> Word:
    """Differs if a real run came to what no simulated run came to; what could not be judged cannot differ."""
    known = [one for one in heard if one != "unknown"]
    if any(one not in said for one in known):
        return "differs"
    return "alike" if known else "inconclusive"
