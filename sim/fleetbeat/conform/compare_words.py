"""A comparison in words and as data: first what differs, in sentences, then the tables that it was found in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from fleetbeat.conform.bench import Laid
from fleetbeat.conform.calibrate import Calibration
from fleetbeat.conform.compare import Comparison, FateRow, LagRow, VerdictRow
from fleetbeat.metrics.words import seconds
from fleetbeat.report.plain import counted, cut, item, safe
from fleetbeat.report.tables import table
from fleetbeat.scenario.model import Scenario
from fleetbeat.scenario.spreads import Constant

#: Most posts that are told one by one.
SHOWN = 10


def render(scenario: Scenario, laid: Sequence[Laid]) -> str:
    """The whole text for all engines that were laid beside the simulation."""
    return "\n".join(_one(scenario, one) for one in laid)


def document(scenario: Scenario, laid: Sequence[Laid]) -> str:
    """The same as JSON text, in ASCII."""
    data = {
        "schema": "fleetbeat.conform/1",
        "scenario": scenario.name,
        "seed": scenario.seed,
        "engines": [
            {"engine": one.engine, "calibration": asdict(one.calibration), **asdict(one.comparison)} for one in laid
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f") + "\n"


def _one(scenario: Scenario, laid: Laid) -> str:
    found = laid.comparison
    runs = f"{counted(found.base_runs, 'run')} of {found.base}, {counted(found.other_runs, 'run')} of {found.other}"
    lines = [f"{safe(scenario.name)} · seed {scenario.seed} · {runs}", ""]
    lines += [*_measured(scenario, laid.calibration), *_fates(found), *_lags(found), *_verdicts(found)]
    told = differences(found)
    if told:
        lines += ["What differs:", *(item(one) for one in told), ""]
    lines.append(f"{found.other} {_WORDS[found.word]} {found.base}" + _doubt(found))
    return "\n".join(lines) + "\n"


_WORDS = {"alike": "is like", "differs": "differs from", "inconclusive": "cannot be told from"}


def _doubt(found: Comparison) -> str:
    return (
        " for lack of data: too few posts or lags, too large an error of observation, or a run that was cut short"
        if found.word == "inconclusive"
        else ""
    )


def differences(found: Comparison) -> list[str]:
    """Each difference as a sentence."""
    told = [
        f"{safe(one.post)} (seed {one.seed}): {one.expected} in every simulated run, {one.got} in {found.other}"
        for one in found.different[:SHOWN]
    ]
    if len(found.different) > SHOWN:
        told.append(f"and {len(found.different) - SHOWN} more posts")
    told += [_fate_words(row, found) for row in found.fates if row.word == "differs" and not row.certain]
    told += [_lag_words(row, found) for row in found.lags if row.word == "differs"]
    return told + [_verdict_words(row, found) for row in found.verdicts if row.word == "differs"]


def _fate_words(row: FateRow, found: Comparison) -> str:
    shares = ", ".join(
        f"{fate} {_share(one)} against {_share(two)}" for fate, one, two in row.shares if abs(one - two) > 0.005
    )
    return f"fates of {safe(row.version)}, {found.base} against {found.other}: {shares} ({_p(row.p)})"


def _lag_words(row: LagRow, found: Comparison) -> str:
    return (
        f"lags of {safe(row.version)} are of another distribution: half within {_time(row.base_p50)} in {found.base}, "
        f"{_time(row.other_p50)} in {found.other} ({_p(row.p)}, room {seconds(found.room)})"
    )


def _verdict_words(row: VerdictRow, found: Comparison) -> str:
    return f"{row.what}: {' or '.join(row.base)} in {found.base}, {' or '.join(row.other)} in {found.other}"


def _measured(scenario: Scenario, calibration: Calibration) -> list[str]:
    """What the real runs measured, beside what the scenario says."""
    if not calibration.kinds and calibration.overhead_ns is None:
        return []
    rows = [
        [kind.kind, str(kind.count), seconds(kind.median), seconds(kind.values[-1]), _given(scenario, kind.kind)]
        for kind in calibration.kinds
    ]
    lines = [f"Measured in {counted(calibration.beats, 'beat')}, and put into the simulation:"]
    if rows:
        lines.append(table(["operation", "measured", "median", "most", "scenario"], rows))
    if calibration.overhead_ns is not None:
        lines.append(f"  a beat takes {seconds(calibration.overhead_ns)} beyond its interval and its operations")
    return [*lines, ""]


def _given(scenario: Scenario, kind: str) -> str:
    value = getattr(scenario.fleet.latency, kind)
    if isinstance(value, int):
        return seconds(value)
    return seconds(value.value) if isinstance(value, Constant) else value.kind


def _fates(found: Comparison) -> list[str]:
    rows = [
        [
            cut(safe(row.version), 24),
            ", ".join(f"{fate} {_share(one)} {_share(two)}" for fate, one, two in row.shares),
            f"{row.alike} of {row.posts}",
            "none" if row.certain else _p(row.p),
            row.word,
        ]
        for row in found.fates
    ]
    head = ["version", f"fate, {found.base}, {found.other}", "posts alike", "chance", "so"]
    return ["Fates, one by one:", table(head, rows, 2), ""] if rows else ["No post was made.", ""]


def _lags(found: Comparison) -> list[str]:
    rows = [
        [
            cut(safe(row.version), 24),
            str(row.base),
            str(row.other),
            _time(row.base_p50),
            _time(row.other_p50),
            _time(row.base_p90),
            _time(row.other_p90),
            _p(row.p),
            "cannot tell" if row.word == "inconclusive" else row.word,
        ]
        for row in found.lags
    ]
    if not rows:
        return []
    sides = (found.base, found.other)
    head = [
        "version",
        *(f"n {one}" for one in sides),
        *(f"{p} {one}" for p in ("p50", "p90") for one in sides),
        "",
        "so",
    ]
    title = (
        f"Lags (two-sample Kolmogorov-Smirnov with room for {seconds(found.room)} of error; "
        f"each test's size {found.size:.1g}, {found.alpha:g} in all):"
    )
    return [title, table(head, rows), ""]


def _verdicts(found: Comparison) -> list[str]:
    odd = [row for row in found.verdicts if row.word != "alike"]
    same = len(found.verdicts) - len(odd)
    lines = [f"Verdicts: {same} of {len(found.verdicts)} alike (the ruling among them)."]
    for row in odd:
        reason = f" ({cut(safe(row.reason), 120)})" if row.reason else ""
        lines.append(item(_verdict_words(row, found) + reason))
    return [*lines, ""]


def _share(part: float) -> str:
    return f"{100 * part:.3g}%"


def _time(ns: int | None) -> str:
    return "-" if ns is None else seconds(ns)


def _p(p: float | None) -> str:
    return "-" if p is None else f"p {p:.2g}" if p >= 1e-4 else "p < 0.0001"
