"""Rollout plans: gates that can stop something, rollbacks to a version that exists, and one truth about each version."""

from __future__ import annotations

from fleetbeat.scenario.gates import Gate
from fleetbeat.scenario.meaning import times
from fleetbeat.scenario.meaning.context import Context
from fleetbeat.scenario.mistakes import listed
from fleetbeat.scenario.model import Rollout
from fleetbeat.scenario.read import Path

CONDITIONS = ("effective", "lag", "violations", "write_errors", "errors_per_hour")


def check(context: Context, path: Path, rollout: Rollout, is_blank: bool) -> None:
    """One rollout's gates, approvals, and what comes after a stop. `is_blank`: its body is."""
    _gate(context, (*path, "gate"), rollout.gate, is_blank)
    for index, wave in enumerate(rollout.waves):
        here = (*path, "waves", index)
        _gate(context, (*here, "gate"), wave.gate, is_blank)
        times.length(context, (*here, "approval"), wave.approval)
        if index == len(rollout.waves) - 1:
            for name in ("approval", "hold_until"):
                if getattr(wave, name) is not None:
                    context.at((*here, name), f"no {name}, for no wave follows")
    _after_a_stop(context, path, rollout)


def truths(context: Context) -> None:
    """Rollouts of one version say the same about it."""
    said: dict[str, tuple[bool, float]] = {}
    for index, rollout in enumerate(context.scenario.rollouts):
        mine = (rollout.bad, rollout.errors_per_hour)
        first = said.setdefault(rollout.version, mine)
        for name, ours, theirs in zip(("bad", "errors_per_hour"), mine, first, strict=True):
            if ours != theirs:
                shown = str(theirs).lower() if isinstance(theirs, bool) else f"{theirs:g}"
                expected = f"{shown}, as the rollout of {rollout.version} before it says"
                context.at(("rollouts", index, name), expected)


def _gate(context: Context, path: Path, gate: Gate | None, is_blank: bool) -> None:
    if gate is None:
        return
    if all(getattr(gate, name) is None for name in CONDITIONS):
        context.at(path, f"one of {', '.join(CONDITIONS)} or more", got="none of them")
    for name in ("effective", "lag"):
        if is_blank and getattr(gate, name) is not None:
            context.at((*path, name), f"no {name}, for a blank body never becomes effective")


def _after_a_stop(context: Context, path: Path, rollout: Rollout) -> None:
    to = rollout.rollback_to
    if rollout.on_failure == "abort":
        if to is not None:
            context.at((*path, "rollback_to"), "nothing, unless on_failure is rollback")
        return
    if rollout.gate is None and all(wave.gate is None for wave in rollout.waves) and not rollout.stop_on_failure:
        context.at((*path, "on_failure"), "abort, for without a gate or stop_on_failure nothing stops this rollout")
    others = (one for one in context.scenario.rollouts if one.version != rollout.version and one.at < rollout.at)
    known = list(dict.fromkeys(one.version for one in others))
    if to is None or to not in known:
        if context.whole or to == rollout.version:
            said = f"a version that is rolled out before this one ({listed(known)})"
            context.at(
                (*path, "rollback_to"), said if known else "a version, and its rollout before this one", known=known
            )
        return
    if any(one.version == to and one.body is not None and not one.body.strip() for one in context.scenario.rollouts):
        context.at((*path, "rollback_to"), "a version with text, for a blank body puts nothing in place")
