"""What an operator with gates sees and decides: the same for every engine that plays operators.

The operator knows what it posted and when, what its looks at targets' prompts showed, and what their logs say; never
which beats came, which faults fired, or whether a version is bad. A look reads the prompt; a torn one is looked at once
more a moment later, for a flush may have been under way. The log is read as it stands at the look.

- effective: the prompt's protected section holds the version.
- violation: the prompt is torn twice, or its section holds neither the version nor what it held just before the wave.
  Another operator's version is one too: this operator knows nothing of it.
- lag: from the end of a target's post to the first look (or poll of `verify: effective`) that saw the version. It is an
  upper bound, as coarse as looks are.
- write errors: entries `rules_write_error` and `rules_flush_error`; errors: entries `agent_error`; since the post.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from fleetbeat.metrics.words import seconds
from fleetbeat.protocol.process import section_of
from fleetbeat.protocol.spelling import decode, read_file
from fleetbeat.protocol.vocabulary import Op, Sleep
from fleetbeat.protocol.writers import Look
from fleetbeat.scenario.model import Gate, Rollout, Scenario, Wave
from fleetbeat.scenario.units import exact

#: After so long a torn prompt is looked at again, ns.
AGAIN_NS = 100_000_000
HOUR_NS = 3_600_000_000_000
WRITE_ERRORS = ("rules_write_error", "rules_flush_error")
#: What an agent logs while a version with `errors_per_hour` is effective.
ERROR = "agent_error"


@dataclass(frozen=True, slots=True)
class Sight:
    """One look at one prompt. `state`: whole, torn or unread (it is not there or cannot be read); `text`: its section."""

    state: str
    text: str | None = None


def sight_of(look: Look) -> Generator[Op, Any, Sight]:
    """Reads a prompt, and a torn one again."""
    sight = yield from read_sight(look)
    if sight.state == "torn":
        yield Sleep(AGAIN_NS)
        sight = yield from read_sight(look)
    return sight


def read_sight(look: Look) -> Generator[Op, Any, Sight]:
    """Reads a prompt once."""
    try:
        data = yield from read_file(f"{look.home}/{look.prompt}", look.chunk)
    except OSError:
        return Sight("unread")
    try:
        text = decode(data)
    except UnicodeDecodeError:
        return Sight("torn")
    if not text:
        return Sight("torn")
    state, section = section_of(text + "\n", look.begin, look.end)
    return Sight(state, None if section is None else section.strip())


@dataclass(frozen=True, slots=True)
class Seen:
    """What the operator knows at one time. Counts of targets and entries; `rate`: errors an hour and target; `lag`: the
    gate's quantile of the wave's targets in ns, None: not reached yet, or not asked for."""

    targets: int
    effective: int
    violations: int
    unread: int
    write_errors: int
    errors: int
    rate: float
    lag: int | None

    def counts(self) -> dict[str, int]:
        names = ("targets", "effective", "violations", "unread", "write_errors", "errors")
        return {name: getattr(self, name) for name in names}


class Board:
    """Everything that the operator of one rollout has seen so far. `wanted`: the body as text, stripped."""

    def __init__(self, wanted: str | None) -> None:
        self.wanted = wanted
        self.posted: dict[str, int] = {}
        self._before: dict[str, Sight] = {}
        self._now: dict[str, Sight] = {}
        self._first: dict[str, int] = {}
        self._entries: list[tuple[str, int, str]] = []

    def before(self, target: str, sight: Sight) -> None:
        """What a target held just before its wave."""
        self._before[target] = sight

    def post(self, target: str, at_ns: int, seen_ns: int | None) -> None:
        """A target was posted to, and seen effective by a poll at `seen_ns`."""
        self.posted[target] = at_ns
        if seen_ns is not None:
            self._first.setdefault(target, seen_ns)

    def look(self, target: str, at_ns: int, sight: Sight) -> None:
        self._now[target] = sight
        if self._is_new(sight):
            self._first.setdefault(target, at_ns)

    def read(self, entries: Iterable[tuple[str, int, str]]) -> None:
        """Entries of logs: (agent, ns, event)."""
        self._entries.extend(entry for entry in entries if entry[2] == ERROR or entry[2] in WRITE_ERRORS)

    def seen(self, now: int, wave: Sequence[str], gate: Gate) -> Seen:
        sights = [(target, self._now[target]) for target in self.posted if target in self._now]
        ours = [event for agent, at_ns, event in self._entries if at_ns >= self.posted.get(agent, now + 1)]
        errors = ours.count(ERROR)
        spent = sum(now - at_ns for at_ns in self.posted.values())
        return Seen(
            targets=len(self.posted),
            effective=sum(self._is_new(sight) for _, sight in sights),
            violations=sum(self._is_wrong(target, sight) for target, sight in sights),
            unread=sum(sight.state == "unread" for _, sight in sights),
            write_errors=len(ours) - errors,
            errors=errors,
            rate=errors * HOUR_NS / spent if spent else 0.0,
            lag=None if gate.lag is None else self._lag(wave, gate.lag.quantile),
        )

    def _is_new(self, sight: Sight) -> bool:
        return sight.state == "whole" and self.wanted is not None and sight.text == self.wanted

    def _is_wrong(self, target: str, sight: Sight) -> bool:
        if sight.state != "whole":
            return sight.state == "torn"
        before = self._before.get(target)
        return before is not None and before.state != "unread" and not (self._is_new(sight) or sight == before)

    def _lag(self, wave: Sequence[str], quantile: float) -> int | None:
        there = [target for target in wave if target in self.posted]
        known = sorted(self._first[target] - self.posted[target] for target in there if target in self._first)
        rank = max(1, ceil(exact(quantile) * len(there)))
        return known[rank - 1] if rank <= len(known) else None


def why_not(gate: Gate, seen: Seen, is_last: bool) -> str | None:
    """What the gate objects to, in words; None: nothing. Only the last look is asked for what takes time."""
    found = []
    if gate.violations is not None and seen.violations > gate.violations:
        found.append(f"{seen.violations} violations, at most {gate.violations}")
    if gate.write_errors is not None and seen.write_errors > gate.write_errors:
        found.append(f"{seen.write_errors} write errors, at most {gate.write_errors}")
    if is_last and gate.effective is not None and seen.effective < ceil(exact(gate.effective) * seen.targets):
        found.append(f"effective on {seen.effective} of {seen.targets}, at least {gate.effective * 100:g} %")
    if is_last and gate.lag is not None and seen.targets and (seen.lag is None or seen.lag >= gate.lag.below):
        what = "not reached" if seen.lag is None else seconds(seen.lag)
        found.append(f"lag p{gate.lag.quantile * 100:g} {what}, below {seconds(gate.lag.below)}")
    if is_last and gate.errors_per_hour is not None and seen.rate > gate.errors_per_hour:
        found.append(f"{seen.rate:.3g} errors an hour and target, at most {gate.errors_per_hour:g}")
    return "; ".join(found) or None


def gate_of(rollout: Rollout, number: int) -> Gate | None:
    """The gate after wave `number`, from 1."""
    wave = wave_of(rollout, number)
    return rollout.gate if wave is None or wave.gate is None else wave.gate


def wave_of(rollout: Rollout, number: int) -> Wave | None:
    return rollout.waves[number - 1] if rollout.waves else None


def is_planned(rollout: Rollout) -> bool:
    """Whether anything but a wave's failures decides what comes next."""
    waves = rollout.waves
    asks = any(wave.gate is not None or wave.approval is not None or wave.hold_until is not None for wave in waves)
    return asks or rollout.gate is not None or rollout.on_failure == "rollback"


def former_of(scenario: Scenario, rollout: Rollout) -> Rollout:
    """The rollout whose version is posted again. Loading has seen that there is one."""
    return next(one for one in scenario.rollouts if one.version == rollout.rollback_to)


def truths(scenario: Scenario) -> list[Mapping[str, Any]]:
    """Fields of the `truth` records: of versions that are bad, or whose agents log errors."""
    told: dict[str, Mapping[str, Any]] = {}
    for one in scenario.rollouts:
        if one.bad or one.errors_per_hour:
            rate = one.errors_per_hour
            told.setdefault(one.version, {"version": one.version, "bad": one.bad, "errors_per_hour": rate})
    return list(told.values())
