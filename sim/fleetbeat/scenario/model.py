"""The scenario: frozen, validated data. Nothing downstream reads YAML or environment variables.

Times are integer nanoseconds once loaded (`Duration`), chances are fractions, selectors stay text until `resolve` turns
them into agents' names. Field descriptions become the JSON Schema's.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from fleetbeat.scenario.gates import Gate as Gate
from fleetbeat.scenario.gates import GateLag as GateLag
from fleetbeat.scenario.shapes import Both, OneOrMore, Switch, lasting
from fleetbeat.scenario.shapes import Selector as Selector
from fleetbeat.scenario.spreads import Constant as Constant
from fleetbeat.scenario.spreads import Empirical as Empirical
from fleetbeat.scenario.spreads import Exponential as Exponential
from fleetbeat.scenario.spreads import Frozen as Frozen
from fleetbeat.scenario.spreads import Jitter as Jitter
from fleetbeat.scenario.spreads import Lognormal as Lognormal
from fleetbeat.scenario.spreads import NoJitter as NoJitter
from fleetbeat.scenario.spreads import Normal as Normal
from fleetbeat.scenario.spreads import Spread as Spread
from fleetbeat.scenario.spreads import Uniform as Uniform
from fleetbeat.scenario.units import ByteSize, Duration, Number, Percent, SignedDuration, Whole
from fleetbeat.scenario.workload import Core, CoreSetup, Workload

#: Names of groups, hosts, versions, faults and operators; an agent's is its group's and a number, NAME-0, NAME-1, ...
GROUP_NAME = r"^[A-Za-z][A-Za-z0-9_.-]{0,62}$"
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$"

Uid = Annotated[Whole, Field(ge=0, le=65535)]
Names = Annotated[tuple[str, ...], OneOrMore()]


# --- the fleet -------------------------------------------------------------------------------------------------------


class Stalls(Frozen):
    """The beat thread stands still now and then: arrivals at a rate, each of some length."""

    per_hour: Annotated[Number, Field(ge=0, le=3600)]
    length: Spread


class Heartbeat(Frozen):
    mode: Literal["fixed-delay", "fixed-rate"] = "fixed-delay"
    interval: Annotated[Duration, lasting("1ms"), Field(description="at least 1ms")] = 1_000_000_000
    jitter: Jitter = NoJitter()
    phase: Annotated[
        Literal["random", "aligned", "splay"],
        Field(description="first beat: anywhere in one interval, at once, or anywhere within `splay`"),
    ] = "random"
    splay: Duration = 0
    stalls: Stalls | None = None


class Latency(Frozen):
    """How long each kind of operation takes: its effect comes that much after its start. Looking is constant."""

    stat: Duration = 10_000
    list: Duration = 20_000
    open: Spread = Constant(value="20us")
    read: Spread = Constant(value="20us")
    write: Spread = Constant(value="40us")
    truncate: Spread = Constant(value="20us")
    close: Spread = Constant(value="10us")
    rename: Spread = Constant(value="30us")
    unlink: Spread = Constant(value="30us")
    mkdir: Spread = Constant(value="30us")
    sync: Spread = Constant(value="2ms")
    emit: Spread = Constant(value="30us")


class Start(Frozen):
    """What lies in an agent's directory before its first boot."""

    rules: Annotated[str | None, Field(description="text of system/rules.md; none: no such file")] = None
    signal: Annotated[
        Literal["none", "file", "directory", "symlink"], Field(description="what already stands at the name .rules")
    ] = "none"
    signal_text: Annotated[
        str, Field(description="its text, where `signal` is file; the link's target where symlink")
    ] = ""


class Suspend(Frozen):
    """A window in which the agents beat and may not consume signals."""

    agents: Selector = ("all",)
    from_: Annotated[Duration, Field(alias="from")]
    to: Duration


class Rebuild(Frozen):
    agents: Selector = ("all",)
    at: Annotated[tuple[Duration, ...], OneOrMore(), Field(description="one time or several")] = ()
    every: Annotated[
        Annotated[Duration, lasting("1ms")] | None, Field(description="again and again, the first after one such time")
    ] = None
    cause: Literal["molt", "refresh", "rebuild"] = "molt"
    beside_beat: Annotated[Switch, Field(description="in a thread of its own, or between beats on the beat thread")] = (
        False
    )


class Crash(Frozen):
    """A planned crash at a time: of agents' processes, or (`power`) of whole hosts with what was not synced."""

    agents: Selector | None = None
    hosts: Names = ()
    at: Duration
    power: Switch = False
    unsynced: Annotated[
        Literal["lost", "kept", "random"], Field(description="what a power failure does to data that was not synced")
    ] = "lost"
    restart: Annotated[Duration | None, Field(description="time until it starts again; none: stays down")] = None


class Spawn(Frozen):
    at: Duration
    name: Annotated[str, Field(pattern=GROUP_NAME, description="names become NAME-0, NAME-1, ...")]
    count: Annotated[Whole, Field(ge=1, le=1_000_000)] = 1
    parent: Annotated[str | None, Field(description="an agent's name")] = None
    hand_down: Annotated[
        Literal["none", "in-place", "atomic"],
        Field(description="does the parent write its canonical to the child as .rules, and how"),
    ] = "none"
    start: Start = Start()


class Lifecycle(Frozen):
    boot: Annotated[Spread, Field(description="from start of the process to its boot episode")] = Constant(value="0")
    suspend: tuple[Suspend, ...] = ()
    rebuilds: tuple[Rebuild, ...] = ()
    crashes: tuple[Crash, ...] = ()
    spawns: tuple[Spawn, ...] = ()


class Host(Frozen):
    name: Annotated[str, Field(pattern=GROUP_NAME)]
    disk: Annotated[ByteSize | None, Field(description="byte budget shared by its agents; none: unlimited")] = None
    system_disk: Annotated[
        ByteSize | None,
        Field(description="byte budget of a disk of its own for the directories system/, as a small tmpfs is"),
    ] = None
    clock_offset: SignedDuration = 0
    clock_ppm: Annotated[
        Number, Field(ge=-1000, le=1000, description="drift: parts per million by which it runs fast")
    ] = 0.0


class Group(Frozen):
    """Agents alike. What is not given here is taken from `fleet`."""

    name: Annotated[str, Field(pattern=GROUP_NAME, description="names become NAME-0, NAME-1, ...")]
    count: Annotated[Whole, Field(ge=1, le=1_000_000)]
    agent: str | None = None
    heartbeat: Heartbeat | None = None
    latency: Latency | None = None
    start: Start | None = None
    boot: Spread | None = None
    hosts: Names = ()
    parent: Annotated[
        str | None, Field(description="an agent's name: these are its children, their homes lie in its home")
    ] = None
    uid: Uid | None = None


class Fleet(Frozen):
    agents: Annotated[
        Whole | None, Field(ge=1, le=1_000_000, description="this many agents, a-0, a-1, ...; or give groups")
    ] = None
    groups: tuple[Group, ...] = ()
    agent: Annotated[str, Field(description="name of an agent program, or a folder with an agent.yaml")] = "reference"
    core: Annotated[Core, Field(description="of the event framework; only with a workload")] = CoreSetup()
    heartbeat: Heartbeat = Heartbeat()
    latency: Latency = Latency()
    start: Start = Start()
    hosts: Annotated[tuple[Host, ...], Field(description="agents are spread over them in turn")] = (
        Host(name="host-0"),
    )
    lifecycle: Lifecycle = Lifecycle()
    uid: Uid = 1000


# --- faults ----------------------------------------------------------------------------------------------------------

OperationName = Literal[
    "stat", "list", "open", "read", "write", "truncate", "close", "rename", "unlink", "mkdir", "sync", "emit", "flush"
]


class Fault(Frozen):
    """One fault: where it strikes (operation, path, who), when (probability, occurrence, window), and what it does."""

    id: Annotated[str | None, Field(pattern=NAME)] = None
    on: Literal["agents", "operators"] = "agents"
    agents: Annotated[Selector, Field(description="agents hit; for operators: the targets of their posts")] = ("all",)
    operators: Annotated[Names, Field(description="which operators; none given: any")] = ()
    # where
    operation: Annotated[
        OperationName | None,
        Field(description="flush is a write to the prompt's file; none: the fault strikes by itself at a rate"),
    ] = None
    path: Annotated[
        str | None, Field(description="relative to home, globs; default: what that operation means in the protocol")
    ] = None
    # when
    probability: Annotated[Percent | None, Field(description="for each such operation")] = None
    occurrence: Annotated[
        tuple[Annotated[Whole, Field(ge=1)], ...],
        OneOrMore(),
        Field(description="which occurrences of it on each agent within the window, from 1"),
    ] = ()
    per_hour: Annotated[Number | None, Field(ge=0, le=3600, description="for crash and pause without an operation")] = (
        None
    )
    from_: Annotated[Duration, Field(alias="from")] = 0
    to: Duration | None = None
    # what
    error: Annotated[str | None, Field(description="an errno's name: EIO, ENOSPC, EACCES, EROFS, ...")] = None
    effect: Annotated[
        Literal["before", "partial", "after"],
        Field(description="the error strikes before any effect, in its middle, or after it"),
    ] = "before"
    delay: Annotated[Spread | None, Field(description="the operation takes this much longer")] = None
    crash: Annotated[
        Literal["before", "after"] | None, Field(description="the process dies before or after this operation's effect")
    ] = None
    power: Annotated[Switch, Field(description="with crash: the whole host loses power")] = False
    unsynced: Literal["lost", "kept", "random"] = "lost"
    pause: Annotated[Spread | None, Field(description="the process stands still this long")] = None
    restart: Annotated[
        Duration | None, Field(description="after a crash; none: stays down. For operators: the next attempt")
    ] = None


# --- rollouts --------------------------------------------------------------------------------------------------------


class Wave(Frozen):
    """Part of a rollout's targets: named, or a cumulative share of them."""

    targets: Selector | None = None
    upto: Annotated[Percent | None, Field(description="cumulative share of the rollout's targets, e.g. 5%")] = None
    bake: Annotated[
        Duration, Field(description="time after the wave's last target was reported, before the next wave")
    ] = 0
    gate: Annotated[Gate | None, Field(description="looked through while the wave bakes; else the rollout's")] = None
    approval: Annotated[
        Spread | None, Field(description="then a person is asked, and lets the next wave go after this time")
    ] = None
    hold_until: Annotated[Duration | None, Field(description="the next wave does not begin before this time")] = None


class Rollout(Frozen):
    version: Annotated[str, Field(pattern=NAME)]
    operator: Annotated[str, Field(pattern=NAME)] = "op"
    at: Duration
    targets: Selector
    body: Annotated[str | None, Field(description="the text")] = None
    file: Annotated[str | None, Field(description="a file that holds it, relative to the scenario")] = None
    base64: Annotated[str | None, Field(description="its bytes")] = None
    mark: Annotated[
        Switch | None,
        Field(description="write the version's id at both ends of the body; default: yes for text that is not blank"),
    ] = None
    write: Literal["atomic", "atomic-synced", "in-place", "cross-device", "shared-temp"] = "atomic"
    chunk: Annotated[ByteSize, Field(ge=1, description="bytes a write call, for every way of writing")] = 65536
    order: Annotated[
        Literal["together", "one-by-one"], Field(description="targets of a wave at once, or each after the one before")
    ] = "together"
    spacing: Annotated[Duration, Field(description="between the starts of two targets of a wave")] = 0
    waves: tuple[Wave, ...] = ()
    verify: Literal["none", "disappearance", "canonical", "effective"] = "none"
    poll: Annotated[Duration, lasting("1ms")] = 1_000_000_000
    timeout: Duration = 30_000_000_000
    retries: Annotated[Whole, Field(ge=0, le=1000, description="posts again after a failed or timed-out attempt")] = 0
    stop_on_failure: Annotated[
        Switch, Field(description="no further target or wave after one that failed or timed out")
    ] = False
    gate: Annotated[Gate | None, Field(description="of every wave that has none of its own")] = None
    on_failure: Annotated[
        Literal["abort", "rollback"],
        Field(description="after a gate or stop_on_failure stopped it: leave it, or post a former version again"),
    ] = "abort"
    rollback_to: Annotated[str | None, Field(description="a version of this scenario, for on_failure: rollback")] = None
    bad: Annotated[Switch, Field(description="the truth about this version, for reports alone: no gate is told")] = (
        False
    )
    errors_per_hour: Annotated[
        Number,
        Field(ge=0, le=3600, description="entries agent_error that an agent logs while this version is effective"),
    ] = 0.0
    uid: Uid = 1000
    perms: Annotated[str, Field(pattern=r"^0?[0-7]{3}$", description="of the file it creates; mktemp makes 600")] = (
        "600"
    )
    latency: Latency = Latency()


# --- expectations ----------------------------------------------------------------------------------------------------

InvariantId = str


def _in_order(fates: dict[FateName, tuple[int, int | None]]) -> dict[FateName, tuple[int, int | None]]:
    """In the order of the list above: the order of keys in a file must not reach a history."""
    return {fate: fates[fate] for fate in get_args(FateName) if fate in fates}


Count = Annotated[Whole, Field(ge=0)]
#: Least and most (none: no limit); one number alone is both.
Range = Annotated[tuple[Count, Count | None], Both()]
FateName = Literal[
    "unposted", "torn", "applied", "unchanged", "empty", "failed", "persisted", "superseded",
    "rejected", "poisoned", "stuck", "pending", "lost", "indeterminate",
]  # fmt: skip


class Converge(Frozen):
    version: str
    share: Percent = 1.0
    within: Annotated[Duration, lasting(more_than="0s"), Field(description="since the rollout's start")]


class LagLimit(Frozen):
    quantile: Annotated[Number, Field(gt=0, le=1)] = 0.99
    below: Annotated[Duration, lasting(more_than="0s")]
    version: str | None = None


class Sometimes(Frozen):
    """A state that must have been reached, or the run is vacuous."""

    fate: FateName | None = None
    fault: Annotated[str | None, Field(description="id of a fault that must have fired")] = None
    broken: InvariantId | None = None
    event: Annotated[
        str | None,
        Field(description="a log event, or crash, restart, rebuild, stall, pause, spawn, retry, timeout or leftover"),
    ] = None
    at_least: Annotated[Whole, Field(ge=1)] = 1


class Expect(Frozen):
    broken: Annotated[
        tuple[InvariantId, ...],
        OneOrMore(),
        Field(description="invariants this scenario means to break; exactly these is success"),
    ] = ()
    hazards: Annotated[
        Switch | tuple[InvariantId, ...], Field(description="hazards that make the run fail: all, none, or these")
    ] = False
    converge: tuple[Converge, ...] = ()
    lag: tuple[LagLimit, ...] = ()
    fates: Annotated[dict[FateName, Range], AfterValidator(_in_order)] = Field(
        default_factory=dict, description="least and most posts with that fate, or exactly how many"
    )
    sometimes: tuple[Sometimes, ...] = ()


class Scenario(Frozen):
    """One experiment: a fleet, what goes wrong, what is rolled out, and what must be true afterwards."""

    name: Annotated[str, Field(pattern=NAME)] = "scenario"
    about: Annotated[str, Field(description="what a reader should learn from it")] = ""
    seed: Annotated[Whole, Field(ge=0, le=2**64 - 1)] = 1
    duration: Annotated[Duration, lasting(more_than="0s", at_most="366d")] = 600_000_000_000
    fleet: Fleet
    faults: tuple[Fault, ...] = ()
    rollouts: tuple[Rollout, ...] = ()
    workload: Annotated[
        Workload | None, Field(description="what the agents are used for; none: no event framework is played")
    ] = None
    expect: Expect = Expect()
