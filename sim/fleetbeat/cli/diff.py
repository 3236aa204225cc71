"""`fleetbeat diff`: at which record two runs part, and what that changed. Like diff, it exits 1 if they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from fleetbeat.cli.errors import BROKEN, HELD


@click.command("diff", short_help="Say where two runs part and what that changed.")
@click.argument("left", metavar="RUN")
@click.argument("right", metavar="RUN")
@click.option("--checks", metavar="DIR", help="A folder of checks of your own, judged like the built-in ones.")
def command(left: str, right: str, checks: str | None) -> int:
    """Compare two RUNs, each a history.jsonl or a run's directory. Exit code 0: identical; 1: they differ."""
    from fleetbeat.checks import judge
    from fleetbeat.cli.check import history_file
    from fleetbeat.cli.output import emit
    from fleetbeat.cli.pipeline import extra_checks
    from fleetbeat.history import jsonl
    from fleetbeat.history.diff import changes, part
    from fleetbeat.report import difference

    a, b = jsonl.read(history_file(left)), jsonl.read(history_file(right))
    parting = part(a, b)
    if parting is None:
        emit(f"identical: {len(a)} records\n")
        return HELD
    known = extra_checks(checks)
    first, second = judge(a, known), judge(b, known)
    fates = changes(_by(first.fates, "post", "fate"), _by(second.fates, "post", "fate"))
    verdicts = changes(_by(first.verdicts, "invariant", "outcome"), _by(second.verdicts, "invariant", "outcome"))
    emit(difference.render(parting, fates, verdicts, (left, right), (len(a), len(b))))
    return BROKEN


def _by(rows: Sequence[object], key: str, value: str) -> Mapping[str, str]:
    return {getattr(row, key): getattr(row, value) for row in rows}
