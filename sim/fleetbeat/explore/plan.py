"""The small world that a scenario means within bounds: who lives in it, what is posted, what may go wrong.

The search is untimed: latencies, cadence, probabilities, occurrences and windows of faults are left out, since whatever
they make likely or rare is among the orders that are tried. Left out as well, and said in `notes`: spawned agents and
hand-downs, suspend windows, an operator's verifying and its further attempts. The first boot of each agent is the start
of every schedule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fleetbeat.chance.choices import Hashed
from fleetbeat.engines.bodies import Bodies
from fleetbeat.engines.gates import is_planned
from fleetbeat.engines.injector import Injector, Rule, number_of
from fleetbeat.engines.prelude import head, rollout_id
from fleetbeat.engines.programs import load_program
from fleetbeat.explore.model import Bounds, ExploreError
from fleetbeat.history.records import Record
from fleetbeat.protocol.vocabulary import Context, Program
from fleetbeat.scenario.library import find_agent
from fleetbeat.scenario.manifest import Manifest, load_manifest
from fleetbeat.scenario.model import Host, Rollout, Scenario
from fleetbeat.scenario.resolve import AgentSpec, agents, body_of, groups, targets

if TYPE_CHECKING:
    from fleetbeat.protocol.faults import Outcome

#: What no search here could finish, or anybody read. Source: measured, see tests/bench/test_explore.py.
MOST = {"agents": 8, "posts": 8, "beats": 12, "rebuilds": 6, "faults": 6, "crashes": 6, "preemptions": 100}
MOST_AGENTS_IN_FLEET = 20_000


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """An agent of the small world."""

    spec: AgentSpec
    manifest: Manifest
    program: Program
    context: Context

    @property
    def name(self) -> str:
        return self.spec.name


@dataclass(frozen=True, slots=True)
class PostPlan:
    """One post: the first attempt of a rollout at a target, by a writer of its own (`actor`, as in `op:v1/a-0`)."""

    rollout: str
    version: str
    operator: str
    target: str
    body: bytes
    digest: str
    write: str
    uid: int
    perms: int
    chunk: int
    actor: str
    post: str
    home: str
    temporary: str


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """A fault that may strike any operation that it matches: an error, or for operators the writer's death."""

    id: str
    rule: Rule
    crash: str | None
    outcome: Outcome

    def strikes(self, on: str, agent: str, operator: str, kind: str, shown: str, prompt: str) -> bool:
        rule, fault = self.rule, self.rule.fault
        if fault.on != on or rule.kind != kind or agent not in rule.targets:
            return False
        if fault.operators and operator not in fault.operators:
            return False
        if fault.operation == "flush" and fault.path is None:
            return shown == prompt
        return rule.is_at(shown)


@dataclass(frozen=True, slots=True)
class Plan:
    """A small world. `bounds` has every number filled in; `head` is the beginning of each of its histories."""

    scenario: Scenario
    bounds: Bounds
    agents: tuple[AgentPlan, ...]
    posts: tuple[PostPlan, ...]
    faults: tuple[FaultPlan, ...]
    rebuild_cause: str
    beside_beat: bool
    hosts: Mapping[str, Host]
    head: tuple[Record, ...]
    notes: tuple[str, ...]

    @property
    def agent_crashes(self) -> int:
        return self.bounds.crashes or 0

    @property
    def writers_may_die(self) -> bool:
        return any(fault.crash is not None for fault in self.faults)


def plan_of(
    scenario: Scenario,
    bounds: Bounds | None = None,
    *,
    agent: str | None = None,
    programs: Mapping[str, Program] | None = None,
) -> Plan:
    """The small world of `scenario` within `bounds`.

    `agent`: another agent program than the scenario's, for all of them. `programs` replaces programs by name (for
    tests). Raises `ExploreError` for bounds or a scenario without use, `ScenarioError` for an agent that does not load.
    """
    asked = bounds or Bounds()
    _refuse(asked)
    if agent is not None:
        scenario = _played_by(scenario, agent)
    fleet = _fleet(scenario)
    chosen = _first_agents(scenario, fleet, asked)
    names = {spec.name for spec in chosen}
    pairs = [
        (rollout, target)
        for rollout in sorted(scenario.rollouts, key=lambda rollout: rollout.at)
        for target in targets(rollout, fleet)
        if target in names
    ]
    count = min(2, len(pairs)) if asked.posts is None else asked.posts
    if count > len(pairs):
        raise ExploreError(f"posts: got {count}, expected at most {len(pairs)}: {_so_many(pairs)}")
    pairs = pairs[:count]
    small = _cut_down(scenario, [rollout for rollout, _ in pairs])
    folders = {spec.agent: find_agent(spec.agent, None) for spec in chosen}
    manifests = {name: load_manifest(folder) for name, folder in folders.items()}
    loaded = {
        name: (programs or {}).get(name) or load_program(folder, manifests[name]) for name, folder in folders.items()
    }
    choices = Hashed(scenario.seed)
    by_name = {spec.name: spec for spec in chosen}
    injector = Injector(small, chosen, choices, lambda name: manifests[by_name[name].agent].prompt.path)
    faults = tuple(_fault(rule) for rule in injector.rules if _matters(rule))
    rebuilds = scenario.fleet.lifecycle.rebuilds
    final = replace(
        asked,
        agents=len(chosen),
        posts=count,
        rebuilds=1 if asked.rebuilds is None else asked.rebuilds,
        faults=min(1, len(faults)) if asked.faults is None else asked.faults,
        crashes=1 if asked.crashes is None else asked.crashes,
    )
    if final.faults and not faults:
        raise ExploreError(
            f"faults: got {final.faults}, expected 0: the scenario has no fault with an error or a crash of a writer"
        )
    if final.power and not final.crashes:
        raise ExploreError("crashes: got 0, expected at least 1 where the power fails")
    waves = {rollout_id(one): (tuple(t for r, t in pairs if r is one),) for one in small.rollouts}
    injector.rules = [rule for rule in injector.rules if final.faults and _matters(rule)]
    return Plan(
        scenario,
        final,
        tuple(AgentPlan(s, manifests[s.agent], loaded[s.agent], Context(s.name, s.home)) for s in chosen),
        tuple(_post(rollout, by_name[target], choices) for rollout, target in pairs),
        faults if final.faults else (),
        rebuilds[0].cause if rebuilds else "molt",
        rebuilds[0].beside_beat if rebuilds else True,
        {host.name: host for host in scenario.fleet.hosts},
        tuple(head(small, "explore", chosen, manifests, injector, Bodies(), waves)),
        _notes(scenario),
    )


def _refuse(bounds: Bounds) -> None:
    for name, least in (
        ("agents", 1),
        ("posts", 1),
        ("beats", 1),
        ("rebuilds", 0),
        ("faults", 0),
        ("crashes", 0),
        ("preemptions", 0),
    ):
        value = getattr(bounds, name)
        if value is not None and value < least:
            raise ExploreError(f"{name}: got {value}, expected at least {least}")
        if value is not None and value > MOST[name]:
            raise ExploreError(f"{name}: got {value:,}, expected at most {MOST[name]}: no search of more would end")


def _fleet(scenario: Scenario) -> tuple[AgentSpec, ...]:
    size = sum(group.count for group in groups(scenario)) + sum(
        spawn.count for spawn in scenario.fleet.lifecycle.spawns
    )
    if size > MOST_AGENTS_IN_FLEET:
        raise ExploreError(
            f"fleet: got {size:,} agents, expected at most {MOST_AGENTS_IN_FLEET:,}; a search takes a few of them: "
            "--set fleet.agents=1"
        )
    return agents(scenario)


def _first_agents(scenario: Scenario, fleet: tuple[AgentSpec, ...], bounds: Bounds) -> tuple[AgentSpec, ...]:
    """The first agents that something is posted to, in the order of the fleet."""
    there = [spec for spec in fleet if spec.spawn_at is None]
    aimed = {target for rollout in scenario.rollouts for target in targets(rollout, fleet)}
    hit = [spec for spec in there if spec.name in aimed]
    if not hit:
        raise ExploreError("rollouts: got none that posts to an agent there from the start, expected at least one")
    count = 1 if bounds.agents is None else bounds.agents
    if count > len(there):
        raise ExploreError(f"agents: got {count}, expected at most {len(there)}: the scenario has no more")
    rest = [spec for spec in there if spec.name not in aimed]
    names = {spec.name for spec in [*hit, *rest][:count]}
    return tuple(spec for spec in there if spec.name in names)


def _so_many(pairs: list[tuple[Rollout, str]]) -> str:
    return f"the scenario makes {len(pairs)} to these agents" if pairs else "the scenario makes none to these agents"


def _played_by(scenario: Scenario, agent: str) -> Scenario:
    fleet = scenario.fleet
    alike = tuple(group.model_copy(update={"agent": None}) for group in fleet.groups)
    return scenario.model_copy(update={"fleet": fleet.model_copy(update={"agent": agent, "groups": alike})})


def _cut_down(scenario: Scenario, posted: list[Rollout]) -> Scenario:
    return scenario.model_copy(update={"rollouts": tuple(one for one in scenario.rollouts if one in posted)})


def _matters(rule: Rule) -> bool:
    """Whether a fault is one that the search can strike with."""
    fault = rule.fault
    return rule.kind is not None and (fault.error is not None or (fault.on == "operators" and fault.crash is not None))


def _fault(rule: Rule) -> FaultPlan:
    from fleetbeat.protocol.faults import Outcome

    fault = rule.fault
    if fault.error is None:
        return FaultPlan(rule.id, rule, fault.crash, Outcome(((rule.id, "crash"),), crash=fault.crash))
    effect = "error" if fault.effect == "before" else fault.effect
    return FaultPlan(rule.id, rule, None, Outcome(((rule.id, effect),), number_of(fault.error), fault.effect))


def _post(rollout: Rollout, spec: AgentSpec, choices: Hashed) -> PostPlan:
    from fleetbeat.engines.delivery import temporary_of
    from fleetbeat.history.records import digest

    body = body_of(rollout)
    actor = f"{rollout.operator}:{rollout.version}/{spec.name}"
    name = actor.removeprefix("op:") if rollout.operator == "op" else actor
    return PostPlan(
        rollout_id(rollout),
        rollout.version,
        rollout.operator,
        spec.name,
        body,
        digest(body),
        rollout.write,
        rollout.uid,
        int(rollout.perms, 8),
        rollout.chunk,
        actor,
        f"{name}#1",
        spec.home,
        temporary_of(choices, spec.home, rollout.write, actor, 0, 1),
    )


def _notes(scenario: Scenario) -> tuple[str, ...]:
    found = []
    lifecycle = scenario.fleet.lifecycle
    if lifecycle.spawns:
        found.append("spawned agents and hand-downs are not searched")
    if lifecycle.suspend:
        found.append("suspend windows are not searched")
    if any(rollout.verify != "none" or rollout.retries for rollout in scenario.rollouts):
        found.append("operators post once and do not verify")
    if any(is_planned(rollout) for rollout in scenario.rollouts):
        found.append("gates, approvals and rollbacks are not searched")
    return tuple(found)
