"""How often a post meets a fate, per million posts, by playing mostly those posts that land while a beat is at work.

A post whose rename falls between two beats cannot meet the window inside a beat, and nearly all of them do. Each trial
draws an agent, one of its posts and a seed, and plays that agent alone:
- a *pilot*, from which it learns when the beats of this seed come. They all move with the first beat, so the places for the
  first beat at which some post lands while a beat is at work are a few intervals;
- a *near* run: the same draws, the first beat at a place drawn uniformly from these intervals;
- every other time, a *far* run: the first beat at a place drawn uniformly from all others.
With w the share of near places (exact: lengths of intervals over the heartbeat's interval), a post's chance is
E[w 1(fate, near)] + E[(1 - w) 1(fate, far)], whatever the intervals are: how well they were guessed decides how many runs
it takes, not what comes out. Each part gets Wilson's interval with its effective number of runs, (sum w)^2 / sum w^2; the
two are combined by their distances (MOVER). Sources: Wilson 1927; Kish 1965; Zou and Donner 2008.

The far part counts as zero where it can be shown to be: nothing but latencies and the cadence is left to chance, no post of
a far run fell into a beat, and no far run had the fate. Then every program saw the same results in the same order as in
one of these runs, since idle beats change nothing, and did the same.

A fate that one post in ten or more meets is common: then all runs are at places drawn uniformly, and one interval does.

Rejected: forcing latencies (weights then depend on what the program does), and uniform places alone (a window of 50 us in
1 s needs millions of runs for one digit).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt

from fleetbeat.cadence.clock import phase_width_ns
from fleetbeat.cadence.make import Cadence, make_cadence
from fleetbeat.chance.choices import Hashed, unit
from fleetbeat.chance.spread import is_constant
from fleetbeat.chance.step import Step
from fleetbeat.checks.judge import judge
from fleetbeat.checks.model import FATES
from fleetbeat.engines import ENGINES
from fleetbeat.explore import near
from fleetbeat.explore.lone import PHASE, Delivery, Play, alone, at_phase, deliveries
from fleetbeat.explore.model import ExploreError
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Latency, Scenario
from fleetbeat.scenario.resolve import AgentSpec
from fleetbeat.scenario.resolve import agents as resolve_agents

#: 95 % of a normal distribution lies within so many standard deviations.
Z = 1.959964
#: Runs that are played first, to learn how far a beat reaches and whether the fate is common.
CALIBRATION = 40
LEAST_RUNS = 100
#: Drawn latencies: a beat may take so many times the longest seen.
MARGIN = 2


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of all posts. `weight`: their share; `hits` of `runs` had the fate; rates are shares of *all* posts."""

    name: str
    weight: float
    runs: int
    hits: int
    rate: float
    low: float
    high: float
    shown_zero: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """The share of posts that meet `fate`, with a 95 % interval. `brute`: uniform runs for an interval of that width."""

    fate: str
    rate: float
    low: float
    high: float
    strata: tuple[Stratum, ...]
    runs: int
    brute: int | None
    assumptions: tuple[str, ...]
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class _Case:
    """One agent by itself. `width_ns`: its interval; `margin`: a beat may reach so many times as far as the longest seen."""

    scenario: Scenario
    width_ns: int
    posts: tuple[str, ...]
    margin: int


@dataclass(frozen=True, slots=True)
class _Trial:
    case: _Case
    post: str


def rate_of(
    scenario: Scenario, fate: str, runs: int = 2000, progress: Callable[[int, int], None] | None = None
) -> Rate:
    """Estimates how often a first attempt meets `fate`. `runs`: about how many to play. The same for the same arguments.

    `progress` is told runs done and planned. On KeyboardInterrupt the estimate so far is returned, if there is one.
    Raises `ExploreError` for an unknown fate, too few runs, or a scenario without posts.
    """
    if fate not in FATES:
        raise ExploreError(f"fate: got {fate!r}, expected one of {', '.join(FATES)}")
    if runs < LEAST_RUNS:
        raise ExploreError(f"runs: got {runs}, expected at least {LEAST_RUNS}")
    play = ENGINES.engine("des")
    first = [(trial, _uniform(play, trial)) for trial in _trials(scenario, CALIBRATION, play, "calibration")]
    is_common = sum(_has(history, trial.post, fate) for trial, history in first) >= CALIBRATION // 10
    reach = max(near.longest_reach(history) for _, history in first)
    trials = _trials(scenario, runs, play, "trial")
    sums = _Sums(_Tally(), _Tally(), runs=CALIBRATION)
    try:
        for number, trial in enumerate(trials):
            if sums.runs >= runs:
                break
            if is_common:
                sums.near.add(1.0, _has(_uniform(play, trial), trial.post, fate))
                sums.runs += 1
            else:
                _try(play, trial, fate, reach, sums, is_far_too=number % 2 == 0)
            if progress is not None:
                progress(min(sums.runs, runs), runs)
    except KeyboardInterrupt:
        if not sums.near.hits or not (is_common or sums.far.hits):
            raise
        return replace(_result(scenario, fate, sums, is_common), interrupted=True)
    return _result(scenario, fate, sums, is_common)


def _uniform(play: Play, trial: _Trial) -> list[Record]:
    width = trial.case.width_ns
    return _play(play, trial, int(_draw(trial, "uniform") * width))


def _try(play: Play, trial: _Trial, fate: str, reach_ns: int, sums: _Sums, is_far_too: bool) -> None:
    """One trial: finds its near places, plays one of them, and perhaps one of the others."""
    case = trial.case

    def at(place: int) -> list[Record]:
        sums.runs += 1
        return _play(play, trial, place)

    close = near.near(at, _cadence(case), case.width_ns, case.margin * reach_ns)
    away = near.others(close, case.width_ns)
    weight = near.length(close) / case.width_ns
    hit = bool(close) and _has(at(near.place(close, _draw(trial, "near"))), trial.post, fate)
    sums.near.add(weight, hit)
    if not is_far_too:
        return
    history = at(near.place(away, _draw(trial, "far"))) if away else []
    sums.far.add(1 - weight, bool(away) and _has(history, trial.post, fate))
    sums.met += bool(away) and near.meets(history)


# --- trials ---


def _trials(scenario: Scenario, count: int, play: Play, what: str) -> list[_Trial]:
    """Each an agent and one of its posts, all posts of the scenario equally likely, and a seed of its own."""
    coming = deliveries(scenario, play)
    specs = {spec.name: spec for spec in resolve_agents(scenario)}
    pairs = [(name, index) for name, posts in coming.items() for index in range(len(posts))]
    cases: dict[str, _Case] = {}
    found = []
    for number in range(count):
        chosen = unit(Hashed(scenario.seed).bits("rate", Step(what, 0, number, "post")))
        name, index = pairs[int(chosen * len(pairs))]
        case = cases.get(name) or cases.setdefault(name, _case(scenario, specs[name], coming[name]))
        seed = Hashed(scenario.seed).bits("rate", Step(what, 0, number, "seed"))
        own = replace(case, scenario=case.scenario.model_copy(update={"seed": seed}))
        found.append(_Trial(own, case.posts[index]))
    return found


def _case(scenario: Scenario, spec: AgentSpec, posts: tuple[Delivery, ...]) -> _Case:
    lone = alone(scenario, spec, posts)
    host = next(host for host in scenario.fleet.hosts if host.name == spec.host)
    heartbeat = spec.heartbeat.model_copy(update={"phase": "random"})
    width = phase_width_ns(heartbeat, 1.0 + host.clock_ppm * 1e-6)
    names = []
    for rollout in lone.rollouts:
        prefix = "" if rollout.operator == "op" else f"{rollout.operator}:"
        names.append(f"{prefix}{rollout.version}/lone-0#1")
    margin = 1 if _is_steady(spec.latency) and not scenario.faults else MARGIN
    return _Case(lone, width, tuple(names), margin)


def _is_steady(latency: Latency) -> bool:
    return all(is_constant(value) for _, value in latency if not isinstance(value, int))


def _draw(trial: _Trial, what: str) -> float:
    """A place in (0, 1); the trial's seed decides it, as it decides all else."""
    return unit(Hashed(trial.case.scenario.seed).bits("rate", Step(what)))


def _cadence(case: _Case) -> Cadence:
    group, hosts = case.scenario.fleet.groups[0], case.scenario.fleet.hosts
    ppm = next(host.clock_ppm for host in hosts if host.name == group.hosts[0])
    return make_cadence(group.heartbeat, Hashed(case.scenario.seed), PHASE.actor, 0, ppm)


def _play(play: Play, trial: _Trial, phase_ns: int) -> list[Record]:
    return play(trial.case.scenario, at_phase(phase_ns, trial.case.width_ns))


def _has(history: Sequence[Record], post: str, fate: str) -> bool:
    return any(one.post == post and one.fate == fate for one in judge(history, checks=()).fates)


# --- numbers ---


class _Tally:
    """Weighted hits."""

    def __init__(self) -> None:
        self.weights: list[float] = []
        self.hits: list[bool] = []

    def add(self, weight: float, hit: bool) -> None:
        self.weights.append(weight)
        self.hits.append(hit)

    def stratum(self, name: str) -> Stratum:
        """The mean of weight times hit over all trials, and Wilson's interval for it."""
        total = sum(self.weights)
        squares = sum(weight * weight for weight in self.weights)
        share = total / len(self.weights)
        if not total:
            return Stratum(name, 0.0, 0, 0, 0.0, 0.0, 0.0)
        p = sum(weight for weight, hit in zip(self.weights, self.hits, strict=True) if hit) / total
        low, high = wilson(p, total * total / squares)
        runs = sum(weight > 0 for weight in self.weights)
        return Stratum(name, share, runs, sum(self.hits), share * p, share * low, share * high)


def wilson(p: float, n: float) -> tuple[float, float]:
    """The 95 % interval of a share `p` seen in `n` independent trials."""
    if p in (0.0, 1.0):
        edge = Z * Z / (n + Z * Z)
        return (0.0, edge) if p == 0 else (1 - edge, 1.0)
    middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return middle - half, middle + half


@dataclass(slots=True)
class _Sums:
    """`met`: far runs in which a post landed in a beat after all; `runs`: all that were played."""

    near: _Tally
    far: _Tally
    met: int = 0
    runs: int = 0


def _result(scenario: Scenario, fate: str, sums: _Sums, is_common: bool) -> Rate:
    assumptions = _assumed(scenario)
    if is_common:
        everything = sums.near.stratum("all posts")
        low, high, rate = everything.low, everything.high, everything.rate
        strata: tuple[Stratum, ...] = (everything,)
    else:
        close, away = sums.near.stratum("near a beat"), sums.far.stratum("far from any beat")
        if sums.met == 0 and not _left_to_chance(scenario):
            if away.hits == 0 and away.runs:
                away = replace(away, low=0.0, high=0.0, shown_zero=True)
        else:
            assumptions = (*assumptions, _counted(scenario))
        strata = (close, replace(away, weight=1 - close.weight))
        rate = close.rate + away.rate
        low = max(0.0, rate - sqrt((close.rate - close.low) ** 2 + (away.rate - away.low) ** 2))
        high = min(1.0, rate + sqrt((close.high - close.rate) ** 2 + (away.high - away.rate) ** 2))
    return Rate(fate, rate, low, high, strata, sums.runs, brute_runs(rate, low, high), assumptions)


def brute_runs(rate: float, low: float, high: float) -> int | None:
    """Runs with uniform phases for an interval as wide as this; None if there is no rate to speak of."""
    return ceil(rate * (1 - rate) * (2 * Z / (high - low)) ** 2) if rate > 0 and high > low else None


def _left_to_chance(scenario: Scenario) -> list[str]:
    """What besides latencies and the cadence can change a far post's course."""
    life = scenario.fleet.lifecycle
    found = [
        (bool(scenario.faults), "faults"),
        (bool(life.crashes), "crashes"),
        (bool(life.rebuilds), "rebuilds"),
        (bool(life.suspend), "windows"),
        (any(spec.heartbeat.stalls for spec in resolve_agents(scenario)), "stalls"),
        (any(rollout.write not in ("atomic", "atomic-synced") for rollout in scenario.rollouts), "writers in pieces"),
    ]
    return [what for there, what in found if there]


def _assumed(scenario: Scenario) -> tuple[str, ...]:
    return (
        "posts come at a time unrelated to the beats: the first beat is anywhere in one interval, equally likely",
        "one agent at a time: disks, power and gates that agents share are left out; posts come when the rollout says",
        "first attempts are counted; what is posted again is played and not counted",
        *(["rollbacks are left out"] if any(one.on_failure == "rollback" for one in scenario.rollouts) else []),
    )


def _counted(scenario: Scenario) -> str:
    others = _left_to_chance(scenario) or ["latencies that keep beats at work for long"]
    return f"posts far from any beat are counted, not ruled out, as the scenario has {', '.join(others)}"
