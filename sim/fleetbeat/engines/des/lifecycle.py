"""What the harness does to agents at its own times: spawns, suspend windows, rebuilds, crashes, stalls, pauses.

Each is a small process that waits for its instant, rouses the agent if it sleeps, and acts. Planned times come from the
scenario, arrivals at a rate from named draws; nothing here depends on what the agents did before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fleetbeat.chance.arrivals import Arrivals
from fleetbeat.chance.spread import draw
from fleetbeat.chance.step import Step
from fleetbeat.engines.des.agent import Agent
from fleetbeat.engines.des.drive import Latencies
from fleetbeat.engines.des.pace import Pace
from fleetbeat.engines.des.power import power_loss
from fleetbeat.engines.des.world import Wait, World
from fleetbeat.engines.injector import Rule
from fleetbeat.engines.prelude import agent_fields, start_edits
from fleetbeat.engines.recorder import When
from fleetbeat.scenario.model import Crash, Rebuild, Stalls, Suspend
from fleetbeat.scenario.resolve import AgentSpec, select

Action = Callable[[When], None]


def start_all(world: World, pace: Pace) -> None:
    """Puts the fleet in place and starts everything that the scenario plans for it."""
    specs = list(world.specs.values())
    latencies: dict[int, Latencies] = {}
    for spec in specs:
        latency = latencies.setdefault(id(spec.latency), Latencies(spec.latency))
        agent = world.agents[spec.name] = Agent(world, spec, latency, pace)
        if spec.spawn_at is None:
            furnish(world, spec)
            world.start(_at(world, 0, Step(spec.name, 0, 0, "start"), [], agent.live))
        else:
            world.start(_spawn(world, agent, spec.spawn_at))
        stalls = spec.heartbeat.stalls
        if stalls is not None and stalls.per_hour > 0:
            world.start(_stalls(world, agent, stalls))
    lifecycle = world.scenario.fleet.lifecycle
    for number, suspend in enumerate(lifecycle.suspend):
        _plan_suspend(world, suspend, number, select(suspend.agents, specs, salt=f"suspend:{number}"))
    for number, rebuild in enumerate(lifecycle.rebuilds):
        _plan_rebuilds(world, rebuild, number, select(rebuild.agents, specs, salt=f"rebuild:{number}"))
    for number, crash in enumerate(lifecycle.crashes):
        named = select(crash.agents, specs, salt=f"crash:{number}") if crash.agents else ()
        _plan_crash(world, crash, number, named)
    for rule in world.injector.arrivals():
        for name in rule.ordered:
            world.start(_arrivals(world, world.agents[name], rule))


def furnish(world: World, spec: AgentSpec) -> None:
    """Makes an agent's directory with what it starts from."""
    files, home, uid = world.files, spec.home, spec.uid
    for directory in ("", "/system", "/logs"):
        files.make_dirs(home + directory, uid)
    host = world.hosts[spec.host]
    files.set_budget(home, host.name, host.disk)
    if host.system_disk is not None:
        files.set_budget(f"{home}/system", f"{host.name}/system", host.system_disk)
    if spec.start.rules is not None:
        files.put(f"{home}/system/rules.md", spec.start.rules.encode("utf-8"), uid)
    signal, text = f"{home}/.rules", spec.start.signal_text
    if spec.start.signal == "file":
        files.put(signal, text.encode("utf-8"), uid)
    elif spec.start.signal == "directory":
        files.make_dirs(signal, uid)
    elif spec.start.signal == "symlink":
        files.symlink(signal, text or "nowhere", uid)
    world.watch.add(spec.name)


def _at(world: World, at_ns: int, step: Step, names: list[str], act: Action) -> Wait:
    """At `at_ns` rouses who sleeps under these names, and acts."""
    when = yield from world.until(at_ns, step)
    yield from world.rouse(names, when)
    act(when)


def _at_host(world: World, crash: Crash, host: str, step: Step, near: list[str], act: Action) -> Wait:
    when = yield from world.until(crash.at, step)
    yield from world.rouse(world.residents_of(host) if crash.power else near, when)
    act(when)


def _spawn(world: World, agent: Agent, at_ns: int) -> Wait:
    from fleetbeat.engines.des.hand_down import hand_down

    spec = agent.spec
    when = yield from world.until(at_ns, Step(spec.name, 0, 0, "spawn"))
    furnish(world, spec)

    def report(body: dict[str, Any]) -> None:
        world.recorder.add(when, "harness", "body", **body)

    world.recorder.add(when, "harness", "agent", **agent_fields(spec, world.manifest(spec.name), world.bodies, report))
    for edit in start_edits(spec, world.bodies, report):
        world.recorder.add(when, "harness", "edit", **edit)
    agent.live(when)
    if spec.parent is not None and spec.hand_down != "none":
        world.start(hand_down(world, spec))


# --- windows and rebuilds ---


def _plan_suspend(world: World, suspend: Suspend, number: int, names: tuple[str, ...]) -> None:
    for name in names:
        agent = world.agents[name]

        for at_ns, by, moment in ((suspend.from_, 1, "suspend"), (suspend.to, -1, "resume")):
            step = Step(name, 0, number, moment)
            world.start(_at(world, at_ns, step, [f"agent:{name}"], _turning(world, agent, by)))


def _turning(world: World, agent: Agent, by: int) -> Action:
    """Enters (1) or leaves (-1) a window in which the agent must not consume signals; windows may overlap."""

    def turn(when: When) -> None:
        before = agent.runnable
        agent.suspended += by
        if agent.runnable != before:
            world.recorder.add(when, "harness", "runnable", agent=agent.spec.name, runnable=agent.runnable)

    return turn


def _plan_rebuilds(world: World, rebuild: Rebuild, number: int, names: tuple[str, ...]) -> None:
    times = list(rebuild.at)
    if rebuild.every is not None:
        times += range(rebuild.every, world.scenario.duration, rebuild.every)
    for name in names:
        for nth, at_ns in enumerate(times):
            step = Step(name, 0, number, "rebuild", "", nth)
            world.start(_rebuild(world, world.agents[name], rebuild, at_ns, step))


def _rebuild(world: World, agent: Agent, rebuild: Rebuild, at_ns: int, step: Step) -> Wait:
    shell = None
    while True:
        when = yield from world.until(at_ns, step)
        yield from world.rouse([f"agent:{agent.spec.name}"], when)
        shell = shell or agent.shell
        if not agent.alive or agent.shell is not shell or not agent.booted:
            return
        if rebuild.beside_beat or not (agent.in_beat or agent.thread_free is not None):
            break
        yield from _next_gap(world, agent)
        at_ns = world.now + 1
    yield from agent.rebuild(rebuild.cause, when, rebuild.beside_beat)


def _next_gap(world: World, agent: Agent) -> Wait:
    """Waits until the heartbeat thread is between beats."""
    if agent.thread_free is not None:
        yield agent.thread_free
    else:
        yield agent.beat_over()


# --- crashes ---


def _plan_crash(world: World, crash: Crash, number: int, names: tuple[str, ...]) -> None:
    fault = f"crash-{number}"
    for name in names:
        agent = world.agents[name]
        near = [f"agent:{name}"]

        def act(when: When, agent: Agent = agent) -> None:
            if agent.alive:
                agent.crash(when, fault, crash.power, crash.unsynced, crash.restart)

        world.start(_at(world, crash.at, Step(name, 0, number, "crash"), near, act))
    for host in crash.hosts:
        agents = [agent for agent in world.agents.values() if agent.spec.host == host]

        def fall(when: When, host: str = host, agents: list[Agent] = agents) -> None:
            if crash.power:
                power_loss(world, host, when, fault, crash.unsynced, crash.restart)
                return
            for agent in agents:
                if agent.alive:
                    agent.crash(when, fault, restart_ns=crash.restart)

        near = [f"agent:{agent.spec.name}" for agent in agents]
        world.start(_at_host(world, crash, host, Step(host, 0, number, "power"), near, fall))


# --- arrivals ---


def _stalls(world: World, agent: Agent, stalls: Stalls) -> Wait:
    """The beat thread stands still: `thread` pauses at the rate of the scenario."""
    arrivals = Arrivals(world.choices, "stall", agent.spec.name, stalls.per_hour)
    after = arrivals.after(-1)
    while after is not None and after[1] < world.scenario.duration:
        number, at_ns = after
        step = Step(agent.spec.name, 0, number, "stall")
        when = yield from world.until(at_ns, step)
        yield from world.rouse([f"agent:{agent.spec.name}"], when)
        if agent.alive and agent.heartbeat is not None:
            end = world.now + draw(stalls.length, world.choices, "stall:length", step)
            agent.heartbeat.thread_blocked_until = max(agent.heartbeat.thread_blocked_until, end)
            world.recorder.add(when, "harness", "pause", agent=agent.spec.name, what="thread", end=end, fault=None)
        after = arrivals.after(at_ns)


def _arrivals(world: World, agent: Agent, rule: Rule) -> Wait:
    """A fault that strikes a process by itself, at a rate."""
    fault, name = rule.fault, agent.spec.name
    arrivals = Arrivals(world.choices, rule.stream, name, fault.per_hour or 0.0)
    after = arrivals.after(fault.from_ - 1)
    end = world.scenario.duration if fault.to is None else min(fault.to, world.scenario.duration)
    while after is not None and after[1] < end:
        number, at_ns = after
        step = Step(name, 0, number, f"fault:{rule.id}")
        when = yield from world.until(at_ns, step)
        yield from world.rouse(world.residents(name) if fault.power else [f"agent:{name}"], when)
        if agent.alive:
            _strike(world, agent, rule, when, step)
        after = arrivals.after(at_ns)


def _strike(world: World, agent: Agent, rule: Rule, when: When, step: Step) -> None:
    fault, name = rule.fault, agent.spec.name
    effect = "pause" if fault.pause is not None else "power" if fault.power else "crash"
    world.recorder.add(
        when,
        "harness",
        "fault",
        fault=rule.id,
        agent=name,
        on="agents",
        step=str(step),
        operation="process",
        path=None,
        effect=effect,
        error=None,
    )
    if fault.pause is not None and agent.shell is not None:
        end = world.now + draw(fault.pause, world.choices, f"{rule.stream}:pause", step)
        agent.shell.blocked_until = max(agent.shell.blocked_until, end)
        world.recorder.add(when, "harness", "pause", agent=name, what="process", end=end, fault=rule.id)
    if fault.crash is not None:
        agent.crash(when, rule.id, fault.power, fault.unsynced, fault.restart)
