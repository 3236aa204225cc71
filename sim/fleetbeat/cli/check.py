"""`fleetbeat check`: the verdicts of a history from its file alone, whoever recorded it."""

from __future__ import annotations

from pathlib import Path

import click

from fleetbeat.cli.run import CHOICE, Shown, tell
from fleetbeat.history.records import Record
from fleetbeat.history.shape import shown


@click.command("check", short_help="Judge a history from its file alone.")
@click.argument("history")
@click.option("--checks", metavar="DIR", help="A folder of checks of your own, judged like the built-in ones.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
@click.option("--color", type=CHOICE, default="auto", show_default=True, help="Colour the report.")
@click.option("-q", "--quiet", is_flag=True, help="The summary line alone; no narration.")
def command(history: str, checks: str | None, as_json: bool, color: str, quiet: bool) -> int:
    """Judge HISTORY, a history.jsonl or a run's directory. Exit codes as for `fleetbeat run`.

    What the scenario expects is taken from the history's own first record.
    """
    from fleetbeat.cli.pipeline import extra_checks, judged
    from fleetbeat.cli.replay import joined
    from fleetbeat.history import jsonl

    records = jsonl.read(history_file(history))
    words = ["fleetbeat", "check", *([] if checks is None else ["--checks", checks])]
    words += ["--", history] if history.startswith("-") else [history]
    refuse_expectations(records[0], history)
    result = judged(records, extra_checks(checks), joined(words))
    tell(result, Shown(as_json, color, quiet))
    return result.exit_code


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
