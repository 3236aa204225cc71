"""One run of one cadence, in the numbers that the advice is made of: objectives, cost, and how far beats fall together.

Costs are of the host that pays most. `peak/s`: where most beats begin within one window of 100 ms (or one interval, if
that is shorter), of the first beats of lives or, over one interval, of the last beats before the end; agents of unequal
intervals are counted apart and added, for sooner or later they meet. Between the two nobody is asked: those two are the
instants that start and drift leave, and histories hold exact times for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import ceil, exp, inf, lgamma, log, log1p

from fleetbeat import __version__
from fleetbeat.chance.choices import Hashed, unit
from fleetbeat.chance.step import Step
from fleetbeat.checks import judge
from fleetbeat.checks.model import Judgement, PostFate
from fleetbeat.engines import ENGINES
from fleetbeat.history.records import Record
from fleetbeat.scenario.load import load
from fleetbeat.scenario.model import Scenario
from fleetbeat.sweep.advise_slo import COSTS, SECOND, Objective
from fleetbeat.sweep.execute import Batch, ExecuteError, Row
from fleetbeat.sweep.one import outcome

WINDOW_NS = 100_000_000
#: Fates of posts that nobody waits for, and of those that something else may have replaced.
SETTLED = ("unchanged", "empty", "rejected", "unposted")
REPLACED = (*SETTLED, "superseded")
#: What every run is measured in, besides its objectives: the costs that need no real engine, and what warnings ask.
MEASURED = (*(name for name in COSTS if name != "cpu"), "herd", "herd_odds", "lives", "faults")


@dataclass(frozen=True, slots=True)
class Ask:
    """What each run is asked. `shift_ns`: rollouts start later by a draw of up to so much, the same in every cell."""

    objectives: tuple[Objective, ...]
    shift_ns: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A version on its way to an agent. Times in ns; `effective` None: never; `until`: when another version landed there,
    after which nobody can tell how long this one would have taken."""

    version: str
    landed: int
    effective: int | None
    until: int | None = None

    def watched(self, wait_ns: int, end_ns: int) -> bool:
        """Whether a wait of this length would have been seen, whatever came of it: only such deliveries may count."""
        return (end_ns if self.until is None else self.until) - self.landed >= wait_ns


def work(ask: Ask, batch: Batch) -> list[Row]:
    """Play a batch of one cell; what a worker of `execute` does. Rows have no verdict: none is asked for.

    Raises ExecuteError if the batch is from another version of fleetbeat.
    """
    if batch.version != __version__:
        raise ExecuteError(f"worker: got fleetbeat {__version__}, expected {batch.version} as where this was started")
    return [Row(batch.cell, seed, "", run_of(ask, batch.text, seed)) for seed in batch.seeds]


def run_of(ask: Ask, text: str, seed: int) -> dict[str, float | None]:
    """What one run of a scenario's text came to, by the texts of objectives and the names of `MEASURED`."""
    scenario = shifted(_loaded(text), ask.shift_ns, seed)
    return measures(ask.objectives, ENGINES.engine("des")(scenario), scenario.duration)


@lru_cache(maxsize=16)
def _loaded(text: str) -> Scenario:
    return load(text)


def shifted(scenario: Scenario, shift_ns: int, seed: int) -> Scenario:
    """The scenario under a seed, all its rollouts later by one draw by name from [0, shift)."""
    if not shift_ns:
        return scenario.model_copy(update={"seed": seed})
    later = int(unit(Hashed(seed).bits("cadence-shift", Step("rollouts"))) * shift_ns)
    rollouts = tuple(one.model_copy(update={"at": one.at + later}) for one in scenario.rollouts)
    return scenario.model_copy(update={"seed": seed, "rollouts": rollouts})


def measures(objectives: Sequence[Objective], records: Sequence[Record], duration_ns: int) -> dict[str, float | None]:
    """The numbers of one history. An objective's None: the run tells nothing; inf: not within what it lasted.

    `herd`: the largest share of a host's agents whose last beats began in one window, where it is least likely for beats
    spread evenly; `herd_odds`: at most how likely that is (Bonferroni over the windows that open with a beat, each with a
    binomial tail: Glaz, Naus and Wallenstein 2001, Scan Statistics, section 8).
    """
    judgement = judge(records)
    found: dict[str, float | None] = {**_costs(records, duration_ns)}
    if any(one.kind == "metric" for one in objectives):
        plain = outcome(records, duration_ns).metrics
    known = deliveries(judgement)
    for one in objectives:
        if one.kind == "metric":
            found[one.text] = plain[one.name]
        elif one.kind != "cost":
            watched = [each for each in known if each.watched(one.needs_ns, duration_ns)]
            mine = [each for each in watched if one.version in (None, each.version)]
            found[one.text] = _lag(one, mine) if one.kind == "lag" else _pending(one, mine)
            found[counted(one)] = float(len(mine))
    return found


def counted(one: Objective) -> str:
    """The name under which a run says how many deliveries an objective was about."""
    return f"{one.text} of"


def deliveries(judgement: Judgement) -> list[Delivery]:
    """Every delivery that counts, agent by agent in the order of landing; see `advise_slo`."""
    posts: dict[str, list[tuple[int, PostFate]]] = {}
    for fate in judgement.fates:
        if fate.completed is not None:
            posts.setdefault(fate.agent, []).append((fate.completed, fate))
    found = []
    for _, landings in sorted(posts.items()):
        landings.sort(key=lambda one: (one[0], one[1].post))
        runs = [list(some) for _, some in groupby(landings, key=lambda one: one[1].version)]
        for some, after in zip(runs, [*runs[1:], None], strict=True):
            until = None if after is None else after[0][0]
            delivery = _delivery(some[0][0], [fate for _, fate in some], until)
            found += [] if delivery is None else [delivery]
    return found


def _delivery(landed: int, posts: Sequence[PostFate], until: int | None) -> Delivery | None:
    """One delivery of its posts, the first of which landed then; None if nobody waited for it."""
    ends = [fate.effective for fate in posts if fate.fate == "applied" and fate.effective is not None]
    if ends:
        return Delivery(posts[0].version, landed, max(landed, min(ends)), until)
    fates = [fate.fate for fate in posts]
    if all(fate in SETTLED for fate in fates) or (until is None and all(fate in REPLACED for fate in fates)):
        return None
    return Delivery(posts[0].version, landed, None, until)


def _lag(one: Objective, some: Sequence[Delivery]) -> float | None:
    """The quantile by nearest rank, in s; never is longer than any."""
    waits = sorted(inf if each.effective is None else (each.effective - each.landed) / SECOND for each in some)
    return waits[max(1, ceil(round(one.share * len(waits), 9))) - 1] if waits else None


def _pending(one: Objective, some: Sequence[Delivery]) -> float | None:
    late = sum(each.effective is None or each.effective - each.landed > one.after_ns for each in some)
    return late / len(some) if some else None


def _costs(records: Iterable[Record], duration_ns: int) -> dict[str, float]:
    homes: dict[str, tuple[str, int | None]] = {}
    beats: dict[str, int] = {}
    ops: dict[str, int] = {}
    wakes: dict[str, int] = {}
    first: dict[tuple[str, int], int] = {}
    last: dict[str, int] = {}
    faults = 0
    for record in records:
        kind = record.kind
        if kind == "op":
            if record["role"] not in ("post", "poll"):
                host = homes[record["agent"]][0]
                ops[host] = ops.get(host, 0) + 1
        elif kind == "beat" or kind == "beats":
            agent = record["agent"]
            host = homes[agent][0]
            count = 1 if kind == "beat" else record["last"] - record["first"] + 1
            beats[host] = beats.get(host, 0) + count
            first.setdefault((agent, record["life"]), record.t)
            last[agent] = max(last.get(agent, 0), record.t if kind == "beat" else record["last_start"])
            if kind == "beats":
                ops[host] = ops.get(host, 0) + count * sum(record["ops"].values())
        elif kind == "rebuild.end":
            host = homes[record["agent"]][0]
            wakes[host] = wakes.get(host, 0) + 1
        elif kind == "agent":
            homes[record["agent"]] = (record["host"], record.get("interval"))
        elif kind == "fault":
            faults += record["on"] == "agents"
    seconds = duration_ns / SECOND
    steady, herd, odds = _steady(homes, last, duration_ns)
    starts = _starts(homes, first)
    return {
        "beats/s": max(beats.values(), default=0) / seconds,
        "ops/s": max(ops.values(), default=0) / seconds,
        "wakes/s": max((beats.get(host, 0) + wakes.get(host, 0) for host, _ in homes.values()), default=0) / seconds,
        "peak/s": max(steady, starts),
        "herd": herd,
        "herd_odds": odds,
        "lives": float(len(first)),
        "faults": float(faults),
    }


def _starts(homes: Mapping[str, tuple[str, int | None]], first: Mapping[tuple[str, int], int]) -> float:
    """The most first beats of lives in one window on one host, a second."""
    hosts: dict[str, list[int]] = {}
    shortest: dict[str, int] = {}
    for (agent, _), start in first.items():
        host, interval = homes[agent]
        hosts.setdefault(host, []).append(start)
        shortest[host] = min(shortest.get(host, WINDOW_NS), interval or WINDOW_NS)
    return max(
        (most_within(times, shortest[host]) * SECOND / shortest[host] for host, times in hosts.items()), default=0
    )


def _steady(
    homes: Mapping[str, tuple[str, int | None]], last: Mapping[str, int], duration_ns: int
) -> tuple[float, float, float]:
    """The busiest window of the last beats a second; the least likely herd's share, and how likely it is at most."""
    classes: dict[tuple[str, int], list[int]] = {}
    for agent, start in last.items():
        host, interval = homes[agent]
        if interval and start > duration_ns - 2 * interval:  # others are down, or stand still
            classes.setdefault((host, interval), []).append(start % interval)
    rates: dict[str, float] = {}
    herd, odds = 0.0, 1.0
    for (host, interval), places in classes.items():
        window = min(WINDOW_NS, interval)
        most = most_within([*places, *(place + interval for place in places)], window)
        most = min(most, len(places))
        rates[host] = rates.get(host, 0.0) + most * SECOND / window
        chance = min(1.0, len(places) * tail(len(places) - 1, window / interval, most - 1))
        if chance < odds:
            herd, odds = most / len(places), chance
    return max(rates.values(), default=0.0), herd, odds


def most_within(times: Iterable[int], window: int) -> int:
    """How many of these instants lie in one window that is half open, at most."""
    ordered = sorted(times)
    most, start = 0, 0
    for index, instant in enumerate(ordered):
        while ordered[start] <= instant - window:
            start += 1
        most = max(most, index - start + 1)
    return most


def tail(count: int, share: float, least: int) -> float:
    """P(binomial(count, share) >= least)."""
    if least <= 0 or share >= 1:
        return 1.0
    ways = lgamma(count + 1)
    return min(
        1.0,
        sum(
            exp(ways - lgamma(hits + 1) - lgamma(count - hits + 1) + hits * log(share) + (count - hits) * log1p(-share))
            for hits in range(least, count + 1)
        ),
    )
