"""What is left of a case made plain: a short run, round times, short texts, no more settings than it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fleetbeat.chance.choices import Overrides
from fleetbeat.explore.reason import Broken, Trial
from fleetbeat.explore.stage import HALF, SECOND
from fleetbeat.scenario.dump import brief, written
from fleetbeat.scenario.model import Expect, Rollout, Scenario, Start
from fleetbeat.scenario.resolve import agents, body_of, targets

Weight = tuple[int, ...]


def weight(broken: Broken) -> Weight:
    """How big a case is; smaller is better, the first number that differs decides: agents, posts, faults, what else
    happens, duration in ns, choices, length of the text."""
    scenario, overrides = broken.scenario, broken.overrides
    fleet, lifecycle = agents(scenario), scenario.fleet.lifecycle
    happens = (*lifecycle.crashes, *lifecycle.rebuilds, *lifecycle.suspend, *lifecycle.spawns)
    return (
        len(fleet),
        sum(len(targets(rollout, fleet)) for rollout in scenario.rollouts),
        len(scenario.faults),
        len(happens),
        scenario.duration,
        len(overrides.bits) + len(overrides.ties) + len(overrides.holds),
        len(written(brief(scenario))),
    )


def plainer(trial: Trial, best: Broken) -> Iterator[Broken]:
    """Ever plainer runs that break for the same reason, each from the one before. Raises `OutOfRuns`."""
    for candidates in (_shorter, _rounder, _texts, _settings):
        for scenario in candidates(best):
            if scenario == best.scenario:
                continue
            found = _broken(trial, scenario, best.overrides)
            if found is not None and weight(found) < weight(best):
                best = found
                yield best
                if candidates is _shorter:
                    break


def _broken(trial: Trial, scenario: Scenario, overrides: Overrides) -> Broken | None:
    try:
        return trial.broken(scenario, overrides)
    except ValueError:
        return None  # a scenario that means nothing any more


# --- time ---


def _shorter(best: Broken) -> Iterator[Scenario]:
    """The same with less time after the last thing that happened, the shortest first."""
    last = max((record.t for record in best.records if record.kind not in ("end", "beats", "polls")), default=0)
    end = -(-(last + 1) // HALF) * HALF
    while end < best.scenario.duration and end <= last + 20 * SECOND:
        yield best.scenario.model_copy(update={"duration": end})
        end += HALF


def _rounder(best: Broken) -> Iterator[Scenario]:
    """Times of posts, rebuilds and crashes on half seconds: all at once, then one by one."""
    scenario = best.scenario
    lifecycle = scenario.fleet.lifecycle
    rollouts = tuple(_at(one, _half(one.at)) for one in scenario.rollouts)
    rebuilds = tuple(_at(one, tuple(map(_half, one.at))) for one in lifecycle.rebuilds)
    crashes = tuple(_at(one, _half(one.at)) for one in lifecycle.crashes)
    yield _with(scenario, {"rollouts": rollouts}, {"rebuilds": rebuilds, "crashes": crashes})
    for index in range(len(rollouts)):
        yield scenario.model_copy(update={"rollouts": _put(scenario.rollouts, index, rollouts[index])})
    for index in range(len(rebuilds)):
        yield _with(scenario, {}, {"rebuilds": _put(lifecycle.rebuilds, index, rebuilds[index])})
    for index in range(len(crashes)):
        yield _with(scenario, {}, {"crashes": _put(lifecycle.crashes, index, crashes[index])})


def _half(at_ns: int) -> int:
    return at_ns // HALF * HALF


def _at(one: Any, at: Any) -> Any:
    return one.model_copy(update={"at": at})


def _put(items: Sequence[Any], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _with(scenario: Scenario, parts: dict[str, Any], lifecycle: dict[str, Any]) -> Scenario:
    if lifecycle:
        fleet = scenario.fleet
        changed = fleet.model_copy(update={"lifecycle": fleet.lifecycle.model_copy(update=lifecycle)})
        parts = {**parts, "fleet": changed}
    return scenario.model_copy(update=parts)


# --- texts ---


def _texts(best: Broken) -> Iterator[Scenario]:
    """Bodies as short as can be, equal ones still equal: without the version's mark, then with it."""
    scenario = best.scenario
    fleet = scenario.fleet
    for rules in (None, "v0"):
        if fleet.start.rules not in (None, rules):
            start = fleet.start.model_copy(update={"rules": rules})
            yield scenario.model_copy(update={"fleet": fleet.model_copy(update={"start": start})})
    for mark in (False, None):
        names: dict[bytes, str] = {}
        rollouts = tuple(
            _short(one, names.setdefault(body_of(one).strip(), one.version), mark) for one in scenario.rollouts
        )
        yield scenario.model_copy(update={"rollouts": rollouts})
        for index in range(len(rollouts)):
            yield scenario.model_copy(update={"rollouts": _put(scenario.rollouts, index, rollouts[index])})


def _short(rollout: Rollout, name: str, mark: bool | None) -> Rollout:
    data = body_of(rollout)
    if not data.strip():
        parts: dict[str, Any] = {"body": " ", "base64": None}
    elif rollout.base64 is not None:
        parts = {"base64": "/w=="}
    else:
        parts = {"body": name, "mark": mark}
    short = rollout.model_copy(update=parts)
    pieces = -(-len(data) // rollout.chunk)
    if pieces > 1:
        short = short.model_copy(update={"chunk": max(1, len(body_of(short)) // 2)})
    return short


# --- settings ---


def _settings(best: Broken) -> Iterator[Scenario]:
    """One setting after another at its default."""
    scenario = best.scenario
    plain = Rollout(version="v", at=0, targets=("all",))
    yield scenario.model_copy(update={"expect": Expect(), "about": ""})
    for index, rollout in enumerate(scenario.rollouts):
        for name in (
            "write",
            "chunk",
            "uid",
            "perms",
            "mark",
            "verify",
            "retries",
            "latency",
            "spacing",
            "waves",
            "order",
        ):
            changed = rollout.model_copy(update={name: getattr(plain, name)})
            yield scenario.model_copy(update={"rollouts": _put(scenario.rollouts, index, changed)})
    for index, fault in enumerate(scenario.faults):
        if fault.restart is not None:
            changed_fault = fault.model_copy(update={"restart": None})
            yield scenario.model_copy(update={"faults": _put(scenario.faults, index, changed_fault)})
    fleet = scenario.fleet
    for index, crash in enumerate(fleet.lifecycle.crashes):
        crashes = _put(fleet.lifecycle.crashes, index, crash.model_copy(update={"restart": None}))
        yield _with(scenario, {}, {"crashes": crashes})
    for parts in ({"uid": 1000}, {"start": Start()}, {"latency": type(fleet.latency)()}):
        yield scenario.model_copy(update={"fleet": fleet.model_copy(update=parts)})
