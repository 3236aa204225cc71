"""Two rollout plans on the same bad days: both scenarios are played with the same seeds and compared seed by seed.

Draws are named, so what both scenarios share (fleet, faults with the same ids, start states) falls out alike in both, and
most of the noise cancels in the differences. A metric that a run does not have (the time to finish of a rollout that was
stopped) leaves its pair out; each difference says of how many pairs it is.

Means and their differences: `stats`. Metrics that are 0 or 1 in every run are shares: Wilson's interval each, and for the
difference Newcombe's for paired shares, which does not become a point where no run differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

from fleetbeat import __version__
from fleetbeat.explore.rate import wilson
from fleetbeat.metrics.exposure import PLAN_METRICS, numbers, plans
from fleetbeat.metrics.facts import gather
from fleetbeat.scenario.model import Scenario
from fleetbeat.sweep import stats
from fleetbeat.sweep.execute import ExecuteError, Opened, execute, local
from fleetbeat.sweep.one import METRICS, played

#: Every metric that can be compared, and what it says.
COMPARED = {**PLAN_METRICS, **METRICS}
#: What is compared unless other metrics are asked for: the plans, then what their posts came to.
SHOWN = (*PLAN_METRICS, "lag_p99", "violations", "gaps", "ops_per_s")
#: Metrics that count what happens at most once for each version, so that mostly they are shares.
COUNTS = ("slipped", "false_alarms", "failed")
SHARED = "difference of paired shares: Newcombe's square-and-add interval"
SHARED_SOURCE = "Newcombe 1998, Statistics in Medicine 17:2635, method 10"
_MOST_BATCH = 8

Numbers = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Task:
    """Some seeds of one side, 0 or 1. `text`: its resolved scenario, which needs no other file."""

    side: int
    text: str
    seeds: tuple[int, ...]
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Got:
    """One run of one side."""

    side: int
    seed: int
    verdict: str
    metrics: Numbers


@dataclass(frozen=True, slots=True)
class PairRow:
    """One metric. `first`, `second`: each side's own; `apart`: second less first, seed by seed. `statistic`: mean, share."""

    metric: str
    statistic: str
    first: stats.Estimate
    second: stats.Estimate
    apart: stats.Estimate


def play_side(task: Task) -> list[Got]:
    """What a worker does. Raises ExecuteError if the task is from another version of fleetbeat."""
    if task.version != __version__:
        raise ExecuteError(f"worker: got fleetbeat {__version__}, expected {task.version} as where it was started")
    found = []
    for seed in task.seeds:
        run = played(task.text, (), seed)
        plan = numbers(plans(gather(run.records)))
        found.append(Got(task.side, seed, run.outcome.verdict, {**run.outcome.metrics, **plan}))
    return found


def play_pairs(
    texts: tuple[str, str],
    seeds: Sequence[int],
    jobs: int,
    tell: Callable[[int, int], None],
    keep: list[Got],
    opened: Opened | None = None,
) -> None:
    """Plays both sides with every seed; fills `keep` as runs finish, so that ctrl-C leaves what is there.

    Raises as `execute`.
    """

    def kept(rows: list[Got]) -> None:
        keep.extend(rows)
        tell(len(keep), 2 * len(seeds))

    size = max(1, min(_MOST_BATCH, 2 * len(seeds) // (8 * jobs)))
    starts = range(0, len(seeds), size)
    tasks = [Task(side, texts[side], tuple(seeds[at : at + size])) for at in starts for side in (0, 1)]
    execute(tasks, opened or local(jobs), jobs, kept, play_side)


def paired(rows: Sequence[Got], seeds: Sequence[int]) -> list[tuple[Numbers, Numbers]]:
    """The seeds that both sides were played with, in their order."""
    there = {(row.side, row.seed): row.metrics for row in rows}
    return [(there[0, seed], there[1, seed]) for seed in seeds if (0, seed) in there and (1, seed) in there]


def verdicts(rows: Sequence[Got], side: int) -> dict[str, int]:
    """How many runs of a side came to each verdict: one that never reached what it set out to test is no success."""
    words = [row.verdict for row in rows if row.side == side]
    return {word: words.count(word) for word in sorted(dict.fromkeys(words))}


def compared(pairs: Sequence[tuple[Numbers, Numbers]], metrics: Sequence[str]) -> list[PairRow]:
    """One row a metric. Raises KeyError for an unknown one."""
    return [_row(metric, [one[metric] for one, _ in pairs], [two[metric] for _, two in pairs]) for metric in metrics]


def _row(metric: str, these: Sequence[float | None], those: Sequence[float | None]) -> PairRow:
    both = [(a, b) for a, b in zip(these, those, strict=True) if a is not None and b is not None]
    known = [value for value in (*these, *those) if value is not None]
    if metric in COUNTS and known and all(value in (0, 1) for value in known):
        first, second = (_share([value for value in side if value is not None]) for side in (these, those))
        return PairRow(metric, "share", first, second, share_difference([(a == 1, b == 1) for a, b in both]))
    apart = stats.difference([b for _, b in both], [a for a, _ in both])
    return PairRow(metric, "mean", stats.mean(these), stats.mean(those), apart)


def _share(values: Sequence[float]) -> stats.Estimate:
    return stats.proportion(sum(value == 1 for value in values), len(values))


def share_difference(pairs: Sequence[tuple[bool, bool]]) -> stats.Estimate:
    """How much larger the share of the second is than that of the first, from pairs of yes and no.

    Each share's distance to the ends of its Wilson interval is squared and added, less what the two have in common: phi,
    their correlation, its numerator lessened by half the pairs where it is positive. Source: Newcombe 1998, method 10.
    """
    count = len(pairs)
    if not count:
        return stats.Estimate(None, None, None, 0, SHARED, SHARED_SOURCE, "no pairs")
    yes, second_only = sum(a and b for a, b in pairs), sum(b and not a for a, b in pairs)
    first_only = sum(a and not b for a, b in pairs)
    no = count - yes - second_only - first_only
    two, one = (yes + second_only) / count, (yes + first_only) / count
    (low2, high2), (low1, high1) = wilson(two, count), wilson(one, count)
    phi = _phi(yes, second_only, first_only, no)
    down = (two - low2) ** 2 - 2 * phi * (two - low2) * (high1 - one) + (high1 - one) ** 2
    up = (high2 - two) ** 2 - 2 * phi * (high2 - two) * (one - low1) + (one - low1) ** 2
    apart = two - one
    return stats.Estimate(apart, apart - sqrt(max(0.0, down)), apart + sqrt(max(0.0, up)), count, SHARED, SHARED_SOURCE)


def _phi(yes: int, second_only: int, first_only: int, no: int) -> float:
    margins = (yes + second_only) * (first_only + no) * (yes + first_only) * (second_only + no)
    if not margins:
        return 0.0
    common = yes * no - second_only * first_only
    if common > 0:
        common_less = max(common - (yes + second_only + first_only + no) / 2, 0.0)
        return common_less / sqrt(margins)
    return common / sqrt(margins)


def differing(first: Scenario, second: Scenario) -> list[str]:
    """What two scenarios differ in besides their rollouts, so that a difference may not come from the plan."""
    sections = ("duration", "fleet", "faults", "workload")
    found = [name for name in sections if getattr(first, name) != getattr(second, name)]
    truths = [
        {(one.version, one.bad, one.errors_per_hour): None for one in scenario.rollouts} for scenario in (first, second)
    ]
    if sorted(truths[0]) != sorted(truths[1]):
        found.append("versions (which there are, which are bad, or how many errors they cause)")
    return found
