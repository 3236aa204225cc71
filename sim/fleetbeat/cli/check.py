"""`fleetbeat check`: the verdicts of a history from its file alone, whoever recorded it; or of an event ledger.

A ledger is what some other event framework wrote; `fleetbeat.checks.ledger` says how its lines are spelled.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleetbeat.cli.output import emit, narrate, painter
from fleetbeat.cli.run import CHOICE, Shown, tell
from fleetbeat.history.records import Record
from fleetbeat.history.shape import shown


@click.command("check", short_help="Judge a history, or an event ledger, from its file alone.")
@click.argument("history")
@click.option("--checks", metavar="DIR", help="A folder of checks of your own, judged like the built-in ones.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
@click.option("--color", type=CHOICE, default="auto", show_default=True, help="Colour the report.")
@click.option("-q", "--quiet", is_flag=True, help="The summary line alone; no narration.")
def command(history: str, checks: str | None, as_json: bool, color: str, quiet: bool) -> int:
    """Judge HISTORY, a history.jsonl or a run's directory. Exit codes as for `fleetbeat run`.

    What the scenario expects is taken from the history's own first record. HISTORY may be an event ledger of another
    system instead (JSON lines of id, ts, type, origin, session, cause, action): the event framework's two invariants
    are held against it, as far as it tells enough.
    """
    from fleetbeat.checks.ledger_judge import is_ledger
    from fleetbeat.cli.errors import Refused
    from fleetbeat.cli.pipeline import extra_checks, judged
    from fleetbeat.cli.replay import joined
    from fleetbeat.history import jsonl

    how = Shown(as_json, color, quiet)
    path = history_file(history)
    if is_ledger(path):
        if checks is not None:
            raise Refused("--checks: got a ledger to judge, expected a history")
        return _ledger(path, history, how)
    records = jsonl.read(path)
    words = ["fleetbeat", "check", *([] if checks is None else ["--checks", checks])]
    words += ["--", history] if history.startswith("-") else [history]
    refuse_expectations(records[0], history)
    result = judged(records, extra_checks(checks), joined(words))
    tell(result, how)
    return result.exit_code


def _ledger(path: Path, name: str, how: Shown) -> int:
    from fleetbeat.checks.ledger_judge import judge_ledger
    from fleetbeat.report import ledger

    found = judge_ledger(path)
    if how.json:
        emit(ledger.render_json(found))
        if not how.quiet:
            narrate(ledger.summary(found, name, painter(how.color, sys.stderr)))
    elif how.quiet:
        emit(ledger.summary(found, name, painter(how.color, sys.stdout)) + "\n")
    else:
        emit(ledger.render(found, name, painter(how.color, sys.stdout)))
    return found.code


def refuse_expectations(run: Record, name: str) -> None:
    """Raise HistoryError if the run record's `expect` is none that a scenario can have."""
    from pydantic import ValidationError

    from fleetbeat.history.jsonl import HistoryError
    from fleetbeat.scenario.model import Expect

    try:
        Expect.model_validate(run["expect"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = ".".join(map(str, ("run", "expect", *first["loc"])))
        raise HistoryError(
            f"{name}:1: {path}: got {shown(first['input'])}, expected another: {first['msg']}"
        ) from error


def history_file(name: str) -> Path:
    """The history that a path means: a file, or the one in a run's directory."""
    inside = Path(name) / "history.jsonl"
    return inside if inside.is_file() else Path(name)
