"""The reason for which a run breaks: what stays the same while everything else about a case is made smaller.

Same invariant, same class, same cause, and the posts it names came to the same fates: so a lost update never shrinks
into a crash, nor a version that was lost into one that was rolled back. Rejected: the finding's sentence, which names
times and versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleetbeat.chance.choices import Overrides
from fleetbeat.checks.judge import judge
from fleetbeat.checks.model import Finding, Judgement
from fleetbeat.history.records import Record
from fleetbeat.protocol.vocabulary import Program
from fleetbeat.scenario.model import Scenario

Programs = Mapping[str, Program]
_UNMET = ("hold.unmet", "choice.unmet")


@dataclass(frozen=True, slots=True)
class Reason:
    """`fates`: of the posts that the finding names, sorted; None where any will do."""

    invariant: str
    kind: str
    cause: str
    fates: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """A run that breaks for the reason that was asked for."""

    scenario: Scenario
    overrides: Overrides
    records: Sequence[Record]
    judgement: Judgement
    finding: Finding

    @property
    def reason(self) -> Reason:
        return reason_of(self.finding, self.judgement)

    @property
    def broken(self) -> tuple[str, ...]:
        """Every invariant that breaks in this run, not just the one that the case is about."""
        return tuple(verdict.invariant for verdict in self.judgement.verdicts if verdict.outcome == "broken")


def reason_of(finding: Finding, judgement: Judgement) -> Reason:
    """The reason of a finding, with its posts' fates."""
    fates = {fate.post: fate.fate for fate in judgement.fates}
    named = tuple(sorted(fates.get(post, "unknown") for post in finding.posts))
    return Reason(finding.invariant, finding.kind, finding.cause, named)


def findings_for(reason: Reason, judgement: Judgement) -> list[Finding]:
    """The findings of a judgement that have this reason, in order of time."""
    found = []
    for verdict in judgement.verdicts:
        if verdict.invariant == reason.invariant:
            for finding in verdict.findings:
                other = reason_of(finding, judgement)
                if reason.fates is None:
                    other = Reason(other.invariant, other.kind, other.cause)
                if other == reason:
                    found.append(finding)
    return found


def unmet(records: Sequence[Record]) -> list[Record]:
    """What a run says about choices of its case that had nothing to decide."""
    return [record for record in records if record.kind in _UNMET]


class OutOfRuns(Exception):
    """The runs that were allowed are used up."""


@dataclass(slots=True)
class Trial:
    """Plays candidates on the engine and says which still break for the reason. Counts runs; the same one costs none."""

    reason: Reason
    programs: Programs | None = None
    budget: int = 100_000
    runs: int = 0
    _known: dict[str, Broken | None] = field(default_factory=dict)

    def play(self, scenario: Scenario, overrides: Overrides | None = None) -> list[Record]:
        """One run of the engine. Raises `OutOfRuns`."""
        from fleetbeat.engines.des import run

        if self.runs >= self.budget:
            raise OutOfRuns
        self.runs += 1
        return run(scenario, overrides, programs=None if self.programs is None else dict(self.programs))

    def broken(self, scenario: Scenario, overrides: Overrides) -> Broken | None:
        """The run, if it breaks for the reason and every choice found what it is about. Raises `OutOfRuns`."""
        name = repr((scenario, sorted(overrides.bits.items()), sorted(overrides.holds.items()), overrides.ties))
        if name not in self._known:
            self._known[name] = self.look(scenario, overrides, self.play(scenario, overrides))
        return self._known[name]

    def forget(self) -> None:
        """Forgets what it knows of candidates, as the reason is another one now."""
        self._known.clear()

    def look(self, scenario: Scenario, overrides: Overrides, records: Sequence[Record]) -> Broken | None:
        """Judges a run that was played."""
        if unmet(records):
            return None
        judgement = judge(records)
        found = findings_for(self.reason, judgement)
        return Broken(scenario, overrides, records, judgement, found[0]) if found else None
