"""A scenario made smaller as it is, where one agent's part cannot be cut out of it: hand-downs, spawned agents, gates.

Halves what there is many of and leaves out parts one by one, as long as it breaks for the same reason. Draws are named,
so what is left keeps its own; choices of actors that are gone go with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleetbeat.chance.choices import Overrides
from fleetbeat.explore.plainer import weight
from fleetbeat.explore.reason import Broken, Trial
from fleetbeat.explore.stage import SECOND
from fleetbeat.scenario.case import actors_of
from fleetbeat.scenario.mistakes import ScenarioError
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import fault_ids


def coarser(trial: Trial, best: Broken) -> Iterator[Broken]:
    """Ever smaller runs that break for the same reason, each from the one before. Raises `OutOfRuns`."""
    while True:
        found = None
        for scenario in _smaller(best.scenario):
            found = _broken(trial, scenario, best)
            if found is not None:
                break
        if found is None:
            return
        best = found
        yield best


def _broken(trial: Trial, scenario: Scenario, best: Broken) -> Broken | None:
    try:
        found = trial.broken(scenario, _left(best.overrides, scenario))
        return found if found is not None and weight(found) < weight(best) else None
    except (ScenarioError, ValueError, KeyError):
        return None  # somebody is named who is gone


def _left(overrides: Overrides, scenario: Scenario) -> Overrides:
    """The choices whose actors and faults are still there."""
    actors = actors_of(scenario)
    faults = {f"fault:{name}" for name in fault_ids(scenario)}
    return Overrides(
        {
            (stream, step): value
            for (stream, step), value in overrides.bits.items()
            if step.actor in actors and (not stream.startswith("fault:") or stream in faults)
        },
        {step: value for step, value in overrides.ties.items() if step.actor in actors},
        {step: until for step, until in overrides.holds.items() if step.actor in actors and until.actor in actors},
    )


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Candidates, the biggest cuts first."""
    fleet = scenario.fleet
    lifecycle = fleet.lifecycle
    if fleet.agents is not None:
        for count in (1, fleet.agents // 2, fleet.agents - 1):
            if 0 < count < fleet.agents:
                yield _fleet(scenario, agents=count)
    for index, group in enumerate(fleet.groups):
        if len(fleet.groups) > 1:
            yield _fleet(scenario, groups=_without(fleet.groups, index))
        for count in (1, group.count // 2, group.count - 1):
            if 0 < count < group.count:
                smaller = group.model_copy(update={"count": count})
                yield _fleet(scenario, groups=(*fleet.groups[:index], smaller, *fleet.groups[index + 1 :]))
    for name in ("rollouts", "faults"):
        items = getattr(scenario, name)
        for index in range(len(items)):
            yield scenario.model_copy(update={name: _without(items, index)})
    for name in ("suspend", "rebuilds", "crashes", "spawns"):
        items = getattr(lifecycle, name)
        for index, item in enumerate(items):
            yield _fleet(scenario, lifecycle=lifecycle.model_copy(update={name: _without(items, index)}))
            if name == "spawns" and item.count > 1:
                one = item.model_copy(update={"count": 1})
                spawns = (*items[:index], one, *items[index + 1 :])
                yield _fleet(scenario, lifecycle=lifecycle.model_copy(update={"spawns": spawns}))
    for duration in (scenario.duration // 2, scenario.duration * 3 // 4, scenario.duration - SECOND):
        whole = duration // SECOND * SECOND
        if 0 < whole < scenario.duration:
            yield scenario.model_copy(update={"duration": whole})


def _fleet(scenario: Scenario, **parts: Any) -> Scenario:
    return scenario.model_copy(update={"fleet": scenario.fleet.model_copy(update=parts)})


def _without(items: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return (*items[:index], *items[index + 1 :])
