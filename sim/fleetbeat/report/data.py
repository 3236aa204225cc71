"""The one report of a run, as frozen data: text, JSON and JUnit render it, and nothing else decides what stands in it.

It holds numbers and texts as they are; each renderer escapes what its medium cannot take. Long lists are cut here, with
their whole count beside them, so that all renderers tell the same story.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleetbeat.checks.chains import shortest
from fleetbeat.checks.model import CLASSES, FATES, Judgement, Link, PostFate, Verdict
from fleetbeat.history.records import Record
from fleetbeat.metrics import Metrics
from fleetbeat.report.real import Real, real

SCHEMA = "fleetbeat.report/1"
#: Most findings of one invariant, and most notable posts, that a report holds.
MOST = 1000
#: Fates that are what an operator wants.
GOOD = ("applied", "unchanged", "empty")


@dataclass(frozen=True, slots=True)
class Threshold:
    """One expectation beside the invariants. `held` None: could not be judged, or a state that was never reached."""

    id: str
    held: bool | None
    message: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the run comes to. `code`: exit code; `word`: in a word or three; `reasons`: why it is not held.

    `failing`: invariants that make the run fail (broken, not expected, and not let pass).
    """

    code: int
    word: str
    reasons: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()


@dataclass(frozen=True, slots=True)
class FindingRow:
    kind: str
    cause: str
    t: int
    agent: str | None
    posts: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """`kinds`: findings by class; `known_gap`: programs whose manifest admits it; `expected`: in `expect: broken`.

    `fails`: it makes the run fail. `findings_total` counts those beyond the kept ones too. `chain`: of the framework's
    invariants, the shortest chain of causes that breaks it.
    """

    invariant: str
    promise: str
    outcome: str
    examined: int
    kinds: tuple[tuple[str, int], ...]
    known_gap: tuple[str, ...]
    expected: bool
    fails: bool
    reason: str
    findings: tuple[FindingRow, ...]
    findings_total: int
    chain: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One planned fault. `fired` times on `agents` different agents, by effect; `targets`: how many it could hit."""

    fault: str
    means: str
    on: str
    targets: int
    fired: int
    agents: int
    effects: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PostRow:
    """A post whose fate is not what an operator wants."""

    post: str
    version: str
    agent: str
    fate: str
    note: str
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Times in ns. `fates`: every fate with its count, adding up to `posts`. `notable_total` counts the uncut list."""

    schema: str
    fleetbeat: str
    scenario: str
    seed: int
    engine: str
    duration_ns: int
    ended_ns: int
    ended: str
    agents: int
    hosts: int
    programs: tuple[str, ...]
    ruling: Ruling
    violations: int
    gaps: int
    hazards: int
    posts: int
    fates: tuple[tuple[str, int], ...]
    notable: tuple[PostRow, ...]
    notable_total: int
    verdicts: tuple[VerdictRow, ...]
    faults: tuple[FaultRow, ...]
    metrics: Metrics
    replay: str
    #: What only a run in real time says; None for a simulated one.
    real: Real | None = None


def build(records: Sequence[Record], judgement: Judgement, metrics: Metrics, ruling: Ruling, replay: str) -> Report:
    """The report of a judged run. `records` begin with the `run` record. Raises ValueError if they do not."""
    if not records or records[0].kind != "run":
        raise ValueError("records: got no run record first, expected a whole history")
    run, last = records[0], records[-1]
    agents = [record for record in records if record.kind == "agent"]
    notable = [fate for fate in judgement.fates if fate.fate not in GOOD]
    findings = sum(map(_kinds, judgement.verdicts), Counter())
    return Report(
        schema=SCHEMA,
        fleetbeat=run["fleetbeat"],
        scenario=run["scenario"],
        seed=run["seed"],
        engine=run["engine"],
        duration_ns=run["duration"],
        ended_ns=last.t,
        ended=last.get("reason", "unknown") if last.kind == "end" else "unknown",
        agents=len(agents),
        hosts=sum(record.kind == "host" for record in records),
        programs=tuple(sorted({record["program"] for record in agents})),
        ruling=ruling,
        violations=findings["violation"],
        gaps=findings["gap"],
        hazards=findings["hazard"],
        posts=len(judgement.fates),
        fates=tuple(judgement.totals().items()),
        notable=tuple(map(_post, sorted(notable, key=lambda fate: FATES.index(fate.fate))[:MOST])),
        notable_total=len(notable),
        verdicts=_verdicts(judgement, _admitted(agents), _expected(run), ruling.failing),
        faults=_faults(records),
        metrics=metrics,
        replay=replay,
        real=real(records),
    )


def _post(fate: PostFate) -> PostRow:
    return PostRow(fate.post, fate.version, fate.agent, fate.fate, fate.note, fate.also)


def _admitted(agents: Sequence[Record]) -> dict[str, tuple[str, ...]]:
    """Invariant -> programs whose manifest lists it as a known gap."""
    admitted: dict[str, set[str]] = {}
    for record in agents:
        for invariant in record["known_gaps"]:
            admitted.setdefault(invariant, set()).add(record["program"])
    return {invariant: tuple(sorted(programs)) for invariant, programs in admitted.items()}


def _expected(run: Record) -> Sequence[str]:
    broken = run["expect"].get("broken", ())
    return tuple(str(invariant) for invariant in broken) if isinstance(broken, (list, tuple)) else ()


def _verdicts(
    judgement: Judgement, admitted: Mapping[str, tuple[str, ...]], expected: Sequence[str], failing: Sequence[str]
) -> tuple[VerdictRow, ...]:
    return tuple(
        _verdict(
            verdict, admitted.get(verdict.invariant, ()), verdict.invariant in expected, verdict.invariant in failing
        )
        for verdict in judgement.verdicts
    )


def _verdict(verdict: Verdict, known_gap: tuple[str, ...], expected: bool, fails: bool) -> VerdictRow:
    kinds = _kinds(verdict)
    return VerdictRow(
        invariant=verdict.invariant,
        promise=verdict.promise,
        outcome=verdict.outcome,
        examined=verdict.examined,
        kinds=tuple((kind, kinds[kind]) for kind in CLASSES if kinds[kind]),
        known_gap=known_gap,
        expected=expected,
        fails=fails,
        reason=verdict.reason,
        findings=tuple(
            FindingRow(finding.kind, finding.cause, finding.t, finding.agent, finding.posts, finding.message)
            for finding in sorted(verdict.findings, key=lambda one: (CLASSES.index(one.kind), one.t))[:MOST]
        ),
        findings_total=sum(kinds.values()),
        chain=tuple(shortest([finding.chain for finding in verdict.findings])),
    )


def _kinds(verdict: Verdict) -> Counter[str]:
    """Findings by class; those that were only counted are of the worst class that was found."""
    kinds = Counter[str](finding.kind for finding in verdict.findings)
    if verdict.more:
        kinds[next((kind for kind in CLASSES if kinds[kind]), CLASSES[0])] += verdict.more
    return kinds


def _faults(records: Sequence[Record]) -> tuple[FaultRow, ...]:
    plans = [record for record in records if record.kind == "fault.plan"]
    fired: dict[str, list[Record]] = {}
    for record in records:
        if record.kind == "fault":
            fired.setdefault(record["fault"], []).append(record)
    rows = []
    for plan in plans:
        hits = fired.get(plan["fault"], [])
        effects = Counter(str(hit.get("error") or hit["effect"]) for hit in hits)
        hit_agents = len({hit["agent"] for hit in hits})
        rows.append(
            FaultRow(
                fault=plan["fault"],
                means=plan["means"],
                on=plan["on"],
                targets=len(plan["targets"]),
                fired=len(hits),
                agents=hit_agents,
                effects=tuple(sorted(effects.items())),
            )
        )
    return tuple(rows)
