"""Resonance: periods that meet beats at the same point again and again, and herds that never part.

Two periods resonate if one is nearly a whole multiple of the other and jitter does not blur it within one of the longer:
then what happens once happens every time, to the same agents, and the seeds of a sweep do not show it as chance. Jitter of
a fixed delay adds up: after k beats it is sqrt(k) times as wide; that of a fixed rate does not.

A herd: agents of a host whose beats fall together more often than evenly spread ones would. Beats of a fixed delay that
began together have parted once jitter has spread them over half an interval: (interval / 2 sd)^2 beats; what is left of
the herd then is exp(-pi^2 / 2), below 1 % (the resultant of a wrapped normal law: Mardia and Jupp 2000, 3.5.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import sqrt
from statistics import median

from fleetbeat.metrics.words import seconds
from fleetbeat.scenario.model import Heartbeat, Scenario
from fleetbeat.scenario.resolve import agents
from fleetbeat.scenario.units import format_duration
from fleetbeat.sweep.advise import CellAdvice
from fleetbeat.sweep.advise_measure import WINDOW_NS
from fleetbeat.sweep.cadence import Laid

#: Two periods are in step if they miss by less than this share of the shorter, and jitter blurs them by less than that.
NEAR = 0.05
BLUR = 0.1
#: A herd this unlikely by chance, in the median run, is one.
UNLIKELY = 1e-3


def warnings(laid: Laid, cells: Sequence[CellAdvice], shift_ns: int) -> list[str]:
    """Lines to be told, each once, with the cadences that it is about."""
    said: dict[str, dict[str, None]] = {}
    for cell in cells:
        cadence = laid.cadences[laid.cells[cell.place].cadence]
        scenario = laid.cells[cell.place].scenario
        for line in (
            *_resonances(scenario),
            *_herd(scenario, cell),
            *_splay(scenario, cell),
            *_alike(scenario, shift_ns),
        ):
            said.setdefault(line, {}).setdefault(cadence.words)
    found = []
    for line, names in said.items():
        every = len(names) == len(laid.cadences)
        found.append(f"{'every cadence' if every and len(names) > 1 else '; '.join(names)}: {line}")
    return found + _faultless(laid, cells)


def sd_ns(heartbeat: Heartbeat) -> float:
    """The standard deviation of one wait's jitter, in ns."""
    jitter = heartbeat.jitter
    match jitter.kind:
        case "uniform":
            return (jitter.high - jitter.low) / sqrt(12)
        case "normal":
            return float(jitter.sd)
        case "exponential":
            return float(jitter.mean)
        case "lognormal" | "empirical":
            return float(heartbeat.interval)  # wide, or of unknown width: nothing is claimed of it
        case _:
            return 0.0


def in_step(period_ns: int, heartbeat: Heartbeat) -> bool:
    """Whether something that comes with this period meets the same point of the beats each time."""
    shorter, longer = sorted((period_ns, heartbeat.interval))
    if shorter <= 0:
        return False
    times = round(longer / shorter)
    beats = longer / heartbeat.interval if heartbeat.mode == "fixed-delay" else 1
    blur = sd_ns(heartbeat) * sqrt(max(1, beats)) / heartbeat.interval
    return abs(longer - times * shorter) < NEAR * shorter and blur < BLUR


def _heartbeats(scenario: Scenario) -> list[Heartbeat]:
    beats: list[Heartbeat] = []
    for spec in agents(scenario):
        if spec.heartbeat not in beats[-1:] and spec.heartbeat not in beats:
            beats.append(spec.heartbeat)
    return beats


def _resonances(scenario: Scenario) -> Iterator[str]:
    starts = sorted(dict.fromkeys(rollout.at for rollout in scenario.rollouts))
    apart = [later - start for start, later in pairwise(starts)]
    for heartbeat in _heartbeats(scenario):
        for rebuild in scenario.fleet.lifecycle.rebuilds:
            if rebuild.every is not None and in_step(rebuild.every, heartbeat):
                yield (
                    f"resonance: rebuilds every {format_duration(rebuild.every)} meet every agent at the same point of its"
                    f" beats each time (beats every {format_duration(heartbeat.interval)}); another period, or more jitter"
                )
        together = [period for period in dict.fromkeys(apart) if in_step(period, heartbeat)]
        if together:
            yield (
                f"resonance: rollouts {', '.join(map(format_duration, together))} apart land at the same point of every"
                f" agent's beats: who waits long for one waits long for the next"
            )
        for rollout in scenario.rollouts:
            if rollout.spacing and heartbeat.phase == "aligned" and in_step(rollout.spacing, heartbeat):
                yield (
                    f"resonance: targets posted {format_duration(rollout.spacing)} apart all meet aligned beats at the"
                    " same point"
                )


def _herd(scenario: Scenario, cell: CellAdvice) -> Iterator[str]:
    odds = median(run["herd_odds"] or 0.0 for run in cell.numbers)
    if odds > UNLIKELY:
        return
    share = median(run["herd"] or 0.0 for run in cell.numbers)
    heartbeat = scenario.fleet.heartbeat
    window = seconds(min(WINDOW_NS, heartbeat.interval))
    yield (
        f"herd: at the end {share * 100:.0f} % of a host's agents still beat within the same {window} of each"
        f" {format_duration(heartbeat.interval)}; {_parting(heartbeat)}"
    )


def _parting(heartbeat: Heartbeat) -> str:
    sd = sd_ns(heartbeat)
    if sd == 0:
        return "without jitter they never part"
    if heartbeat.mode == "fixed-rate":
        return "jitter of a fixed rate does not add up, so they never part: a random phase does it"
    after = round((heartbeat.interval / (2 * sd)) ** 2 * heartbeat.interval)
    return f"so little jitter parts them only after about {seconds(after)}"


def _splay(scenario: Scenario, cell: CellAdvice) -> Iterator[str]:
    heartbeat = scenario.fleet.heartbeat
    if heartbeat.phase != "splay":
        return
    length = format_duration(heartbeat.splay)
    again = median(run["lives"] or 0.0 for run in cell.numbers) - len(agents(scenario))
    if again > 0:
        yield (
            f"splay: drawn anew at each restart ({again:.0f} in the median run): an agent that starts again waits up to"
            f" {length} for its first beat, {format_duration(heartbeat.splay // 2)} in the mean"
        )
    if heartbeat.splay < heartbeat.interval:
        yield f"splay: {length} is shorter than the interval, so first beats leave part of it empty; splay = interval"


def _alike(scenario: Scenario, shift_ns: int) -> Iterator[str]:
    heartbeat = scenario.fleet.heartbeat
    if shift_ns < heartbeat.interval and heartbeat.phase == "aligned" and sd_ns(heartbeat) == 0 and scenario.rollouts:
        yield (
            "one point: aligned beats without jitter meet the rollout at the same point in every run, so lag here says"
            f" where that point lies and no more; --shift {format_duration(heartbeat.interval)} starts rollouts anywhere"
        )


def _faultless(laid: Laid, cells: Sequence[CellAdvice]) -> list[str]:
    """Levels above 0 at which no run met a fault: they have shown nothing."""
    found = []
    for level in laid.levels:
        mine = [cell for cell in cells if laid.cells[cell.place].level == level]
        faulty = level > 0 and bool(mine) and bool(laid.cells[mine[0].place].scenario.faults)
        on_agents = faulty and any(fault.on == "agents" for fault in laid.cells[mine[0].place].scenario.faults)
        if on_agents and not any(run["faults"] for cell in mine for run in cell.numbers):
            found.append(f"faults x{level:g}: none struck an agent in any run, so this level shows nothing")
    return found
