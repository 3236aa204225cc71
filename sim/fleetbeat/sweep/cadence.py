"""The cadences that are laid beside one another: intervals x jitters x phases, each at every level of faults, all played.

A level multiplies what goes wrong by chance: the probabilities of the scenario's faults and their rates; at level 0 no
fault strikes at all. Draws stay the same, so a higher level meets the same faults and more. Planned crashes, rebuilds and
stalls belong to the fleet and stay. A cadence is the fleet's heartbeat; groups that give one of their own keep it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pydantic_core import PydanticCustomError

from fleetbeat.scenario.dump import dump
from fleetbeat.scenario.load import ScenarioError, load
from fleetbeat.scenario.model import Expect, Fault, Heartbeat, Scenario
from fleetbeat.scenario.units import format_duration, parse_duration
from fleetbeat.sweep.advise_measure import Ask, work
from fleetbeat.sweep.advise_slo import AdviseError
from fleetbeat.sweep.execute import Batch, Row, execute

_SEEDS = 2**64
_MOST_BATCH = 8
#: Of the scenario's own interval, where none are asked for.
USUAL = ((1, 2), (1, 1), (2, 1), (5, 1))

Numbers = dict[str, float | None]
Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Cadence:
    """One heartbeat. `jitter` and `phase` in words; `heartbeat` as loaded."""

    interval: str
    jitter: str
    phase: str
    heartbeat: Heartbeat

    @property
    def words(self) -> str:
        phase = f"splay {format_duration(self.heartbeat.splay)}" if self.phase == "splay" else self.phase
        return f"every {self.interval}, jitter {self.jitter}, phase {phase}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cadence (by its place) at one level of faults. `scenario`: loaded; `text`: the same, which needs no file."""

    cadence: int
    level: float
    scenario: Scenario
    text: str


@dataclass(frozen=True, slots=True)
class Laid:
    """What will be played: every cadence at every level, the levels of a cadence one after another."""

    name: str
    cadences: tuple[Cadence, ...]
    levels: tuple[float, ...]
    cells: tuple[Cell, ...]
    seeds: tuple[int, ...]
    notes: tuple[str, ...]

    @property
    def agents(self) -> tuple[str, ...]:
        """Names or folders of all agents' programs."""
        fleets = [cell.scenario.fleet for cell in self.cells]
        named = [name for fleet in fleets for name in (fleet.agent, *(group.agent for group in fleet.groups)) if name]
        return tuple(sorted(dict.fromkeys(named)))

    @property
    def runs(self) -> int:
        return len(self.cells) * len(self.seeds)

    def fresh(self) -> tuple[int, ...]:
        """As many seeds again, none of which was used to choose."""
        return tuple((seed + len(self.seeds)) % _SEEDS for seed in self.seeds)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The axes as given; an empty one is the scenario's own value, of `intervals` and `levels` the usual ones."""

    intervals: tuple[str, ...] = ()
    jitters: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()

    def cells(self) -> int:
        """How many there will be, at most."""
        return (
            len(self.intervals or USUAL)
            * len(self.jitters or (1,))
            * len(self.phases or (1,))
            * len(self.levels or (1, 1))
        )

    def first(self) -> Wanted:
        """One value of each axis that is given: the first, of levels the last."""
        return Wanted(self.intervals[:1], self.jitters[:1], self.phases[:1], self.levels[-1:])


def lay(path: Path, sets: Sequence[str], wanted: Wanted, seeds: int) -> Laid:
    """Load every cadence at every level; of the usual intervals those with which the scenario loads.

    Raises AdviseError for an axis that cannot be used, ScenarioError.
    """
    own = load(path, None, sets)
    levels = _levels(own, wanted.levels)
    cadences: list[Cadence] = []
    cells: list[Cell] = []
    left_out: dict[str, None] = {}
    for interval in wanted.intervals or _usual(own.fleet.heartbeat.interval):
        for jitter in wanted.jitters or ("",):
            for phase in wanted.phases or ("",):
                try:
                    scenario = load(path, None, [*sets, *_overrides(interval, jitter, phase)])
                except ScenarioError:
                    if wanted.intervals or interval == format_duration(own.fleet.heartbeat.interval):
                        raise
                    left_out.setdefault(f"left out, for the scenario's jitter leaves no wait: every {interval}")
                    continue
                cadences.append(_cadence(scenario))
                for level in levels:
                    found = at_level(scenario, level)
                    cells.append(Cell(len(cadences) - 1, level, found, dump(found)))
    _refuse_twins(cadences)
    numbers = tuple((own.seed + index) % _SEEDS for index in range(seeds))
    return Laid(own.name, tuple(cadences), levels, tuple(cells), numbers, (*_keeping_their_own(cells), *left_out))


@dataclass(frozen=True, slots=True)
class Where:
    """What plays: `width` runs at a time on the executor that `opened` opens."""

    width: int
    opened: Callable[[], Executor]


def play(
    laid: Laid, places: Sequence[int], seeds: Sequence[int], ask: Ask, where: Where, tell: Tell
) -> dict[int, list[Numbers]]:
    """Play these cells (by place) with these seeds: place -> what its runs came to, in the order of seeds.

    Raises as `execute`.
    """
    total = len(places) * len(seeds)
    size = max(1, min(_MOST_BATCH, total // (8 * where.width)))
    batches = [
        Batch(place, laid.cells[place].text, tuple(seeds[first : first + size]))
        for place in places
        for first in range(0, len(seeds), size)
    ]
    found: dict[tuple[int, int], Numbers] = {}

    def keep(rows: list[Row]) -> None:
        for row in rows:
            found[row.cell, row.seed] = row.metrics
        tell(len(found), total)

    execute(batches, where.opened, where.width, keep, task=partial(work, ask))
    return {place: [found[place, seed] for seed in seeds] for place in places}


def at_level(scenario: Scenario, level: float) -> Scenario:
    """The scenario with chances and rates of its faults multiplied by `level`; at 0 without faults."""
    if level == 1:
        return scenario
    if level > 0:
        return scenario.model_copy(update={"faults": tuple(_scaled(fault, level) for fault in scenario.faults)})
    kept = tuple(one for one in scenario.expect.sometimes if one.fault is None)
    expect: Expect = scenario.expect.model_copy(update={"sometimes": kept})
    return scenario.model_copy(update={"faults": (), "expect": expect})


def _scaled(fault: Fault, level: float) -> Fault:
    changed: dict[str, float] = {}
    if fault.probability is not None:
        changed["probability"] = min(1.0, fault.probability * level)
    if fault.per_hour is not None:
        changed["per_hour"] = min(3600.0, fault.per_hour * level)
    return fault.model_copy(update=changed)


def _levels(scenario: Scenario, given: tuple[str, ...]) -> tuple[float, ...]:
    by_chance = any(fault.probability is not None or fault.per_hour is not None for fault in scenario.faults)
    if not given:
        return (0.0, 1.0) if by_chance else (1.0,)
    found = []
    for text in given:
        if not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?", text):
            raise AdviseError(f"--faults: got {text!r}, expected factors such as 0,1,2")
        level = float(text)
        if level not in (0.0, 1.0) and not by_chance:
            raise AdviseError(f"--faults: got {text}, expected 0 or 1: no fault of the scenario has a chance or a rate")
        if level in found:
            raise AdviseError(f"--faults: got {text} twice, expected every level once")
        found.append(level)
    if not scenario.faults and found != [1.0]:
        raise AdviseError(f"--faults: got {','.join(given)}, expected a scenario with faults, and this has none")
    return tuple(sorted(found))


def _usual(interval_ns: int) -> tuple[str, ...]:
    shortest = 1_000_000
    found = [max(shortest, interval_ns * more // less) for more, less in USUAL]
    return tuple(format_duration(ns) for ns in dict.fromkeys(found))


def _overrides(interval: str, jitter: str, phase: str) -> list[str]:
    """What `--set` would be given."""
    length = _length("--interval", interval, "a duration such as 1s")
    sets = [f"fleet.heartbeat.interval={interval}"]
    if jitter:
        sets.append(f"fleet.heartbeat.jitter={_jitter(jitter, length)}")
    if phase:
        name, colon, splay = phase.partition(":")
        if name not in ("random", "aligned", "splay") or (colon and name != "splay"):
            raise AdviseError(f"--phase: got {phase!r}, expected random, aligned, splay or splay:30s")
        sets.append(f"fleet.heartbeat.phase={name}")
        sets += [f"fleet.heartbeat.splay={splay}"] if colon else []
    return sets


def _jitter(text: str, interval_ns: int) -> str:
    """A share is uniform by that part of the interval either way, a duration by that; `{kind: ...}` as in a scenario."""
    if text == "none" or text.startswith("{"):
        return text
    expected = "none, a share of the interval such as 10%, a duration such as 50ms, or {kind: normal, sd: 50ms}"
    share = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)%", text)
    if share is not None:
        width = round(interval_ns * float(share[1]) / 100)
    else:
        width = _length("--jitter", text, expected)
    if width == 0:
        return "none"
    if width >= interval_ns:
        raise AdviseError(f"--jitter: got {text} with an interval of {format_duration(interval_ns)}, expected less")
    return f"{{kind: uniform, low: -{format_duration(width)}, high: {format_duration(width)}}}"


def _length(flag: str, text: str, expected: str) -> int:
    try:
        return parse_duration(text)
    except PydanticCustomError as error:
        raise AdviseError(f"{flag}: got {text!r}, expected {expected}") from error


def _cadence(scenario: Scenario) -> Cadence:
    heartbeat = scenario.fleet.heartbeat
    jitter = heartbeat.jitter
    match jitter.kind:
        case "none":
            words = "none"
        case "uniform":
            low, high = format_duration(jitter.low), format_duration(jitter.high)
            words = f"±{high}" if jitter.low == -jitter.high else f"{low} to {high}"
        case "normal":
            words = f"normal {format_duration(jitter.sd)}"
        case _:
            words = jitter.kind
    return Cadence(format_duration(heartbeat.interval), words, heartbeat.phase, heartbeat)


def _refuse_twins(cadences: Sequence[Cadence]) -> None:
    for place, one in enumerate(cadences):
        if any(one.heartbeat == other.heartbeat for other in cadences[:place]):
            raise AdviseError(f"cadences: got {one.words!r} twice, expected every one once")


def _keeping_their_own(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Groups whose interval no cell moves, where others' moves. Raises AdviseError if nobody's does."""
    first = cells[0].scenario
    asked = [cell.scenario.fleet.heartbeat.interval for cell in cells]
    if not first.fleet.groups or min(asked) == max(asked):
        return ()
    kept = []
    for index, group in enumerate(first.fleet.groups):
        beats = [cell.scenario.fleet.groups[index].heartbeat for cell in cells]
        intervals = [beat.interval if beat else at for beat, at in zip(beats, asked, strict=True)]
        if min(intervals) == max(intervals):
            kept.append(f"{group.name} ({format_duration(intervals[0])})")
    if len(kept) == len(first.fleet.groups):
        raise AdviseError(
            f"--interval: got groups that all give an interval of their own ({', '.join(kept)}), expected one that takes"
            " the fleet's"
        )
    return (f"groups with an interval of their own keep it: {', '.join(kept)}",) if kept else ()
