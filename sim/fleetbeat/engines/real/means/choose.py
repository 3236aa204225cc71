"""Which means carries out which fault on which agent, of this scenario, with this engine, on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fleetbeat.chance.choices import Hashed
from fleetbeat.engines.injector import Injector, Rule, plan_fields
from fleetbeat.engines.real.errors import CannotDo
from fleetbeat.engines.real.means import driver, permissions, remount, signals, strace_words, tmpfs
from fleetbeat.engines.real.means.disks import PAGE
from fleetbeat.engines.real.means.model import MEANS, Chosen, Machine, Means
from fleetbeat.engines.real.means.permissions import Permissions
from fleetbeat.engines.real.means.plan import MeansPlan, Played
from fleetbeat.engines.real.means.refusals import refusals
from fleetbeat.engines.real.means.remount import Remount
from fleetbeat.engines.real.means.signals import Blow, Signals
from fleetbeat.engines.real.means.strace import Strace, Traced
from fleetbeat.engines.real.means.tmpfs import Tmpfs
from fleetbeat.protocol.live_plan import FaultPlan
from fleetbeat.scenario.manifest import Manifest
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.resolve import AgentSpec, select

#: In which order they are tried, by what is preferred.
ORDERS = {
    "cheap": ("harness", "driver", "permissions", "remount", "signal", "strace"),
    "real": ("harness", "permissions", "remount", "signal", "driver", "strace"),
}
NOTES: Mapping[str, Callable[[Rule], str]] = {
    "permissions": lambda rule: permissions.NOTES[permissions.way_of(rule) or ""],
    "remount": lambda rule: remount.NOTE,
    "strace": lambda rule: "counts calls of each thread by itself" if rule.fault.occurrence else "",
}


@dataclass
class Choosing:
    """`refused`: a line for each fault that nothing carries out. `by`: rule and agents, by means."""

    scenario: Scenario
    specs: Sequence[AgentSpec]
    manifests: Mapping[str, Manifest]
    engine: str
    machine: Machine
    prefer: str
    refused: list[str] = field(default_factory=list)
    chosen: list[Chosen] = field(default_factory=list)
    by: dict[str, list[tuple[Rule, tuple[str, ...]]]] = field(default_factory=dict)
    traced: dict[str, list[Rule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.choices = Hashed(self.scenario.seed)
        self.by_name = {spec.name: spec for spec in self.specs}
        self.injector = Injector(self.scenario, self.specs, self.choices, lambda name: self.manifest(name).prompt.path)
        self.writers = self._writers()

    def manifest(self, name: str) -> Manifest:
        return self.manifests[self.by_name[name].agent]

    def is_driven(self, name: str) -> bool:
        return not self.manifest(name).is_foreign

    # --- one fault, one agent ---

    def why_not(self, means: str, rule: Rule, name: str) -> str | None:
        """Why this means cannot carry out this fault on this agent here; None if it can."""
        if (rule.fault.on == "operators") != (means == "harness"):
            return "it strikes operators, whom the harness plays" if means != "harness" else "it strikes agents"
        if rule.fault.power:
            return "no process and no container loses what a disk has not synced"
        if means == "harness":
            return None
        if means == "driver":
            return driver.why_not(rule, self.is_driven(name))
        if means == "signal":
            return signals.why_not(rule)
        if means == "permissions":
            why = permissions.why_not(rule, self.by_name[name], self.writers[name])
            return why or (None if self.machine.is_root else "taking rights from another user needs root")
        if means == "remount":
            return remount.why_not(rule) or self._no_disk(name) or self.machine.mount_why
        return self._why_no_strace(rule, name)

    def _no_disk(self, name: str) -> str | None:
        """Two disks at one place."""
        host = next(host for host in self.scenario.fleet.hosts if host.name == self.by_name[name].host)
        shared = host.disk is not None or host.system_disk is not None
        return "its host's small disk is there, which other agents are on as well" if shared else None

    def _why_no_strace(self, rule: Rule, name: str) -> str | None:
        if self.is_driven(name):
            return "what our driver plays needs no strace"
        why = strace_words.why_not(rule)
        if why is not None:
            return why
        launched = self.is_launched(rule)
        why = self.machine.strace_why if launched else self.machine.attach_why
        if why is None and self.engine == "docker" and not self.machine.is_root:
            why = "tracing a process in a container needs root"
        return why or next(filter(None, (self._clash(rule, other) for other in self.traced.get(name, ()))), None)

    def _clash(self, rule: Rule, other: Rule) -> str | None:
        """Why one strace cannot do both; a process has one at most."""
        if _calls(rule) & _calls(other):
            return f"strace knows one fault for a call, and {other.id} is about the same"
        if strace_words.path_of(rule, "") != strace_words.path_of(other, ""):
            return f"one strace has one path, and {other.id} is about another"
        if (rule.fault.from_, rule.fault.to) != (other.fault.from_, other.fault.to):
            return f"one strace has one window, and {other.id} has another"
        return None

    def is_launched(self, rule: Rule) -> bool:
        """Whether strace can be there from the launch to the end; never in a container, where it is not installed."""
        to = rule.fault.to
        return self.engine != "docker" and rule.fault.from_ == 0 and (to is None or to >= self.scenario.duration)

    def _writers(self) -> dict[str, tuple[int, ...]]:
        """Who writes into each agent's home besides itself."""
        found: dict[str, list[int]] = {spec.name: [] for spec in self.specs}
        for rollout in self.scenario.rollouts:
            for name in select(rollout.targets, self.specs, f"rollout/{rollout.version}", rollout.at):
                found[name].append(rollout.uid)
        for spec in self.specs:
            if spec.parent is not None and spec.hand_down != "none":
                found[spec.name].append(self.by_name[spec.parent].uid)
        return {name: tuple(dict.fromkeys(uids)) for name, uids in found.items()}

    # --- all of them ---

    def faults(self) -> None:
        for rule in self.injector.rules:
            self._fault(rule)

    def _fault(self, rule: Rule) -> None:
        taken: dict[str, list[str]] = {}
        reasons: dict[str, list[str]] = {}
        for name in rule.ordered:
            why: dict[str, str] = {}
            for means in ORDERS[self.prefer]:
                reason = self.why_not(means, rule, name)
                if reason is None:
                    taken.setdefault(means, []).append(name)
                    if means == "strace":
                        self.traced.setdefault(name, []).append(rule)
                    break
                why[means] = reason
            else:
                reasons.setdefault(_told(rule, why), []).append(name)
        what = _what(rule)
        for means, names in taken.items():
            note = NOTES[means](rule) if means in NOTES else ""
            self.chosen.append(Chosen(rule.id, what, means, tuple(names), note))
            self.by.setdefault(means, []).append((rule, tuple(names)))
        for reason, names in reasons.items():
            self.refused.append(f"fault {rule.id} ({what}) on {_named(names)}: {reason}")
        if not rule.ordered and rule.fault.on == "agents":
            self.chosen.append(Chosen(rule.id, what, "driver", (), "strikes nobody: its selector names no agent"))

    def crashes(self) -> list[Blow]:
        """The scenario's planned crashes, but for losses of power, which are refused."""
        found = []
        for number, crash in enumerate(self.scenario.fleet.lifecycle.crashes):
            fault = f"crash-{number}"
            if crash.power:
                self.refused.append(
                    f"lifecycle.crashes[{number}] (loss of power): no process and no container loses what a disk has not"
                    " synced"
                )
                continue
            named = select(crash.agents, self.specs, salt=f"crash:{number}") if crash.agents else ()
            names = (*named, *(spec.name for spec in self.specs if spec.host in crash.hosts))
            self.chosen.append(Chosen(fault, "a planned crash", "signal", tuple(dict.fromkeys(names))))
            found += [Blow(crash.at, name, fault, kill=True, restart_ns=crash.restart) for name in names]
        return found

    def stalls(self) -> tuple[dict[str, tuple[tuple[int, int], ...]], list[Blow]]:
        """Stalls of the beat thread: for our driver, and as pauses of the whole process of agents with a command."""
        driven: dict[str, tuple[tuple[int, int], ...]] = {}
        blows: list[Blow] = []
        foreign = []
        for spec in self.specs:
            stalls = spec.heartbeat.stalls
            if stalls is None or stalls.per_hour <= 0:
                continue
            planned = driver.stalls_of(spec, stalls, self.choices, self.scenario.duration)
            if self.is_driven(spec.name):
                driven[spec.name] = planned
            else:
                foreign.append(spec.name)
                blows += [Blow(at, spec.name, "stall", pause_ns=length) for at, length in planned]
        if driven:
            self.chosen.append(Chosen("stall", "the beat thread stalls", "driver", tuple(driven)))
        if foreign:
            note = "the whole process stands still, not its beat thread alone"
            self.chosen.append(Chosen("stall", "the beat thread stalls", "signal", tuple(foreign), note))
        return driven, blows

    def disks(self) -> list[tmpfs.Budget]:
        found = []
        for budget in tmpfs.budgets_of(self.scenario.fleet.hosts, self.specs):
            why = tmpfs.why_not(budget) or self.machine.mount_why
            what = f"a disk of {budget.size} bytes"
            if why is not None:
                self.refused.append(f"host {budget.host}: {budget.kind} ({what}): {why}")
                continue
            names = tuple(spec.name for spec in budget.agents)
            note = f"in whole pages of {PAGE} bytes a file"
            self.chosen.append(Chosen(budget.fault, what, "tmpfs", names, note))
            found.append(budget)
        return found


def plan_means(
    scenario: Scenario,
    specs: Sequence[AgentSpec],
    manifests: Mapping[str, Manifest],
    engine: str,
    machine: Machine,
    prefer: str = "cheap",
) -> MeansPlan:
    """How this scenario's faults are carried out by `engine` (process or docker) on this machine.

    `manifests` are by `AgentSpec.agent`. `prefer`: cheap, or real, which puts the kernel's own refusals before our
    driver. Raises `CannotDo` with a line for everything that cannot be done: what, on whom, and why not.
    """
    choosing = Choosing(scenario, specs, manifests, engine, machine, prefer)
    choosing.faults()
    blows, (stalls, pauses), budgets = choosing.crashes(), choosing.stalls(), choosing.disks()
    refused = [*choosing.refused, *refusals(scenario, specs, manifests)]
    if refused:
        raise CannotDo(*(f"engine {engine}: {line}" for line in refused))
    for rule, names in choosing.by.get("signal", ()):
        blows += signals.blows_of(rule, names, choosing.choices, scenario.duration)
    faults = _for_driver(choosing)
    traced = {name: _traced(choosing, name, rules) for name, rules in choosing.traced.items()}
    strace = Strace(traced) if traced else None
    means = _at_work(choosing, [*blows, *pauses], stalls, budgets, strace)
    disks: dict[str, dict[str, str]] = {}
    for budget in budgets:
        for spec in budget.agents:
            disks.setdefault(spec.name, {})[budget.kind] = f"disk-full:{spec.host}"
    return MeansPlan(choosing.chosen, _alone(choosing), faults, stalls, means, disks, strace)


def _at_work(
    choosing: Choosing,
    blows: Sequence[Blow],
    stalls: Mapping[str, tuple[tuple[int, int], ...]],
    budgets: Sequence[tmpfs.Budget],
    strace: Strace | None,
) -> dict[str, Means]:
    by, chosen = choosing.by, choosing.chosen
    perms = [int(rollout.perms, 8) for rollout in choosing.scenario.rollouts] or [0o600]
    intervals = {spec.name: spec.heartbeat.interval for spec in choosing.specs}
    ids = {name: list(dict.fromkeys(one.fault for one in chosen if one.means == name)) for name in MEANS}
    means: dict[str, Means] = {
        "harness": Played(ids["harness"]),
        "driver": driver.Driven([fault for fault in ids["driver"] if fault != "stall"], stalls),
        "permissions": Permissions(by.get("permissions", ()), intervals, min(perms)),
        "remount": Remount(by.get("remount", ()), intervals),
        "tmpfs": Tmpfs(budgets),
        "signal": Signals(blows, ids["signal"], choosing.engine != "docker"),
    }
    return means if strace is None else {**means, "strace": strace}


def _for_driver(choosing: Choosing) -> dict[str, tuple[FaultPlan, ...]]:
    """In the order of the scenario: of two errors on one operation the first counts."""
    found: dict[str, list[FaultPlan]] = {}
    for rule, names in choosing.by.get("driver", ()):
        for name in names:
            prompt = choosing.manifest(name).prompt.path
            found.setdefault(name, []).append(driver.fault_plan(rule, prompt))
    return {name: tuple(faults) for name, faults in found.items()}


def _traced(choosing: Choosing, name: str, rules: Sequence[Rule]) -> Traced:
    path = strace_words.path_of(rules[0], choosing.manifest(name).prompt.path)
    assert path is not None
    return Traced(name, tuple(rules), path, choosing.is_launched(rules[0]))


def _alone(choosing: Choosing) -> frozenset[str]:
    """Who dies, stands still or is traced without its neighbours."""
    found = [name for one in choosing.chosen if one.means in ("signal", "strace") for name in one.agents]
    for rule, names in choosing.by.get("driver", ()):
        if rule.fault.crash is not None:
            found += names
    return frozenset(found)


def _calls(rule: Rule) -> frozenset[str]:
    return frozenset(strace_words.CALLS[str(rule.kind)])


def _what(rule: Rule) -> str:
    return str(plan_fields(rule)["means"])


def _told(rule: Rule, why: Mapping[str, str]) -> str:
    """The reasons of those means that are for such a fault."""
    if rule.fault.power:
        return why["driver"]
    meant = {
        "driver": rule.kind is None,
        "permissions": permissions.way_of(rule) is not None,
        "remount": rule.fault.error == "EROFS",
        "signal": rule.kind is None,
        "strace": rule.kind is not None,
    }
    return "; ".join(f"{means}: {reason}" for means, reason in why.items() if meant.get(means))


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} others"
