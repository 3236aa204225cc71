"""Lags that need no simulation: beats without jitter at a uniform phase, each of which fails to read with probability p.

A post that lands at any time waits for the rest of an interval, uniform on [0, interval), and a whole interval more for
every beat that fails: G of them, P(G >= g) = p^g. In units of the interval, with g whole and 0 <= r < 1,

    P(lag > g + r) = p^(g+1) + p^g (1 - p) (1 - r),    mean 1/2 + p/(1 - p).

Sources: a uniform phase, as the limit of what is left of a renewal, Feller 1971 (volume II), XI.4; failures before the
first success, Feller 1968 (volume I), VI.8; the mean of the k-th of n ordered values, David and Nagaraja 2003, 2.1 and 3.1.
The work of the beat itself, well below a millisecond, is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, inf, lgamma, log

from fleetbeat.scenario.model import Fault, Heartbeat, Scenario
from fleetbeat.scenario.resolve import AgentSpec, agents, body_of, targets

SOURCE = "Feller 1968, VI.8; Feller 1971, XI.4; David and Nagaraja 2003, 2.1"
#: Calls that one beat makes of what may fail before it has unlinked: a fault's chance is for each of them.
CALLS = {"read": 2, "unlink": 1}
#: Bytes that an agent reads in one call.
_ONE_READ = 65536
#: Shares at which the mean of an ordered value is summed up: midpoints, so that neither end is asked.
_POINTS = 4000


@dataclass(frozen=True, slots=True)
class Closed:
    """The law of one delivery's lag. `interval_ns`; `failure`: chance that a beat fails; `count`: deliveries a run."""

    interval_ns: int
    failure: float
    count: int

    def beyond(self, lag_ns: float) -> float:
        """The share of deliveries that wait longer than this."""
        if lag_ns < 0:
            return 1.0
        failed = floor(lag_ns / self.interval_ns)
        rest = lag_ns / self.interval_ns - failed
        p = self.failure
        return float(p ** (failed + 1) + p**failed * (1 - p) * (1 - rest))

    def quantile(self, share: float) -> float:
        """The lag in ns that a share of deliveries does not exceed; inf for all of them where beats may fail."""
        left, p = 1.0 - share, self.failure
        if left <= 0:
            return float(self.interval_ns) if p == 0 else inf
        failed = 0 if p == 0 else floor(log(left) / log(p) + 1e-12)
        rest = 1 - (left - p ** (failed + 1)) / (p**failed * (1 - p))
        return self.interval_ns * (failed + min(max(rest, 0.0), 1.0))

    def mean(self) -> float:
        """In ns."""
        return self.interval_ns * (0.5 + self.failure / (1 - self.failure))

    def ordered(self, share: float) -> float:
        """The mean, in ns, of the quantile by nearest rank of one run: of the k-th of `count`, k = ceil(share count)."""
        count = self.count
        rank = max(1, ceil(round(share * count, 9)))
        if self.failure == 0:
            return self.interval_ns * rank / (count + 1)
        ways = lgamma(count + 1) - lgamma(rank) - lgamma(count - rank + 1)
        total = 0.0
        for index in range(_POINTS):  # u = t(v), t smooth and flat at both ends, so that the far tail is not cut short
            v = (index + 0.5) / _POINTS
            u = v * v * (3 - 2 * v)
            density = exp(ways + (rank - 1) * log(u) + (count - rank) * log(1 - u))
            total += self.quantile(u) * density * 6 * v * (1 - v) / _POINTS
        return total


def closed_of(scenario: Scenario) -> Closed | None:
    """The law that a scenario's lag follows, or None where it follows none of these: see the conditions below."""
    fleet = agents(scenario)
    texts = [one for one in scenario.rollouts if body_of(one).strip()]
    if len(texts) != 1 or len(scenario.rollouts) != 1:
        return None
    rollout, lifecycle = texts[0], scenario.fleet.lifecycle
    meant = frozenset(targets(rollout, fleet))
    some = [spec for spec in fleet if spec.name in meant]
    plain = (
        rollout.write == "atomic" and not rollout.retries and not rollout.waves and len(body_of(rollout)) <= _ONE_READ
    )
    undisturbed = not (lifecycle.suspend or lifecycle.rebuilds or lifecycle.crashes or lifecycle.spawns)
    if not (some and plain and undisturbed and all(_fits(spec, rollout.at) for spec in some)):
        return None
    if len(dict.fromkeys(spec.heartbeat.interval for spec in some)) != 1:
        return None
    if any(host.clock_ppm or host.disk is not None or host.system_disk is not None for host in scenario.fleet.hosts):
        return None
    works = 1.0
    for fault in scenario.faults:
        chance = _failure(fault)
        if chance is None:
            return None
        works *= 1 - chance
    return Closed(some[0].heartbeat.interval, 1 - works, len(some)) if works > 0 else None


def _fits(spec: AgentSpec, at_ns: int) -> bool:
    """Whether an agent's beats have a uniform phase when the rollout starts: without jitter, and begun before it."""
    heartbeat: Heartbeat = spec.heartbeat
    even = heartbeat.jitter.kind == "none" and heartbeat.phase == "random" and heartbeat.stalls is None
    started = spec.boot.kind == "constant" and spec.boot.value + heartbeat.interval <= at_ns
    return even and started and spec.agent == "reference" and spec.start.signal == "none"


def _failure(fault: Fault) -> float | None:
    """The chance that this fault keeps a beat from consuming; None for a fault with which the law does not hold."""
    if fault.probability == 0:
        return 0.0
    whole = fault.from_ == 0 and fault.to is None and fault.agents == ("all",) and fault.path is None
    simple = fault.on == "agents" and fault.error is not None and fault.effect == "before" and fault.delay is None
    if not (whole and simple and fault.operation in CALLS and fault.probability and fault.crash is None):
        return None
    return 1 - (1 - fault.probability) ** CALLS[fault.operation] if fault.pause is None else None
