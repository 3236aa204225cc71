"""What a foreign ledger comes to, for people and as JSON. Pure renderers of a `LedgerJudgement`.

Schema `fleetbeat.ledger/1`: `lines`, `events`, `actions`, `agents`, `sessions`, `duration_ns`, `verdict`, `exit_code`,
`reasons`, `missing` (sentences: what the ledger does not tell), and `invariants`, each with `outcome`, `examined`, `reason`,
`findings_total`, `findings` (the first hundred) and `shortest` (the links of the shortest chain).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from fleetbeat.checks.chains import drawn, shortest
from fleetbeat.checks.ledger_judge import LedgerJudgement
from fleetbeat.checks.model import Verdict
from fleetbeat.metrics.words import seconds
from fleetbeat.report.plain import counted, cut, item, safe

Paint = Callable[[str, str], str]
SHOWN = 3
SHOWN_IN_JSON = 100
_STYLES = {"held": "good", "broken": "bad"}


def _unpainted(_: str, text: str) -> str:
    return text


def render(found: LedgerJudgement, name: str, paint: Paint = _unpainted) -> str:
    """The whole report, with a newline at its end."""
    sections = [
        ("Invariants", "\n".join(_row(verdict, paint) for verdict in found.verdicts)),
        ("Findings", "\n".join(line for verdict in found.verdicts for line in _findings(verdict))),
        ("Shortest chain", "\n".join(line for verdict in found.verdicts for line in _tree(verdict))),
        ("Not in the ledger", "\n".join(item(f"- {safe(one)}") for one in found.missing)),
        ("Why", "\n".join(item(f"- {safe(reason)}") for reason in found.reasons)),
    ]
    parts = [f"{paint('bold', title)}\n{body}" for title, body in sections if body]
    return "\n\n".join([header(found, name), *parts, summary(found, name, paint)]) + "\n"


def header(found: LedgerJudgement, name: str) -> str:
    return (
        f"ledger {safe(name)}: {counted(found.lines, 'line')}, {counted(found.events, 'event')}, "
        f"{counted(found.actions, 'action')}, {counted(found.agents, 'agent')}, {counted(found.sessions, 'session')}, "
        f"{seconds(found.duration)}"
    )


def summary(found: LedgerJudgement, name: str, paint: Paint = _unpainted) -> str:
    """The one line that ends the report."""
    style = {0: "good", 1: "bad"}.get(found.code, "doubt")
    told = ", ".join(f"{verdict.invariant} {verdict.outcome}" for verdict in found.verdicts)
    return f"{paint(style, found.word)} · {told} · {counted(found.events, 'event')} · fleetbeat check {safe(name)}"


def _row(verdict: Verdict, paint: Paint) -> str:
    outcome = paint(_STYLES.get(verdict.outcome, "doubt"), f"{verdict.outcome:<9}")
    what = "chain" if verdict.invariant == "no-self-trigger" else "dangerous call"
    total = len(verdict.findings) + verdict.more
    parts = [f"{counted(verdict.examined, what)} examined"]
    parts += [counted(total, "violation")] if total else []
    line = f"  {verdict.invariant:<19} {outcome} {', '.join(parts)}"
    return line if not verdict.reason else line + "\n" + item(safe(verdict.reason), "    ")


def _findings(verdict: Verdict) -> Iterator[str]:
    total = len(verdict.findings) + verdict.more
    if total:
        yield item(f"{verdict.invariant}: {verdict.promise}")
    for finding in verdict.findings[:SHOWN]:
        yield item(f"{finding.kind} ({finding.cause}) at {seconds(finding.t)}: {safe(finding.message)}", "    ")
    if total > SHOWN:
        yield f"    ... and {total - SHOWN} more"


def _tree(verdict: Verdict) -> Iterator[str]:
    chain = shortest([finding.chain for finding in verdict.findings])
    yield from (f"  {cut(safe(line), 98)}" for line in drawn(chain))


def render_json(found: LedgerJudgement) -> str:
    """One JSON object, with a newline at its end."""
    data = {
        "schema": "fleetbeat.ledger/1",
        **{name: getattr(found, name) for name in ("lines", "events", "actions", "agents", "sessions")},
        "duration_ns": found.duration,
        "verdict": found.word,
        "exit_code": found.code,
        "reasons": list(found.reasons),
        "missing": list(found.missing),
        "invariants": [_of_verdict(verdict) for verdict in found.verdicts],
    }
    return json.dumps(data, indent=2) + "\n"


def _of_verdict(verdict: Verdict) -> dict[str, Any]:
    chain = shortest([finding.chain for finding in verdict.findings])
    return {
        "invariant": verdict.invariant,
        "promise": verdict.promise,
        "outcome": verdict.outcome,
        "examined": verdict.examined,
        "reason": verdict.reason,
        "findings_total": len(verdict.findings) + verdict.more,
        "findings": [
            {"kind": one.kind, "cause": one.cause, "t_ns": one.t, "agent": one.agent, "message": one.message}
            for one in verdict.findings[:SHOWN_IN_JSON]
        ],
        "shortest": [asdict(link) for link in chain],
    }
