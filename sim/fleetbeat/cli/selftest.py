"""`fleetbeat selftest`: do the checks still see what they are for? Wrong agents must die, known ones come out as known; then
wrong cores of the event framework must die, and right ones live."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from fleetbeat.cli.errors import BROKEN, HELD, Refused
from fleetbeat.cli.output import emit, narrate
from fleetbeat.report.plain import safe

if TYPE_CHECKING:
    from fleetbeat.explore.framework.selftest import CoreRow
    from fleetbeat.explore.selftest import Row


@click.command("selftest", short_help="Search agents that are wrong on purpose; each must be caught.")
@click.option("--jobs", type=int, default=1, show_default=True, metavar="N", help="Processes to search with.")
@click.option("--only", type=click.Choice(["agents", "cores"]), help="One of the two halves.")
@click.option("--json", "as_json", is_flag=True, help="The results as JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="The last line alone.")
def command(jobs: int, only: str | None, as_json: bool, quiet: bool) -> int:
    """Run the explorer over every mutant in agents/mutants, and over the agents reference and claim.

    Then the cores of the event framework: each runs the scenario core-trial, and is searched in its small worlds.

    Exit code 0: each mutant died by a check that is meant for it, the reference broke exactly the gaps that its
    manifest names, claim nothing, and the right cores nothing; 1: something lived or came out otherwise.
    """
    from fleetbeat.explore.framework import selftest as framework
    from fleetbeat.explore.model import ExploreError
    from fleetbeat.explore.selftest import selftest

    says = not (as_json or quiet)
    rows: list[Row] = []
    cores: list[CoreRow] = []
    try:
        for row in selftest(jobs) if only != "cores" else ():
            rows.append(row)
            if says:
                emit(_block(row))
        for core in framework.selftest(jobs) if only != "agents" else ():
            cores.append(core)
            if says:
                emit(_core_block(core))
    except ExploreError as error:
        raise Refused(f"selftest: {error}") from error
    if as_json:
        emit(_document(rows, cores))
    else:
        emit(_last(rows, cores) + "\n")
    wrong = [(row.agent, _verdict(row)) for row in rows if not row.passed]
    wrong += [(core.core, _core_verdict(core)) for core in cores if not core.passed]
    for name, verdict in wrong if quiet or as_json else ():
        narrate(f"{name}: {verdict}")
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


def _core_block(row: CoreRow) -> str:
    """As `_block`, for a core; below it the shortest chain of causes and the moves that lead there."""
    lines = [f"{row.core:<26} {_core_verdict(row)}; {row.states:,} states", f"    is:   {safe(row.about)}"]
    if row.killed is not None:
        lines.append(f"    seen: {safe(row.sentence)}")
        lines += [f"          {safe(line)}" for line in row.tree]
        lines.append(f"          by: {safe(', '.join(row.moves))}")
    return "\n".join(lines) + "\n"


def _core_verdict(row: CoreRow) -> str:
    in_run = f"in the run {', '.join(row.in_run) or 'nothing'} broke"
    if not row.named:
        return f"{'lives' if row.passed else 'NOT AS EXPECTED'}: {in_run}; {row.ended}"
    if row.killed is None:
        return f"LIVES, expected to die by {row.named}: {in_run}; {row.ended}"
    invariant, kind, cause = row.killed
    return f"{'killed' if row.passed else 'LIVES IN THE RUN, killed'} by {invariant} ({kind}, {cause}): {in_run}"


def _last(rows: list[Row], cores: list[CoreRow]) -> str:
    said = []
    if rows:
        mutants = [row for row in rows if row.named]
        died = sum(row.killed is not None for row in mutants)
        wrong = [row.agent for row in rows if not row.passed]
        end = f"; not as expected: {', '.join(wrong)}" if wrong else "; the known agents as expected"
        said.append(f"{died} of {len(mutants)} mutants killed{end}")
    if cores:
        named = [core for core in cores if core.named]
        died = sum(core.passed for core in named)
        wrong = [core.core for core in cores if not core.passed]
        end = f"; not as expected: {', '.join(wrong)}" if wrong else "; the right cores live"
        said.append(f"{died} of {len(named)} wrong cores killed{end}")
    return "; ".join(said)


def _document(rows: list[Row], cores: list[CoreRow]) -> str:
    passed = all(row.passed for row in rows) and all(core.passed for core in cores)
    data = {
        "schema": "fleetbeat.selftest/1",
        "passed": passed,
        "agents": [_data(row) for row in rows],
        "cores": [_data(core) for core in cores],
    }
    return json.dumps(data, indent=2) + "\n"


def _data(row: Row | CoreRow) -> dict[str, object]:
    keys = ("invariant", "class", "cause")
    data = asdict(row)
    data["killed"] = None if row.killed is None else dict(zip(keys, row.killed, strict=True))
    for name in ("also", "broke"):
        if name in data:
            data[name] = [dict(zip(keys, key, strict=True)) for key in data[name]]
    return data
