"""One agent of a scenario by itself: its own heartbeat, latencies, faults and posts at their times, and nobody else.

An agent's timeline depends on the seed, its own settings and the writers to its directory; what couples agents beyond that
(a shared disk, a host's power, gates between waves) is left out, except that the posts come when the gates let them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fleetbeat.chance.choices import Overrides
from fleetbeat.chance.step import Step
from fleetbeat.explore.model import ExploreError
from fleetbeat.history.records import Record
from fleetbeat.scenario.model import Group, Rollout, Scenario
from fleetbeat.scenario.resolve import AgentSpec, fault_id, select
from fleetbeat.scenario.resolve import agents as resolve_agents
from fleetbeat.scenario.resolve import waves as resolve_waves

#: More agents than this are not played to learn when their posts come.
MOST_PLAYED = 5000
Play = Callable[..., list[Record]]


@dataclass(frozen=True, slots=True)
class Delivery:
    """The first post of one rollout to one agent: number of the rollout, and when its writer starts, in ns."""

    rollout: int
    at_ns: int


def deliveries(scenario: Scenario, play: Play) -> dict[str, tuple[Delivery, ...]]:
    """What comes to each agent that is there from the start, in the order of the rollouts.

    Where gates decide when (waves, one by one), the whole scenario is played once. Raises `ExploreError` if that is too
    much, or if nobody is posted to.
    """
    specs = resolve_agents(scenario)
    found: dict[str, list[Delivery]] = {spec.name: [] for spec in specs if spec.spawn_at is None}
    played: dict[tuple[str, str, str], int] | None = None
    for number, rollout in enumerate(scenario.rollouts):
        waves = resolve_waves(rollout, specs)
        if len(waves) == 1 and rollout.order == "together":
            times = {name: rollout.at + index * rollout.spacing for index, name in enumerate(waves[0])}
        else:
            if played is None:
                played = _played(scenario, len(specs), play)
            ours = (rollout.operator, rollout.version)
            times = {name: at_ns for (*whose, name), at_ns in played.items() if tuple(whose) == ours}
        for name, at_ns in times.items():
            if name in found:
                found[name].append(Delivery(number, at_ns))
    chosen = {name: tuple(posts) for name, posts in found.items() if posts}
    if not chosen:
        raise ExploreError("got no post to an agent that is there from the start, expected at least one")
    return chosen


def _played(scenario: Scenario, agents: int, play: Play) -> dict[tuple[str, str, str], int]:
    if agents > MOST_PLAYED:
        raise ExploreError(
            f"got {agents} agents and rollouts in waves or one by one, expected at most {MOST_PLAYED} "
            "(when each post comes is learnt by playing the scenario once)"
        )
    plans = [record for record in play(scenario) if record.kind == "post.plan" and record["attempt"] == 1]
    return {(plan["operator"], plan["version"], plan["agent"]): plan.t - 1 for plan in plans}


def alone(scenario: Scenario, spec: AgentSpec, posts: tuple[Delivery, ...]) -> Scenario:
    """The scenario of this agent alone, called NAME-0, its first beat anywhere in one interval."""
    everybody = ("all",)
    specs = resolve_agents(scenario)

    def is_meant(selector: tuple[str, ...], salt: str) -> bool:
        return spec.name in select(selector, specs, salt=salt)

    faults = []
    for index, fault in enumerate(scenario.faults):
        name = fault_id(scenario, index)
        if is_meant(fault.agents, name):
            faults.append(fault.model_copy(update={"id": name, "agents": everybody}))
    life = scenario.fleet.lifecycle
    suspend = [one.model_copy(update={"agents": everybody}) for n, one in enumerate(life.suspend)
               if is_meant(one.agents, f"suspend:{n}")]  # fmt: skip
    rebuilds = [one.model_copy(update={"agents": everybody}) for n, one in enumerate(life.rebuilds)
                if is_meant(one.agents, f"rebuild:{n}")]  # fmt: skip
    crashes = [one.model_copy(update={"agents": everybody if one.agents else None}) for n, one in enumerate(life.crashes)
               if spec.host in one.hosts or (one.agents and is_meant(one.agents, f"crash:{n}"))]  # fmt: skip
    crashes = [one.model_copy(update={"hosts": (spec.host,) if one.hosts else ()}) for one in crashes]
    group = Group(
        name="lone",
        count=1,
        agent=spec.agent,
        heartbeat=spec.heartbeat.model_copy(update={"phase": "random"}),
        latency=spec.latency,
        start=spec.start,
        boot=spec.boot,
        hosts=(spec.host,),
        uid=spec.uid,
    )
    lifecycle = life.model_copy(
        update={
            "suspend": tuple(suspend),
            "rebuilds": tuple(rebuilds),
            "crashes": tuple(crashes),
            "spawns": (),
        }
    )
    fleet = scenario.fleet.model_copy(update={"agents": None, "groups": (group,), "lifecycle": lifecycle})
    rollouts = tuple(_posted(scenario.rollouts[post.rollout], post.at_ns) for post in posts)
    return scenario.model_copy(update={"fleet": fleet, "faults": tuple(faults), "rollouts": rollouts})


def _posted(rollout: Rollout, at_ns: int) -> Rollout:
    plain = {"gate": None, "on_failure": "abort", "rollback_to": None, "errors_per_hour": 0.0}
    parts = {"at": at_ns, "targets": ("all",), "waves": (), "order": "together", "spacing": 0}
    return rollout.model_copy(update={**parts, **plain})


#: The choice that says when the lone agent's first beat comes.
PHASE = Step("lone-0", 0, 0, "phase")


def at_phase(phase_ns: int, width_ns: int) -> Overrides:
    """Sets the first beat to `phase_ns` after the boot, of `width_ns` possible ones."""
    return Overrides(bits={("cadence", PHASE): min((2 * phase_ns + 1) * 2**63 // width_ns, 2**64 - 1)})
