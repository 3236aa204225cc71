"""What a ledger comes to: both verdicts, what was missing for them, an exit code as for a history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, NoReturn

from fleetbeat.checks.guard_not_silenced import INVARIANT as GUARD
from fleetbeat.checks.kept import Kept
from fleetbeat.checks.ledger import Ledger
from fleetbeat.checks.model import Finding, Invariant, Outcome, Verdict
from fleetbeat.checks.no_self_trigger import INVARIANT as CHAINS
from fleetbeat.checks.words import several
from fleetbeat.history.jsonl import MAX_LINE_BYTES, HistoryError, mapping_of, shown_path


@dataclass(frozen=True, slots=True)
class LedgerJudgement:
    """`duration` in ns, from the first time to the last; `missing`: sentences, what the ledger does not tell.

    `code` 0, 1 or 3; `word`: held, broken, vacuous or unknown; `reasons`: why it is not 0.
    """

    lines: int
    events: int
    actions: int
    agents: int
    sessions: int
    duration: int
    verdicts: tuple[Verdict, ...]
    missing: tuple[str, ...]
    code: int
    word: str
    reasons: tuple[str, ...]


def is_ledger(path: Path) -> bool:
    """Whether the first line is an object of a ledger, and no record of a history. False for what cannot be read."""
    try:
        with path.open("rb") as file:
            first = mapping_of(file.readline(MAX_LINE_BYTES + 1).rstrip(b"\n") + b"\n", _not_one)
    except (OSError, ValueError):
        return False
    return "kind" not in first and any(name in first for name in ("id", "ts", "type", "action"))


def _not_one(_: str) -> NoReturn:
    raise ValueError


def judge_ledger(path: Path) -> LedgerJudgement:
    """Judges a ledger's file, line by line. Raises `HistoryError`: `file:line: got .., expected ..`."""
    name = shown_path(path)
    ledger = Ledger()
    try:
        with path.open("rb") as file:
            _read(file, name, ledger)
    except OSError as error:
        raise HistoryError(f"{name}: got {error.strerror or error}, expected a readable ledger") from None
    return judgement_of(ledger)


def _read(file: IO[bytes], name: str, ledger: Ledger) -> None:
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        fail = partial(_fail, name, number)
        if raw.strip():
            ledger.feed(mapping_of(raw if raw.endswith(b"\n") else raw + b"\n", fail), fail)


def _fail(name: str, number: int, got: str) -> NoReturn:
    raise HistoryError(f"{name}:{number}: {got}")


def judgement_of(ledger: Ledger) -> LedgerJudgement:
    """What the lines that were fed so far come to."""
    seen = ledger.seen
    verdicts = (_chains(ledger), _guards(ledger))
    broken = [f"{one.invariant} is broken: {one.findings[0].message}" for one in verdicts if one.outcome == "broken"]
    unknown = [f"{one.invariant} is unknown: {one.reason}" for one in verdicts if one.outcome == "unknown"]
    empty = []
    if not ledger.self_trigger.chains.begun:
        empty.append("no framework chain began: no prepare, inject or emit, and no event of origin proactive")
    if not seen["dangerous"] and not seen["unlabelled"]:
        empty.append("no dangerous call was made")
    code, word = (1, "broken") if broken else (3, "vacuous") if empty else (3, "unknown") if unknown else (0, "held")
    return LedgerJudgement(
        seen["lines"],
        seen["events"],
        seen["actions"],
        len(ledger.agents),
        len(ledger.sessions),
        ledger.end,
        verdicts,
        tuple(_missing(ledger)),
        code,
        word,
        (*broken, *empty, *unknown),
    )


def _chains(ledger: Ledger) -> Verdict:
    found = ledger.self_trigger
    reason = ""
    if found.lost:
        reason = f"{several(found.lost, 'action')} cannot be placed: " + " and ".join(_causes(ledger))
    return _verdict(CHAINS, [found.kept], found.chains.begun, reason)


def _causes(ledger: Ledger) -> Iterator[str]:
    seen = ledger.seen
    if seen["no cause"]:
        yield f"{_lines(seen['no cause'])} not tell a cause"
    if seen["strange cause"]:
        names = "names" if seen["strange cause"] == 1 else "name"
        lines = several(seen["strange cause"], "line")
        yield f"{lines} {names} one that is not among the last {ledger.window} events and actions"


def _guards(ledger: Ledger) -> Verdict:
    found, seen = ledger.guarding, ledger.seen
    kept, reasons = [found.kept], []
    for rests_on, told in (("judged", "which gates were asked"), ("answer", "what users answered")):
        if seen[rests_on]:
            kept.append(found.kept_by[rests_on])
        elif found.kept_by[rests_on].total:
            count = several(found.kept_by[rests_on].total, "dangerous call")
            reasons.append(f"{count} went through, and no line tells {told}")
    reasons += [f"{several(count, 'dangerous call')}: {reason}" for reason, count in found.unjudged.items()]
    if seen["unlabelled"]:
        of_these = f"; {found.suspects} of these would break it if dangerous" if found.suspects else ""
        reasons.append(f"{several(seen['unlabelled'], 'call')} without a label, dangerous or not{of_these}")
    if seen["strange call"]:
        reasons.append(f"{several(seen['strange call'], 'call')} ran whose tool.before is not there, or too far back")
    if found.calls.forgotten:
        reasons.append(f"{several(found.calls.forgotten, 'dangerous call')}: too many at once were not settled")
    if seen["dangerous"] and not seen["ran"] and not seen["type tool.after"] and not seen["verdict"]:
        reasons.append("no line tells which calls ran, or what the framework decided")
    return _verdict(GUARD, kept, found.examined, "; ".join(reasons))


def _missing(ledger: Ledger) -> Iterator[str]:
    """What whoever writes the ledger could add."""
    seen = ledger.seen
    if seen["no cause"]:
        yield f"cause: {_lines(seen['no cause'])} not have it"
    if seen["unlabelled"]:
        yield f"dangerous: {several(seen['unlabelled'], 'tool.before line')} without it"
    if seen["type tool.before"]:
        known = any(not force.doubt for force in ledger.guarding.forces.values())
        wanted = (
            ("gates", known, "which gates are in force"),
            ("judged", seen["judged"], "which gates were asked"),
            ("verdict", seen["verdict"], "what the framework decided"),
            ("ran or tool.after", seen["ran"] or seen["type tool.after"], "which calls ran"),
            ("answer", seen["answer"], "what users answered"),
        )
        yield from (f"{action}: no line tells {what}" for action, there, what in wanted if not there)


def _lines(count: int) -> str:
    return "1 line does" if count == 1 else f"{count} lines do"


def _verdict(invariant: Invariant, kept: list[Kept], examined: int, reason: str) -> Verdict:
    findings: tuple[Finding, ...] = tuple(
        sorted((finding for one in kept for finding in one.findings()), key=lambda finding: finding.t)
    )
    outcome: Outcome = "broken" if findings else "unknown" if reason else "held"
    more = sum(one.more for one in kept)
    return Verdict(invariant.id, invariant.promise, outcome, findings, examined, reason, more)
