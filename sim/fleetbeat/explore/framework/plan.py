"""The small worlds of a scenario's event framework: one agent, and in each world a few events that may come in any order.

Everything is taken from the scenario: the core and how it is set up, the bodies that come into effect in the order of their
rollouts, the kinds of dangerous calls, how many sessions watch a file, which gates fail and how, what users answer. Rates
and lengths of time are left out: between any two moves no time passes, and then once (`wait`) so much that every cooldown,
silence and breaker is over; so both what comes too soon and what comes late is tried. A slow gate takes no time either: the
core's timeout is 0.

Worlds are several and small, since orders multiply: in `chains` a call that harms nobody, its file, and the background
tasks of all of it; in `calls KIND` one turn that makes the same dangerous call over and over; in `subtask KIND` a turn
whose subtask makes it. Rejected: one world with all of it, which no search would come to the end of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase

from fleetbeat.chance.arrivals import HOUR_NS
from fleetbeat.engines.cores import Loaded, load_core
from fleetbeat.explore.model import ExploreError
from fleetbeat.framework.policies import Policies, read
from fleetbeat.history.records import compared, norm_of
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import agents, body_of, targets
from fleetbeat.scenario.workload import Workload

#: What no search here could finish, or anybody read.
MOST = 12


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a search goes. All are "at most", in each world.

    `prompts` of the one user; `calls` of a turn in `calls KIND`; `tasks`: background tasks that go on, in `chains`;
    `bodies`: of the rollouts that come into effect, the first at the start unless rules stand there then (None: two, or
    what there is); `rebuilds`, `crashes`, `waits`, `dismissals`; `failures`: times for which a gate fails (None: one, if
    the scenario has failing gates). `troubles`: of bodies, rebuilds, crashes, waits and failures so many in one schedule.
    """

    prompts: int = 1
    calls: int = 4
    tasks: int = 3
    bodies: int | None = None
    rebuilds: int = 1
    crashes: int = 1
    waits: int = 1
    dismissals: int = 1
    failures: int | None = None
    troubles: int = 1


@dataclass(frozen=True, slots=True)
class Body:
    """Rules that come into effect. `version`: of the rollout, or `start`."""

    version: str
    norm: str | None
    text: str | None
    policies: Policies


@dataclass(frozen=True, slots=True)
class Scene:
    """One small world. `danger`: the kind of its calls, None for calls that are harmless; `limits`: of the plan, cut down
    to what this world is about."""

    name: str
    workload: Workload
    limits: Limits
    danger: str | None = None
    is_subtask: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What is searched. `start`: the rules at the beginning; `bodies`: those that may come, in order; `failing`: (gate,
    how) pairs, how being raises or slow; `answers`: what users may say; `long_ns`: longer than every cooldown, silence or
    breaker."""

    scenario: Scenario
    limits: Limits
    agent: str
    core: Loaded
    start: Body
    bodies: tuple[Body, ...]
    failing: tuple[tuple[str, str], ...]
    answers: tuple[str, ...]
    long_ns: int
    scenes: tuple[Scene, ...]
    notes: tuple[str, ...] = ()


def plan_of(scenario: Scenario, limits: Limits | None = None) -> Plan:
    """The small worlds of `scenario`, which has a workload.

    Raises `ExploreError` for limits or a scenario without use, `ScenarioError` or `ProgramError` for a core that does not
    load.
    """
    asked = limits or Limits()
    _refuse(asked)
    workload = scenario.workload
    if workload is None:
        raise ExploreError("workload: got none, expected one: without it there is no event framework to search")
    core = load_core(scenario.fleet.core.model_copy(update={"gate_timeout": 0}))
    agent, known = _bodies(scenario)
    start = known[0] if known else Body("none", None, None, Policies())
    rest = known[1:]
    count = min(len(rest), 1 if asked.bodies is None else max(0, asked.bodies - 1))
    bodies = tuple(rest[:count])
    failing = _failing(workload, core, (start, *bodies))
    final = Limits(
        **{
            **{field.name: getattr(asked, field.name) for field in fields(asked)},
            "bodies": count + bool(known),
            "failures": min(1, len(failing)) if asked.failures is None else asked.failures,
        }
    )
    users = workload.users
    answers = tuple(one for one in ("approve", "reject") if getattr(users, one) > 0) or ("ignore",)
    long = _long(core, (start, *bodies))
    scenes = tuple(_scenes(workload, final))
    notes = () if workload.dangers.share > 0 else ("the workload makes no dangerous calls, so none was tried",)
    return Plan(
        scenario, final, agent, core, start, bodies, failing if final.failures else (), answers, long, scenes, notes
    )


def _refuse(limits: Limits) -> None:
    least = {"prompts": 1, "calls": 1}
    for field in fields(limits):
        value, at_least = getattr(limits, field.name), least.get(field.name, 0)
        if value is not None and not at_least <= value <= MOST:
            raise ExploreError(f"{field.name}: got {value:,}, expected {at_least} to {MOST}")


def _bodies(scenario: Scenario) -> tuple[str, list[Body]]:
    """An agent, and the rules that it comes to have: those at the start, then the rollouts' that mean it, by time."""
    fleet = agents(scenario)
    rollouts = sorted(scenario.rollouts, key=lambda one: one.at)
    aimed = {target for one in rollouts for target in targets(one, fleet)}
    there = [spec for spec in fleet if spec.spawn_at is None]
    if not there:
        raise ExploreError("fleet: got no agent that is there from the start, expected at least one")
    agent = next((spec for spec in there if spec.name in aimed), there[0])
    found = []
    if agent.start.rules is not None:
        found.append(_body("start", agent.start.rules.encode()))
    found += [_body(one.version, body_of(one)) for one in rollouts if agent.name in targets(one, fleet)]
    return agent.name, [one for one in found if one is not None]


def _body(version: str, data: bytes) -> Body | None:
    """None for bytes that are no text, or blank: agents pass them over."""
    text = compared(data)
    return Body(version, norm_of(text), text, read(text)) if text else None


def _failing(workload: Workload, core: Loaded, bodies: tuple[Body, ...]) -> tuple[tuple[str, str], ...]:
    """Which gates of these fail at some time in the scenario, and how."""
    some = () if workload.adversary is None else workload.adversary.gates
    gates = dict.fromkeys([*core.guards, *(gate.id for body in bodies for gate in body.policies.gates)])
    pairs = [
        (gate, how)
        for gate in gates
        for one in some
        if fnmatchcase(gate, one.gate)
        for how in (("slow",) if one.slow is not None else ("raises",) if one.raises else ())
    ]
    return tuple(dict.fromkeys(pairs))


def _long(core: Loaded, bodies: tuple[Body, ...]) -> int:
    """ns, in whole hours."""
    cooldowns = [gate.cooldown_s for gate in core.guards.values()]
    for body in bodies:
        cooldowns += [gate.cooldown_s for gate in body.policies.gates]
        cooldowns += [observer.cooldown_s for observer in body.policies.observers]
    longest = round(max(cooldowns, default=0) * 1e9)
    most = max(core.options.silence_for_ns, core.options.breaker_for_ns, longest)
    return (most // HOUR_NS + 1) * HOUR_NS


def _scenes(workload: Workload, limits: Limits) -> list[Scene]:
    watchers = min(2, workload.sessions, workload.files.watchers)
    chains = _limits(limits, calls=1, failures=0)
    found = [Scene("chains", _small(max(1, watchers), watchers, 1), chains)]
    if workload.dangers.share <= 0:
        return found
    calls = _limits(limits, tasks=0, dismissals=0, rebuilds=0)
    kinds = tuple(dict.fromkeys(workload.dangers.kinds))
    found += [Scene(f"calls {kind}", _small(1, 0, limits.calls, kind), calls, kind) for kind in kinds]
    if workload.subtasks.share > 0:
        one = _limits(calls, calls=1)
        found += [Scene(f"subtask {kind}", _small(1, 0, 1, kind), one, kind, True) for kind in kinds]
    return found


def _limits(limits: Limits, **changed: int) -> Limits:
    known = {field.name: getattr(limits, field.name) for field in fields(limits)}
    return Limits(**{**known, **{name: min(known[name], value) for name, value in changed.items()}})


def _small(sessions: int, watchers: int, calls: int, kind: str = "rm") -> Workload:
    """Calls are what the draws say (`world.Steered`): dangerous, opening a subtask, or writing the one file."""
    only: Mapping[str, object] = {"search": 0, "read": 0, "write": 1, "shell": 0, "sql": 0}
    nothing = {"kind": "constant", "value": "0s"}
    data = {
        "sessions": sessions,
        "prompts": {"per_hour": 60, "think": nothing},
        "turns": {"calls": [calls, calls], "thought": nothing, "tool_time": nothing},
        "subtasks": {"share": "50%", "calls": 1},
        "tools": only,
        "dangers": {"share": "50%", "kinds": [kind]},
        "files": {"count": 1, "watchers": watchers},
        "users": {"approve": "50%", "reject": "25%", "answer": nothing, "dismiss": "100%", "look": nothing},
        "gate_time": nothing,
    }
    return Workload.model_validate(data)
