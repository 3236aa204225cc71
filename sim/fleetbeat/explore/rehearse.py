"""From a sketch to a run that breaks for the same reason: held back as little as it takes.

The engine plays the sketch's scenario as it comes. Where two steps came in another order than the sketch has them, the
later one is held until the earlier took effect, and it plays again; in the worst case every change of actor is held.
What a search found is thereby verified on the engine, never taken on trust.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.explore.reason import Broken, Trial, unmet
from fleetbeat.explore.sketch import Episode, Sketch, episode
from fleetbeat.explore.stage import HALF, SECOND, Manner, Set, build
from fleetbeat.history.records import Record
from fleetbeat.scenario.case import parse_step

#: Ways of building that are tried in turn: a short run, the dead started again, a run long enough to call a heartbeat dead.
MANNERS = (Manner(), Manner(restart=True), Manner(15 * SECOND + HALF, restart=True))
_ROUNDS = 40
MICROSECOND = 1_000


def rehearse(sketch: Sketch, trial: Trial, manners: Sequence[Manner] = MANNERS) -> Broken | None:
    """The run of a scenario made from this sketch that breaks for the trial's reason; None if there is none.

    Raises `OutOfRuns`.
    """
    for manner in manners:
        found = _rehearse(build(sketch, manner), trial)
        if found is not None:
            return found
    starts = tuple(_inside_beats(sketch, trial, manners[0]))
    for manner in manners if starts else ():
        found = _rehearse(build(sketch, replace(manner, starts=starts)), trial)
        if found is not None:
            return found
    return None


def _inside_beats(sketch: Sketch, trial: Trial, manner: Manner) -> Iterator[tuple[Episode, int]]:
    """Rebuilds that began in the middle of a beat, each with an instant right after the step that came before.

    A hold keeps a rebuild's first step back, not its beginning, and some promises turn on when it began.
    """
    stage = build(sketch, manner)
    times: dict[Step, int] = {}
    seen: set[Episode] = set()
    for before, event in pairwise(sketch.events):
        key = episode(event)
        if sketch.is_rebuild(event) and event.step.episode > 0 and key not in seen and sketch.is_beat(before):
            times = times or _times(trial.play(stage.scenario, Overrides(dict(stage.bits))))
            name = stage.names[episode(before)]
            at = times.get(before.step._replace(actor=name[0], life=name[1], episode=name[2]))
            if at is not None:
                yield key, -(-(at + 1) // MICROSECOND) * MICROSECOND
        seen.add(key)


def _times(records: Sequence[Record]) -> dict[Step, int]:
    """When each step took effect, in ns."""
    ops = [record for record in records if record.kind == "op"]
    return dict(zip(_steps(ops), (record.t for record in ops), strict=True))


def _rehearse(stage: Set, trial: Trial) -> Broken | None:
    holds: dict[Step, Step] = {}
    never: set[Step] = set()
    for _ in range(_ROUNDS):
        overrides = Overrides(dict(stage.bits), {}, dict(holds))
        records = trial.play(stage.scenario, overrides)
        found = trial.look(stage.scenario, overrides, records)
        if found is not None:
            return found
        before = dict(holds), len(never)
        places = _places(stage, records)
        for step in _without_effect(records):
            until = holds.pop(step, None)
            never |= {one for one in stage.order if one not in places and one[:3] in (step[:3], until and until[:3])}
        wrong = [pair for pair in _wrong(stage, places, never) if holds.get(pair[0]) != pair[1]]
        for step, until in wrong[: max(1, len(wrong) // 3)]:
            holds[step] = until
        if (holds, len(never)) == before:
            return None
    return None


_Places = dict[Step, tuple[int, int]]


def _wrong(stage: Set, places: _Places, never: set[Step]) -> list[tuple[Step, Step]]:
    """(step, the one it must wait for) wherever the run had another order than the sketch; in the sketch's order.

    A step that has not come may still come, if what came too soon is held; one that is known never to come counts for
    nothing.
    """
    found = []
    for until, step in pairwise(one for one in stage.order if one not in never):
        if until.actor == step.actor or step not in places:
            continue
        if until not in places or places[step] < places[until]:
            found.append((stage.begins.get(step, step), until))
    return found


def _places(stage: Set, records: Sequence[Record]) -> _Places:
    """Where in a run each step took effect. What an idle beat did is not recorded: its steps stand at its beginning."""
    places: _Places = {}
    seen = [record for record in records if record.kind in ("op", "fault")]
    for index, (t, step) in enumerate(_timed(seen)):
        places.setdefault(step, (t, index))
    idle = _idle_beats(records)
    for index, step in enumerate(stage.order):
        if step not in places and step[:3] in idle:
            places[step] = (idle[step[:3]], index)
    return places


def _idle_beats(records: Sequence[Record]) -> dict[Episode, int]:
    """When each idle beat began, in ns."""
    found: dict[Episode, int] = {}
    for record in records:
        if record.kind == "beats":
            first, last = record["first"], record["last"]
            every = (record["last_start"] - record.t) // max(1, last - first)
            for number in range(first, last + 1):
                found[record.actor, record["life"], number] = record.t + (number - first) * every
    return found


def _timed(records: Sequence[Record]) -> Iterator[tuple[int, Step]]:
    for record in records:
        for step in _steps([record]):
            yield record.t, step


def _steps(records: Sequence[Record]) -> Iterator[Step]:
    for record in records:
        if record.kind == "op":
            yield Step(
                record.actor, record["life"], record["episode"], record["operation"], record["path"], record["nth"]
            )
        elif record.kind == "fault" and record["operation"] != "process":
            yield parse_step(record["step"])


def _without_effect(records: Sequence[Record]) -> Iterator[Step]:
    """The held steps that a run says it could not hold, or never came to."""
    for record in unmet(records):
        if record.kind == "hold.unmet":
            yield parse_step(record["step"])
        elif record["choice"].startswith("hold of "):
            yield parse_step(record["choice"].removeprefix("hold of "))
