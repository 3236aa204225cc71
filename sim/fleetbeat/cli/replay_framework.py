"""`fleetbeat replay` of a case of the event framework: its moves are played again, and its chain of causes is drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from fleetbeat.cli.errors import BROKEN, INCONCLUSIVE, Refused
from fleetbeat.cli.output import emit, narrate
from fleetbeat.report.plain import safe

if TYPE_CHECKING:
    from fleetbeat.explore.framework.case import Case, Replay


def command(case: str, output: str | None, as_json: bool, diagram: str | None, quiet: bool) -> int:
    """Plays a case. Exit codes as for the others: 1 if it breaks as it did, 3 if it does not any more."""
    from fleetbeat.explore.framework.case import load, replay

    if diagram == "svg":
        raise Refused("--diagram: got svg for a case of the event framework, expected text: its causes are a tree")
    found = load(Path(case), case)
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
        emit("".join(f"{safe(line)}\n" for line in _tree(played)))
        narrate(_last(case, found, played))
    else:
        emit(_text(case, found, played))
    return BROKEN if played.outcome == "reproduced" else INCONCLUSIVE


def _tree(played: Replay) -> list[str]:
    from fleetbeat.checks.chains import drawn

    return [] if played.finding is None else drawn(played.finding.chain)


def _last(case: str, found: Case, played: Replay) -> str:
    """One line: what came of it."""
    what = f"{safe(found.invariant)} ({found.kind}, {found.cause})"
    if played.outcome == "reproduced":
        return f"reproduced: {what}: {safe(case)}"
    if played.outcome == "diverged":
        return f"diverged: {what}: {safe(case)}: a move cannot be made any more"
    broken = ", ".join(played.broken) or "nothing"
    return f"differs: {what}: {safe(case)}: expected {', '.join(found.broken)} broken, got {broken}"


def _text(case: str, found: Case, played: Replay) -> str:
    lines = []
    if played.finding is not None:
        lines += [safe(played.finding.message), "", *(f"  {safe(line)}" for line in _tree(played)), ""]
        lines += [f"  in the world {found.world!r}: {safe(', '.join(map(str, found.schedule)))}", ""]
    lines += [safe(line) for line in played.diverged]
    return "\n".join([*lines, _last(case, found, played), ""])


def _json(case: str, found: Case, played: Replay) -> str:
    finding = played.finding
    data = {
        "case": case,
        "outcome": played.outcome,
        "exit_code": BROKEN if played.outcome == "reproduced" else INCONCLUSIVE,
        "invariant": found.invariant,
        "class": found.kind,
        "cause": found.cause,
        "expected_broken": list(found.broken),
        "broken": list(played.broken),
        "finding": None if finding is None else finding.message,
        "sentence": found.sentence if finding is None else finding.message,
        "tree": _tree(played),
        "choices": len(found.schedule),
        "diverged": list(played.diverged),
        "notes": list(played.notes),
    }
    return json.dumps(data, indent=2) + "\n"


def _write(output: str | None, found: Case, played: Replay) -> None:
    """With `-o`: case.yaml, history.jsonl, verdict.txt, and the chain of causes if something broke."""
    if output is None:
        return
    from fleetbeat.cli.staging import Staging
    from fleetbeat.explore.framework.case import dump
    from fleetbeat.history import jsonl

    with Staging(output) as staging:
        staging.claim()
        staging.write("case.yaml", dump(found))
        staging.place("history.jsonl", lambda path: jsonl.write(path, played.records))
        staging.write("verdict.txt", _text("case.yaml", found, played))
        if played.finding is not None:
            staging.write("chain.txt", "".join(f"{line}\n" for line in _tree(played)))
        staging.commit()
