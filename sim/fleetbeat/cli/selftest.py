"""`fleetbeat selftest`: do the checks still see what they are for? Wrong agents must die, known ones come out as known."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import BROKEN, HELD, Refused
from fleetbeat.cli.output import emit, narrate
from fleetbeat.report.plain import safe

if TYPE_CHECKING:
    from fleetbeat.explore.selftest import Row


@click.command("selftest", short_help="Search agents that are wrong on purpose; each must be caught.")
@click.option("--jobs", type=int, default=1, show_default=True, metavar="N", help="Processes to search with.")
@click.option("--json", "as_json", is_flag=True, help="The results as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="The last line alone.")
def command(jobs: int, as_json: bool, quiet: bool) -> int:
    """Run the explorer over every mutant in agents/mutants, and over the agents reference and claim.

    Exit code 0: each mutant died by a check that is meant for it, the reference broke exactly the gaps that its
    manifest names, and claim nothing; 1: something lived or came out otherwise.
    """
    from fleetbeat.explore.model import ExploreError
    from fleetbeat.explore.selftest import selftest

    rows = []
    try:
        for row in selftest(jobs):
            rows.append(row)
            if not (as_json or quiet):
                emit(_block(row))
    except ExploreError as error:
        raise Refused(f"selftest: {error}") from error
    if as_json:
        emit(_document(rows))
    else:
        emit(_last(rows) + "\n")
    wrong = [row for row in rows if not row.passed]
    for row in wrong if quiet or as_json else ():
        narrate(f"{row.agent}: {_verdict(row)}")
    return BROKEN if wrong else HELD


def _block(row: Row) -> str:
    """A line of the table, and below it what is wrong and the counterexample."""
    lines = [f"{row.agent:<24} {_verdict(row)}; {row.schedules:,} schedules, {row.states:,} states"]
    lines.append(f"    is:   {safe(row.about)}")
    if row.killed is not None:
        lines.append(f"    seen: {safe(row.sentence)}")
    return "\n".join(lines) + "\n"


def _verdict(row: Row) -> str:
    if row.killed is not None:
        invariant, kind, cause = row.killed
        return f"killed by {invariant} ({kind}, {cause})"
    if row.named:
        return f"LIVES, expected to die by {' or '.join(row.named)}; {row.ended}"
    broke = sorted({invariant for invariant, _, _ in row.broke})
    known = "as its manifest says" if row.passed else f"NOT AS ITS MANIFEST SAYS ({', '.join(row.known) or 'none'})"
    if not broke:
        return f"lives, {known}; {row.ended}"
    violated = sorted({invariant for invariant, kind, _ in row.broke if kind == "violation"})
    more = f"; VIOLATED: {', '.join(violated)}" if violated else ""
    return f"breaks {', '.join(broke)}, {known}{more}; {row.ended}"


def _last(rows: list[Row]) -> str:
    mutants = [row for row in rows if row.named]
    died = sum(row.killed is not None for row in mutants)
    wrong = [row.agent for row in rows if not row.passed]
    end = f"; not as expected: {', '.join(wrong)}" if wrong else "; the known agents as expected"
    return f"{died} of {len(mutants)} mutants killed{end}"


def _document(rows: list[Row]) -> str:
    passed = all(row.passed for row in rows)
    return (
        json.dumps(
            {"schema": "fleetbeat.selftest/1", "passed": passed, "agents": [_data(row) for row in rows]}, indent=2
        )
        + "\n"
    )


def _data(row: Row) -> dict[str, object]:
    keys = ("invariant", "class", "cause")
    data = asdict(row)
    data["killed"] = None if row.killed is None else dict(zip(keys, row.killed, strict=True))
    for name in ("also", "broke"):
        data[name] = [dict(zip(keys, key, strict=True)) for key in data[name]]
    return data
