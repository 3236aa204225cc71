"""`fleetbeat replay`: plays a case file and says whether it still breaks as it did.

Named apart from `cli.replay`, which makes the command line that a run prints for playing it again. Exit codes: 1 if the
case breaks as it expects (a reproduced violation or gap, which is what a case is for); 3 if it does not any more, be it
that the verdict is another one or that a choice names a step that does not come; 2 for a file that is no case.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleetbeat.cli.errors import BROKEN, INCONCLUSIVE
from fleetbeat.cli.output import emit, narrate
from fleetbeat.report.plain import safe

if TYPE_CHECKING:
    from fleetbeat.explore.case import Case, Replay

_DRAWN = click.Choice(["text", "svg"])


@click.command("replay", short_help="Play a case file and say whether it still breaks.")
@click.argument("case")
@click.option("-o", "--output", metavar="DIR", help="Write case, history, verdict and diagrams into a new directory.")
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON on standard output.")
@click.option("--diagram", type=_DRAWN, help="The space-time diagram of what broke, on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="The last line alone; no narration.")
def command(case: str, output: str | None, as_json: bool, diagram: str | None, quiet: bool) -> int:
    """Play CASE, a case file, on the simulation: the same history every time.

    Exit code 1: it breaks as the case expects; 3: it does not any more, or a step that it names is gone; 2: no case.
    """
    from fleetbeat.cli.errors import Refused
    from fleetbeat.cli.replay_framework import command as replay_framework
    from fleetbeat.explore.case import load, replay
    from fleetbeat.explore.framework.case import is_case as is_framework_case

    if as_json and diagram:
        raise Refused("--diagram: got it together with --json, expected one of them: both go to standard output")
    path = Path(case)
    if is_framework_case(path):
        return replay_framework(case, output, as_json, diagram, quiet)
    found = load(path, case)
    played = replay(found)
    _write(output, found, played)
    if not quiet:
        for note in played.notes:
            narrate(f"fleetbeat replay: {safe(case)}: {safe(note)}")
    if as_json:
        emit(_json(case, found, played))
    elif quiet:
        emit(_last(case, found, played) + "\n")
    elif diagram is not None:
        _draw(diagram, case, found, played)
    else:
        emit(_text(case, found, played))
    return BROKEN if played.outcome == "reproduced" else INCONCLUSIVE


def _draw(kind: str, case: str, found: Case, played: Replay) -> None:
    """The diagram, if there is something to draw; what it came to goes beside it."""
    text, svg = _diagrams(played)
    emit(svg if kind == "svg" else text)
    narrate(_last(case, found, played))
    for line in played.diverged:
        narrate(f"  {safe(line)}")


def _diagrams(played: Replay) -> tuple[str, str]:
    from fleetbeat.explore import diagram, diagram_svg

    if played.finding is None:
        return "", ""
    return diagram.text(played.records, played.finding), diagram_svg.svg(played.records, played.finding)


def _last(case: str, found: Case, played: Replay) -> str:
    """One line: what came of it."""
    what = f"{safe(found.invariant)} ({found.kind}, {found.cause})"
    if played.outcome == "reproduced":
        return f"reproduced: {what}: {safe(case)}"
    if played.outcome == "diverged":
        return f"diverged: {what}: {safe(case)}: {len(played.diverged)} of {found.size} choices have nothing to decide"
    broken = ", ".join(played.broken) or "nothing"
    return f"differs: {what}: {safe(case)}: expected {', '.join(found.broken) or 'no violation or gap'} broken, got {broken}"


def _text(case: str, found: Case, played: Replay) -> str:
    """The diagram with its sentence, or where the replay left the case; then the last line."""
    parts = []
    if played.outcome != "diverged" and played.finding is not None:
        parts.append(_diagrams(played)[0])
    if played.diverged:
        parts.append("".join(f"{safe(line)}\n" for line in played.diverged))
    return "\n".join([*parts, _last(case, found, played) + "\n"])


def _json(case: str, found: Case, played: Replay) -> str:
    import json

    from fleetbeat.explore.sentence import tell

    finding = played.finding
    data: dict[str, Any] = {
        "case": case,
        "outcome": played.outcome,
        "exit_code": BROKEN if played.outcome == "reproduced" else INCONCLUSIVE,
        "invariant": found.invariant,
        "class": found.kind,
        "cause": found.cause,
        "expected_broken": list(found.broken),
        "broken": list(played.broken),
        "finding": None if finding is None else finding.message,
        "sentence": found.sentence if finding is None else tell(played.records, finding),
        "choices": found.size,
        "diverged": list(played.diverged),
        "notes": list(played.notes),
    }
    return json.dumps(data, indent=2) + "\n"


def _write(output: str | None, found: Case, played: Replay) -> None:
    """With `-o`: case.yaml, history.jsonl, verdict.txt, and the diagrams if there is something to draw."""
    if output is None:
        return
    from fleetbeat.cli.staging import Staging
    from fleetbeat.explore.case import dump
    from fleetbeat.history import jsonl

    text, svg = _diagrams(played)
    with Staging(output) as staging:
        staging.claim()
        staging.write("case.yaml", dump(found))
        staging.place("history.jsonl", lambda path: jsonl.write(path, played.records))
        staging.write("verdict.txt", _text("case.yaml", found, played))
        if text:
            staging.write("diagram.txt", text)
            staging.write("diagram.svg", svg)
        staging.commit()
