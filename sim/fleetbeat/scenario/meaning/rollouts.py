"""Rollouts: whom they reach, in which waves, and that one version is one body."""

from __future__ import annotations

from fleetbeat.scenario.meaning import plans, times
from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.mistakes import listed
from fleetbeat.scenario.model import Rollout
from fleetbeat.scenario.read import Path
from fleetbeat.scenario.resolve import body_of, targets, waves
from fleetbeat.scenario.selectors import parse_item
from fleetbeat.scenario.units import format_share


def check(context: Context) -> None:
    bodies: dict[str, bytes] = {}
    seen: set[tuple[str, str]] = set()
    for index, rollout in enumerate(context.scenario.rollouts):
        path: Path = ("rollouts", index)
        body = _body(rollout)
        if body is not None and bodies.setdefault(rollout.version, body) != body:
            context.at((*path, "version"), "another version, for one before it has this id and another body")
        if (rollout.operator, rollout.version) in seen:
            said = f"another version or operator, for {rollout.operator} rolls out {rollout.version} already"
            context.at((*path, "version"), said)
        seen.add((rollout.operator, rollout.version))
        times.latency(context, (*path, "latency"), rollout.latency)
        before = len(context.mistakes)
        context.selector((*path, "targets"), rollout.targets)
        shapes = _waves(context, path, rollout)
        if context.fleet_known and shapes and len(context.mistakes) == before:
            _reach(context, path, rollout)
        plans.check(context, path, rollout, body is not None and not body.strip())
    plans.truths(context)


def _body(rollout: Rollout) -> bytes | None:
    try:
        return body_of(rollout)
    except ValueError:
        return None  # told where the body was read


def _waves(context: Context, path: Path, rollout: Rollout) -> bool:
    """Shares go up to everything. Answers whether the waves can be worked out."""
    least, ok = 0.0, True
    for index, wave in enumerate(rollout.waves):
        here = (*path, "waves", index)
        if (wave.targets is None) == (wave.upto is None):
            got = "none of them" if wave.targets is None else "both"
            context.at(here, "exactly one of targets and upto", got=got)
            ok = False
            continue
        if wave.targets is not None:
            context.selector((*here, "targets"), wave.targets)
        elif wave.upto is not None:
            if wave.upto <= least:
                said = f"more than the wave before ({format_share(least)}), for shares are cumulative"
                context.at((*here, "upto"), said)
            least = wave.upto
    last = rollout.waves[-1] if rollout.waves else None
    if ok and last is not None and last.upto is not None and least < 1:
        context.at((*path, "waves", len(rollout.waves) - 1, "upto"), "100%, for the last wave must reach every target")
        ok = False
    return ok


def _reach(context: Context, path: Path, rollout: Rollout) -> None:
    fleet = context.scenario.fleet
    spawned = bool(fleet.lifecycle.spawns)
    named_waves = any(wave.targets is not None for wave in rollout.waves)
    if not spawned and not named_waves:
        return  # each item was found to mean somebody
    everyone = targets(rollout, context.fleet)
    if not everyone and not any(parse_item(text).kind == "share" for text in rollout.targets):
        expected = "an agent that is there at that time (name those one by one that are spawned later)"
        context.at((*path, "targets"), expected, got=listed([repr(text) for text in rollout.targets]))
        return
    reached = {name for wave in waves(rollout, context.fleet) for name in wave}
    missing = [name for name in everyone if name not in reached]
    if missing:
        said = f"waves that reach every target; these are in none: {listed(missing, 5)}"
        context.at((*path, "waves"), said, got=f"waves for {len(reached)} of {len(everyone)} targets")
