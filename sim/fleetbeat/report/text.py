"""The report for people: tables and short lists within a hundred columns, and one summary line at the end.

Colour is the caller's: `paint(style, text)` wraps verdicts alone, and the plain text is the same without it. All text
from agents, scenarios and files goes through `plain.safe`. The summary is always a single line, however long its replay
command is, because it is what people copy and scripts read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from fleetbeat.metrics.words import seconds
from fleetbeat.report import framework_text, plans, real_text, tables
from fleetbeat.report.data import PostRow, Report, VerdictRow
from fleetbeat.report.plain import counted, item, safe

Paint = Callable[[str, str], str]
#: Findings of an invariant, posts of a fate, and missing targets that are shown before "and N more".
SHOWN = 3
SHOWN_MISSING = 10


def _unpainted(_: str, text: str) -> str:
    return text


def render(report: Report, paint: Paint = _unpainted) -> str:
    """The whole report, with a newline at its end."""
    sections = (
        ("Convergence", tables.convergence(report)),
        ("Rollout plans", plans.plans(report)),
        ("Lag from landed to effective", tables.lag(report)),
        ("Slowest", _slowest(report)),
        ("Fates of posts", tables.fates(report)),
        ("Posts not applied", _notable(report)),
        ("Invariants", tables.invariants(report, paint)),
        ("Findings", _findings(report)),
        ("Framework", framework_text.framework(report.metrics.framework)),
        ("Storm", framework_text.storm(report.metrics.framework)),
        ("Exposure", framework_text.exposure(report.metrics.framework)),
        ("Faults", tables.faults(report)),
        ("Faults carried out", real_text.counts(report.real)),
        ("Cost", tables.cost(report)),
        ("Operators' claims", tables.claims(report)),
        ("Targets that did not converge", _missing(report)),
        ("Expectations", _thresholds(report, paint)),
        ("Observation", real_text.observation(report.real)),
        ("Notes", real_text.notes(report.real)),
        ("Why", "\n".join(item(f"- {safe(reason)}") for reason in report.ruling.reasons)),
    )
    parts = [header(report)]
    parts += [f"{paint('bold', title)}\n{body}" for title, body in sections if body]
    return "\n\n".join([*parts, summary(report, paint)]) + "\n"


def header(report: Report) -> str:
    """One line: what ran."""
    programs = ", ".join(safe(program) for program in report.programs)
    fleet = f"{counted(report.agents, 'agent')} ({programs})" if programs else counted(report.agents, "agent")
    parts = [f"fleetbeat {safe(report.fleetbeat)}", safe(report.scenario), fleet, counted(report.hosts, "host")]
    parts += [seconds(report.duration_ns), f"engine {safe(report.engine)}", f"seed {report.seed}"]
    if report.ended != "duration":
        parts.append(f"{safe(report.ended)} at {seconds(report.ended_ns)}")
    return " · ".join(parts)


def summary(report: Report, paint: Paint = _unpainted) -> str:
    """The one line that ends every report: verdict, fates, broken promises, seed, replay command."""
    style = {0: "good", 1: "bad"}.get(report.ruling.code, "doubt")
    fates = ", ".join(f"{fate} {count}" for fate, count in report.fates if count) or "no posts"
    broken = ", ".join(
        (counted(report.violations, "violation"), counted(report.gaps, "gap"), counted(report.hazards, "hazard"))
    )
    parts = [
        paint(style, safe(report.ruling.word)),
        fates,
        broken,
        f"seed {report.seed}",
        f"replay: {safe(report.replay)}",
    ]
    return " · ".join(parts)


def _slowest(report: Report) -> str:
    return "\n".join(
        item(f"{safe(slow.post)}: {seconds(slow.lag_ns)}: {safe(slow.cause)}") for slow in report.metrics.lag.slowest
    )


def _notable(report: Report) -> str:
    """The first posts of each fate that is not a good one, with their notes."""
    totals = dict(report.fates)
    out: list[str] = []
    for fate, group in groupby(report.notable, key=lambda row: row.fate):
        first = [row for row, _ in zip(group, range(SHOWN), strict=False)]
        out += [_post(row) for row in first]
        if totals[fate] > len(first):
            out.append(f"  ... and {totals[fate] - len(first)} more {fate}")
    return "\n".join(out)


def _post(row: PostRow) -> str:
    also = f" (also {', '.join(row.also)})" if row.also else ""
    return item(f"{safe(row.post)} {row.fate}{safe(also)}" + (f": {safe(row.note)}" if row.note else ""))


def _findings(report: Report) -> str:
    return "\n".join(line for verdict in report.verdicts if verdict.findings for line in _of_verdict(verdict))


def _of_verdict(verdict: VerdictRow) -> Iterator[str]:
    yield item(f"{safe(verdict.invariant)}: {safe(verdict.promise)}")
    for finding in verdict.findings[:SHOWN]:
        yield item(f"{finding.kind} ({finding.cause}) at {seconds(finding.t)}: {safe(finding.message)}", "    ")
    if verdict.findings_total > SHOWN:
        yield f"    ... and {verdict.findings_total - SHOWN} more"
    yield from framework_text.chain(verdict.chain)


def _missing(report: Report) -> str:
    """Those that want something done first."""
    rows = sorted(report.metrics.missing, key=lambda row: row.action.id == "nothing")
    lines = [
        item(f"{safe(row.agent)} {safe(row.version)} {row.fate}: {safe(row.action.text)}")
        for row in rows[:SHOWN_MISSING]
    ]
    if len(rows) > SHOWN_MISSING:
        lines.append(f"  ... and {len(rows) - SHOWN_MISSING} more (-o DIR writes all of them to missing.yaml)")
    return "\n".join(lines)


def _thresholds(report: Report, paint: Paint) -> str:
    """One line each; painted after wrapping, which would count the colours' characters."""
    words = {True: ("good", "met"), False: ("bad", "missed"), None: ("doubt", "inconclusive")}
    lines = []
    for row in report.ruling.thresholds:
        style, word = words[row.held]
        line = item(f"{word} {safe(row.id)}" + (f": {safe(row.message)}" if row.message else ""))
        lines.append(line.replace(word, paint(style, word), 1))
    return "\n".join(lines)
