"""A parent writes its canonical into a child at spawn, as some agents do: one more writer, with a post of its own."""

from __future__ import annotations

from fleetbeat.chance.step import Step
from fleetbeat.engines.delivery import Delivery
from fleetbeat.engines.des.body import Body, Shell
from fleetbeat.engines.des.drive import drive
from fleetbeat.engines.des.operator import Poster
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.effects import Trace
from fleetbeat.protocol.spelling import read_file
from fleetbeat.scenario.resolve import AgentSpec


def hand_down(world: World, spec: AgentSpec) -> Wait:
    """Reads the parent's canonical and, unless there is none, writes it to the child as `.rules`."""
    parent = world.agents[str(spec.parent)]
    actor = f"{spec.parent}/hand-down/{spec.name}"
    when = yield from world.until(world.now + 1, Step(actor, 0, 0, "begin"))
    shell = Shell(world, parent.spec.name, parent.spec.home, parent.spec.uid)
    reader = Body(shell, actor, 0, "hand-down", parent.spec.name, parent.spec.home, parent.latencies)
    trace = Trace("hand-down", 0, when)
    try:
        text = yield from drive(world, reader, read_file(f"{parent.spec.home}/system/rules.md", 65536), trace)
    except OSError:
        return
    at = (trace.end, trace.last or when[1])
    digest = world.body(text, at, "hand-down", f"handed-down-{spec.parent}")
    version = world.bodies.version_of(digest) or f"handed-down-{spec.parent}"
    identity = f"hand-down:{spec.name}"
    world.recorder.add(
        at,
        "harness",
        "rollout",
        rollout=identity,
        version=version,
        operator=str(spec.parent),
        body=digest,
        targets=[spec.name],
        write="hand-down",
        verify="none",
        waves=[[spec.name]],
    )
    delivery = Delivery(
        version=version,
        operator=str(spec.parent),
        target=spec.name,
        body=text,
        digest=digest,
        write="in-place" if spec.hand_down == "in-place" else "atomic",
        method="hand-down",
        verify="none",
        uid=parent.spec.uid,
        perms=0o644,
    )
    yield from Poster(world, delivery, parent.latencies, actor).write(1, at[0])
