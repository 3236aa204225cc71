"""The report as JUnit XML: a test case for each invariant, each threshold and the run, so that a CI server shows all.

An invariant that broke as `expect: broken` says, and one with nothing but hazards that the scenario lets pass, is a
passed case that says so. What could not be judged is an error, not a skip: CI servers show skips as green. Every text
is escaped first, so the document is well formed whatever an agent wrote.
"""

from __future__ import annotations

from xml.etree import ElementTree

from fleetbeat.report import framework_text
from fleetbeat.report.data import Report, Threshold, VerdictRow
from fleetbeat.report.plain import counted, safe

_SHOWN = 20


def render(report: Report) -> str:
    """The whole document."""
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", name=safe(f"fleetbeat {report.scenario} seed {report.seed}"))
    for verdict in report.verdicts:
        _invariant(suite, verdict)
    for threshold in report.ruling.thresholds:
        _threshold(suite, threshold)
    _run(suite, report)
    for element in (suites, suite):
        element.set("tests", str(len(suite)))
        element.set("failures", str(len(suite.findall("testcase/failure"))))
        element.set("errors", str(len(suite.findall("testcase/error"))))
        element.set("skipped", "0")
        element.set("time", "0")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _run(suite: ElementTree.Element, report: Report) -> None:
    """The run as a whole, so that the suite is green only where the exit code is 0: a vacuous run has no other case."""
    case = _case(suite, "run", "verdict")
    if report.ruling.code:
        kind = "failure" if report.ruling.code == 1 else "error"
        told = ElementTree.SubElement(case, kind, message=safe(report.ruling.word), type=safe(report.ruling.word))
        told.text = "\n".join(map(safe, report.ruling.reasons))


def _case(suite: ElementTree.Element, group: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=f"fleetbeat.{group}", name=safe(name), time="0")


def _invariant(suite: ElementTree.Element, verdict: VerdictRow) -> None:
    case = _case(suite, "invariant", verdict.invariant)
    evidence = _evidence(verdict)
    if verdict.outcome == "unknown":
        ElementTree.SubElement(case, "error", message=safe(verdict.reason or "unknown"), type="unknown").text = evidence
    elif verdict.fails:
        worst = verdict.kinds[0][0] if verdict.kinds else "held, expected broken"
        message = safe(f"{verdict.promise} ({counted(verdict.findings_total, 'finding')})")
        ElementTree.SubElement(case, "failure", message=message, type=worst).text = evidence
    elif verdict.findings_total:
        how = "broken as expected" if verdict.expected else "hazards, which this scenario lets pass"
        ElementTree.SubElement(case, "system-out").text = f"{how}\n{evidence}"


def _evidence(verdict: VerdictRow) -> str:
    lines = [f"{row.kind} ({row.cause}) at {row.t} ns: {safe(row.message)}" for row in verdict.findings[:_SHOWN]]
    if verdict.findings_total > len(lines):
        lines.append(f"and {verdict.findings_total - len(lines)} more")
    lines += framework_text.chain(verdict.chain)
    return "\n".join(lines)


def _threshold(suite: ElementTree.Element, threshold: Threshold) -> None:
    case = _case(suite, "threshold", threshold.id)
    if threshold.held is None:
        ElementTree.SubElement(case, "error", message=safe(threshold.message), type="inconclusive")
    elif not threshold.held:
        ElementTree.SubElement(case, "failure", message=safe(threshold.message), type="threshold")
    else:
        ElementTree.SubElement(case, "system-out").text = safe(threshold.message)
