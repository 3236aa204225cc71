"""Expectations: what they name must exist, or they could never be met."""

from __future__ import annotations

from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.mistakes import listed
from fleetbeat.scenario.read import Path
from fleetbeat.scenario.resolve import fault_ids
from fleetbeat.scenario.words import INVARIANTS, OF_FRAMEWORK


def check(context: Context) -> None:
    expect = context.scenario.expect
    for index, invariant in enumerate(expect.broken):
        _invariant(context, ("expect", "broken", index), invariant)
    if not isinstance(expect.hazards, bool):
        for index, invariant in enumerate(expect.hazards):
            _invariant(context, ("expect", "hazards", index), invariant)
    for index, converge in enumerate(expect.converge):
        _version(context, ("expect", "converge", index, "version"), converge.version)
    for index, limit in enumerate(expect.lag):
        if limit.version is not None:
            _version(context, ("expect", "lag", index, "version"), limit.version)
    for fate, (least, most) in expect.fates.items():
        if most is not None and most < least:
            context.at(("expect", "fates", fate), "the least number first, then the most", got=f"{least} and {most}")
    _sometimes(context)


def _sometimes(context: Context) -> None:
    faults = fault_ids(context.scenario)
    for index, state in enumerate(context.scenario.expect.sometimes):
        path: Path = ("expect", "sometimes", index)
        given = [name for name in ("fate", "fault", "broken", "event") if getattr(state, name) is not None]
        if len(given) != 1:
            context.at(path, "exactly one of fate, fault, broken and event", got=" and ".join(given) or "none of them")
        if state.broken is not None:
            _invariant(context, (*path, "broken"), state.broken)
        if state.fault is not None and state.fault not in faults and context.whole:
            context.at((*path, "fault"), f"a fault's id ({listed(faults)})", known=faults)


def _invariant(context: Context, path: Path, invariant: str) -> None:
    if invariant not in INVARIANTS:
        context.at(path, listed(INVARIANTS), known=INVARIANTS)
    elif invariant in OF_FRAMEWORK and context.scenario.workload is None and context.whole:
        context.at(path, "an invariant of the signal where there is no workload")


def _version(context: Context, path: Path, version: str) -> None:
    known = list(dict.fromkeys(rollout.version for rollout in context.scenario.rollouts))
    if version not in known and context.whole:
        context.at(path, f"a version of a rollout ({listed(known)})", known=known)
