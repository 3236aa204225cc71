"""The reference engine: SimPy, where every file operation is a step of its own. The only engine that imports SimPy."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.doze import Dozing
from fleetbeat.engines.des.lanes import lanes_of
from fleetbeat.engines.des.lifecycle import start_all
from fleetbeat.engines.des.pace import Pace
from fleetbeat.engines.des.plans import roll_out
from fleetbeat.engines.des.troubles import start_troubles
from fleetbeat.engines.des.watch import Watch
from fleetbeat.engines.des.world import World
from fleetbeat.engines.gates import truths
from fleetbeat.engines.prelude import head, rollout_id
from fleetbeat.engines.programs import load_program
from fleetbeat.engines.recorder import Tie
from fleetbeat.history.records import Record
from fleetbeat.protocol.vocabulary import Program
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.manifest import Manifest, load_manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents as resolve_agents
from fleetbeat.scenario.resolve import waves as resolve_waves

#: How often progress is told, in ns of virtual time: a hundredth of the run.
_TICKS = 100
#: So many posts share instants often enough that drawing ties in one go is worth the import of NumPy.
_MANY_POSTS = 2_000


def run(
    scenario: Scenario,
    overrides: Overrides | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    pace: Pace | None = None,
    programs: dict[str, Program] | None = None,
) -> list[Record]:
    """Plays `scenario`. `programs` replaces agents' programs by name (for tests); `pace` says how beats are walked.

    Returns the history in order. On KeyboardInterrupt the history so far is returned, ending in "interrupted".
    Raises `ScenarioError` for an agent that cannot be loaded.
    """
    specs = resolve_agents(scenario)
    names = list(dict.fromkeys(spec.agent for spec in specs))
    folders = {name: find_agent(name, None) for name in names}
    manifests: dict[str, Manifest] = {name: load_manifest(folders[name]) for name in names}
    loaded = {name: (programs or {}).get(name) or load_program(folders[name], manifests[name]) for name in names}
    world = World(scenario, specs, manifests, loaded, overrides)
    world.watch = Watch(world)
    waves = {rollout_id(rollout): resolve_waves(rollout, specs) for rollout in scenario.rollouts}
    world.recorder.head = head(scenario, "des", specs, manifests, world.injector, world.bodies, waves)
    world.recorder.head += [Record(0, "harness", "truth", fields) for fields in truths(scenario)]
    walk = pace or Dozing()
    world.clock.leaps = walk.leaps
    world.lanes = lanes_of(scenario, specs, world.named) if walk.leaps else None
    if len(specs) * len(scenario.rollouts) >= _MANY_POSTS:
        import_module("numpy")
    start_all(world, walk)
    if walk.leaps:
        world.foresee_first_beats()
    digests = {
        str(record["rollout"]): str(record["body"]) for record in world.recorder.head if record.kind == "rollout"
    }
    for rollout in scenario.rollouts:
        name = rollout_id(rollout)
        world.start(roll_out(world, rollout, name, waves[name], digests[name]))
    start_troubles(world, waves)
    reason = "duration"
    with _no_collections():
        try:
            _run(world, progress)
        except KeyboardInterrupt:
            reason = "interrupted"
            with suppress(KeyboardInterrupt):
                _level(world)
        return _finish(world, reason)


@contextmanager
def _no_collections() -> Iterator[None]:
    """A run makes records by the hundred thousand and hardly a cycle: looking for cycles often took two fifths of it."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what was made is old now; else it would be looked through at once
        gc.unfreeze()
        if before:
            gc.enable()


def _run(world: World, progress: Callable[[int], None] | None) -> None:
    duration = world.scenario.duration
    if progress is None:
        world.clock.run(until=duration)
        return
    for part in range(1, _TICKS + 1):
        until = duration * part // _TICKS
        if until > world.now:
            world.clock.run(until=until)
            progress(until)


def _level(world: World) -> None:
    """Plays on until everybody is where the one is who acted furthest ahead of the clock."""
    if world.lanes is not None:
        furthest = max((agent.heartbeat.at[0] for agent in world.agents.values() if agent.heartbeat), default=0)
        furthest = max(furthest, world.recorder.latest())
        world.lanes.end(furthest)
        if furthest >= world.now:
            world.clock.run(until=furthest + 1)


def _finish(world: World, reason: str) -> list[Record]:
    """Wakes the sleepers for the last time, and writes what is under way."""
    end = (world.now, Tie(world.choices, Step(""), -1))
    world.foresee(world.now + 1, world.agents)
    world.rouse_all(end)
    world.clock.settle()
    for agent in world.agents.values():
        if agent.alive:
            agent.cut(end)
    for step in sorted(world.unmet):
        world.recorder.add(end, "harness", "hold.unmet", step=str(step), until=str(world.unmet[step]))
    for choice in world.never_came():
        world.recorder.add(end, "harness", "choice.unmet", choice=choice)
    world.tell_bodies()
    return world.recorder.history(end[0], reason)
