"""scenario.yaml as a run's directory holds it: as resolved, so that it loads alone and gives the same history.

Without bodies it does not load until they are put back: a file that loaded with other rules in their place would give
another history under the same name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetbeat.scenario.model import Fleet, Scenario, Start

_NOTE = "# The rules' texts were left out (--no-bodies). This file loads once every rollout has its body again:\n"


def scenario_text(scenario: Scenario, *, bodies: bool) -> str:
    """The YAML of a loaded scenario."""
    from fleetbeat.scenario.dump import dump

    return dump(scenario) if bodies else _digests(scenario) + dump(bare(scenario))


def bare(scenario: Scenario) -> Scenario:
    """The scenario without any text that may be rules: bodies, start states, signals that already stand there."""
    rollouts = tuple(
        rollout.model_copy(update={"body": None, "file": None, "base64": None}) for rollout in scenario.rollouts
    )
    return scenario.model_copy(update={"rollouts": rollouts, "fleet": _fleet(scenario.fleet)})


def _fleet(fleet: Fleet) -> Fleet:
    groups = tuple(
        group if group.start is None else group.model_copy(update={"start": _start(group.start)})
        for group in fleet.groups
    )
    spawns = tuple(spawn.model_copy(update={"start": _start(spawn.start)}) for spawn in fleet.lifecycle.spawns)
    lifecycle = fleet.lifecycle.model_copy(update={"spawns": spawns})
    return fleet.model_copy(update={"start": _start(fleet.start), "groups": groups, "lifecycle": lifecycle})


def _start(start: Start) -> Start:
    return start.model_copy(update={"rules": None, "signal_text": ""})


def _digests(scenario: Scenario) -> str:
    from fleetbeat.history.records import digest
    from fleetbeat.scenario.resolve import body_of

    bodies = [(rollout.version, body_of(rollout)) for rollout in scenario.rollouts]
    return _NOTE + "".join(f"#   {version}: {len(data)} bytes, digest {digest(data)}\n" for version, data in bodies)
