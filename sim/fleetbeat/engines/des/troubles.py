"""What a version with `errors_per_hour` does to agents: while it is effective on one that runs, its log gets entries.

Entries come at the arrivals of (version, agent), by name, whether or not anybody is there to log them: another plan, or
another time at which the version came, moves none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.gates import ERROR
from fleetbeat.engines.prelude import rollout_id
from fleetbeat.history.records import compared
from fleetbeat.protocol.process import section_of
from fleetbeat.scenario.resolve import body_of


def start_troubles(world: World, waves: Mapping[str, Sequence[Sequence[str]]]) -> None:
    """Starts one process for each target of each version whose agents log errors."""
    started: dict[tuple[str, str], None] = {}
    for rollout in world.scenario.rollouts:
        wanted = compared(body_of(rollout))
        if not rollout.errors_per_hour or not wanted:
            continue
        for target in [name for wave in waves[rollout_id(rollout)] for name in wave]:
            if (rollout.version, target) not in started:
                started[rollout.version, target] = None
                world.start(_trouble(world, rollout.version, target, wanted, rollout.errors_per_hour))


def _trouble(world: World, version: str, target: str, wanted: str, per_hour: float) -> Wait:
    arrivals = Arrivals(world.choices, f"errors:{version}", target, per_hour)
    after = arrivals.after(-1)
    while after is not None and after[1] < world.scenario.duration:
        number, at_ns = after
        when = yield from world.until(at_ns, Step(f"{target}/errors:{version}", 0, number, "error"))
        agent = world.agents.get(target)
        if agent is not None and agent.alive and _effective(world, target) == wanted:
            fields: dict[str, str] = {}
            world.recorder.add(when, target, "log", agent=target, life=agent.life, event=ERROR, fields=fields)
        after = arrivals.after(at_ns)


def _effective(world: World, target: str) -> str | None:
    """The text in the protected section of the target's prompt as it stands, stripped."""
    prompt = world.manifest(target).prompt
    text = compared(world.files.peek(f"{world.specs[target].home}/{prompt.path}") or b"")
    section = None if text is None else section_of(text + "\n", prompt.begin, prompt.end)[1]
    return None if section is None else section.strip()
