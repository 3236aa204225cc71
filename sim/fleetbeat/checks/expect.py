"""What a judged run comes to, given what its scenario expects: an exit code, a word and the reasons.

1 before 3 before 0: a violation or gap that nobody expected, a threshold missed, or an expected break that did not
happen fails the run even if it is vacuous as well. A hazard breaks nothing by itself; an invariant that `expect` names
in `broken`, `hazards` or `sometimes` counts as broken with a hazard alone. A run is vacuous if no post began, if a
state that it must have reached was not, if the faults that it planned never fired, or if a choice of its case never came
up: it is not green. With a workload it is, too, if the framework never began a chain or no dangerous call was made; it
need have no posts then, unless it has rollouts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from fleetbeat.checks import words
from fleetbeat.checks.chains import BEGINS
from fleetbeat.checks.lag import lags, nearest_rank, reached
from fleetbeat.checks.model import Judgement, Verdict
from fleetbeat.history.records import Record

Word = Literal["held", "broken", "broken-as-expected", "vacuous", "unknown"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """One expectation beside the invariants. `held` None: a state that had to be reached and was not."""

    id: str
    held: bool | None
    message: str


@dataclass(frozen=True, slots=True)
class Decision:
    """`exit_code` 0, 1 or 3; `reasons`: sentences, why it is not 0 (or what broke as expected)."""

    exit_code: int
    verdict: Word
    reasons: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """What happened how often, as `expect: sometimes` names it. `began`: version -> ns of its first post or wave.

    `works`: there is a workload; `acted`: how often its framework did what begins a chain, or goes on with one;
    `dangerous`: calls.
    """

    events: Mapping[str, int]
    fired: Mapping[str, int]
    planned: tuple[Record, ...]
    targets: Mapping[str, tuple[str, ...]]
    began: Mapping[str, int]
    diverged: tuple[str, ...] = ()
    works: bool = False
    acted: int = 0
    dangerous: int = 0


def decide(expect: Mapping[str, Any], judgement: Judgement, records: Iterable[Record]) -> Decision:
    """Decides a run. `expect` as in its `run` record: durations in ns or as text, shares as numbers or text.

    Raises `ValueError` for an `expect` that no scenario can have (a duration or share that cannot be read).
    """
    counts = count(records)
    thresholds = [*_converge(expect, judgement, counts), *_lag(expect, judgement), *_fates(expect, judgement)]
    sometimes = list(_sometimes(expect, judgement, counts))
    failing = [*_breaks(expect, judgement), *(item.message for item in thresholds if not item.held)]
    vacuous = [*(item.message for item in sometimes if not item.held), *_vacuous(judgement, counts)]
    unknown = [f"{one.invariant} is unknown: {one.reason}" for one in judgement.verdicts if one.outcome == "unknown"]
    told = (*thresholds, *sometimes)
    if failing:
        return Decision(1, "broken", (*failing, *vacuous, *unknown), told)
    if vacuous:
        return Decision(3, "vacuous", (*vacuous, *unknown), told)
    if unknown:
        return Decision(3, "unknown", tuple(unknown), told)
    expected = tuple(f"{name} broke, as expected" for name in expect.get("broken") or ())
    return Decision(0, "broken-as-expected" if expected else "held", expected, told)


def count(records: Iterable[Record]) -> Counts:
    """One pass for what `decide` asks beside the judgement."""
    events: Counter[str] = Counter()
    fired: Counter[str] = Counter()
    planned: list[Record] = []
    targets: dict[str, dict[str, None]] = {}
    versions: dict[str, str] = {}
    began: dict[str, int] = {}
    diverged: list[str] = []
    works, acted, dangerous = False, 0, 0
    for record in records:
        kind = record.kind
        if kind == "event":
            dangerous += record.get("dangerous") is True
        elif kind == "action":
            acted += record["action"] in BEGINS
        elif kind == "workload":
            works = True
        elif kind == "fault":
            fired[record["fault"]] += 1
        elif kind == "fault.plan":
            planned.append(record)
        elif kind == "choice.unmet":
            diverged.append(f"the case's {record['choice']} decided nothing: that step never came")
        elif kind == "hold.unmet":
            diverged.append(f"the case holds {record['step']} until {record['until']}, which never came")
        elif kind == "rollout" and record["write"] == "hand-down":
            continue
        elif kind == "rollout":
            versions[record["rollout"]] = record["version"]
            targets.setdefault(record["version"], {}).update(dict.fromkeys(record["targets"]))
        elif kind == "post.plan":
            began.setdefault(record["version"], record.t)
        elif kind == "wave" and record["event"] == "begin":
            began.setdefault(versions.get(record["rollout"], record["rollout"]), record.t)
        name = _event(record)
        if name is not None:
            events[name] += 1
    lists = {version: tuple(names) for version, names in targets.items()}
    return Counts(events, fired, tuple(planned), lists, began, tuple(diverged), works, acted, dangerous)


def _event(record: Record) -> str | None:
    """The name by which `sometimes` knows what a record tells."""
    kind = record.kind
    if kind == "log":
        return str(record["event"])
    if kind == "life.end":
        return "crash" if record["cause"] in ("crash", "power") else None
    if kind == "life.begin":
        return "restart" if record["life"] > 0 else None
    if kind == "rebuild.begin":
        return "rebuild" if record["cause"] != "boot" else None
    if kind == "pause":
        return "stall" if record["what"] == "thread" else "pause"
    if kind == "agent":
        return "spawn" if record["spawned"] else None
    if kind == "post.plan":
        return "retry" if record["attempt"] > 1 else None
    if kind == "claim":
        return "timeout" if record["claim"] == "timeout" else None
    if kind == "post.end":
        return "leftover" if record.get("leftover") else None
    return None


# --- invariants ---


def _breaks(expect: Mapping[str, Any], judgement: Judgement) -> Iterator[str]:
    expected = tuple(expect.get("broken") or ())
    hazards = expect.get("hazards") or ()
    for verdict in judgement.verdicts:
        name = verdict.invariant
        if name in expected:
            continue
        if verdict.outcome == "broken":
            yield f"{name} is broken: {_evidence(verdict, hazards=False)}"
        elif any(finding.kind == "hazard" for finding in verdict.findings) and (
            hazards is True or name in _names(hazards)
        ):
            yield f"{name} has a hazard, which this scenario does not allow: {_evidence(verdict, hazards=True)}"
    known = {verdict.invariant: verdict for verdict in judgement.verdicts}
    for name in expected:
        found = known.get(name)
        if found is None:
            yield f"{name} was expected to break, and no check has that name"
        elif not found.findings and found.outcome != "unknown":
            yield f"{name} was expected to break, and it held"


def _names(hazards: Any) -> Sequence[str]:
    return () if isinstance(hazards, bool) else tuple(hazards)


def _evidence(verdict: Verdict, hazards: bool) -> str:
    found = [finding for finding in verdict.findings if (finding.kind == "hazard") is hazards]
    others = len(found) - 1 + (0 if hazards else verdict.more)
    return found[0].message + (f" (and {others} more)" if others else "")


# --- thresholds ---


def _converge(expect: Mapping[str, Any], judgement: Judgement, counts: Counts) -> Iterator[Threshold]:
    for item in expect.get("converge") or ():
        version, within, share = item["version"], _ns(item["within"]), _share(item.get("share", 1.0))
        targets = counts.targets.get(version, ())
        began = counts.began.get(version)
        times = {} if began is None else reached(judgement.fates, version, began)
        inside = sum(1 for agent in targets if agent in times and times[agent] <= within)
        held = bool(targets) and Fraction(inside, len(targets)) >= share
        text = (
            f"{version} became effective on {inside} of {words.several(len(targets), 'target')} "
            f"within {words.length(within)}, expected at least {_percent(share)}"
        )
        yield Threshold(f"converge {version}", held, text)


def _lag(expect: Mapping[str, Any], judgement: Judgement) -> Iterator[Threshold]:
    for item in expect.get("lag") or ():
        version, quantile, below = item.get("version"), item.get("quantile", 0.99), _ns(item["below"])
        found = nearest_rank(lags(judgement.fates, version), quantile)
        whose = f" of {version}" if version else ""
        if found is None:
            text = f"no post{whose} was applied, so that its lag could not be below {words.length(below)}"
        else:
            text = f"the {_percent(_share(quantile))} lag{whose} is {words.length(found)}"
            text += f", expected below {words.length(below)}"
        yield Threshold(f"lag p{float(quantile) * 100:g}{whose}", found is not None and found < below, text)


def _fates(expect: Mapping[str, Any], judgement: Judgement) -> Iterator[Threshold]:
    totals = judgement.totals()
    for fate, (least, most) in sorted((expect.get("fates") or {}).items()):
        found = totals[fate]
        bound = f"from {least} to {most}" if most is not None else f"at least {least}"
        text = f"{words.several(found, 'post')} with fate {fate}, expected {bound}"
        yield Threshold(f"fates {fate}", least <= found and (most is None or found <= most), text)


# --- vacuity ---


def _sometimes(expect: Mapping[str, Any], judgement: Judgement, counts: Counts) -> Iterator[Threshold]:
    for item in expect.get("sometimes") or ():
        least = item.get("at_least") or 1
        for what, name, found in _reached(item, judgement, counts):
            text = f"{what} {name} happened {words.several(found, 'time')}, expected at least {least}"
            yield Threshold(f"sometimes {what} {name}", True if found >= least else None, text)


def _reached(item: Mapping[str, Any], judgement: Judgement, counts: Counts) -> Iterator[tuple[str, str, int]]:
    if (fate := item.get("fate")) is not None:
        yield "fate", fate, judgement.totals()[fate]
    if (fault := item.get("fault")) is not None:
        yield "fault", fault, counts.fired.get(fault, 0)
    if (event := item.get("event")) is not None:
        yield "event", event, counts.events.get(event, 0)
    if (broken := item.get("broken")) is not None:
        yield "broken", broken, sum(len(one.findings) for one in judgement.verdicts if one.invariant == broken)


def _vacuous(judgement: Judgement, counts: Counts) -> Iterator[str]:
    """Why a run proves nothing: it parted from its case, no post began, or what it planned never happened.

    A fault that must strike (always, or at a given occurrence) has to fire; of those left to chance, one.
    """
    yield from counts.diverged
    if not any(fate.begun is not None for fate in judgement.fates) and (counts.targets or not counts.works):
        yield "no post began"
    if counts.works and not counts.acted:
        yield "no framework chain began: no core prepared, injected or emitted anything"
    if counts.works and not counts.dangerous:
        yield "no dangerous call was made"
    silent = [plan for plan in counts.planned if not counts.fired.get(plan["fault"]) and plan.get("probability") != 0]
    for plan in silent:
        if plan.get("operation") is not None and plan.get("probability") in (None, 1):
            yield f"fault {plan['fault']} never fired: {plan['means']}"
    if silent and not counts.fired:
        yield "no fault fired at all"


# --- amounts as a run record holds them ---


def _ns(value: int | str) -> int:
    if isinstance(value, int):
        return value
    from fleetbeat.scenario.units import parse_duration

    return parse_duration(value)


def _share(value: float | str) -> Fraction:
    if isinstance(value, str):
        from fleetbeat.scenario.units import share_of_text

        share = share_of_text(value)
        if share is None:
            raise ValueError(f"share: got {value!r}, expected one such as 5%")
        return share
    return Fraction(str(value))


def _percent(share: Fraction) -> str:
    return f"{float(share) * 100:g}%"
