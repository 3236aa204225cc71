"""What a history shows of one agent, as the rows of the conformance suite ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fleetbeat.checks.model import Finding, Judgement, PostFate
from fleetbeat.history.records import Record


@dataclass(frozen=True, slots=True)
class Seen:
    """One agent's part of a judged history. `row`: the row's id, which its versions and faults begin with.

    `norms`: digest of a body -> digest of its compared text, None where it does not decode.
    """

    row: str
    agent: str
    known_gaps: tuple[str, ...]
    records: tuple[Record, ...]
    fates: tuple[PostFate, ...]
    findings: tuple[Finding, ...]
    norms: dict[str, str | None]
    end: int

    def of(self, kind: str) -> list[Record]:
        return [record for record in self.records if record.kind == kind]

    def post(self, version: str) -> PostFate | None:
        """The last post of a version (`v1`) of this row."""
        return next((fate for fate in reversed(self.fates) if fate.version == f"{self.row}.{version}"), None)

    def landed(self) -> int | None:
        """The instant at which the first post stood whole."""
        return min((fate.completed for fate in self.fates if fate.completed is not None), default=None)

    def norm(self, what: str) -> str | None:
        """The compared text's digest of a version (`v1`) or of the rules at the start (`start`)."""
        if what == "start":
            (home,) = self.of("agent")
            return self.norms.get(home["canonical"])
        plan = next(record for record in self.of("post.plan") if record["version"] == f"{self.row}.{what}")
        return self.norms.get(plan["body"])

    def hidden(self) -> str | None:
        """What was not observed of this agent and matters to a row; beats alone do not, for checks allow for that."""
        return next((record["missing"] for record in self.of("unseen") if record["missing"] != "beats"), None)

    def fired(self) -> list[str]:
        """Faults that struck this agent, by the number in their id, in order."""
        return [record["fault"] for record in self.of("fault")]


def seen(records: Sequence[Record], judgement: Judgement, rows: Iterable[str]) -> dict[str, Seen]:
    """Row -> what was seen of its agent, which is called `ROW-0`. Rows whose agent is not in the history are left out."""
    norms = {record["body"]: record.get("norm") for record in records if record.kind == "body"}
    homes = {record["agent"]: record for record in records if record.kind == "agent"}
    mine: dict[str, list[Record]] = {}
    for record in records:
        agent = record.get("agent")
        if isinstance(agent, str):
            mine.setdefault(agent, []).append(record)
    blind = [record for record in records if record.kind == "unseen" and record["agent"] is None]
    found: dict[str, Seen] = {}
    for row in rows:
        agent = f"{row}-0"
        if agent not in homes:
            continue
        fates = tuple(fate for fate in judgement.fates if fate.agent == agent)
        findings = tuple(
            finding for verdict in judgement.verdicts for finding in verdict.findings if finding.agent == agent
        )
        gaps = tuple(homes[agent]["known_gaps"])
        found[row] = Seen(row, agent, gaps, (*mine[agent], *blind), fates, findings, norms, records[-1].t)
    return found
