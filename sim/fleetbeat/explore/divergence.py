"""Where a replay left its case: the first step that a choice names and that does not come any more, and what is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.explore.reason import unmet
from fleetbeat.history.records import Record
from fleetbeat.scenario.case import parse_step

#: Operations of an episode that are listed.
MOST = 12


def divergence(overrides: Overrides, records: Sequence[Record]) -> Iterator[str]:
    """One line for each choice without effect, in the order in which their episodes come."""
    for step, said in sorted(_missing(overrides, records), key=lambda item: _place(item[0], records)):
        yield f"{said}; {now_at(step, records)}"


def _missing(overrides: Overrides, records: Sequence[Record]) -> Iterator[tuple[Step, str]]:
    for record in unmet(records):
        if record.kind == "hold.unmet":
            until = parse_step(record["until"])
            yield until, f"{record['step']} waits for {until}, which never comes"
            continue
        kind, _, name = record["choice"].partition(" of ")
        stream, _, at = name.partition(" at ")
        step = parse_step(at if kind == "bits" else name)
        if _came(step, records):
            yield step, f"{step} comes, and draws nothing from {stream or kind} any more"
        else:
            yield step, f"{step} never comes"


def _came(step: Step, records: Sequence[Record]) -> bool:
    return any(_step(record) == step for record in records if record.kind == "op")


def _step(record: Record) -> Step:
    return Step(record.actor, record["life"], record["episode"], record["operation"], record["path"], record["nth"])


def _place(step: Step, records: Sequence[Record]) -> tuple[int, Step]:
    """Episodes in the order of their last record; those that never come are last."""
    times = [record.t for record in records if record.kind == "op" and _step(record)[:3] == step[:3]]
    return (max(times) if times else 1 << 62, step)


def now_at(step: Step, records: Sequence[Record]) -> str:
    """What the episode of a step does now, in words."""
    made = [_step(record) for record in records if record.kind == "op" and _step(record)[:3] == step[:3]]
    where = f"{step.actor}#{step.life}.{step.episode}"
    if made:
        shown = ", ".join(f"{one.operation} {one.path}".strip() for one in made[:MOST])
        more = f", and {len(made) - MOST} more" if len(made) > MOST else ""
        return f"{where} now makes: {shown}{more}"
    for record in records:
        idle = record.kind == "beats" and (record.actor, record["life"]) == (step.actor, step.life)
        if idle and record["first"] <= step.episode <= record["last"]:
            return f"{where} is idle now and makes: {', '.join(record['ops']) or 'nothing'}"
    counts = [r for r in records if r.kind in ("beat", "beats") and r.actor == step.actor and r["life"] == step.life]
    if counts:
        return f"there is no {where}: beats go up to {max(r.get('last', r.get('beat')) for r in counts)}"
    return f"there is no {where} in this run"
